import { describe, expect, it } from "vitest";
import { daysBefore, readAnalyticsSearch } from "./analytics-search.ts";

describe("readAnalyticsSearch()", () => {
  it("keeps valid parameters", () => {
    const asked = { range: "28d", zone: "Asia/Kolkata", points: "week", gateway: "SANDBOX_A", currency: "EUR" };
    expect(readAnalyticsSearch(asked)).toEqual(asked);
    const own = { first: "2026-11-01", last: "2026-11-20" };
    expect(readAnalyticsSearch({ ...own, range: "7d" })).toEqual(own);
  });

  it("drops invalid ones", () => {
    const nonsense = { range: "9y", zone: "Mars/Olympus", points: "year", gateway: "<b>", currency: 5, other: "x" };
    expect(readAnalyticsSearch(nonsense)).toEqual({});
    expect(readAnalyticsSearch({ first: "2026-11-01" })).toEqual({});
  });
});

describe("daysBefore()", () => {
  it("counts calendar days, across months, leap days and clock changes", () => {
    expect([daysBefore("2028-03-01", 1), daysBefore("2026-01-01", 1), daysBefore("2026-11-02", 6)]).toEqual([
      "2028-02-29",
      "2025-12-31",
      "2026-10-27",
    ]);
  });
});
