import { describe, expect, it } from "vitest";
import { parseAmount } from "./amounts.ts";

describe("parseAmount()", () => {
  it.each([
    ["49.00 EUR", 4_900n, "EUR"],
    ["49eur", 4_900n, "EUR"],
    ["EUR 1,234.50", 123_450n, "EUR"],
    ["EUR49", 4_900n, "EUR"],
    ["4900 JPY", 4_900n, "JPY"],
    ["1.5 KWD", 1_500n, "KWD"],
  ])("reads %j", (text, amountMinor, currency) => {
    expect(parseAmount(text)).toEqual({ amountMinor, currency });
  });

  it.each([
    ["4900", /with its currency, such as 49\.00EUR/],
    ["49.00", /with its currency/],
    ["49.00 XXX", /with its currency/],
    ["EUR=50000", /Enter an amount such as 49\.00/],
    ["1,000 EUR", /could be 1\.00 EUR or 1000\.00 EUR/],
    ["1.000 KWD", /could be 1\.00 KWD or 1000\.000 KWD/],
    ["49.5 JPY", /JPY has no decimals/],
    ["49 EUR USD", /such as 49\.00/],
    ["0 EUR", /above zero/],
  ])("refuses %j", (text, problem) => {
    expect(() => parseAmount(text)).toThrow(problem);
  });
});
