import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { recordRoutingRule } from "../core/record/routing-rules.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId } from "../platform/ids.ts";
import { countSettledOnce } from "../reporting/analytics/count-settled.ts";
import { forgetCounts, storeSettled } from "../reporting/analytics/settled-rows.fixture.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(startDashboardFixture);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
const settledAt = "2026-03-10T12:00:00Z";
await storeSettled({ query: dashboard.rows }, decodeId("mer", dashboard.merchantId)!, [
  {
    settledAt,
    card: { brand: "visa", country: "DE" },
    amountMinor: 4900,
    seconds: 2,
    attempts: [{ gateway: "A", status: "CAPTURED", ms: 300 }],
  },
  {
    settledAt,
    amountMinor: 700,
    currency: "JPY",
    seconds: 2,
    attempts: [
      { gateway: "A", status: "VOIDED", kind: "TIMEOUT", ms: 10_000 },
      { gateway: "B", status: "CAPTURED", ms: 300 },
    ],
  },
  {
    settledAt,
    status: "DECLINED",
    seconds: 2,
    attempts: [{ gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_expired", ms: 300 }],
  },
  { settledAt, status: "EXPIRED", attempts: [] },
]);

const ask = (more: { gateway?: string; currency?: string } = {}) => {
  const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const range = { firstDay: "2026-03-09", lastDay: "2026-03-11", timeZone: "UTC" };
  return client.analytics.getAnalytics({ ...scope, ...range, pointLength: "POINT_LENGTH_DAY", ...more });
};

describe("the splits of GetAnalytics", () => {
  it("compare the arms over the versions that share them, with intervals, costs and a verdict", async () => {
    const merchantId = decodeId("mer", dashboard.merchantId)!;
    const plans = { connectionIds: [v7()], split: { percent: 50, connectionIds: [v7()] } };
    const core = { failoverOn: [], merchantId };
    const database = dashboard.database;
    const versions: number[] = [];
    const otherShare = { ...plans, split: { ...plans.split, percent: 10 } };
    for (const rule of [plans, { ...plans, failoverOn: ["TIMEOUT" as const] }, { ...plans, split: null }, otherShare]) {
      versions.push(await database.transaction((tx) => recordRoutingRule(tx, { ...core, ...rule })));
    }
    const [one = 0, two = 0, , ofOtherShare = 0] = versions;
    const settledAt = "2026-03-20T12:00:00Z";
    const paid = (arm: "A" | "B", ruleVersion: number, gateway: string) => ({
      settledAt,
      seconds: 2,
      amountMinor: 1_000,
      followed: { arm, ruleVersion },
      attempts: [{ gateway, status: "CAPTURED" as const }],
    });
    const declined = { attempts: [{ gateway: "A", status: "DECLINED" as const, kind: "HARD_DECLINE" as const }] };
    await storeSettled({ query: dashboard.rows }, merchantId, [
      ...[paid("A", one, "A"), paid("A", two, "A"), paid("B", two, "B"), paid("B", ofOtherShare, "B")],
      { settledAt, seconds: 2, status: "DECLINED", followed: { arm: "A", ruleVersion: one }, ...declined },
    ]);
    const request = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" } as const;
    const range = { firstDay: "2026-03-20", lastDay: "2026-03-20", timeZone: "UTC" };
    const ask = async () => (await client.analytics.getAnalytics({ ...request, ...range })).splits;
    const uncounted = await ask();
    expect(uncounted).toMatchObject([
      { percent: 10, ruleVersions: [ofOtherShare], b: { succeeded: "1" } },
      {
        percent: 50,
        ruleVersions: [one, two],
        isSignificant: false,
        a: { succeeded: "2", declined: "1", plan: ["A connection"] },
        b: { succeeded: "1", costs: [{ gateway: "B", attempts: "1", captured: "1", capturedMinor: "1000" }] },
        verdict: expect.stringMatching(/^Chance alone may explain it: the approval rate of variant B is between/),
      },
    ]);
    expect(uncounted?.[1]?.a?.approval?.value).toBeCloseTo(2 / 3);
    expect(uncounted?.[1]?.a?.costs).toEqual([
      {
        gateway: "A",
        currency: "EUR",
        decimals: 2,
        attempts: "3",
        captured: "2",
        voided: "0",
        capturedMinor: "2000",
      },
    ]);
    await countSettledOnce(database);
    expect(await ask()).toEqual(uncounted);
  });

  it("have the fees of whole months once statements have 95 % of each variant's payments", async () => {
    const merchantId = decodeId("mer", dashboard.merchantId)!;
    const plans = { connectionIds: [v7()], split: { percent: 40, connectionIds: [v7()] } };
    const ruleVersion = await dashboard.database.transaction((tx) =>
      recordRoutingRule(tx, { failoverOn: [], merchantId, ...plans }),
    );
    const paid = (arm: "A" | "B") => ({
      settledAt: "2026-02-20T12:00:00Z",
      seconds: 2,
      amountMinor: 1_000,
      followed: { arm, ruleVersion },
      attempts: [{ gateway: "A", status: "CAPTURED" as const }],
    });
    const twenty = (arm: "A" | "B") => Array.from({ length: 20 }, () => paid(arm));
    await storeSettled({ query: dashboard.rows }, merchantId, [...twenty("A"), ...twenty("B")]);
    await forgetCounts({ query: dashboard.rows });
    const add = (arm: string, type: string, [lines, grossMinor, feeMinor]: number[], currency = "EUR") =>
      dashboard.rows(
        `INSERT INTO analytics_cost (merchant_id, month, gateway, type, card_brand, rule_version, case_name, arm, currency, settlement_currency, lines,
           settled_gross_minor, fee_minor) VALUES ($1, '2026-02-01', 'A', $2, 'visa', $3, '', $4, 'EUR', $5, $6, $7, $8)`,
        [merchantId, type, ruleVersion, arm, currency, lines, grossMinor, feeMinor],
      );
    const splitOf = async (firstDay: string, lastDay: string) => {
      const request = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST", timeZone: "UTC" } as const;
      const { splits } = await client.analytics.getAnalytics({ ...request, firstDay, lastDay });
      return splits?.find(({ ruleVersions }) => ruleVersions?.includes(ruleVersion));
    };
    expect(await splitOf("2026-02-20", "2026-02-20")).toMatchObject({ feeMonths: [] });
    const connectionId = v7();
    await dashboard.rows(
      "INSERT INTO connection (id, merchant_id, gateway, account) VALUES ($1, $2, 'SANDBOX_A', 'fees')",
      [connectionId, merchantId],
    );
    await dashboard.rows(
      "INSERT INTO gateway_feed (connection_id, kind, next_read_at, read_at) VALUES ($1, 'settlement', now(), now())",
      [connectionId],
    );
    await add("A", "CAPTURED", [19, 19_000, 380]);
    await add("A", "REFUNDED", [1, -500, 19]);
    await add("A", "CHARGEBACK", [1, -1_000, 1_500]);
    await add("B", "CAPTURED", [18, 18_000, 180]);
    const early = await splitOf("2026-02-20", "2026-02-20");
    expect(early).toMatchObject({ feeMonths: ["2026-02"], a: { feeCoverage: 0.95 }, b: { feeCoverage: 0.9 } });
    expect(early?.a?.fees).toEqual([
      { currency: "EUR", decimals: 2, payments: "19", rate: 399 / 19_000, perPaymentMinor: 21 },
    ]);
    expect(early?.b?.fees).toEqual([]);
    await add("B", "CAPTURED", [1, 1_100, 11], "USD");
    expect((await splitOf("2026-02-20", "2026-02-20"))?.b).toMatchObject({
      feeCoverage: 0.95,
      fees: [
        { currency: "EUR", payments: "18", rate: 0.01, perPaymentMinor: 10 },
        { currency: "USD", payments: "1", rate: 0.01, perPaymentMinor: 11 },
      ],
    });
    // The month of today is not over.
    const today = new Date().toISOString().slice(0, 10);
    expect(await splitOf(today, today)).toMatchObject({ feeMonths: [] });
    await dashboard.rows("DELETE FROM gateway_feed WHERE connection_id = $1", [connectionId]);
  });

  it("are shown as soon as the rule is saved, without a payment and with the number that they need", async () => {
    const merchantId = decodeId("mer", dashboard.merchantId)!;
    const split = { percent: 20, connectionIds: [v7()] };
    const conditions = { currencies: ["EUR"] };
    const cases = { list: [{ name: "Euro", conditions, connectionIds: [v7()], split }], cardRanges: [] };
    const rule = { connectionIds: [v7()], failoverOn: [], merchantId, split, cases };
    const version = await dashboard.database.transaction((tx) => recordRoutingRule(tx, rule));
    const today = new Date().toISOString().slice(0, 10);
    const request = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST", timeZone: "UTC" } as const;
    const ask = async (day: string) =>
      (await client.analytics.getAnalytics({ ...request, firstDay: day, lastDay: day })).splits;
    const none = { succeeded: "0", declined: "0", degraded: "0", costs: [] };
    const shown = {
      percent: 20,
      ruleVersions: [version],
      a: none,
      b: none,
      paymentsNeeded: 4906,
      isSignificant: false,
    };
    expect(await ask(today)).toMatchObject([
      { ...shown, verdict: "No payment has ended yet." },
      { ...shown, case: "Euro" },
    ]);
    // A range that ended before it was saved has nothing of it.
    expect((await ask("2026-03-20"))?.map(({ ruleVersions }) => ruleVersions)).not.toContainEqual([version]);
  });
});

describe("GetAnalytics", () => {
  it("returns separate rates for ended payments and ended attempts, and none where nothing ended", async () => {
    const { total, points, declines, gateways, currencies } = await ask();
    expect(total?.payments).toMatchObject({ succeeded: "2", declined: "1", expired: "1", savedByFailover: "1" });
    expect(total?.payments?.approvalRate).toBeCloseTo(2 / 3);
    expect(total?.attempts).toMatchObject({ attempts: "4", approved: "2", timeouts: "1", unknown: "1" });
    expect(total?.attempts).toMatchObject({ approvalRate: 0.5, technicalFailureRate: 0.25 });
    expect(points?.map(({ startsAt, payments }) => [startsAt, payments?.approvalRate !== undefined])).toEqual([
      ["2026-03-09T00:00:00Z", false],
      ["2026-03-10T00:00:00Z", true],
      ["2026-03-11T00:00:00Z", false],
    ]);
    expect(declines).toEqual([{ gateway: "A", declineCode: "card_expired", attempts: "1" }]);
    // Two of three cards are not known, and every payment is in one row of each list.
    const visa = { value: "visa", succeeded: "1", declined: "0", degraded: "0", savedByFailover: "0", approvalRate: 1 };
    const unknown = { value: "", succeeded: "1", declined: "1", savedByFailover: "1", approvalRate: 0.5 };
    expect(total?.cardBrands).toMatchObject([unknown, visa]);
    expect(total?.issuingCountries).toMatchObject([unknown, { ...visa, value: "DE" }]);
    expect(points?.map(({ cardBrands, declineCodes }) => [cardBrands?.length, declineCodes?.length])).toEqual([
      [0, 0],
      [2, 1],
      [0, 0],
    ]);
    expect([gateways, currencies]).toEqual([
      ["A", "B"],
      ["EUR", "JPY"],
    ]);
  });

  it("returns percentiles over all latencies, as exact as documented", async () => {
    const { total, latencyErrorMost } = await ask();
    const near = (found: number | string | undefined, exact: number) =>
      expect(Math.abs(Number(found) / exact - 1)).toBeLessThanOrEqual(Number(latencyErrorMost));
    near(total?.payments?.p50Ms, 2_000);
    near(total?.attempts?.p50Ms, 300);
    near(total?.attempts?.p95Ms, 10_000);
  });

  it("never sums two currencies, and returns the decimals of each", async () => {
    expect((await ask()).total?.payments?.volumes).toEqual([
      { currency: "EUR", decimals: 2, capturedMinor: "4900", savedMinor: "0", issuerLiableMinor: "0", succeeded: "1" },
      { currency: "JPY", decimals: 0, capturedMinor: "700", savedMinor: "700", issuerLiableMinor: "0", succeeded: "1" },
    ]);
  });

  it("filters attempts by gateway and everything by currency, and still lists every gateway and currency", async () => {
    const ofB = await ask({ gateway: "B" });
    expect(ofB.total?.attempts).toMatchObject({ attempts: "1", approved: "1" });
    expect(ofB.total?.payments).toMatchObject({ succeeded: "2" });
    expect([ofB.gateways, ofB.declines]).toEqual([["A", "B"], []]);
    const yen = await ask({ currency: "JPY" });
    expect(yen.total?.payments).toMatchObject({ succeeded: "1", declined: "0" });
    expect(yen.total?.attempts).toMatchObject({ attempts: "2", timeouts: "1" });
    expect(yen.currencies).toEqual(["EUR", "JPY"]);
  });
});

it("counts payments by wallet, if it is asked for, with the second uses of cryptograms", async () => {
  await forgetCounts({ query: dashboard.rows });
  const [day, settledAt] = ["2026-04-10", "2026-04-10T12:00:00Z"];
  const captured = { gateway: "B", status: "CAPTURED" } as const;
  const [declined, silent] = [
    { gateway: "A", status: "DECLINED", kind: "HARD_DECLINE" },
    { gateway: "A", status: "VOIDED", kind: "TIMEOUT" },
  ] as const;
  const failed = { gateway: "A", status: "FAILED", kind: "GATEWAY_ERROR" } as const;
  const [token, card] = [{ credential: "NETWORK_TOKEN" }, { name: "google_pay", credential: "PAN" }] as const;
  const apple = { ...token, name: "apple_pay" } as const;
  const refused = { ...declined, gateway: "B" };
  await storeSettled({ query: dashboard.rows }, decodeId("mer", dashboard.merchantId)!, [
    { settledAt, attempts: [captured] },
    { settledAt, wallet: apple, attempts: [captured] },
    // Nothing was sent before.
    { settledAt, wallet: apple, attempts: [failed, captured] },
    { settledAt, wallet: apple, attempts: [silent, captured] },
    { settledAt, wallet: apple, status: "DECLINED", attempts: [silent, refused] },
    { settledAt, wallet: apple, status: "DEGRADED", attempts: [silent, { ...silent, gateway: "B" }] },
    { settledAt, wallet: card, attempts: [declined, captured] },
    { settledAt, wallet: token, attempts: [captured] },
    { settledAt, wallet: apple, status: "EXPIRED", attempts: [] },
  ]);
  const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const asked = { ...scope, firstDay: day, lastDay: day, timeZone: "UTC" };
  const none = { declined: "0", degraded: "0", released: "0", resendsApproved: "0", resendsRefused: "0" };
  const wallets = [
    {
      wallet: "apple_pay",
      succeeded: "3",
      declined: "1",
      degraded: "1",
      released: "0",
      savedByFailover: "2",
      approvalRate: 0.6,
      resendsApproved: "1",
      resendsRefused: "1",
    },
    { wallet: "google_pay", ...none, succeeded: "1", savedByFailover: "1", approvalRate: 1 },
    { wallet: "unknown", ...none, succeeded: "1", savedByFailover: "0", approvalRate: 1 },
    { wallet: "", ...none, succeeded: "1", savedByFailover: "0", approvalRate: 1 },
  ];
  const counted = async () => (await client.analytics.getAnalytics({ ...asked, withWallets: true })).wallets;
  expect(await counted()).toEqual(wallets);
  await countSettledOnce(dashboard.database);
  expect(await counted()).toEqual(wallets);
  expect((await client.analytics.getAnalytics(asked)).wallets).toEqual([]);
});
