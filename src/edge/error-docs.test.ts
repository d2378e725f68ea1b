/** docs/errors.md has a section for every code that an error can carry, and for no other. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { appearances } from "./error-mapping.ts";

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "errors.md"), "utf8");
const sections = page.split(/^### /m).slice(1);

describe("docs/errors.md", () => {
  it("has one section for each code", () => {
    const titles = sections.map((section) => section.split("\n")[0]!);
    expect(titles.toSorted()).toEqual(Object.keys(appearances).toSorted());
  });

  it.each(Object.entries(appearances))("opens the section of %s with its status", (code, { status }) => {
    const section = sections.find((text) => text.startsWith(`${code}\n`));
    expect(section).toMatch(new RegExp(`^${code}\n${status}[.,] `));
  });
});
