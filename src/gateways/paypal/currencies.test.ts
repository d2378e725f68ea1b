import { describe, expect, it } from "vitest";
import { fromMoney, isSameMoney, toMoney, whyNotPayable } from "./currencies.ts";

describe("toMoney()", () => {
  it.each([
    [4900, "EUR", "49.00"],
    [5, "USD", "0.05"],
    [999_999_999_999, "GBP", "9999999999.99"],
    [4900, "JPY", "4900"],
    [490_000, "HUF", "4900"],
    [100, "TWD", "1"],
  ])("writes %d minor units of %s as %s", (amountMinor, currency, value) => {
    expect(toMoney({ amountMinor, currency })).toEqual({ currency_code: currency, value });
    expect(isSameMoney({ currency_code: currency, value }, { amountMinor, currency })).toBe(true);
  });
});

describe("isSameMoney()", () => {
  it("accepts no other notation as our amount", () => {
    const amount = { amountMinor: 4900, currency: "EUR" };
    for (const money of [
      { currency_code: "EUR", value: "49.0" },
      { currency_code: "EUR", value: "49" },
      { currency_code: "EUR", value: 49 },
      { currency_code: "eur", value: "49.00" },
      { currency_code: "USD", value: "49.00" },
      { value: "49.00" },
      "49.00",
      null,
    ]) {
      expect(isSameMoney(money, amount), JSON.stringify(money)).toBe(false);
    }
  });
});

describe("whyNotPayable()", () => {
  it("refuses every amount that PayPal cannot represent exactly", () => {
    expect(whyNotPayable({ amountMinor: 4900, currency: "EUR" })).toBeUndefined();
    expect(whyNotPayable({ amountMinor: 4950, currency: "HUF" })).toContain("exactly");
    expect(whyNotPayable({ amountMinor: 4950, currency: "TWD" })).toContain("exactly");
    expect(whyNotPayable({ amountMinor: 100, currency: "INR" })).toContain("does not accept");
  });
});

describe("fromMoney()", () => {
  it("reads PayPal's notation, and nothing that only looks like it", () => {
    expect(fromMoney({ currency_code: "EUR", value: "12.50" })).toEqual({ amountMinor: 1250, currency: "EUR" });
    expect(fromMoney({ currency_code: "EUR", value: "0.05" })).toEqual({ amountMinor: 5, currency: "EUR" });
    expect(fromMoney({ currency_code: "JPY", value: "1250" })).toEqual({ amountMinor: 1250, currency: "JPY" });
    expect(fromMoney({ currency_code: "HUF", value: "12" })).toEqual({ amountMinor: 1200, currency: "HUF" });
    for (const money of [
      { currency_code: "EUR", value: "12.5" },
      { currency_code: "EUR", value: "1250" },
      { currency_code: "EUR", value: 12.5 },
      { currency_code: "EUR", value: "-12.50" },
      { currency_code: "JPY", value: "12.50" },
      { currency_code: "INR", value: "12.50" },
      { value: "12.50" },
      null,
    ]) {
      expect(fromMoney(money), JSON.stringify(money)).toBeUndefined();
    }
  });
});
