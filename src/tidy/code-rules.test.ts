import { describe, expect, it } from "vitest";
import * as rules from "./code-rules.ts";
import { parseSources } from "./read-sources.ts";

describe("findEnvironmentReads()", () => {
  it("lets config.ts read the environment and nobody else, and does not mind a comment", () => {
    const sources = parseSources({
      "src/config.ts": "const port = process.env.PORT;",
      "src/client/examples/merchant-backend.ts": "const port = process.env.PORT;",
      "src/edge/server.ts": "// process.env is read in config.ts.\nconst port = process.env.PORT;",
    });
    expect(rules.findEnvironmentReads(sources)).toContain(
      "src/edge/server.ts:2: process.env.PORT: only src/config.ts reads the environment",
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

  it("lets core make dates of what it was given and ask app.clock()", () => {
    const text = 'const a = new Date(text); const b = entropy.now(); const c = "SELECT app.clock(), app.now()";';
    expect(rules.findHiddenInputs(parseSources({ "src/core/a.ts": text }))).toEqual([]);
  });
});

describe("findUnrunTests()", () => {
  it.each(["it.skip", "it.only", "describe.skip", "describe.only", "test.todo", "it.skipIf"])("refuses %s", (call) => {
    const sources = parseSources({ "src/core/a.test.ts": `${call}("a", () => {}); it.each([1])("b", () => {});` });
    expect(rules.findUnrunTests(sources)).toEqual([`src/core/a.test.ts:1: ${call}: every test runs`]);
  });
});
