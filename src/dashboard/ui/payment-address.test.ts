import { describe, expect, it, vi } from "vitest";
import {
  amountsOf,
  dayBegin,
  dayOf,
  minorOf,
  type PaymentSearch,
  readPaymentSearch,
  readRefundSearch,
  withChosen,
} from "./payment-address.ts";

describe("readPaymentSearch()", () => {
  it("keeps filters and drops everything else", () => {
    const search = {
      status: "declined",
      gateway: "STRIPE",
      order: " o=1 ",
      from: 49,
      to: 50.25,
      failover: true,
      dispute: "lost",
    };
    expect(readPaymentSearch(search)).toEqual({ ...search, order: "o=1" });
    expect(
      readPaymentSearch({
        status: "x",
        dispute: "y",
        gateway: "a b",
        from: "-1",
        after: "soon",
        q: " ",
        failover: "no",
      }),
    ).toEqual({});
  });
});

describe("readRefundSearch()", () => {
  it("keeps filters and drops everything else", () => {
    const search = { status: "failed", gateway: "STRIPE", reference: " re_1 ", from: 7, after: "2026-11-01" };
    expect(readRefundSearch({ ...search, q: "x", failover: true, order: "o" })).toEqual({
      ...search,
      reference: "re_1",
    });
    expect(readRefundSearch({ status: "declined", gateway: "a b", before: "soon" })).toEqual({});
  });
});

describe("amountsOf()", () => {
  const currencies = [
    { code: "EUR", exponent: 2 },
    { code: "JPY", exponent: 0 },
  ];
  it("reads amounts in the chosen currency", () => {
    expect(amountsOf({ from: 1.25, currency: "EUR" }, currencies)).toEqual({
      type: "amounts",
      minor: { amountFrom: 125n },
    });
    expect(amountsOf({ from: 1500, to: 2000, currency: "JPY" }, currencies)).toEqual({
      type: "amounts",
      minor: { amountFrom: 1_500n, amountTo: 2_000n },
    });
    expect(amountsOf({ currency: "JPY" }, [])).toEqual({ type: "amounts", minor: {} });
    expect(amountsOf({ to: 1, currency: "JPY" }, [])).toEqual({ type: "notLoaded" });
  });

  it.each([
    [{ from: 49 }, "The amount has no currency"],
    [{ from: 1, to: 1.5, currency: "JPY" }, "JPY has fewer decimals than 1.5"],
    [{ from: 1, currency: "ABC" }, "There is no currency ABC"],
  ])("searches nothing for %j", (search, title) => {
    expect(amountsOf(search, currencies)).toMatchObject({ type: "problem", title });
  });
});

describe("withChosen()", () => {
  it("changes only the outcome, and removes it", () => {
    const rest: PaymentSearch = { after: "2026-11-01", before: "2026-11-20", gateway: "STRIPE", order: "o-1" };
    expect(withChosen({ ...rest, failover: true }, ["status", "failover"], { status: "declined" })).toEqual({
      ...rest,
      status: "declined",
    });
    expect(withChosen({ ...rest, status: "declined" }, ["status", "failover"], {})).toEqual(rest);
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
  it("is the browser's own midnight, and undefined for an invalid date", () => {
    expect(dayBegin("2026-03-01")).toEqual(new Date(2026, 2, 1));
    expect(dayBegin("2026-02-28", 1)).toEqual(new Date(2026, 2, 1));
    expect(dayBegin("2026-02-31")).toBeUndefined();
    expect(dayOf(new Date(2026, 0, 9, 23, 59))).toBe("2026-01-09");
  });

  it("counts days back by the calendar, over the day of 23 hours and the one of 25", () => {
    vi.stubEnv("TZ", "Europe/Berlin");
    expect(dayOf(new Date("2026-04-01T00:30:00+02:00"), 6)).toBe("2026-03-26");
    expect(dayOf(new Date("2026-10-26T23:30:00+01:00"), 6)).toBe("2026-10-20");
    expect(dayOf(new Date("2026-03-01T12:00:00+01:00"), 0)).toBe("2026-03-01");
    vi.unstubAllEnvs();
  });
});
