/** Holds this checkout to the rules of its architecture. That each rule can fail is shown in src/tidy/*.test.ts. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findEnvironmentReads, findHiddenInputs, findUnrunTests } from "./tidy/code-rules.ts";
import * as files from "./tidy/file-rules.ts";
import * as folders from "./tidy/folder-rules.ts";
import { readSources } from "./tidy/read-sources.ts";
import { findMachinePaths, findRegistryAddresses, type TextFile } from "./tidy/text-rules.ts";

const checkout = join(import.meta.dirname, "..");
const sources = readSources(checkout);

describe("the source files", () => {
  it("are found", () => {
    expect(sources.map(({ path }) => path)).toContain("src/tidy.test.ts");
  });

  it("import only what their folder may", () => {
    expect(folders.findForbiddenImports(sources)).toEqual([]);
  });

  it("import each other without cycles", () => {
    expect(folders.findCycles(sources)).toEqual([]);
  });

  it("use generated and Connect types only where a protocol meets the domain", () => {
    expect(folders.findMisplacedGeneratedTypes(sources)).toEqual([]);
  });

  it("are free of IO where they are marked PURE", () => {
    expect(folders.findImpureImports(sources)).toEqual([]);
  });

  it("have names that say what is inside", () => {
    expect(files.findBadNames(sources)).toEqual([]);
  });

  it("are short: 300 lines at most, a median of 110, functions of 70", () => {
    const long = [files.findLongFiles, files.findLongMedian, files.findLongFunctions].flatMap((find) => find(sources));
    expect(long).toEqual([]);
  });

  it("open with a sentence", () => {
    expect(files.findMissingOpenings(sources)).toEqual([]);
  });

  it("say of every export what it is", () => {
    expect(files.findUndocumentedExports(sources)).toEqual([]);
  });

  it("export what they own", () => {
    expect(files.findBarrels(sources)).toEqual([]);
  });

  it("read the environment in config.ts only", () => {
    expect(findEnvironmentReads(sources)).toEqual([]);
  });

  it("take clock, random and ids by injection in core", () => {
    expect(findHiddenInputs(sources)).toEqual([]);
  });

  it("leave no test out", () => {
    expect(findUnrunTests(sources)).toEqual([]);
  });
});

describe("the checkout", () => {
  it("names no folder of the machine it was made on", () => {
    expect(findMachinePaths(textFiles())).toEqual([]);
  });

  it("locks packages without saying where they were fetched", () => {
    expect(findRegistryAddresses(readFileSync(join(checkout, "package-lock.json"), "utf8"))).toEqual([]);
  });
});

/** What git keeps or would keep; all of it is text. */
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
