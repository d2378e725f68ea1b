import { describe, expect, it } from "vitest";
import { changeOf, changeOfRate } from "./comparison.ts";

describe("the comparison with the period before", () => {
  it.each([
    [120n, 100n, "20% more than before"],
    [50n, 100n, "50% less than before"],
    [100n, 100n, "as before"],
    [100_001n, 100_000n, "about as before"],
    [1_000n, 10n, "100 times as much as before"],
    [5n, 0n, undefined],
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
});
