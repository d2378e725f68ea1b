import { describe, expect, it } from "vitest";
import { fromGatewayAmount, isSameAmount, toGatewayAmount } from "./amounts.ts";

const currencies = { EUR: 2, ISK: 2, CVE: 0 };

describe("toGatewayAmount()", () => {
  it("keeps an amount whose currency has the same decimals on both sides", () => {
    expect(toGatewayAmount(currencies, { amountMinor: 4900, currency: "EUR" })).toEqual({ type: "exact", value: 4900 });
  });

  it("adds the decimals that only the gateway uses", () => {
    expect(toGatewayAmount(currencies, { amountMinor: 49, currency: "ISK" })).toEqual({ type: "exact", value: 4900 });
  });

  it("drops decimals that are zero, and refuses to drop any other", () => {
    expect(toGatewayAmount(currencies, { amountMinor: 4900, currency: "CVE" })).toEqual({ type: "exact", value: 49 });
    expect(toGatewayAmount(currencies, { amountMinor: 4901, currency: "CVE" })).toMatchObject({ type: "impossible" });
  });

  it("refuses a currency that the gateway does not accept", () => {
    expect(toGatewayAmount(currencies, { amountMinor: 4900, currency: "USD" })).toMatchObject({ type: "impossible" });
    expect(toGatewayAmount(currencies, { amountMinor: 1, currency: "toString" })).toMatchObject({ type: "impossible" });
  });

  it("refuses an amount that grows past exact integers", () => {
    const amount = { amountMinor: Number.MAX_SAFE_INTEGER, currency: "ISK" };
    expect(toGatewayAmount(currencies, amount)).toMatchObject({ type: "impossible" });
  });
});

describe("isSameAmount()", () => {
  it.each([4901, "4900", 4900.5, null, undefined])("distinguishes %j from 4900", (value) => {
    expect(isSameAmount(currencies, { amountMinor: 4900, currency: "EUR" }, value, "EUR")).toBe(false);
  });

  it("distinguishes currencies, also by their case", () => {
    expect(isSameAmount(currencies, { amountMinor: 4900, currency: "EUR" }, 4900, "eur")).toBe(false);
    expect(isSameAmount(currencies, { amountMinor: 4900, currency: "EUR" }, 4900, "EUR")).toBe(true);
  });
});

describe("fromGatewayAmount()", () => {
  it("returns nothing for an amount that has no whole minor unit", () => {
    expect(fromGatewayAmount(currencies, 4950, "ISK")).toBeUndefined();
    expect(fromGatewayAmount(currencies, 4900, "ISK")).toEqual({ amountMinor: 49, currency: "ISK" });
  });
});
