import { v7 } from "uuid";
import { afterAll, expect, it } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { makeCaptured, makePayout } from "../dev/testing/dashboard/payout-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const dashboard = await forFile(startDashboardFixture);
const client = createDashboardClient(dashboard.address, await dashboard.hireOperator("ada"));
afterAll(() => client.close());
const scope = { merchantId: dashboard.merchantId, environment: "ENVIRONMENT_TEST" } as const;
const { settlement } = client;

const { payoutId, connectionId, paid, differing } = await makePayout(dashboard, "tea");
const amount = (amountMinor: string) => ({ amountMinor, currency: "EUR", exponent: 2 });
const today = new Date().toISOString().slice(0, 10);

it("lists payouts with their lines counted, and what the lines do not explain", async () => {
  const { payouts } = await settlement.listPayouts(scope);
  expect(payouts).toEqual([
    {
      ...{ payoutId, gateway: "SANDBOX_A", connectionId: encodeId("gc", connectionId), gatewayReference: "po_tea" },
      ...{
        status: "PAID",
        amount: amount("9511"),
        arrivesOn: "2026-03-05",
        remainder: amount("0"),
      },
      ...{ completeAt: expect.any(String), matched: 1, unmatched: 1, account: 2, linesCut: false },
    },
  ]);
  for (const filter of [{ from: "2026-03-06" }, { to: "2026-03-04" }, { gateway: "STRIPE" }, { withRemainder: true }])
    expect((await settlement.listPayouts({ ...scope, filter })).payouts, JSON.stringify(filter)).toEqual([]);
  const filter = { from: "2026-03-05", to: "2026-03-05", gateway: "SANDBOX_A" };
  expect((await settlement.listPayouts({ ...scope, filter })).payouts).toHaveLength(1);
  await expect(settlement.listPayouts({ ...scope, filter: { from: "2026-02-30" } })).rejects.toThrow(
    "from must be a day of the calendar",
  );
});

it("adds up a payout by kind, and knows none of another id", async () => {
  const { payout, totals } = await settlement.getPayout({ ...scope, payoutId });
  expect(payout).toMatchObject({ payoutId, matched: 1 });
  expect(totals).toEqual([
    { kind: "CAPTURE", lines: 2, gross: amount("9799"), fee: amount("188"), net: amount("9611") },
    { kind: "FEE", lines: 1, gross: amount("-100"), fee: amount("0"), net: amount("-100") },
  ]);
  await expect(settlement.getPayout({ ...scope, payoutId: encodeId("pout", v7()) })).rejects.toThrow(
    "This payout does not exist.",
  );
});

it("names the payment of each line, or the reason that it has none", async () => {
  const { lines } = await settlement.listPayoutLines({ ...scope, filter: { payoutId } });
  expect(lines).toMatchObject([
    { kind: "FEE", status: "ACCOUNT", net: amount("-100"), gatewayReference: "fee_tea" },
    { kind: "PAYOUT", status: "ACCOUNT", net: amount("-9511") },
    { kind: "CAPTURE", status: "UNMATCHED", reason: "amount_differs", orderRef: "tea-differs", gross: amount("4899") },
    { kind: "CAPTURE", status: "MATCHED", sessionId: paid.sessionId, orderRef: "tea", net: amount("4806") },
  ]);
  expect(lines![0]).toMatchObject({ sessionId: "", orderRef: "" });
  const unmatched = { status: "UNMATCHED", reason: "amount_differs" } as const;
  expect((await settlement.listPayoutLines({ ...scope, filter: unmatched })).lines).toEqual([lines![2]]);
  const others = await settlement.listPayoutLines({ ...scope, filter: { ...unmatched, reason: "not_ours" } });
  expect(others.lines).toEqual([]);
  const page = await settlement.listPayoutLines({ ...scope, pageSize: 3 });
  const rest = await settlement.listPayoutLines({ ...scope, pageSize: 3, pageToken: page.nextPageToken! });
  expect([...page.lines!, ...rest.lines!]).toEqual(lines);
});

it("lists movements with their payout or their reason, groups the open ones, and has those of one payment", async () => {
  const open = await makeCaptured(dashboard, connectionId, { orderRef: "open", amountMinor: 1200 });
  const { settlements } = await settlement.listSettlements(scope);
  expect(settlements).toMatchObject([
    { type: "CAPTURED", orderRef: "tea", state: "PAID", payoutId, payoutReference: "po_tea", arrivesOn: "2026-03-05" },
    { orderRef: "tea-differs", state: "OPEN", reason: "no_feed" },
    { orderRef: "open", state: "OPEN", reason: "no_feed", amount: amount("1200") },
  ]);
  const openOnes = await settlement.listSettlements({ ...scope, filter: { reason: "no_feed" } });
  expect(openOnes.settlements).toEqual(settlements!.slice(1));
  for (const filter of [{ reason: "overdue" }, { gateway: "STRIPE" }, { state: "IN_BALANCE" }] as const)
    expect((await settlement.listSettlements({ ...scope, filter })).settlements, JSON.stringify(filter)).toEqual([]);
  const overview = await settlement.getSettlementOverview(scope);
  expect(overview).toEqual({
    open: [{ reason: "no_feed", movements: 2, byAge: [2, 0, 0, 0], owed: [amount("6100")] }],
    unmatched: [{ reason: "amount_differs", lines: 1 }],
    unmatchedCut: false,
  });
  const readFeed = (ageDays: number) =>
    dashboard.rows(
      `INSERT INTO gateway_feed (connection_id, kind, next_read_at, read_at, usual_delay_ms, credential_version)
       VALUES ($1, 'settlement', now() + interval '1 day', now(), $2, 1)
       ON CONFLICT (connection_id, kind) DO UPDATE SET usual_delay_ms = EXCLUDED.usual_delay_ms`,
      [connectionId, ageDays * 86_400_000],
    );
  await readFeed(7);
  const reasonsOf = async () =>
    (await settlement.getSettlementOverview(scope)).open!.map(({ reason, movements }) => [reason, movements]);
  expect(await reasonsOf()).toEqual([["not_due", 2]]);
  await readFeed(0);
  expect(await reasonsOf()).toEqual([
    ["amount_differs", 1],
    ["overdue", 1],
  ]);
  const ofPayment = async (sessionId: string) =>
    (await settlement.getPaymentSettlements({ ...scope, sessionId })).settlements;
  expect(await ofPayment(paid.sessionId)).toMatchObject([
    { state: "PAID", payoutReference: "po_tea", net: amount("4806") },
  ]);
  expect(await ofPayment(differing.sessionId)).toMatchObject([{ state: "OPEN", reason: "amount_differs" }]);
  expect(await ofPayment(open.sessionId)).toMatchObject([{ state: "OPEN", reason: "overdue" }]);
  expect(await ofPayment(encodeId("ps", v7()))).toEqual([]);
});

it("adds up what the gateways keep of the payments of whole months, and account fees apart", async () => {
  const { costs } = await settlement.getCosts({ ...scope, firstDay: today, lastDay: today });
  expect(costs).toEqual([
    {
      ...{ gateway: "SANDBOX_A", payments: 1, settledGross: amount("4900"), fee: amount("94"), rate: 94 / 4900 },
      ...{ disputeFee: amount("0"), accountFee: amount("100") },
    },
  ]);
  const { costs: before } = await settlement.getCosts({ ...scope, firstDay: "2026-01-15", lastDay: "2026-02-15" });
  expect(before).toEqual([]);
  const { costs: others } = await settlement.getCosts({ ...scope, firstDay: today, lastDay: today, gateway: "STRIPE" });
  expect(others).toEqual([]);
});

it("writes each list as CSV, with one audit row for each export", async () => {
  const payouts = await settlement.exportPayouts(scope);
  expect(payouts.csv!.split("\r\n")).toEqual([
    "payout_id,gateway,gateway_reference,status,amount,amount_minor,currency,arrives_on,lines_matched,lines_unmatched,lines_of_account,remainder,complete_at",
    expect.stringMatching(
      new RegExp(`^${payoutId},SANDBOX_A,po_tea,PAID,95\\.11,9511,EUR,2026-03-05,1,1,2,0\\.00,${today}T`),
    ),
    "",
  ]);
  const lines = await settlement.exportPayoutLines({ ...scope, filter: { payoutId } });
  expect(lines.csv!.split("\r\n").slice(1, 5)).toEqual([
    expect.stringContaining(
      `${payoutId},SANDBOX_A,FEE,ACCOUNT,,-1.00,EUR,-1.00,0.00,-1.00,EUR,FEE,fee_tea,,,${today}T`,
    ),
    expect.stringContaining(",PAYOUT,ACCOUNT,,-95.11,EUR,"),
    expect.stringContaining(",CAPTURE,UNMATCHED,amount_differs,48.99,EUR,48.99,0.94,48.05,EUR,CAPTURE,ch_tea_2,ps_"),
    expect.stringContaining(`,ch_tea,${paid.sessionId},tea,`),
  ]);
  const movements = await settlement.exportSettlements({ ...scope, filter: { state: "PAID" } });
  expect(movements).toMatchObject({ settlements: 1 });
  expect(movements.csv!.split("\r\n")[1]).toMatch(
    new RegExp(
      `^CAPTURED,.*,tea,49\\.00,4900,EUR,SANDBOX_A,.*,PAID,${payoutId},po_tea,2026-03-05,0\\.94,48\\.06,EUR,,$`,
    ),
  );
  const rows = await dashboard.rows<{ action: string }>(
    "SELECT action FROM audit_entry WHERE action LIKE 'Export%' ORDER BY action",
  );
  expect(rows.map(({ action }) => action)).toEqual(["ExportPayoutLines", "ExportPayouts", "ExportSettlements"]);
});

it("has nothing of another merchant", async () => {
  const { merchantId } = (await client.merchants.createMerchant({ name: "Tea House" })).merchant!;
  const other = { ...scope, merchantId: merchantId! };
  await expect(settlement.getPayout({ ...other, payoutId })).rejects.toThrow("This payout does not exist.");
  expect(await settlement.listPayouts(other)).toMatchObject({ payouts: [] });
  expect(await settlement.listPayoutLines({ ...other, filter: { payoutId } })).toMatchObject({ lines: [] });
  expect(await settlement.listSettlements(other)).toMatchObject({ settlements: [] });
  expect(await settlement.getPaymentSettlements({ ...other, sessionId: paid.sessionId })).toMatchObject({
    settlements: [],
  });
  expect(await settlement.getSettlementOverview(other)).toMatchObject({ open: [], unmatched: [] });
  expect(await settlement.getCosts({ ...other, firstDay: today, lastDay: today })).toMatchObject({ costs: [] });
});

it("refuses in an export the page token of a list, which would leave no audit row", async () => {
  for (const [list, write] of [
    ["listPayoutLines", "exportPayoutLines"],
    ["listSettlements", "exportSettlements"],
  ] as const) {
    const { nextPageToken } = await settlement[list]({ ...scope, pageSize: 1 });
    await expect(settlement[write]({ ...scope, pageToken: nextPageToken! })).rejects.toThrow(
      "does not belong to this list",
    );
  }
});

it("writes more rows than one call has, with one audit row", async () => {
  await dashboard.rows(
    `INSERT INTO payout (id, merchant_id, connection_id, gateway, gateway_reference, status, amount_minor, currency)
     SELECT gen_random_uuid(), $1, $1, 'X', 'po_' || number, 'PENDING', 100, 'EUR' FROM generate_series(1, 1000) number`,
    [connectionId],
  );
  const countRows = async () => (await dashboard.rows("SELECT FROM audit_entry WHERE action = 'ExportPayouts'")).length;
  const before = await countRows();
  const first = await settlement.exportPayouts(scope);
  const rest = await settlement.exportPayouts({ ...scope, pageToken: first.nextPageToken! });
  expect([first.payouts, rest.payouts, rest.nextPageToken]).toEqual([1000, 1, ""]);
  expect(rest.csv).not.toContain("payout_id");
  expect(await countRows()).toBe(before + 1);
});
