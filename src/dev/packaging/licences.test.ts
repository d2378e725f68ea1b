import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findLicenceProblems } from "./licences.ts";

describe("findLicenceProblems()", () => {
  it("finds nothing in the installed packages", () => {
    const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package-lock.json"), "utf8"));
    expect(Object.keys(packages).length).toBeGreaterThan(300);
    expect(findLicenceProblems(packages)).toEqual([]);
  });

  it("allows tools licences that the image must not have", () => {
    const packages = {
      "": {},
      "node_modules/axe": { license: "MPL-2.0", dev: true },
      "node_modules/b": { license: "MPL-2.0" },
    };
    expect(findLicenceProblems(packages)).toEqual(["node_modules/b: MPL-2.0, and is in the image"]);
  });

  it("reads OR and AND, and treats a missing licence as a problem", () => {
    const packages = {
      "node_modules/either": { license: "(MIT OR GPL-2.0)" },
      "node_modules/both": { license: "MIT AND GPL-2.0" },
      "node_modules/none": {},
      "node_modules/nested": { license: "MIT AND (MIT OR GPL-2.0)" },
      "node_modules/own": { license: "SEE LICENSE IN LICENSE.txt" },
    };
    const found = findLicenceProblems(packages).map((line) => line.replace(/^node_modules\/(\w+):.*/, "$1"));
    expect(found).toEqual(["both", "none", "nested", "own"]);
  });
});
