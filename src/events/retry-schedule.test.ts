import { describe, expect, it } from "vitest";
import { parseRetryAfterMs, planNextAttempt, triesMax } from "./retry-schedule.ts";

const middle = 0.5;

describe("planNextAttempt()", () => {
  it("pauses 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, then is exhausted", () => {
    const pauses = Array.from({ length: triesMax }, (_, index) =>
      planNextAttempt({ tries: index + 1, random: middle }),
    );
    const seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    expect(pauses).toEqual([...seconds.map((s) => ({ type: "retry", pauseMs: s * 1_000 })), { type: "exhausted" }]);
  });

  it("spreads each pause by ten percent either way", () => {
    expect(planNextAttempt({ tries: 1, random: 0 })).toEqual({ type: "retry", pauseMs: 4_500 });
    expect(planNextAttempt({ tries: 1, random: 1 })).toEqual({ type: "retry", pauseMs: 5_500 });
  });

  it.each([
    { requested: 1_000, given: 5_000, why: "never sooner than scheduled" },
    { requested: 7_000, given: 7_000, why: "as requested in between" },
    { requested: 3_600_000, given: 10_000, why: "never later than twice the pause" },
  ])("honours Retry-After $why", ({ requested, given }) => {
    expect(planNextAttempt({ tries: 1, retryAfterMs: requested, random: 0 })).toEqual({
      type: "retry",
      pauseMs: given,
    });
  });

  it("is exhausted whatever Retry-After asks for", () => {
    expect(planNextAttempt({ tries: triesMax, retryAfterMs: 1_000, random: 0 })).toEqual({ type: "exhausted" });
  });
});

describe("parseRetryAfterMs()", () => {
  const now = new Date("2026-01-02T03:04:05.000Z");

  it("reads seconds and dates from 429 and 503", () => {
    expect(parseRetryAfterMs({ statusCode: 429, retryAfter: "7", now })).toBe(7_000);
    expect(parseRetryAfterMs({ statusCode: 503, retryAfter: "Fri, 02 Jan 2026 03:04:15 GMT", now })).toBe(10_000);
  });

  it("returns nothing for other answers, invalid values and past dates", () => {
    expect(parseRetryAfterMs({ statusCode: 500, retryAfter: "7", now })).toBeUndefined();
    expect(parseRetryAfterMs({ statusCode: 429, retryAfter: undefined, now })).toBeUndefined();
    expect(parseRetryAfterMs({ statusCode: 429, retryAfter: "soon", now })).toBeUndefined();
    expect(parseRetryAfterMs({ statusCode: 429, retryAfter: "Thu, 01 Jan 2026 00:00:00 GMT", now })).toBeUndefined();
  });
});
