import { describe, expect, it, onTestFinished, vi } from "vitest";
import { daysOf, readAnalyticsSearch } from "./analytics-search.ts";

describe("readAnalyticsSearch()", () => {
  it("keeps valid parameters", () => {
    const asked = {
      range: "28d",
      zone: "Asia/Kolkata",
      points: "week",
      gateway: "SANDBOX_A",
      currency: "EUR",
      by: "initiator",
    };
    expect(readAnalyticsSearch(asked)).toEqual(asked);
    const own = { first: "2026-11-01", last: "2026-11-20" };
    expect(readAnalyticsSearch({ ...own, range: "7d" })).toEqual(own);
  });

  it("drops invalid ones", () => {
    const nonsense = {
      range: "9y",
      zone: "Mars/Olympus",
      points: "year",
      gateway: "<b>",
      currency: 5,
      by: "day",
      other: "x",
    };
    expect(readAnalyticsSearch(nonsense)).toEqual({});
    expect(readAnalyticsSearch({ first: "2026-11-01" })).toEqual({});
  });
});

describe("daysOf()", () => {
  it("counts calendar days, across months, leap days and clock changes, with today as the last of seven", () => {
    onTestFinished(() => void vi.useRealTimers());
    const at = (now: string, search: Parameters<typeof daysOf>[0]) => {
      vi.useFakeTimers({ now: new Date(now) });
      return daysOf(search);
    };
    const day = (first: string) => ({ first, last: first });
    expect(at("2028-03-01T12:00:00Z", { range: "yesterday", zone: "UTC" })).toEqual(day("2028-02-29"));
    expect(at("2026-01-01T12:00:00Z", { range: "yesterday", zone: "UTC" })).toEqual(day("2025-12-31"));
    const week = { first: "2026-10-27", last: "2026-11-02" };
    expect(at("2026-11-03T03:00:00Z", { zone: "America/New_York" })).toEqual(week);
  });
});
