import { describe, expect, it } from "vitest";
import { providerCards } from "../gateways/sandbox/provider-cards.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { planTraffic } from "./traffic-plan.ts";

const end = Date.UTC(2026, 10, 21, 12);

describe("planTraffic()", () => {
  it("draws the same week from the same seed, and another one from another", () => {
    expect(planTraffic("demo", end)).toEqual(planTraffic("demo", end));
    const drawn = (seed: string) => planTraffic(seed, end).map(({ orderRef: _, ...payment }) => payment);
    expect(drawn("demo")).not.toEqual(drawn("other"));
  });

  it("draws a week in order of time, of sandbox cards, with more customers by day than by night", () => {
    const plan = planTraffic("demo", end);
    const moments = plan.map(({ minutesAgo }) => minutesAgo);
    expect(moments).toEqual(moments.toSorted((one, other) => other - one));
    expect(Math.max(...moments)).toBeLessThan(7 * 24 * 60);
    expect(new Set(plan.map(({ orderRef }) => orderRef)).size).toBe(plan.length);
    const known = [...testCards, ...providerCards].map(({ number }) => number);
    expect(plan.filter(({ card }) => !known.includes(card))).toEqual([]);
    const hours = plan.map(({ minutesAgo }) => new Date(end - minutesAgo * 60_000).getUTCHours());
    const between = (from: number, to: number) => hours.filter((hour) => hour >= from && hour < to).length;
    expect(between(18, 22)).toBeGreaterThan(5 * between(1, 5));
  });
});
