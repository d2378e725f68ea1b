import { describe, expect, it } from "vitest";
import { dayBegin, dayOf, minorOf, readPaymentSearch } from "./payment-address.ts";

describe("readPaymentSearch()", () => {
  it("keeps what is a filter, and leaves out what is none", () => {
    const search = { status: "declined", gateway: "STRIPE", order: " o=1 ", from: 49, to: 50.25, failover: true };
    expect(readPaymentSearch(search)).toEqual({ ...search, order: "o=1" });
    expect(
      readPaymentSearch({ status: "x", gateway: "a b", from: "-1", after: "soon", q: " ", failover: "no" }),
    ).toEqual({});
  });
});

describe("minorOf()", () => {
  it.each([
    [49, 2, 4900n],
    [49.5, 2, 4950n],
    [49.05, 2, 4905n],
    [500, 0, 500n],
    [1.005, 3, 1005n],
    [1.005, 2, undefined],
    [0.1, 0, undefined],
    [undefined, 2, undefined],
  ])("reads %s with %i decimals as %s", (decimal, exponent, minor) => {
    expect(minorOf(decimal, exponent)).toBe(minor);
  });
});

describe("dayBegin()", () => {
  it("is the browser's own midnight, and none for a day that is not in the calendar", () => {
    expect(dayBegin("2026-03-01")).toEqual(new Date(2026, 2, 1));
    expect(dayBegin("2026-02-28", 1)).toEqual(new Date(2026, 2, 1));
    expect(dayBegin("2026-02-31")).toBeUndefined();
    expect(dayOf(new Date(2026, 0, 9, 23, 59))).toBe("2026-01-09");
  });
});
