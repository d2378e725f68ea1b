/** What is read of accounts, after a restore to the day before: which disputes, payouts and lines come back. */
import { afterAll, describe, expect, it } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { readFeedOnce } from "../disputes/gateway-feeds.ts";
import { disputeCards } from "../gateways/sandbox/dispute-cards.ts";
import { listSettlements } from "../reporting/settlements.ts";
import { matchLinesOnce } from "../settlement/record-lines.ts";
import { readStatementsOnce } from "../settlement/statement-feed.ts";

const fixture = await forFile(startCoreFixture);
const { core } = fixture;
const { merchantId } = fixture.owner;
afterAll(() => fixture.setClockAhead(0));

// All that disputes and statements write.
const tables = [
  ...["gateway_feed", "gateway_notification", "settlement_report", "payout", "payout_line", "analytics_cost"],
  ...["dispute", "dispute_movement", "dispute_response", "payment_session"],
];
const asOwner = (text: string) => fixture.asOwner.pool.query(text);
async function backUp() {
  await asOwner("CREATE SCHEMA backup");
  for (const table of tables) await asOwner(`CREATE TABLE backup.${table} AS TABLE ${table}`);
}
async function restore() {
  const { rows } = await asOwner(
    `SELECT table_name AS name, string_agg(quote_ident(column_name), ',') AS columns FROM information_schema.columns
     WHERE table_schema = 'public' AND is_generated = 'NEVER' AND table_name IN (${tables.map((one) => `'${one}'`)}) GROUP BY 1`,
  );
  const columns = new Map<string, string>(rows.map((row) => [row.name, row.columns]));
  const statements = tables.flatMap((table) => [
    `DELETE FROM ${table}`,
    `INSERT INTO ${table} (${columns.get(table)}) SELECT ${columns.get(table)} FROM backup.${table}`,
  ]);
  await asOwner(["BEGIN", "SET LOCAL session_replication_role = replica", ...statements, "COMMIT"].join(";"));
}

const hours = async (ahead: number) => {
  await fixture.setClockAhead(ahead * 60);
  await fixture.sandbox.setClockAhead(ahead * 60 * 60_000);
};
async function read() {
  while (await readFeedOnce(core));
  while (await readStatementsOnce(core));
}
async function pay(
  connection: string,
  card = disputeCards.find(({ name }) => name === "Inquiry")!.number,
): Promise<PaymentSession> {
  await fixture.setRule([], [connection]);
  const session = await fixture.pay(card);
  await expect.poll(async () => (await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
  return (await fixture.loadSession(session)).session;
}

/** Returns what is known of a payment's disputes and statements, without the times of reading. */
async function knownOf(session: PaymentSession) {
  const { disputes = [] } = await fixture.loadSession(session);
  const lines = await asOwner(
    `SELECT l.line_id, l.kind, l.status, l.entry_type, l.entry_id, l.net_minor, p.gateway_reference, p.remainder_minor FROM payout_line l
     LEFT JOIN payout p ON p.id = l.payout_id WHERE l.session_id = '${session.id}' ORDER BY l.line_id`,
  );
  return {
    disputes: disputes.map(({ gatewayReference, stage, status, heldMinor, movements }) => ({
      ...{ gatewayReference, stage, status, heldMinor },
      movements: movements.map(({ type, amountMinor }) => [type, amountMinor]),
    })),
    lines: lines.rows,
  };
}
const stateOf = async (session: PaymentSession, hour: number) => {
  const now = new Date(Date.now() + hour * 60 * 60_000);
  const listed = await listSettlements([core.database], { merchantId, keys: core.pageTokenKey, now });
  return listed.settlements
    .filter(({ entry }) => entry.sessionId === session.id)
    .map(({ entry, state }) => [entry.type, state]);
};
const reports = async () =>
  (await asOwner("SELECT name FROM settlement_report ORDER BY name")).rows.map(({ name }) => name);
const payOut = async () => {
  const before = await reports();
  await fixture.sandbox.payOut();
  await expect.poll(async () => (await reports()).length).toBeGreaterThan(before.length);
};

describe("after a restore to the day before", () => {
  const [a, b] = fixture.connectionIds as [string, string];
  const paid: Record<"a" | "b", PaymentSession> = {} as never;
  let lost: string[];
  const known: Record<"a" | "b", Awaited<ReturnType<typeof knownOf>>> = {} as never;

  it("knows nothing of that day at first", { timeout: 120_000 }, async () => {
    // The accounts have been read before, or all would be new to them.
    await read();
    await pay(b, cards.approved);
    await payOut();
    await read();
    paid.a = await pay(a);
    paid.b = await pay(b);
    await hours(0.5);
    await read();
    for (const session of [paid.a, paid.b])
      await expect.poll(async () => (await knownOf(session)).disputes).toMatchObject([{ stage: "INQUIRY" }]);
    await backUp();
    // The chargebacks and the payouts of a day that the backup does not have.
    for (const hour of [6, 12, 25, 26]) {
      await hours(hour);
      if (hour === 26) await payOut();
      await read();
    }
    await expect.poll(async () => (await knownOf(paid.b)).disputes).toMatchObject([{ stage: "CHARGEBACK" }]);
    await read();
    known.a = await knownOf(paid.a);
    known.b = await knownOf(paid.b);
    lost = await reports();
    await restore();
    const left = await reports();
    lost = lost.filter((name) => !left.includes(name));
    for (const session of [paid.a, paid.b]) {
      const { disputes, lines } = await knownOf(session);
      expect(disputes).toMatchObject([{ stage: "INQUIRY", movements: [] }]);
      expect(lines.filter((line) => line.entry_type === "CHARGEBACK" || line.gateway_reference !== null)).toEqual([]);
    }
    await hours(27);
    await read();
  });

  it("comes back all that lists have: the chargeback, its lines and their payout", async () => {
    expect(known.a).toMatchObject({
      disputes: [{ stage: "CHARGEBACK", heldMinor: 4900, movements: [["CHARGEBACK", 4900]] }],
      lines: [{ status: "MATCHED" }, { status: "MATCHED" }],
    });
    expect(await knownOf(paid.a)).toEqual(known.a);
    expect(await stateOf(paid.a, 27)).toEqual([
      ["CAPTURED", "PAID"],
      ["CHARGEBACK", "PAID"],
    ]);
  });

  it("is missing what only notifications had told: the report, and the chargeback in it", async () => {
    expect(known.b).toMatchObject({
      disputes: [{ stage: "CHARGEBACK", heldMinor: 4900 }],
      lines: [{ status: "MATCHED" }, { status: "MATCHED" }],
    });
    expect(await knownOf(paid.b)).toMatchObject({ disputes: [{ stage: "INQUIRY" }], lines: [] });
  });

  it("comes back all of that report once a later one is announced, after three days the chargeback too", async () => {
    expect(lost).not.toEqual([]);
    await pay(b, cards.approved);
    await hours(51);
    await payOut();
    await read();
    expect(await reports()).toEqual(expect.arrayContaining(lost));
    await fixture.setClockAhead((51 + 73) * 60);
    while (await matchLinesOnce(core));
    expect(await knownOf(paid.b)).toEqual(known.b);
  });
});
