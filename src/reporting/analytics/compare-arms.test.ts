import { describe, expect, it } from "vitest";
import { describeDifference, differenceOf, paymentsNeeded, rateOf } from "./compare-arms.ts";

const rounded = (estimate: { readonly low: number; readonly high: number } | undefined) =>
  estimate && [estimate.low, estimate.high].map((end) => end.toFixed(4));

describe("rateOf()", () => {
  // Newcombe, Two-sided confidence intervals for the single proportion (Statistics in Medicine 17, 1998), table I, method 3.
  it.each([
    [81, 263, "0.2553", "0.3662"],
    [15, 148, "0.0624", "0.1605"],
    [0, 20, "0.0000", "0.1611"],
    [1, 29, "0.0061", "0.1718"],
  ])("has the published interval for %s of %s", (count, of, low, high) => {
    expect(rounded(rateOf({ count, of }))).toEqual([low, high]);
  });
});

describe("differenceOf()", () => {
  // Newcombe, Interval estimation for the difference between independent proportions (Statistics in Medicine 17, 1998),
  // table II, method 10, with the arms exchanged.
  it.each([
    [{ count: 48, of: 80 }, { count: 56, of: 70 }, "0.0524", "0.3339"],
    [{ count: 3, of: 10 }, { count: 9, of: 10 }, "0.1705", "0.8090"],
    [{ count: 0, of: 10 }, { count: 10, of: 10 }, "0.6075", "1.0000"],
  ])("has the published interval for %o and %o", (first, second, low, high) => {
    expect(rounded(differenceOf(first, second))).toEqual([low, high]);
  });

  it("is unknown until both arms have payments", () => {
    expect(differenceOf({ count: 0, of: 0 }, { count: 1, of: 1 })).toBeUndefined();
  });
});

describe("paymentsNeeded()", () => {
  it("is largest while no rate is known and for an unequal share, and falls as the rate is known", () => {
    const of = (percent: number, count: number, all: number) => paymentsNeeded({ percent, ended: { count, of: all } });
    // 1,570 in each arm; by both rates, 50 % against 55 % needs 1,565 (Fleiss, without correction for continuity).
    expect(of(50, 0, 0)).toBe(3140);
    expect(of(10, 0, 0)).toBe(8721);
    // 90 %, and the 59.6 % that 9 of 10 may be.
    expect(of(50, 90_000, 100_000)).toBe(1150);
    expect(of(50, 9, 10)).toBe(3025);
  });
});

describe("describeDifference()", () => {
  it("says when chance alone may explain a difference, and which arm approves more when it cannot", () => {
    const describeOf = (a: number, b: number, of: number) => describeDifference({ count: a, of }, { count: b, of });
    expect(describeOf(8, 9, 10)).toBe(
      "Chance alone may explain it: the approval rate of variant B is between 23.6 points lower and 42.1 points higher (95% confidence).",
    );
    expect(describeOf(800, 900, 1000)).toMatch(
      /^Variant B approves more: by 6\.\d to 13\.\d points \(95% confidence\)\.$/,
    );
    expect(describeOf(900, 800, 1000)).toMatch(
      /^Variant A approves more: by 6\.\d to 13\.\d points \(95% confidence\)\.$/,
    );
    expect(describeDifference({ count: 0, of: 0 }, { count: 0, of: 0 })).toBe("No payment has ended yet.");
    expect(describeDifference({ count: 1, of: 1 }, { count: 0, of: 0 })).toBe("No payment of variant B has ended yet.");
  });
});
