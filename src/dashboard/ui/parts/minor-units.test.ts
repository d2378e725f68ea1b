import { describe, expect, it } from "vitest";
import { decimalOf, readAmount, typedOf } from "./minor-units.ts";

const units = {
  EUR: { currency: "EUR", exponent: 2 },
  JPY: { currency: "JPY", exponent: 0 },
  KWD: { currency: "KWD", exponent: 3 },
};
type Code = keyof typeof units;

describe("decimalOf()", () => {
  it.each([
    [4900n, 2, "49.00"],
    [5n, 2, "0.05"],
    [-5n, 2, "-0.05"],
    [1234n, 3, "1.234"],
    [500n, 0, "500"],
    [12_345_678_901_234_567_890n, 2, "123456789012345678.90"],
  ])("writes %s with %i decimals as %s", (amountMinor, exponent, text) => {
    expect(decimalOf({ amountMinor, exponent })).toBe(text);
  });
});

describe("readAmount()", () => {
  it.each<[string, Code, bigint]>([
    ["49", "EUR", 4_900n],
    [" 7,5 ", "EUR", 750n],
    ["100.00", "EUR", 10_000n],
    ["0", "EUR", 0n],
    ["1,234.50", "EUR", 123_450n],
    ["1.234,50", "EUR", 123_450n],
    ["1 234,50", "EUR", 123_450n],
    ["1\u202f234,50", "EUR", 123_450n],
    ["1,000,000", "EUR", 100_000_000n],
    ["1000", "JPY", 1_000n],
    ["49", "KWD", 49_000n],
    ["0.125", "KWD", 125n],
    ["01.234", "KWD", 1_234n],
    ["1234.567", "KWD", 1_234_567n],
    ["1,234.567", "KWD", 1_234_567n],
  ])("reads %j in %s as %s minor units", (text, code, amountMinor) => {
    expect(readAmount(text, units[code])).toEqual({ type: "amount", amountMinor });
  });

  it.each<[string, Code, string]>([
    ["1,000", "EUR", "This could be 1.00 EUR or 1000.00 EUR. Enter 1.00 or 1000.00."],
    ["1.000", "EUR", "This could be 1.00 EUR or 1000.00 EUR. Enter 1.00 or 1000.00."],
    ["12.345", "EUR", "This could be 12.345 EUR or 12345.00 EUR. Enter 12345.00 if you mean the second."],
    ["1,000", "JPY", "This could be 1 JPY or 1000 JPY. Enter 1 or 1000."],
    ["1.000", "KWD", "This could be 1.00 KWD or 1000.000 KWD. Enter 1.00 or 1000.000."],
    ["1,234", "KWD", "This could be 01.234 KWD or 1234.000 KWD. Enter 01.234 or 1234.000."],
  ])("refuses %j in %s, whose separator could be either, with both readings", (text, code, problem) => {
    expect(readAmount(text, units[code])).toEqual({ type: "problem", problem });
  });

  it.each<[string, Code, RegExp]>([
    ["7.0050", "EUR", /^EUR has 2 decimals: enter an amount such as 49\.00\.$/],
    ["49.00", "JPY", /^JPY has no decimals/],
    ["-7", "EUR", /^Enter an amount such as 49\.00\.$/],
    ["1e3", "EUR", /such as/],
    ["1,00,000.00", "EUR", /such as/],
    ["1.234.50", "EUR", /such as/],
    ["", "EUR", /such as/],
    ["10000000000", "EUR", /^Enter at most 9999999999\.99 EUR\.$/],
  ])("refuses %j in %s", (text, code, problem) => {
    expect(readAmount(text, units[code])).toEqual({ type: "problem", problem: expect.stringMatching(problem) });
  });
});

describe("typedOf()", () => {
  it.each([0n, 5n, 999n, 1_000n, 1_234n, 1_250n, 49_000n, 999_999n, 1_000_000n, 999_999_999_999n])(
    "writes %s minor units so that they are read again, in each currency",
    (amountMinor) => {
      for (const unit of Object.values(units)) {
        const text = typedOf({ amountMinor, exponent: unit.exponent });
        expect(readAmount(text, unit)).toEqual({ type: "amount", amountMinor });
      }
    },
  );
});
