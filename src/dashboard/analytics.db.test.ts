import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { decodeId } from "../platform/ids.ts";
import { storeSettled } from "../reporting/analytics/settled-rows.fixture.ts";
import { type DashboardFixture, startDashboardFixture } from "./dashboard.fixture.ts";

let dashboard: DashboardFixture;
let client: DashboardClient;
beforeAll(async () => {
  dashboard = await startDashboardFixture();
  client = createDashboardClient(dashboard.address, await dashboard.hireOperator("ada"));
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
      ...{ settledAt, amountMinor: 700, currency: "JPY", seconds: 2 },
      attempts: [
        { gateway: "A", status: "VOIDED", kind: "TIMEOUT", ms: 10_000 },
        { gateway: "B", status: "CAPTURED", ms: 300 },
      ],
    },
    {
      ...{ settledAt, status: "DECLINED", seconds: 2 },
      attempts: [{ gateway: "A", status: "DECLINED", kind: "HARD_DECLINE", code: "card_expired", ms: 300 }],
    },
    { settledAt, status: "EXPIRED", attempts: [] },
  ]);
});
afterAll(async () => {
  client?.close();
  await dashboard?.close();
});

const ask = (more: { gateway?: string; currency?: string } = {}) => {
  const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const range = { firstDay: "2026-03-09", lastDay: "2026-03-11", timeZone: "UTC" };
  return client.analytics.getAnalytics({ ...scope, ...range, pointLength: "POINT_LENGTH_DAY", ...more });
};

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
