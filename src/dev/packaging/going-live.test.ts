/** The settings that docs/going-live.md names start every role of a live installation. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Role } from "../../config/checked-config.ts";
import { findSettingProblems } from "./role-settings.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/going-live.md"), "utf8");

/** Returns the settings of the code block that follows a text. */
function settingsAfter(text: string): Record<string, string> {
  const [, after] = page.split(text);
  const [, block] = /```sh\n([\s\S]+?)```/.exec(after ?? "") ?? [];
  if (block === undefined) throw new Error(`docs/going-live.md has no settings after "${text}"`);
  const lines = block.trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

const live = settingsAfter("Begin `live.env` with these lines");
const [[first, environments]] = Object.entries(live) as [[string, string]];
const vault = { [first]: environments, ...settingsAfter("The rest of `vault.env`") };

describe("docs/going-live.md", () => {
  it.each<[Role, Record<string, string>]>([
    ["edge", live],
    ["worker", live],
    ["dashboard", live],
    ["vault", vault],
  ])("names every setting that live requires: %s", (role, variables) => {
    expect(findSettingProblems(role, { variables, hasFile: () => true })).toEqual([]);
  });

  it("sets the environment first, without which the roles ask for the settings of test", () => {
    expect({ [first]: environments }).toEqual({ SWITCHYARD_ENVIRONMENTS: "live" });
    const { SWITCHYARD_ENVIRONMENTS: _, ...others } = live;
    const problems = findSettingProblems("edge", { variables: others, hasFile: () => true });
    expect(problems.filter((problem) => problem.includes("SWITCHYARD_TEST_")).length).toBeGreaterThanOrEqual(5);
  });
});
