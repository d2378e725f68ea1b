import { describe, expect, it } from "vitest";
import { changeOf, changeOfRate, pairVolumes } from "./comparison.ts";

describe("the comparison with the period before", () => {
  it.each([
    [120n, 100n, "20% more than before"],
    [50n, 100n, "50% less than before"],
    [100n, 100n, "as before"],
    [100_001n, 100_000n, "about as before"],
    [5n, 0n, "none before"],
  ])("of %s with %s", (now, before, words) => {
    expect(changeOf(now, before)).toBe(words);
  });

  it.each([
    [0.91, 0.9, "1.0 points more than before"],
    [0.85, 0.9, "5.0 points less than before"],
    [0.9, 0.9, "as before"],
    [0.9, undefined, undefined],
    [undefined, 0.9, undefined],
  ])("of the rate %s with %s", (now, before, words) => {
    expect(changeOfRate(now, before)).toBe(words);
  });

  it("keeps the order of the currencies, whichever has more", () => {
    const volume = (currency: string, capturedMinor: bigint) => ({ currency, decimals: 2, capturedMinor });
    const pairs = pairVolumes([volume("USD", 900n), volume("EUR", 1n)], [volume("GBP", 7n), volume("USD", 3n)]);
    expect(pairs.map(({ currency, now, before }) => [currency, now, before])).toEqual([
      ["EUR", 1n, 0n],
      ["GBP", 0n, 7n],
      ["USD", 900n, 3n],
    ]);
    expect(pairVolumes([volume("CHF", 0n)], [])).toEqual([]);
  });
});
