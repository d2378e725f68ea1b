import { describe, expect, it } from "vitest";
import { authenticationCards } from "../gateways/sandbox/authentication-cards.ts";
import { providerCards } from "../gateways/sandbox/provider-cards.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { planExamples, planTraffic } from "./traffic-plan.ts";

const known = [...testCards, ...authenticationCards, ...providerCards].map(({ number }) => number);
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
    expect(plan.filter(({ card }) => !known.includes(card))).toEqual([]);
    const hours = plan.map(({ minutesAgo }) => new Date(end - minutesAgo * 60_000).getUTCHours());
    const between = (from: number, to: number) => hours.filter((hour) => hour >= from && hour < to).length;
    expect(between(18, 22)).toBeGreaterThan(5 * between(1, 5));
  });

  it.each([
    ["a week", planTraffic("demo", end)],
    ["the examples", planExamples()],
  ])("has of everything that a payment can do in %s", (_what, plan) => {
    const has = (manner: Partial<(typeof plan)[number]>) =>
      plan.some((payment) => Object.entries(manner).every(([name, value]) => payment[name as "card"] === value));
    for (const atBank of ["passes", "fails"] as const) expect(has({ atBank }), atBank).toBe(true);
    for (const hold of ["captured in part", "cancelled"] as const) expect(has({ hold }), hold).toBe(true);
    for (const refund of ["whole", "part"] as const) expect(has({ refund }), refund).toBe(true);
    expect(plan.filter(({ card }) => !known.includes(card))).toEqual([]);
  });

  it("has an outage of the first gateway that a chart shows", () => {
    const during = planTraffic("demo", end).filter(({ minutesAgo }) => minutesAgo > 49 * 60 && minutesAgo <= 51 * 60);
    const failing = ["4000000000005001", "4000000000004087", "4000000000005035"];
    expect(during.length).toBeGreaterThanOrEqual(30);
    expect(during.filter(({ card }) => failing.includes(card)).length).toBeGreaterThan(during.length / 3);
  });
});
