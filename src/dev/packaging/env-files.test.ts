/** deploy/live.env and deploy/vault.env start every role of live, and name every setting that those roles read there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, it } from "vitest";
import { allSettings } from "../../config/all-settings.ts";
import type { Role } from "../../config/checked-config.ts";
import { findSettingProblems } from "./role-settings.ts";

const textOf = (file: string) => readFileSync(join(import.meta.dirname, "../../../deploy", file), "utf8");
const files = [
  { file: "live.env", roles: ["edge", "worker", "dashboard"] },
  { file: "vault.env", roles: ["vault"] },
] as const;

/** Settings for trying things, and the one that each unit of deploy/systemd sets. */
const elsewhere = [
  "SANDBOX_ORIGIN",
  "TEST_GATEWAY_ORIGINS",
  "LIVE_GATEWAY_ORIGINS",
  "LOOPBACK_WEBHOOKS",
  "METRICS_PORT",
  "LIVE_VAULT_WALLET_TEST_ROOTS_FILE",
].map((name) => `SWITCHYARD_${name}`);

function settingsOf(roles: readonly Role[]) {
  const read = allSettings.filter((setting) => setting.roles.some((role) => roles.includes(role as Role)));
  return read.map((setting) => ({ ...setting, variable: setting.name.replace("{ENV}", "LIVE").replace("{N}", "2") }));
}

const uncommented = (text: string) => text.replaceAll(/^#(?=SWITCHYARD|OTEL)/gm, "");
const namesIn = (text: string) => [...text.matchAll(/^#?((?:SWITCHYARD|OTEL)\w+)=/gm)].map(([, name]) => name!);

function problemsOf(role: Role, text: string): string[] {
  return findSettingProblems(role, { variables: parseEnv(text) as Record<string, string>, hasFile: () => true });
}

describe.each(files)("deploy/$file", ({ file, roles }) => {
  const text = textOf(file);
  const settings = settingsOf(roles);

  it.each(roles)("has what live requires: %s", (role) => {
    expect(problemsOf(role, text)).toEqual([]);
    expect(problemsOf(role, text.replace("SWITCHYARD_ERROR_DOCS_URL=", "#"))).not.toEqual([]);
  });

  it.each(roles)("has optional paragraphs, each of which may be switched on: %s", (role) => {
    const paragraphs = text.split("\n\n").filter((each) => uncommented(each) !== each);
    expect(paragraphs.length).toBeGreaterThan(3);
    for (const each of paragraphs)
      expect([each, problemsOf(role, text.replace(each, uncommented(each)))]).toEqual([each, []]);
  });

  it("names every setting that its roles read, and no other", () => {
    const wanted = settings.map(({ variable, kind }) => (kind.isSecret ? `${variable}_FILE` : variable));
    expect(namesIn(text).toSorted()).toEqual(wanted.filter((name) => !elsewhere.includes(name)).toSorted());
  });

  it("shows the defaults", () => {
    const shown = parseEnv(uncommented(text));
    const stale = settings.filter(
      ({ variable, presence }) =>
        new RegExp(`^#${variable}=`, "m").test(text) &&
        presence.type === "default" &&
        shown[variable] !== presence.text &&
        !variable.endsWith("_VAULT_MODE"),
    );
    expect(stale.map(({ variable }) => variable)).toEqual([]);
  });

  it("sets the environment first, without which the roles ask for the settings of test", () => {
    expect(namesIn(text)[0]).toBe("SWITCHYARD_ENVIRONMENTS");
    const problems = problemsOf(roles[0], text.replace("SWITCHYARD_ENVIRONMENTS=live", ""));
    expect(problems.join("\n")).toContain("SWITCHYARD_TEST_");
  });
});
