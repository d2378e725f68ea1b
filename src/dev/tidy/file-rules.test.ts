import { describe, expect, it } from "vitest";
import * as rules from "./file-rules.ts";
import { parseSources } from "./read-sources.ts";

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
