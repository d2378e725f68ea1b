import { describe, expect, it } from "vitest";
import { amountText } from "./amount-text.ts";

describe("amountText()", () => {
  it.each([
    [{ amountMinor: 4900, currency: "EUR" }, "en", "€49.00"],
    [{ amountMinor: 4900, currency: "EUR" }, "de", "49,00\u00a0€"],
    [{ amountMinor: 4900, currency: "JPY" }, "en", "¥4,900"],
    [{ amountMinor: 1500, currency: "KWD" }, "en", "KWD\u00a01.500"],
    [{ amountMinor: 999_999_999_999, currency: "USD" }, "en", "$9,999,999,999.99"],
  ])("shows %o in %s as %s", (money, locale, text) => {
    expect(amountText(money, locale)).toBe(text);
  });

  it("follows ISO 4217 where browsers differ", () => {
    expect(amountText({ amountMinor: 1500, currency: "IQD" }, "en")).toContain("1.500");
    expect(amountText({ amountMinor: 1500, currency: "ISK" }, "en")).toContain("1,500");
  });
});
