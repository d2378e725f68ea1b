import { describe, expect, it } from "vitest";
import { currencyOf, decimalText, exactMinor, roundedMinor } from "./amounts.ts";

/** A bignumber.js, as far as the provider sees it. */
const bigNumberJs = (text: string) => ({ s: 1, e: 1, c: [1], toString: () => text });

describe("decimalText", () => {
  it.each([
    [49, "49"],
    ["49.50", "49.5"],
    [100, "100"],
    [{ value: "9.500000000000000000", precision: 20 }, "9.5"],
    [{ numeric: 1, raw: { value: "0.10", precision: 20 } }, "0.1"],
    [bigNumberJs("11.8881"), "11.8881"],
  ])("reads %j", (amount, text) => expect(decimalText(amount)).toBe(text));

  it.each([[-1], ["1e21"], [Number.NaN], [undefined], [null], [{}], ["1,5"]])("refuses %j", (amount) => {
    expect(() => decimalText(amount)).toThrow("amount must be a decimal number, and not negative.");
  });
});

describe("minor units", () => {
  it.each([
    ["eur", "49", 4900],
    ["eur", "0.1", 10],
    ["eur", "1.005", undefined],
    ["jpy", "4900", 4900],
    ["jpy", "4900.5", undefined],
    ["kwd", "1.005", 1005],
    ["iqd", "1.0005", undefined],
    ["huf", "12.34", 1234],
  ])("of %s %s are exactly %s", (code, amount, minor) => {
    const { decimals } = currencyOf(code);
    if (minor === undefined) expect(() => exactMinor(amount, decimals)).toThrow(`at most ${decimals} decimals`);
    else expect([exactMinor(amount, decimals), roundedMinor(amount, decimals)]).toEqual([minor, minor]);
  });

  it("are rounded half up for a new payment", () => {
    const amounts = ["11.8881", "1.005", "1.00499999", "0.995"];
    expect(amounts.map((amount) => roundedMinor(amount, 2))).toEqual([1189, 101, 100, 100]);
    expect(roundedMinor("0.5", 0)).toBe(1);
  });

  it("are refused where a number could not count them, and of a currency that is none", () => {
    expect(() => exactMinor("90071992547409.91", 2)).toThrow("amount is too large.");
    expect(exactMinor("90071992547409.90", 2)).toBe(9_007_199_254_740_990);
    expect(() => currencyOf("xau")).toThrow("currency_code must be an ISO 4217 currency; XAU is not.");
  });
});
