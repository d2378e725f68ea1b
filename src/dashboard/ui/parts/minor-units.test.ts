import { describe, expect, it } from "vitest";
import { decimalOf, minorOfText } from "./minor-units.ts";

describe("decimalOf() and minorOfText()", () => {
  it.each([
    [4900n, 2, "49.00"],
    [5n, 2, "0.05"],
    [-5n, 2, "-0.05"],
    [1234n, 3, "1.234"],
    [500n, 0, "500"],
    [999_999_999_999_999n, 3, "999999999999.999"],
  ])("write %s with %i decimals as %s", (amountMinor, exponent, text) => {
    expect(decimalOf({ amountMinor, exponent })).toBe(text);
    if (amountMinor >= 0n) expect(minorOfText(text, exponent)).toBe(amountMinor);
  });

  it.each([
    [" 7 ", 2, 700n],
    ["7,5", 2, 750n],
    ["7.005", 2, undefined],
    ["1.000,00", 2, undefined],
    ["-7", 2, undefined],
    ["1e3", 2, undefined],
    ["", 2, undefined],
  ])("read %j with %i decimals as %s", (text, exponent, minor) => {
    expect(minorOfText(text, exponent)).toBe(minor);
  });
});
