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

  it("refuses such a folder, and lets pass names that only hold such a word", () => {
    expect(rules.findBadNames(parseSources({ "src/utils/money.ts": "" }))).toHaveLength(1);
    const good = ["service-token.ts", "settle.e2e.test.ts", "api-keys.ts", "typesetting.ts"];
    expect(rules.findBadNames(parseSources(Object.fromEntries(good.map((name) => [`src/core/${name}`, ""]))))).toEqual(
      [],
    );
  });
});

describe("findLongFiles() and findLongMedian()", () => {
  it("count from 301 lines a file and 111 lines in the middle", () => {
    const sources = parseSources({ "src/a.ts": lines(301), "src/b.ts": lines(300), "src/c.ts": lines(110) });
    expect(rules.findLongFiles(sources)).toEqual(["src/a.ts: 301 lines"]);
    expect(rules.findLongMedian(sources)).toEqual(["the median file has 300 lines"]);
    expect(rules.findLongMedian(parseSources({ "src/c.ts": lines(110) }))).toEqual([]);
  });
});

describe("findLongFunctions()", () => {
  it("counts functions, arrows and methods from 71 lines, but not a describe's callback", () => {
    const body = (count: number) => `{\n${lines(count - 2)}}`;
    const sources = parseSources({
      "src/a.ts": `function a() ${body(71)}\nconst b = () => ${body(71)};\nclass C { d() ${body(71)} }`,
      "src/b.ts": `function a() ${body(70)}\ndescribe("b", () => ${body(200)});`,
    });
    const found = [1, 72, 143].map((line) => `src/a.ts:${line}: a function of 71 lines`);
    expect(rules.findLongFunctions(sources)).toEqual(found);
  });
});

describe("findMissingOpenings()", () => {
  it("asks for a sentence before the first statement, except of tests", () => {
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
    "export type a = 1;",
    "export interface a {}",
    "const a = 1;\nexport { a };",
    "const a = 1;\nexport { a as b };",
    "// A line.\nexport const a = 1;",
  ])("refuses %j, also right below the sentence that the file opens with", (text) => {
    expect(found({ "src/a.ts": `${opening}${text}` })).toHaveLength(1);
    expect(found({ "src/a.ts": `${opening}import "node:fs";\n${text}` })).toHaveLength(1);
  });

  it("takes a sentence for each, and one for constants on lines that follow each other", () => {
    const sentence = "/** Says what it is. */\n";
    const constants = `${sentence}export const a = 1;\nexport const b = 2;\n`;
    expect(found({ "src/a.ts": `${opening}${constants}` })).toEqual([]);
    expect(
      found({ "src/a.ts": `${opening}${sentence}export type A = 1;\n${sentence}const b = 1;\nexport { b };` }),
    ).toEqual([]);
    expect(found({ "src/a.ts": `${opening}${constants}\nexport const c = 3;` })).toEqual(["src/a.ts:6:"]);
    expect(found({ "src/a.ts": `${opening}${constants}export type C = 3;` })).toEqual(["src/a.ts:5:"]);
  });

  it("asks nothing of what is not exported or handed on, of tests, migrations and languages", () => {
    const bare = "export const a = 1;";
    expect(
      found({
        "src/a.ts": `${opening}const own = 1; export { c } from "./c.ts"; export type { D } from "./d.ts";`,
        "src/a.test.ts": bare,
        "src/migrations/environment/migration-001-payment.ts": bare,
        "widget/locales/de.ts": bare,
        "widget/vault-sdk/locales/de.ts": bare,
      }),
    ).toEqual([]);
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
      "src/barrel.ts: only hands on the exports of other files",
      "src/star.ts:1: export *",
    ]);
  });
});
