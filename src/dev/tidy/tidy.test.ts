/** Holds this checkout to the rules of its architecture. The tests of each rule show that it can fail. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findEnvironmentReads, findHiddenInputs, findOpenSwitches, findUnrunTests } from "./code-rules.ts";
import * as files from "./file-rules.ts";
import * as folders from "./folder-rules.ts";
import { readSources } from "./read-sources.ts";
import { findMachinePaths, findRegistryAddresses, type TextFile } from "./text-rules.ts";

const checkout = join(import.meta.dirname, "../../..");
const sources = readSources(checkout);

describe("the source files", () => {
  it("are found", () => {
    expect(sources.map(({ path }) => path)).toContain("src/dev/tidy/tidy.test.ts");
  });

  it("import only what their folder may", () => {
    expect(folders.findForbiddenImports(sources)).toEqual([]);
  });

  it("use generated and Connect types only where a protocol meets the domain", () => {
    expect(folders.findMisplacedGeneratedTypes(sources)).toEqual([]);
  });

  it("are free of IO if they are marked PURE", () => {
    expect(folders.findImpureImports(sources)).toEqual([]);
  });

  it("have names that say what is inside", () => {
    expect(files.findBadNames(sources)).toEqual([]);
  });

  it("export only what they own", () => {
    expect(files.findBarrels(sources)).toEqual([]);
  });

  it("read the environment in config.ts only", () => {
    expect(findEnvironmentReads(sources)).toEqual([]);
  });

  it("take clock, random and ids by injection in core", () => {
    expect(findHiddenInputs(sources)).toEqual([]);
  });

  it("close every switch over a union", () => {
    expect(findOpenSwitches(sources)).toEqual([]);
  });

  it("skip no test", () => {
    expect(findUnrunTests(sources)).toEqual([]);
  });
});

describe("the checkout", () => {
  it("names no folder of the machine it was made on", () => {
    expect(findMachinePaths(textFiles())).toEqual([]);
  });

  it("locks packages without their download addresses", () => {
    expect(findRegistryAddresses(readFileSync(join(checkout, "package-lock.json"), "utf8"))).toEqual([]);
  });
});

function textFiles(): TextFile[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: checkout,
  });
  const paths = listed
    .toString()
    .split("\0")
    .filter((path) => path !== "" && existsSync(join(checkout, path)));
  return paths.map((path) => ({ path, text: readFileSync(join(checkout, path), "utf8") }));
}
