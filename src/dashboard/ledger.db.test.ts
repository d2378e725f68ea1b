import { expect, it, onTestFinished } from "vitest";
import { createDashboardClient } from "../client/dashboard-client.ts";
import { makePayment, openTables } from "../dev/testing/dashboard/payment-rows.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { startDashboardFixture } from "./dashboard.fixture.ts";

const noon = new Date("2026-03-04T12:00:00Z");

const dashboard = await forFile(startDashboardFixture);
await openTables(dashboard);
const voided = [{ gateway: "SANDBOX_A", became: "VOIDED", gatewayReference: "a-1" }] as const;
const captured = [{ gateway: "SANDBOX_B", became: "CAPTURED", gatewayReference: "b-1" }] as const;
await makePayment(dashboard, { orderRef: "=1+1", status: "DEGRADED", createdAt: noon, attempts: voided });
const later = new Date(noon.getTime() + 60_000);
const paid = { status: "SUCCEEDED", amountMinor: 120, currency: "JPY", attempts: captured } as const;
await makePayment(dashboard, { ...paid, orderRef: "4242424242424242", createdAt: later });
await makePayment(dashboard, { ...paid, createdAt: later, merchantUuid: systemRuntime.uuid() });
await makePayment(dashboard, { ...paid, createdAt: new Date(noon.getTime() + 86_400_000) });
// The guards that set it are off.
await dashboard.rows("UPDATE attempt SET captured_amount_minor = amount_minor WHERE capture_ordered_at IS NOT NULL");

const exportDays = async (days: object = { day: "2026-03-04" }) => {
  const request = ["rpc", "LedgerService/ExportLedger", JSON.stringify(days), "--all-pages", "--print", "csv"];
  return runCommandHere([...request, "--grpc-address", dashboard.address, "--merchant", dashboard.merchantId], {
    env: { SWITCHYARD_OPERATOR_TOKEN: (await dashboard.hireOperator("ada")).expose() },
  });
};

it("writes the day's entries as CSV, the same each time, with an audit row for each export", async () => {
  const { code, out: csv } = await exportDays();
  expect(code).toBe(0);
  expect(csv.split("\r\n")).toEqual([
    "type,recorded_at,session_id,attempt_id,refund_id,order_ref,amount,amount_minor,currency,gateway,gateway_reference,dispute_id",
    expect.stringMatching(
      /^VOIDED,2026-03-04T12:00:\d\d\.\d{3}Z,ps_\w{26},att_\w{26},,"'=1\+1",49\.00,4900,EUR,SANDBOX_A,a-1,$/,
    ),
    expect.stringMatching(
      /^CAPTURED,2026-03-04T12:01:\d\d\.\d{3}Z,ps_\w{26},att_\w{26},,\*{12}4242,120,120,JPY,SANDBOX_B,b-1,$/,
    ),
    "",
  ]);
  expect((await exportDays()).out).toBe(csv);
  const rows = await dashboard.rows("SELECT actor FROM audit_entry WHERE action = 'ExportLedger'");
  expect(rows).toMatchObject([{ actor: expect.stringMatching(/^ada/) }, { actor: expect.stringMatching(/^ada/) }]);
});

it("writes a range of days as one file", async () => {
  const { out: range } = await exportDays({ from: "2026-03-04", to: "2026-03-05" });
  const { out: one } = await exportDays();
  expect(range.startsWith(one)).toBe(true);
  expect(range.slice(one.length)).toMatch(/^CAPTURED,2026-03-05T12:00:\d\d\.\d{3}Z,[^\n]+\r\n$/);
});

it("totals the day by gateway and currency, and refuses a day that is not over", async () => {
  const client = createDashboardClient(dashboard.address, await dashboard.hireOperator("eve"));
  onTestFinished(() => client.close());
  const { merchantId } = dashboard;
  const scope = { merchantId, environment: "ENVIRONMENT_TEST" } as const;
  const later = new Date(noon.getTime() + 120_000);
  const captured = [{ gateway: "SANDBOX_B", became: "CAPTURED", gatewayReference: "b-2" }] as const;
  const paid = { status: "SUCCEEDED", amountMinor: 1000, currency: "JPY", attempts: captured } as const;
  const { sessionUuid } = await makePayment(dashboard, { ...paid, createdAt: later });
  // Captured later, in part.
  await dashboard.rows("UPDATE payment_session SET manual_capture = true WHERE id = $1", [sessionUuid]);
  await dashboard.rows("UPDATE attempt SET captured_amount_minor = 900 WHERE session_id = $1", [sessionUuid]);
  await dashboard.rows(
    `INSERT INTO refund (session_id, id, attempt_id, connection_id, gateway, amount_minor, currency, status, origin, gateway_reference, completed_at)
     SELECT session_id, gen_random_uuid(), id, connection_id, gateway, amount, currency, 'SUCCEEDED', 'GATEWAY', amount, $2
     FROM attempt, unnest(ARRAY[300, 50]) AS amount WHERE session_id = $1`,
    [sessionUuid, later],
  );
  const jpy = (amountMinor: string) => ({ amountMinor, currency: "JPY", exponent: 0 });
  expect((await client.ledger.getLedgerTotals({ ...scope, day: "2026-03-04" })).totals).toEqual([
    {
      gateway: "SANDBOX_A",
      currency: "EUR",
      net: { amountMinor: "0", currency: "EUR", exponent: 2 },
      voided: { entries: 1, amount: { amountMinor: "4900", currency: "EUR", exponent: 2 } },
    },
    {
      gateway: "SANDBOX_B",
      currency: "JPY",
      net: jpy("670"),
      captured: { entries: 2, amount: jpy("1020") },
      refunded: { entries: 2, amount: jpy("350") },
    },
  ]);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await expect(client.ledger.getLedgerTotals({ ...scope, day: tomorrow })).rejects.toThrow("day must be over");
  const { totals } = await client.ledger.getLedgerTotals({ ...scope, from: "2026-03-04", to: "2026-03-05" });
  expect(totals).toMatchObject([{ gateway: "SANDBOX_A" }, { captured: { entries: 3, amount: jpy("1140") } }]);
});

it("names the rule for a day that is not over", async () => {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  for (const [days, rule] of [
    [{ day: tomorrow }, "day must be over"],
    [{ day: "yesterday" }, "day must be a day of the calendar, such as 2026-03-04."],
    [{ from: "2026-03-04", to: "2026-03-03" }, "to must not be before from."],
  ] as const)
    expect(await exportDays(days)).toMatchObject({ code: 1, out: "", err: expect.stringContaining(rule) });
});
