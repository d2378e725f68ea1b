import { describe, expect, it } from "vitest";
import * as rules from "./code-rules.ts";
import { parseSources } from "./read-sources.ts";

describe("findEnvironmentReads()", () => {
  it("lets config.ts read the environment and no other file, and ignores comments", () => {
    const sources = parseSources({
      "src/config/config.ts": "const port = process.env.PORT;",
      "src/client/examples/merchant-backend.ts": "const port = process.env.PORT;",
      "src/edge/server.ts": "// process.env is read in config.ts.\nconst port = process.env.PORT;",
    });
    expect(rules.findEnvironmentReads(sources)).toContain(
      "src/edge/server.ts:2: process.env.PORT: only src/config/config.ts reads the environment",
    );
    expect(rules.findEnvironmentReads(sources).every((problem) => problem.startsWith("src/edge/"))).toBe(true);
  });
});

describe("findHiddenInputs()", () => {
  it.each([
    "const a = Date.now();",
    "const a = new Date();",
    "const a = new Date;",
    "const a = Math.random();",
    `import { randomUUID as id } from "node:crypto";`,
    "const a = crypto.randomUUID();",
    "const a = globalThis.crypto.randomUUID();",
    "const a = `SELECT 1 WHERE expires_at < now()`;",
    `const a = "SELECT clock_timestamp()";`,
    `const a = "SELECT CURRENT_TIMESTAMP";`,
  ])("refuses %s in core", (line) => {
    expect(rules.findHiddenInputs(parseSources({ "src/core/a.ts": line }))).toHaveLength(1);
    expect(rules.findHiddenInputs(parseSources({ "src/platform/a.ts": line }))).toEqual([]);
  });

  it("lets core create dates from given values and call app.clock()", () => {
    const text =
      'const a = new Date(text); const b = runtime.now(); runtime.randomBytes(1); const c = "SELECT app.clock(), app.now()";';
    expect(rules.findHiddenInputs(parseSources({ "src/core/a.ts": text }))).toEqual([]);
  });
});

describe("findOpenSwitches()", () => {
  const types = `type Step = { type: "open" } | { type: "end" };
    declare function unreachable(value: never): never;
    declare const step: Step | undefined; declare const word: "open" | "end" | null; declare const text: string;
    enum Code { Ok, Bad }
    declare const code: Code;`;
  const open = "src/core/a.ts:6: a switch over a union ends with `default: return unreachable(...)`";

  it.each([
    ["no default", `switch (step?.type) { case "open": break; case "end": }`],
    ["a default for the rest", `switch (word) { case "open": break; default: throw new Error("no"); }`],
    [
      "a default that goes on",
      `switch (step!.type) { case "open": break; default: console.log(step); unreachable(step); }`,
    ],
  ])("names one over a union with %s", (_how, text) => {
    expect(rules.findOpenSwitches(parseSources({ "src/core/a.ts": `${types}\n${text}` }))).toEqual([open]);
  });

  it.each([
    ["over a union that unreachable closes", `switch (word) { case "open": break; default: unreachable(word); }`],
    ["over text", `switch (text) { case "open": break; default: throw new Error(text); }`],
    ["over an enum, whose values come from a protocol", "switch (code) { case Code.Ok: break; default: throw code; }"],
  ])("lets one %s be", (_how, text) => {
    expect(rules.findOpenSwitches(parseSources({ "src/core/a.ts": `${types}\n${text}` }))).toEqual([]);
  });
});

describe("findUnrunTests()", () => {
  it.each(["it.skip", "it.only", "describe.skip", "describe.only", "test.todo", "it.skipIf"])("refuses %s", (call) => {
    const sources = parseSources({ "src/core/a.test.ts": `${call}("a", () => {}); it.each([1])("b", () => {});` });
    expect(rules.findUnrunTests(sources)).toEqual([`src/core/a.test.ts:1: ${call}: every test runs`]);
  });
});
