import { describe, expect, it } from "vitest";
import { createDashboardClient, type DashboardClient } from "../client/dashboard-client.ts";
import { type MadePayment, makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const paymentsWalked = 10_000;

const made: Record<string, Awaited<ReturnType<typeof makePayment>>> = {};
const foreignUuid = systemRuntime.uuid();
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

const failedOver = [
  { gateway: "SANDBOX_A", became: "DECLINED" },
  { gateway: "SANDBOX_B", became: "CAPTURED", gatewayReference: "ref/b 1" },
] as const;
// Oldest first.
const wanted: Record<string, MadePayment> = {
  yen: { orderRef: "tea_1", amountMinor: 120, currency: "JPY", createdAt: minutesAgo(3 * 1440) },
  declined: { orderRef: "tea%2", status: "DECLINED", createdAt: minutesAgo(2 * 1440) },
  degraded: {
    orderRef: "teaX3",
    status: "DEGRADED",
    createdAt: minutesAgo(120),
    attempts: [{ gateway: "SANDBOX_A", became: "VOIDED" }],
  },
  expired: { orderRef: "tea_11", status: "EXPIRED", createdAt: minutesAgo(90) },
  failedOver: { orderRef: "order-7", amountMinor: 10_000, createdAt: minutesAgo(60), attempts: failedOver },
  processing: { orderRef: "order-8", status: "CREATED", processing: true, createdAt: minutesAgo(5) },
  open: { orderRef: "=1+1", status: "CREATED", createdAt: minutesAgo(1), requestUuid: systemRuntime.uuid() },
};
const dashboard = await forFile(startDashboardFixture);
const client = await forFile(async () => createDashboardClient(dashboard.address, await dashboard.hireOperator("ada")));
await openTables(dashboard);
for (const [name, payment] of Object.entries(wanted)) made[name] = await makePayment(dashboard, payment);
const foreign = await makePayment(dashboard, { orderRef: "order-7", merchantUuid: foreignUuid, attempts: failedOver });

const scope = () => ({ merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" as const });
const nameOf = (sessionId: string | undefined) =>
  sessionId === foreign.sessionId
    ? "another merchant's"
    : (Object.keys(made).find((name) => made[name]!.sessionId === sessionId) ?? "another test's");
type Filter = NonNullable<Parameters<DashboardClient["payments"]["listPayments"]>[0]["filter"]>;
const list = async (filter: Filter, page: { pageSize?: number; pageToken?: string } = {}) => {
  const answer = await client.payments.listPayments({ ...scope(), filter, ...page });
  return { ...answer, names: (answer.payments ?? []).map(({ sessionId }) => nameOf(sessionId)) };
};

describe("the list of payments", () => {
  const newestFirst = Object.keys(wanted).toReversed();
  it.each<[Filter, string[]]>([
    [{}, newestFirst],
    [{ status: "SUCCEEDED" }, ["failedOver", "yen"]],
    [{ status: "DECLINED" }, ["declined"]],
    [{ status: "DEGRADED" }, ["degraded"]],
    [{ status: "EXPIRED" }, ["expired"]],
    [{ status: "CREATED" }, ["open", "processing"]],
    [{ processing: true }, ["processing"]],
    [{ processing: false, status: "CREATED" }, ["open"]],
    [{ gateway: "SANDBOX_B" }, ["failedOver"]],
    [{ gateway: "STRIPE" }, []],
    [{ orderRef: "tea_1" }, ["yen"]],
    [{ orderRef: "tea_1", orderRefPrefix: true }, ["expired", "yen"]],
    [{ orderRef: "tea%", orderRefPrefix: true }, ["declined"]],
    [{ orderRef: "nothing", orderRefPrefix: true }, []],
    [{ amountFrom: "4900", amountTo: "9999" }, ["open", "processing", "expired", "degraded", "declined"]],
    [{ amountFrom: "10000" }, ["failedOver"]],
    [{ currency: "JPY" }, ["yen"]],
    [{ cardLast4: "4242" }, ["processing", "failedOver", "degraded", "declined", "yen"]],
    [{ cardLast4: "4242", orderRef: "tea", orderRefPrefix: true }, ["degraded", "declined", "yen"]],
    [{ cardLast4: "0000" }, []],
    [{ failover: true }, ["failedOver"]],
    [{ failover: false, status: "SUCCEEDED" }, ["yen"]],
    [{ createdAfter: minutesAgo(61).toISOString() }, ["open", "processing", "failedOver"]],
    [{ createdBefore: minutesAgo(119).toISOString() }, ["degraded", "declined", "yen"]],
    [
      {
        createdAfter: minutesAgo(2881).toISOString(),
        createdBefore: minutesAgo(91).toISOString(),
        gateway: "SANDBOX_A",
      },
      ["degraded", "declined"],
    ],
  ])("with the filter %j holds %j", async (filter, names) => {
    expect((await list(filter)).names).toEqual(names);
  });

  it("counts and sums what the filters select, in each currency", async () => {
    const count = (filter: Filter) => client.payments.countPayments({ ...scope(), filter });
    expect(await count({ cardLast4: "4242" })).toEqual({
      payments: 5,
      amounts: [
        { amountMinor: "24700", currency: "EUR", exponent: 2 },
        { amountMinor: "120", currency: "JPY", exponent: 0 },
      ],
      captured: [
        { amountMinor: "10000", currency: "EUR", exponent: 2 },
        { amountMinor: "120", currency: "JPY", exponent: 0 },
      ],
    });
    expect((await count({ status: "DECLINED" })).captured).toEqual([]);
    expect(await count({ gateway: "STRIPE" })).toEqual({ payments: 0, amounts: [], captured: [] });
    await expect(count({ cardLast4: "42" })).rejects.toThrow("filter.cardLast4: it must be four digits");
  });

  it("shows the fields of a row, with the currency's own decimals", async () => {
    const { payments } = await list({ failover: true });
    expect(payments).toMatchObject([
      {
        orderRef: "order-7",
        amount: { amountMinor: "10000", currency: "EUR", exponent: 2 },
        status: "SUCCEEDED",
        gateways: ["SANDBOX_A", "SANDBOX_B"],
        capturedVia: "SANDBOX_B",
        failover: true,
        cardLast4: "4242",
      },
    ]);
    expect((await list({ currency: "JPY" })).payments?.[0]?.amount).toMatchObject({ exponent: 0 });
  });

  it("continues page by page while payments are added, without a duplicate or a gap", async () => {
    const first = await list({}, { pageSize: 3 });
    const { sessionId } = await makePayment(dashboard, { orderRef: "newer" });
    const { nextPageToken: pageToken = "" } = first;
    const second = await list({}, { pageSize: 4, pageToken });
    expect([...first.names, ...second.names]).toEqual(newestFirst);
    expect(second.nextPageToken).toBe("");
    await expect(list({ failover: true }, { pageToken })).rejects.toMatchObject({ code: "invalid_parameter" });
    await dashboard.rows("DELETE FROM attempt WHERE session_id = $1", [decodeId("ps", sessionId)]).catch(() => {});
  });

  it("trusts ids only where they agree with times: payments that were set back are found by time", async () => {
    const { merchant } = await client.merchants.createMerchant({ name: "Set Back" });
    const merchantId = merchant!.merchantId!;
    const merchantUuid = decodeId("mer", merchantId)!;
    const days = [7, 5, 3];
    for (const day of days) {
      const { sessionUuid } = await makePayment(dashboard, { orderRef: `day-${day}`, merchantUuid });
      const values = [sessionUuid, minutesAgo(day * 1440)];
      await dashboard.rows("UPDATE payment_session SET created_at = $2 WHERE id = $1", values);
    }
    const filter = {
      createdAfter: minutesAgo(6 * 1440).toISOString(),
      createdBefore: minutesAgo(4 * 1440).toISOString(),
    };
    const { payments } = await client.payments.listPayments({ ...scope(), merchantId, filter });
    expect(payments?.map(({ orderRef }) => orderRef)).toEqual(["day-5"]);
  });

  it("scans a bounded number of payments a call, reports how far, and finds older ones by continuing", async () => {
    const { merchant } = await client.merchants.createMerchant({ name: "Many" });
    const merchantId = merchant!.merchantId!;
    const created = minutesAgo(paymentsWalked / 60 + 10);
    await makeMany(decodeId("mer", merchantId)!, { count: paymentsWalked + 1, from: created });
    const rare = { ...scope(), merchantId, filter: { currency: "JPY" } };
    const first = await client.payments.listPayments(rare);
    expect(first).toMatchObject({ payments: [], nextPageToken: expect.stringMatching(/./) });
    expect(Date.parse(first.searchedBackTo!)).toBe(created.getTime() + 1000);
    const second = await client.payments.listPayments({ ...rare, pageToken: first.nextPageToken! });
    expect(second).toMatchObject({ payments: [{ orderRef: "many-0" }], nextPageToken: "" });
    expect(second.searchedBackTo).toBeUndefined();
    const counted = await client.payments.countPayments({ ...rare, filter: {} });
    expect(counted).toMatchObject({
      payments: paymentsWalked,
      amounts: [{ amountMinor: "49000000", currency: "EUR" }],
    });
    expect(counted.countedBackTo).toBe(first.searchedBackTo);
    expect(await client.payments.countPayments(rare)).toMatchObject({
      payments: 0,
      countedBackTo: first.searchedBackTo,
    });
    const shorter = { createdAfter: new Date(created.getTime() + 3_600_000).toISOString() };
    const exact = await client.payments.countPayments({ ...rare, filter: shorter });
    expect(exact.payments).toBe(paymentsWalked + 1 - 3600);
    expect(exact.countedBackTo).toBeUndefined();
  });

  it("knows the decimals of every currency that can be queried", async () => {
    const { currencies } = await client.payments.listCurrencies(scope());
    for (const [code, exponent] of [
      ["EUR", 2],
      ["JPY", 0],
      ["IQD", 3],
    ])
      expect(currencies).toContainEqual({ code, exponent });
  });

  it("finds a card number used as an order reference, and shows and exports only its last four digits", async () => {
    const number = "4242424242424242";
    const { sessionId } = await makePayment(dashboard, { orderRef: number, createdAt: minutesAgo(200) });
    const { payments } = await list({ orderRef: number });
    expect(payments).toMatchObject([{ sessionId, orderRef: "************4242" }]);
    const { matches } = await client.payments.searchPayments({ ...scope(), text: number });
    expect(matches).toMatchObject([{ payment: { sessionId, orderRef: "************4242" } }]);
    const { payment } = await client.payments.getPayment({ ...scope(), sessionId });
    expect(JSON.stringify(payment)).not.toContain(number);
  });

  it("refuses ranges that cannot contain a payment", async () => {
    const nothing = list({ amountFrom: "2", amountTo: "1" });
    await expect(nothing).rejects.toMatchObject({ code: "invalid_parameter" });
    await expect(list({ createdAfter: "0001-01-01T00:00:00Z" })).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});

/** Inserts a payment a second, the first of which is in yen. */
async function makeMany(merchantUuid: string, { count, from }: { count: number; from: Date }): Promise<void> {
  const text = `
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at)
    SELECT (lpad(to_hex($3::bigint + i * 1000), 12, '0') || '7' || lpad('', 3, '0') || '8' || lpad(to_hex(i), 15, '0'))::uuid,
      $1, 4900, CASE i WHEN 0 THEN 'JPY' ELSE 'EUR' END, 'many-' || i, 1, t.at, t.at + interval '1 h'
    FROM generate_series(0, $2::int - 1) i, LATERAL (SELECT to_timestamp(($3::bigint + i * 1000) / 1000.0) AS at) t`;
  await dashboard.rows(text, [merchantUuid, count, from.getTime()]);
}

describe("the search", () => {
  const search = async (text: string) => {
    const { matches = [] } = await client.payments.searchPayments({ ...scope(), text });
    return matches.map(({ payment, by }) => `${nameOf(payment?.sessionId)} ${by}`);
  };

  it("finds a payment by each of its names, and never another merchant's", async () => {
    const { sessionUuid, sessionId, attemptIds } = made.failedOver!;
    const { eventId } = await dashboard.emitEvent(sessionUuid);
    expect(await search(sessionId)).toEqual(["failedOver SESSION_ID"]);
    expect(await search(attemptIds[1]!)).toEqual(["failedOver ATTEMPT_ID"]);
    expect(await search(eventId)).toEqual(["failedOver EVENT_ID"]);
    expect(await search(encodeId("req", wanted.open!.requestUuid!))).toEqual(["open REQUEST_ID"]);
    expect(await search(" order-7 ")).toEqual(["failedOver ORDER_REF"]);
    expect(await search("order-")).toEqual(["processing ORDER_REF_PREFIX", "failedOver ORDER_REF_PREFIX"]);
    const ofCard = (await search("4242")).filter((found) => found.endsWith(" CARD_LAST4"));
    expect(ofCard.filter((found) => !found.startsWith("another test's"))).toEqual(
      ["processing", "failedOver", "degraded", "declined", "yen"].map((name) => `${name} CARD_LAST4`),
    );
    expect(await search("tea_")).toEqual(["expired ORDER_REF_PREFIX", "yen ORDER_REF_PREFIX"]);
    for (const text of [
      "nothing",
      "%",
      "ps_7zzzzzzzzzzzzzzzzzzzzzzzzz",
      "evt_7zzzzzzzzzzzzzzzzzzzzzzzzz",
      "req_7zzzzzzzzzzzzzzzzzzzzzzzzz",
    ])
      expect(await search(text)).toEqual([]);
  });

  it("finds a payment by the request that submitted it, while it is processing and when it has ended", async () => {
    const [running, over] = [systemRuntime.uuid(), systemRuntime.uuid()];
    await makePayment(dashboard, {
      orderRef: "running",
      createdAt: minutesAgo(70),
      status: "CREATED",
      processing: true,
      submitRequestUuid: running,
    });
    await makePayment(dashboard, { orderRef: "over", createdAt: minutesAgo(1), submitRequestUuid: over });
    for (const [uuid, orderRef] of [
      [running, "running"],
      [over, "over"],
    ] as const) {
      const { matches } = await client.payments.searchPayments({ ...scope(), text: encodeId("req", uuid) });
      expect(matches).toMatchObject([{ payment: { orderRef }, by: "REQUEST_ID" }]);
    }
  });

  it("finds a payment by a gateway's reference at one of the merchant's connections", async () => {
    const account = { gateway: "SANDBOX_A", account: "mine", credentials: { apiKey: "sandbox_test_mine" } };
    const { connection } = await client.connections.addGatewayConnection({ ...scope(), ...account });
    const connectionUuid = decodeId("gc", connection!.connectionId!);
    const { sessionUuid } = made.failedOver!;
    expect(await search("ref/b 1")).toEqual([]);
    await dashboard.rows("UPDATE attempt SET connection_id = $2 WHERE session_id = $1", [sessionUuid, connectionUuid]);
    expect(await search("ref/b 1")).toEqual(["failedOver GATEWAY_REFERENCE"]);
  });
});

describe("a payment", () => {
  it("is returned as one timeline with its reasons, to its merchant only", async () => {
    const { sessionUuid, sessionId } = await makePayment(dashboard, {
      createdAt: minutesAgo(30),
      attempts: failedOver.map((attempt) => ({ ...attempt, gatewayReference: `${attempt.gateway}-x` })),
    });
    await dashboard.emitEvent(sessionUuid);
    const { payment } = await client.payments.getPayment({ ...scope(), sessionId });
    expect(payment?.attempts).toMatchObject([
      { gateway: "SANDBOX_A", status: "DECLINED", gatewayCode: "51", nextBecause: "Rule version 3 fails over." },
      { gateway: "SANDBOX_B", status: "CAPTURED", gatewayReference: "SANDBOX_B-x" },
    ]);
    expect(payment?.timeline?.map(({ actor, step }) => `${actor}: ${step}`)).toEqual([
      "Merchant: Created the session",
      "Customer: Submitted a card (Visa ending in 4242)",
      "Switchyard: Sent the authorization to SANDBOX_A",
      "SANDBOX_A: Declined after 500 ms: insufficient funds, its code 51",
      "Switchyard: Sent the authorization to SANDBOX_B",
      "SANDBOX_B: Authorized after 500 ms, reference SANDBOX_B-x",
      "Switchyard: Sent the capture to SANDBOX_B",
      "SANDBOX_B: Captured the money",
      "Switchyard: The payment has succeeded",
      "Switchyard: Recorded the event payment_session.succeeded",
    ]);
    const foreign = await makePayment(dashboard, { merchantUuid: foreignUuid });
    for (const id of [foreign.sessionId, "ps_01h455vb4pex5vsknk084sn02q", "order-1"]) {
      const call = client.payments.getPayment({ ...scope(), sessionId: id });
      await expect(call).rejects.toMatchObject({ code: "not_found" });
    }
  });
});

describe("an export", () => {
  it("is CSV without formulas in any cell, and leaves one audit row", async () => {
    const filter: Filter = { createdAfter: minutesAgo(61).toISOString(), status: "CREATED" };
    const { csv, nextPageToken, payments } = await client.payments.exportPayments({ ...scope(), filter });
    expect(csv?.split("\r\n").slice(0, 2)).toEqual([
      "session_id,order_ref,amount,amount_minor,currency,status,processing,gateways,captured_via,failover,decline_code,card_brand,card_last4,created_at,settled_at,held_until,gateway_reference,amount_captured,amount_refunded,dispute_status,dispute_respond_by",
      expect.stringMatching(/^ps_\w{26},"'=1\+1",49\.00,4900,EUR,CREATED,false,,,false,,,,20/),
    ]);
    expect([payments, nextPageToken]).toEqual([2, ""]);
    const rows = await dashboard.rows("SELECT actor FROM audit_entry WHERE action = 'ExportPayments'");
    expect(rows).toHaveLength(1);
    const masked = await client.payments.exportPayments({ ...scope(), filter: { orderRef: "4242424242424242" } });
    expect(masked.csv).toMatch(/\r\nps_\w{26},\*{12}4242,/);
    const { nextPageToken: pageToken = "" } = await list({}, { pageSize: 1 });
    const unseen = client.payments.exportPayments({ ...scope(), filter: {}, pageToken });
    await expect(unseen).rejects.toMatchObject({ code: "invalid_parameter" });
  });

  it("has what was captured of each payment, as have the list and the page", async () => {
    const { merchant } = await client.merchants.createMerchant({ name: "In Part" });
    const merchantId = merchant!.merchantId!;
    const { sessionUuid, sessionId } = await makePayment(dashboard, { merchantUuid: decodeId("mer", merchantId)! });
    await dashboard.rows("UPDATE attempt SET captured_amount_minor = 900 WHERE session_id = $1", [sessionUuid]);
    await dashboard.rows("UPDATE payment_session SET manual_capture = true WHERE id = $1", [sessionUuid]);
    const inPart = { amountCaptured: { amountMinor: "900", exponent: 2 } };
    const { payments } = await client.payments.listPayments({ ...scope(), merchantId });
    expect(payments).toMatchObject([{ amount: { amountMinor: "4900" }, ...inPart }]);
    const { payment } = await client.payments.getPayment({ ...scope(), merchantId, sessionId });
    expect(payment?.summary).toMatchObject(inPart);
    const { csv } = await client.payments.exportPayments({ ...scope(), merchantId });
    expect(csv).toMatch(/,9\.00,0\.00,,\r\n$/);
    expect((await list({ currency: "JPY" })).payments?.[0]?.amountCaptured).toMatchObject({ amountMinor: "120" });
  });
});
