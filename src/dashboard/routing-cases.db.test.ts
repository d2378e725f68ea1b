import { describe, expect, it } from "vitest";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { startPayingDashboard } from "../dev/testing/dashboard/paying-dashboard.ts";
import { forFile } from "../dev/testing/for-file.ts";

type Rules = DashboardClient["routingRules"];
type Cases = NonNullable<Parameters<Rules["setRoutingRule"]>[0]["cases"]>;
type Conditions = NonNullable<NonNullable<Cases["list"]>[number]["conditions"]>;

let a: string;
let b: string;
const dashboard = await forFile(startPayingDashboard);
const rules: Rules = (await dashboard.callAs("ada")).routingRules;
[a = "", b = ""] = dashboard.connectionIds;

const set = (cases?: Cases) =>
  rules.setRoutingRule({
    ...dashboard.scope,
    connectionIds: [a, b],
    failoverOn: ["HARD_DECLINE"],
    ...(cases && { cases }),
  });
const whole: Conditions = {
  currencies: ["EUR"],
  amountFromMinor: "1000",
  amountToMinor: "9000",
  cardBrands: ["visa"],
  cardTypes: ["DEBIT"],
  issuingCountries: ["DK"],
  billingCountries: ["DE"],
  metadata: [{ key: "tier", values: ["gold"] }],
  time: { timeZone: "Europe/Berlin", days: ["MONDAY"], from: "08:00", until: "18:00" },
};
const withOne = (conditions: Conditions): Cases => ({ list: [{ name: "one", conditions, connectionIds: [b] }] });

describe("the cases of a rule", () => {
  it("are kept as they were sent, stay unless a version names others, and are restored with their version", async () => {
    const [one] = withOne(whole).list ?? [];
    const list = [{ ...one, authentication: "ALWAYS" as const }];
    const cases: Cases = { list, cardRanges: [{ digits: "457164", country: "DK", type: "DEBIT" }] };
    const { routingRule: first } = await set(cases);
    expect(first?.cases).toEqual(cases);
    expect((await set()).routingRule?.cases).toEqual(cases);
    const { routingRule: none } = await set({});
    expect(none?.cases).toEqual({ list: [], cardRanges: [] });
    const { versions = [] } = await rules.listRoutingRuleVersions(dashboard.scope);
    expect(versions[0]?.changes).toEqual([
      "The case “one” is removed.",
      "No card ranges are entered; before, there was 1.",
    ]);
    const { routingRule: restored } = await rules.restoreRoutingRule({ ...dashboard.scope, version: first!.version! });
    expect(restored?.cases).toEqual(cases);
  });

  it.each<[string, () => Cases, string, RegExp]>([
    ["no condition", () => withOne({}), "cases.list[0].conditions", /needs a condition/],
    ["an unknown currency", () => withOne({ currencies: ["XTS"] }), "cases.list[0].conditions.currencies", /currency/],
    [
      "an amount without currency",
      () => withOne({ amountToMinor: "5" }),
      "cases.list[0].conditions.currencies",
      /decimals/,
    ],
    [
      "an amount in currencies of different decimals",
      () => withOne({ amountToMinor: "5", currencies: ["EUR", "JPY"] }),
      "cases.list[0].conditions.currencies",
      /decimals/,
    ],
    [
      "an empty range of amounts",
      () => withOne({ amountFromMinor: "6", amountToMinor: "5", currencies: ["EUR"] }),
      "cases.list[0].conditions.amountToMinor",
      /below the lowest/,
    ],
    ["no country", () => withOne({ issuingCountries: ["XX"] }), "cases.list[0].conditions.issuingCountries", /country/],
    [
      "no billing country",
      () => withOne({ billingCountries: ["de"] }),
      "cases.list[0].conditions.billingCountries",
      /country/,
    ],
    [
      "no time zone",
      () => withOne({ time: { timeZone: "Berlin", days: ["MONDAY"] } }),
      "cases.list[0].conditions.time.timeZone",
      /time zone/,
    ],
    [
      "half of its hours",
      () => withOne({ time: { timeZone: "UTC", from: "08:00" } }),
      "cases.list[0].conditions.time.until",
      /beginning and an end/,
    ],
    [
      "a key of metadata that is named twice, of which no session has two values",
      () =>
        withOne({
          metadata: [
            { key: "tier", values: ["gold"] },
            { key: "tier", values: ["silver"] },
          ],
        }),
      "cases.list[0].conditions.metadata",
      /tier is named twice/,
    ],
    [
      "metadata that no session can have",
      () => withOne({ metadata: [{ key: "tier", values: ["gold\n"] }] }),
      "cases.list[0].conditions.metadata",
      /control characters/,
    ],
    ["an empty time", () => withOne({ time: { timeZone: "UTC" } }), "cases.list[0].conditions.time", /days or hours/],
    [
      "an unknown digit range",
      () => ({ cardRanges: [{ digits: "457164" }] }),
      "cases.cardRanges[0]",
      /country or a type/,
    ],
  ])("are refused with %s, which names the field", async (_, cases, field, message) => {
    const refusal = await set(cases()).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: "invalid_field",
      message: expect.stringMatching(/^(Case|Card range) 1: /),
      problems: [{ param: field, detail: expect.stringMatching(message) }],
    });
  });

  it("are refused with one below another that has each of its payments", async () => {
    const [wide] = withOne({ currencies: ["EUR", "USD"] }).list!;
    const [narrow] = withOne({ currencies: ["EUR"], cardTypes: ["DEBIT"] }).list!;
    const list = [wide!, { ...narrow!, name: "narrow" }];
    await expect(set({ list })).rejects.toMatchObject({
      code: "invalid_field",
      message: "Case 2: No payment follows it: “one” above it has each of its payments. Move it up, or change one.",
      problems: [{ param: "cases.list[1].conditions" }],
    });
    await set({ list: list.toReversed() });
  });

  it("are refused with two of one name, and with a connection that does not exist", async () => {
    const [one] = withOne({ currencies: ["EUR"] }).list!;
    await expect(set({ list: [one!, one!] })).rejects.toMatchObject({ code: "invalid_field" });
    const connectionIds = ["gc_01h455vb4pex5vsknk084sn02q"];
    await expect(set({ list: [{ ...one!, connectionIds }] })).rejects.toMatchObject({
      code: "invalid_field",
      message: "Case “one”: One of the gateway connections does not exist.",
    });
  });
});

describe("the splits of a rule", () => {
  it("are kept and restored like cases, described as changes, and end with a share of 0", async () => {
    const split = { percent: 20, connectionIds: [b] };
    const cases: Cases = { list: [{ ...withOne(whole).list![0]!, split }], cardRanges: [] };
    const rule = { ...dashboard.scope, connectionIds: [a, b], failoverOn: ["HARD_DECLINE" as const] };
    await rules.setRoutingRule({ ...rule, cases: {} });
    await expect(rules.setRoutingRule({ ...rule, cases, split })).rejects.toMatchObject({ code: "invalid_field" });
    cases.list![0]!.connectionIds = [a];
    const { routingRule: first } = await rules.setRoutingRule({ ...rule, cases, split });
    expect(first).toMatchObject({ cases, split });
    expect((await set()).routingRule?.split).toEqual(split);
    const none = await rules.setRoutingRule({ ...rule, cases: {}, split: { percent: 0 } });
    expect(none.routingRule?.split).toBeUndefined();
    const { versions = [] } = await rules.listRoutingRuleVersions({ ...dashboard.scope, pageSize: 3 });
    expect(versions[0]?.changes).toContain("The default plan is no longer split.");
    expect(versions[2]?.changes).toEqual([
      expect.stringMatching(/^Split of the default plan: 20% goes to variant B, which plans SANDBOX_B \(.+\)\.$/),
      expect.stringMatching(/it plans SANDBOX_A \(.+\); 20% goes to variant B, which plans SANDBOX_B \(.+\)\.$/),
    ]);
    const { routingRule: restored } = await rules.restoreRoutingRule({ ...dashboard.scope, version: first!.version! });
    expect(restored).toMatchObject({ cases, split });
    await rules.setRoutingRule({ ...rule, cases: {}, split: { percent: 0 } });
  });

  it.each<[string, () => { percent: number; connectionIds: string[] }, string]>([
    ["no share", () => ({ percent: 0, connectionIds: [b] }), "split.percent"],
    ["no gateway", () => ({ percent: 5, connectionIds: [] }), "split.connectionIds"],
    ["the plan that it splits", () => ({ percent: 5, connectionIds: [a, b] }), "split.connectionIds"],
  ])("are refused with %s", async (_, split, field) => {
    const draft = { connectionIds: [a, b], split: split() };
    const payment = { ...dashboard.scope, draft, amountMinor: "4900", currency: "EUR" };
    await expect(rules.testRoute(payment)).rejects.toMatchObject({
      message: expect.stringMatching(/^Split: /),
      problems: [{ param: field }],
    });
  });
});

describe("a test of a route", () => {
  it("follows the requested arm, and says the share of the other", async () => {
    const draft = { connectionIds: [a], split: { percent: 30, connectionIds: [b] } };
    const payment = { ...dashboard.scope, draft, amountMinor: "4900", currency: "EUR" };
    expect(await rules.testRoute(payment)).toMatchObject({
      plan: [{ gateway: "SANDBOX_A" }],
      split: { arm: "A", percent: 30 },
    });
    expect(await rules.testRoute({ ...payment, facts: { arm: "B" } })).toMatchObject({
      plan: [{ gateway: "SANDBOX_B" }],
      split: { arm: "B", percent: 30 },
    });
  });

  it("follows the case that its facts meet, and names those that it cannot check", async () => {
    const draft = { connectionIds: [a, b], cases: withOne(whole) };
    const payment = { ...dashboard.scope, draft, amountMinor: "4900", currency: "EUR" };
    const facts = {
      cardBrand: "visa",
      cardType: "DEBIT" as const,
      issuingCountry: "DK",
      billingCountry: "DE",
      metadata: { tier: "gold" },
      at: "2026-07-06T10:00:00Z",
    };
    const met = await rules.testRoute({ ...payment, facts });
    expect(met).toMatchObject({ case: "one", plan: [{ gateway: "SANDBOX_B" }] });
    const sunday = await rules.testRoute({ ...payment, facts: { ...facts, at: "2026-07-05T10:00:00Z" } });
    expect(sunday.case).toBeUndefined();
    expect(sunday.plan).toMatchObject([{ gateway: "SANDBOX_A" }, { gateway: "SANDBOX_B" }]);
    const { issuingCountry: _, ...lessKnown } = facts;
    const unknown = await rules.testRoute({ ...payment, facts: lessKnown });
    expect(unknown.unknownCases).toEqual(["The case “one” is skipped. Unknown: the card’s issuing country."]);
  });
});

describe("a what-if", () => {
  it("follows cases by what is recorded of each payment, and counts as unknown what is not", async () => {
    await rules.setRoutingRule({ ...dashboard.scope, connectionIds: [a, b], failoverOn: ["HARD_DECLINE"], cases: {} });
    const session = await dashboard.payments.newSession();
    await dashboard.payments.submit(session, "4242424242424242");
    const whatIf = async (conditions: Conditions) => {
      const draft = { connectionIds: [a, b], cases: withOne(conditions) };
      const { counts, examples = [] } = await rules.whatIf({ ...dashboard.scope, draft });
      return { counts, because: examples[0]?.because };
    };
    const other = await whatIf({ currencies: ["USD"] });
    expect(other.counts).toMatchObject({ payments: 1, same: 1 });
    const byCurrency = await whatIf({ currencies: ["EUR"] });
    expect(byCurrency).toMatchObject({
      counts: { otherFirst: 1, cannotKnow: 1 },
      because: "SANDBOX_B was not called then, so its answer is unknown.",
    });
    const byType = await whatIf({ cardTypes: ["DEBIT"] });
    expect(byType).toMatchObject({
      counts: { cannotKnow: 1, succeededThen: 1 },
      because: "Whether the case “one” would apply cannot be known. Unknown: the card’s type.",
    });
    expect(byType.counts?.notRoutable).toBe(0);
  });
});

describe("a what-if over payments of a split", () => {
  it("takes the rate of the other arm for those that the draft sends its way", async () => {
    const rule = { ...dashboard.scope, connectionIds: [a], failoverOn: ["HARD_DECLINE" as const], cases: {} };
    await rules.setRoutingRule({ ...rule, split: { percent: 50, connectionIds: [b] } });
    const whatIf = async (failoverOn: "HARD_DECLINE"[] = ["HARD_DECLINE"]) => {
      const draft = { connectionIds: [b], failoverOn, cases: {}, split: { percent: 0 } };
      return (await rules.whatIf({ ...dashboard.scope, draft })).counts;
    };
    const before = Number((await whatIf())?.payments);
    // Chance chooses the arm: after this many payments, one arm is empty once in a million runs.
    const armsOf = (counts: Awaited<ReturnType<typeof whatIf>>) => [
      Number(counts?.measured),
      Number(counts?.payments) - before - Number(counts?.measured),
    ];
    let counts = await whatIf();
    for (let payments = 0; payments < 20 && armsOf(counts).includes(0); payments++) {
      await dashboard.payments.submit(await dashboard.payments.newSession(), "4242424242424242");
      counts = await whatIf();
    }
    const [inArmA = 0] = armsOf(counts);
    expect(inArmA).toBeGreaterThan(0);
    // All of arm B succeeded, so that is the best estimate; few payments leave a wide interval.
    expect(Number(counts?.measuredSucceeds)).toBeCloseTo(inArmA);
    expect(Number(counts?.measuredSucceedsLow)).toBeLessThan(inArmA * 0.9);
    expect((await whatIf([]))?.measured).toBe(0);
  });
});
