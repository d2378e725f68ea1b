import { describe, expect, it } from "vitest";
import * as rules from "./file-rules.ts";
import { parseSources } from "./read-sources.ts";

function lines(count: number): string {
  return "// A line of comment.\n".repeat(count);
}

describe("findBadNames()", () => {
  it.each(["index", "utils", "http-helpers", "types", "payment-service", "SettlePayment", "settle_payment"])(
    "refuses %s.ts",
    (stem) => {
      expect(rules.findBadNames(parseSources({ [`src/core/${stem}.ts`]: "" }))).toHaveLength(1);
    },
  );

  it("refuses such a folder, and accepts names that only contain such a word", () => {
    expect(rules.findBadNames(parseSources({ "src/utils/money.ts": "" }))).toHaveLength(1);
    const good = ["service-token.ts", "settle.e2e.test.ts", "api-keys.ts", "typesetting.ts"];
    expect(rules.findBadNames(parseSources(Object.fromEntries(good.map((name) => [`src/core/${name}`, ""]))))).toEqual(
      [],
    );
  });
});

describe("findLongFiles()", () => {
  it("counts from 501 lines", () => {
    const sources = parseSources({ "src/a.ts": lines(501), "src/b.ts": lines(500) });
    expect(rules.findLongFiles(sources)).toEqual(["src/a.ts: 501 lines"]);
  });
});

describe("findLongFunctions()", () => {
  it("counts functions, arrows and methods from 101 lines, but not a describe's callback", () => {
    const body = (count: number) => `{\n${lines(count - 2)}}`;
    const sources = parseSources({
      "src/a.ts": `function a() ${body(101)}\nconst b = () => ${body(101)};\nclass C { d() ${body(101)} }`,
      "src/b.ts": `function a() ${body(100)}\ndescribe("b", () => ${body(200)});`,
    });
    const found = [1, 102, 203].map((line) => `src/a.ts:${line}: a function of 101 lines`);
    expect(rules.findLongFunctions(sources)).toEqual(found);
  });
});

describe("findMissingOpenings()", () => {
  it("requires a sentence before the first statement, except in tests", () => {
    const sources = parseSources({
      "src/bare.ts": `import "node:fs"; /** Too late. */`,
      "src/word.ts": "// todo\n",
      "src/block.ts": "/**\n * Owns something.\n * And says more.\n */\nexport const a = 1;",
      "src/lines.mjs": "#!/usr/bin/env node\n// Owns something.\n// And says more.\n",
      "src/a.test.ts": `import "node:fs";`,
    });
    expect(rules.findMissingOpenings(sources).map((problem) => problem.split(":")[0])).toEqual([
      "src/bare.ts",
      "src/word.ts",
    ]);
  });
});

describe("findUndocumentedExports()", () => {
  const found = (texts: Readonly<Record<string, string>>) =>
    rules.findUndocumentedExports(parseSources(texts)).map((problem) => problem.split(" ")[0]);
  const opening = "/** Owns something. */\n";

  it.each([
    "export const a = 1;",
    "export function a() {}",
    "export async function a() {}",
    "export class a {}",
    "const a = 1;\nexport { a };",
    "const a = 1;\nexport { a as b };",
    "// A line.\nexport const a = 1;",
  ])("refuses %j, also right below the sentence that the file opens with", (text) => {
    expect(found({ "src/a.ts": `${opening}${text}` })).toHaveLength(1);
    expect(found({ "src/a.ts": `${opening}import "node:fs";\n${text}` })).toHaveLength(1);
  });

  it("asks nothing of types, which say by their names what they are", () => {
    expect(found({ "src/a.ts": `${opening}export type A = 1;\nexport interface B {}` })).toEqual([]);
    expect(found({ "src/a.ts": `${opening}type A = 1; export type { A };` })).toEqual([]);
  });

  it("accepts a sentence for each, and one for constants on consecutive lines", () => {
    const sentence = "/** Says what it is. */\n";
    const constants = `${sentence}export const a = 1;\nexport const b = 2;\n`;
    expect(found({ "src/a.ts": `${opening}${constants}` })).toEqual([]);
    expect(
      found({ "src/a.ts": `${opening}${sentence}export const a = 1;\n${sentence}const b = 1;\nexport { b };` }),
    ).toEqual([]);
    expect(found({ "src/a.ts": `${opening}${constants}\nexport const c = 3;` })).toEqual(["src/a.ts:6:"]);
    expect(found({ "src/a.ts": `${opening}${constants}export function c() {}` })).toEqual(["src/a.ts:5:"]);
  });

  it("ignores names that are not exported or only re-exported, tests, migrations and languages", () => {
    const bare = "export const a = 1;";
    expect(
      found({
        "src/a.ts": `${opening}const own = 1; export { c } from "./c.ts"; export type { D } from "./d.ts";`,
        "src/a.test.ts": bare,
        "src/migrations/environment/migration-002-notes.ts": bare,
        "widget/locales/de.ts": bare,
        "widget/vault-sdk/locales/de.ts": bare,
      }),
    ).toEqual([]);
  });
});

describe("findCommentFragments()", () => {
  const sources = parseSources({
    "src/a.ts": "/** What it is. */\nexport const a = 1;\n\n/**\n * Whether it is.\n */\nexport const b = 1;",
    "src/b.ts":
      "/** Whatever there is. */\nexport const c = 1;\n/** Says what it is. */\nexport const d = 1;\n// How it is.\n",
  });

  it("lists all of them and what to do when there are more than allowed", () => {
    expect(rules.findCommentFragments(sources, 1)).toEqual([
      "src/a.ts:1",
      "src/a.ts:4",
      "2 doc comments begin with What, Who, Whether, Where or How, and 1 are allowed: begin yours with a verb or a noun",
    ]);
  });

  it("finds nothing while there are no more", () => {
    expect(rules.findCommentFragments(sources, 2)).toEqual([]);
  });
});

describe("findBarrels()", () => {
  it("names files that only re-export, and every export of everything", () => {
    const sources = parseSources({
      "src/barrel.ts": `export { a } from "./a.ts"; export type { B } from "./a.ts";`,
      "src/star.ts": `export * from "./a.ts"; export const own = 1;`,
      "src/a.ts": `export const a = 1; export type B = 1; const b = 2; export { b };`,
    });
    expect(rules.findBarrels(sources)).toEqual([
      "src/barrel.ts: only re-exports other files",
      "src/star.ts:1: export *",
    ]);
  });
});
