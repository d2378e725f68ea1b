import { v7 } from "uuid";
import { describe, expect, it, vi } from "vitest";
import { drawOf } from "../record/routing-rules.ts";
import type { CardRange, RouteConditions, RoutedBy, RoutingCase } from "../rows/entities.ts";
import type { Candidate } from "./plan-route.ts";
import { cardFactsOf, followCases, implies, type PaymentFacts } from "./routing-cases.ts";

// Wednesday, 23:30 in Berlin and 21:30 in UTC.
const facts: PaymentFacts = {
  amountMinor: 4900,
  currency: "EUR",
  billingCountry: "DE",
  metadata: { tier: "gold" },
  at: new Date("2026-07-01T21:30:00Z"),
  card: { brand: "visa", type: "DEBIT", country: "FR" },
  draw: 50,
};
const one = (conditions: RouteConditions, name = "one"): RoutingCase => ({ name, conditions, connectionIds: ["a"] });
function chooseAmong(list: readonly RoutingCase[], about: PaymentFacts): RoutedBy | undefined {
  const cases = { list, cardRanges: [] };
  return followCases({ version: 1, failoverOn: [], candidates: [], all: [], cases }, about).routedBy;
}
const applies = (conditions: RouteConditions, changed: Partial<PaymentFacts> = {}) =>
  chooseAmong([one(conditions)], { ...facts, ...changed })?.case !== undefined;
const berlin = { timeZone: "Europe/Berlin" };

describe("a case", () => {
  it.each<[string, RouteConditions, RouteConditions]>([
    ["currency", { currencies: ["USD", "EUR"] }, { currencies: ["USD"] }],
    ["lowest amount", { amountFromMinor: 4900 }, { amountFromMinor: 4901 }],
    ["highest amount", { amountToMinor: 4900 }, { amountToMinor: 4899 }],
    ["card brand", { cardBrands: ["amex", "visa"] }, { cardBrands: ["amex"] }],
    ["card type", { cardTypes: ["DEBIT"] }, { cardTypes: ["CREDIT", "PREPAID"] }],
    ["issuing country", { issuingCountries: ["FR"] }, { issuingCountries: ["DE"] }],
    ["billing country", { billingCountries: ["DE"] }, { billingCountries: ["FR"] }],
    [
      "metadata",
      { metadata: [{ key: "tier", values: ["silver", "gold"] }] },
      { metadata: [{ key: "tier", values: ["silver"] }] },
    ],
    ["metadata that is absent", {}, { metadata: [{ key: "shop", values: ["gold", ""] }] }],
    ["day in its time zone", { time: { ...berlin, days: ["WEDNESDAY"] } }, { time: { ...berlin, days: ["THURSDAY"] } }],
    [
      "hours in its time zone",
      { time: { ...berlin, from: "23:30", until: "23:31" } },
      { time: { ...berlin, from: "21:00", until: "23:30" } },
    ],
    [
      "hours past midnight",
      { time: { ...berlin, from: "22:00", until: "06:00" } },
      { time: { ...berlin, from: "23:45", until: "06:00" } },
    ],
  ])("applies by its %s", (_, matching, other) => {
    expect(applies(matching)).toBe(true);
    expect(applies(other)).toBe(false);
  });

  it("makes one clock for each time zone, however many payments and cases it is used for", () => {
    const made = vi.spyOn(Intl, "DateTimeFormat");
    const time = { timeZone: "Pacific/Fiji", days: ["THURSDAY"] } as const;
    for (let count = 0; count < 50; count++) expect(applies({ time })).toBe(true);
    expect(made).toHaveBeenCalledTimes(1);
    made.mockRestore();
  });

  it("applies in the small hours if its hours pass midnight", () => {
    const time = { ...berlin, from: "22:00", until: "06:00" };
    expect(applies({ time }, { at: new Date("2026-07-01T03:59:00Z") })).toBe(true);
    expect(applies({ time }, { at: new Date("2026-07-01T04:00:00Z") })).toBe(false);
  });

  it("needs all of its conditions", () => {
    expect(applies({ currencies: ["EUR"], cardTypes: ["DEBIT"] })).toBe(true);
    expect(applies({ currencies: ["EUR"], cardTypes: ["CREDIT"] })).toBe(false);
  });

  it("is chosen before the ones below it", () => {
    const cases = [one({ currencies: ["USD"] }, "dollars"), one({}, "first"), one({ currencies: ["EUR"] }, "second")];
    expect(chooseAmong(cases, facts)?.case).toBe("first");
  });

  it.each<[RouteConditions, Partial<PaymentFacts>, string]>([
    [{ cardBrands: ["visa"] }, { card: {} }, "Unknown: the card’s brand."],
    [{ cardTypes: ["DEBIT"] }, { card: undefined }, "Unknown: the card’s type."],
    [{ issuingCountries: ["FR"] }, { card: { brand: "visa" } }, "Unknown: the card’s issuing country."],
    [{ billingCountries: ["DE"] }, { billingCountry: undefined }, "Unknown: the billing country."],
  ])("never applies by an unknown fact, which is reported: %o", (conditions, unknownFact, because) => {
    const cases = [one(conditions, "unsure"), one({}, "rest")];
    expect(chooseAmong(cases, { ...facts, ...unknownFact })).toMatchObject({
      case: "rest",
      unknown: [{ case: "unsure", because }],
    });
  });

  it("that does not apply by a known fact is not reported as unknown", () => {
    const conditions = { cardTypes: ["DEBIT" as const], currencies: ["USD"] };
    expect(chooseAmong([one(conditions)], { ...facts, card: {} })).toEqual({});
  });
});

describe("a split", () => {
  const candidate = (connectionId: string): Candidate => {
    return { connectionId, gateway: connectionId, credentialVersion: 1, paused: false, failing: false };
  };
  const all = ["a", "b", "c"].map(candidate);
  const split = { percent: 20, connectionIds: ["b", "a"] };
  const follow = (draw: number, list: readonly RoutingCase[] = []) => {
    const rule = { version: 1, failoverOn: [], candidates: [all[0]!], all, split, cases: { list, cardRanges: [] } };
    const { route, routedBy } = followCases(rule, { ...facts, draw });
    return { plan: route.candidates.map(({ connectionId }) => connectionId).join(), routedBy };
  };

  it("sends the draws up to its share by its own plan, and the others by the plan that has it", () => {
    const card = facts.card;
    expect(follow(20)).toEqual({
      plan: "b,a",
      routedBy: { card, isWithoutCases: true, split: { arm: "B", percent: 20, draw: 20 } },
    });
    expect(follow(21)).toMatchObject({ plan: "a", routedBy: { split: { arm: "A", percent: 20, draw: 21 } } });
  });

  it("of a case concerns the payments of the case alone, and that of the default plan all others", () => {
    const euro = { ...one({ currencies: ["EUR"] }), split: { percent: 60, connectionIds: ["c"] } };
    expect(follow(50, [euro])).toMatchObject({
      plan: "c",
      routedBy: { case: "one", split: { arm: "B", percent: 60 } },
    });
    const { routedBy, plan } = follow(10, [one({ currencies: ["EUR"] })]);
    expect([plan, routedBy?.split]).toEqual(["a", undefined]);
    expect(follow(10, [one({ currencies: ["USD"] })])).toMatchObject({
      plan: "b,a",
      routedBy: { split: { arm: "B" } },
    });
  });

  it("draws the same for a session each time, and each number about as often", () => {
    const id = v7();
    expect(drawOf(id)).toBe(drawOf(id));
    const draws = Array.from({ length: 20_000 }, () => drawOf(v7()));
    expect([Math.min(...draws), Math.max(...draws)]).toEqual([1, 100]);
    // The share of 20 % of 20 000 payments has a standard deviation of 0.28 points: six of them.
    expect(Math.abs(draws.filter((draw) => draw <= 20).length / draws.length - 0.2)).toBeLessThan(0.017);
  });
});

describe("the facts of a card", () => {
  const card = { brand: "visa", firstDigits: "45716400" };
  const own: CardRange[] = [
    { digits: "457164", country: "DK", type: "CREDIT" },
    { digits: "4571640", country: "DK", type: "DEBIT" },
  ];

  it("are those of the longest range", () => {
    expect(cardFactsOf(card, own)).toEqual({ brand: "visa", country: "DK", type: "DEBIT" });
    expect(cardFactsOf({ ...card, firstDigits: "45716499" }, own)).toMatchObject({ type: "CREDIT" });
  });

  it("are the merchant's before those of published test numbers", () => {
    const digits = { brand: "visa", firstDigits: "42424242" };
    expect(cardFactsOf(digits)).toEqual({ brand: "visa", country: "US", type: "CREDIT" });
    expect(cardFactsOf(digits, [{ digits: "424242", country: "DE" }])).toEqual({ brand: "visa", country: "DE" });
  });

  it("are unknown in no range, for an unknown network, and without digits", () => {
    expect(cardFactsOf({ brand: "unknown", firstDigits: "90000000" }, own)).toEqual({});
    expect(cardFactsOf(undefined, own)).toEqual({});
  });
});

describe("implies()", () => {
  const hours = { ...berlin, from: "08:00", until: "12:00" };
  it.each<[RouteConditions, RouteConditions]>([
    [{ currencies: ["EUR"], cardTypes: ["DEBIT"] }, { currencies: ["USD", "EUR"] }],
    [
      { currencies: ["EUR"], amountFromMinor: 500, amountToMinor: 800 },
      { currencies: ["EUR"], amountFromMinor: 500 },
    ],
    [{ metadata: [{ key: "tier", values: ["gold"] }] }, { metadata: [{ key: "tier", values: ["gold", "silver"] }] }],
    [{ time: { ...hours, days: ["MONDAY"] } }, { time: hours }],
  ])("finds that each payment with %o also has %o, and not the reverse", (narrow, wide) => {
    expect([implies(narrow, wide), implies(wide, narrow), implies(wide, wide)]).toEqual([true, false, true]);
  });

  it("is false of conditions of which one may hold without the other", () => {
    expect(implies({ amountToMinor: 500 }, { amountToMinor: 499 })).toBe(false);
    expect(implies({ billingCountries: ["DE"] }, { issuingCountries: ["DE"] })).toBe(false);
    expect(implies({ time: hours }, { time: { ...hours, timeZone: "UTC" } })).toBe(false);
    expect(implies({ metadata: [{ key: "tier", values: [] }] }, { metadata: [{ key: "shop", values: [""] }] })).toBe(
      false,
    );
  });
});
