/** Tests what the database refuses of payouts and their lines. The titles name the rules of docs/settlement.md. */
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { connectWithService, paidPayment, refused } from "./payment-rows.fixture.ts";

const { owner, service } = await connectWithService();

type Columns = Readonly<
  Record<string, string | number | null> & {
    line_id?: string;
  }
>;

const literal = (value: string | number | null) =>
  value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value}'`;

/** A payment of 49.00 EUR at an account of its own, with a payout, and a way to run the service's statements. */
async function paidAtAccount() {
  const payment = await paidPayment(owner);
  const { rows } = await payment("SELECT $session::uuid AS session, $attempt::uuid AS attempt");
  const { session, attempt } = rows[0];
  await owner.query(`INSERT INTO connection (id, merchant_id, gateway, account)
    SELECT a.connection_id, s.merchant_id, a.gateway, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id WHERE a.id = '${attempt}'`);
  const [{ connection }] = (
    await owner.query(`SELECT connection_id AS connection FROM attempt WHERE id = '${attempt}'`)
  ).rows;
  const payout = v7();
  await service.query(`INSERT INTO payout (id, merchant_id, connection_id, gateway, gateway_reference, status, amount_minor, currency)
    VALUES ('${payout}', '${v7()}', '${connection}', 'X', 'po_1', 'PAID', 4806, 'EUR')`);
  const line = (columns: Columns = {}) => {
    const row: Columns = {
      ...{
        connection_id: connection,
        line_id: "txn_1",
        digest: "\\x00",
        merchant_id: v7(),
        gateway: "X",
        payout_id: payout,
      },
      ...{ kind: "CAPTURE", status: "MATCHED", gross_minor: 4900, currency: "EUR", settled_gross_minor: 4900 },
      ...{
        fee_minor: 94,
        net_minor: 4806,
        settlement_currency: "EUR",
        gateway_type: "charge",
        gateway_reference: "ch_1",
      },
      ...{ session_id: session, entry_type: "CAPTURED", entry_id: attempt, entry_ordinal: 0, entry_at: "2026-03-04" },
      ...columns,
    };
    const names = Object.keys(row);
    return `INSERT INTO payout_line (${names.join(", ")}) VALUES (${names.map((name) => literal(row[name]!)).join(", ")})`;
  };
  return { session, attempt, connection, payout, line };
}
const unmatched = { ...{ status: "UNMATCHED", session_id: null }, ...noEntry() };
function noEntry() {
  return { entry_type: null, entry_id: null, entry_ordinal: null, entry_at: null };
}
const run = (sql: string) => service.query(sql);
const isRefused = (sql: string, reason: RegExp) => refused(run, sql, reason);
const complete = (payout: string) => `UPDATE payout SET complete_at = now() WHERE id = '${payout}'`;

describe("a line", () => {
  it("S1: is stored once for an account", async () => {
    const { line } = await paidAtAccount();
    await run(line());
    await isRefused(line(), /payout_line_pkey/);
    const other = await paidAtAccount();
    await run(other.line());
  });

  it.each([
    ["fee", { fee_minor: 93 }],
    ["net", { net_minor: 4807 }],
    ["settled gross", { settled_gross_minor: 4901 }],
    ["missing fee", { fee_minor: null }],
    ["missing amount", { gross_minor: null }],
  ])("S2: adds up: not with another %s", async (_, columns) => {
    const { line } = await paidAtAccount();
    await isRefused(line(columns), /payout_line_sum/);
    await run(line({ ...columns, ...unmatched, reason: "unreadable" }));
  });

  it.each([
    ["amount", { gross_minor: 4899 }],
    ["currency", { currency: "USD" }],
    ["direction", { gross_minor: -4900 }],
    ["attempt", { entry_id: v7() }],
    ["session", { session_id: v7() }],
    ["kind", { kind: "REFUND", entry_type: "REFUNDED" }],
    ["dispute", { kind: "CHARGEBACK", entry_type: "CHARGEBACK" }],
  ])("S3: pays an entry of exactly its own: not of another %s", async (_, columns) => {
    const { line } = await paidAtAccount();
    await isRefused(line(columns), /same account, amount and currency/);
  });

  it("S3: pays no entry of another account", async () => {
    const [one, other] = [await paidAtAccount(), await paidAtAccount()];
    const theirs = { session_id: other.session, entry_id: other.attempt };
    await isRefused(one.line(theirs), /same account, amount and currency/);
  });

  it("S3: is compared also when it is matched later", async () => {
    const { line, session, attempt } = await paidAtAccount();
    await run(line({ ...unmatched, gross_minor: 4899, reason: "not_found" }));
    const match = `UPDATE payout_line SET status = 'MATCHED', reason = NULL, session_id = '${session}', entry_type = 'CAPTURED', entry_id = '${attempt}',
      entry_ordinal = 0, entry_at = now() WHERE gross_minor = 4899`;
    await isRefused(match, /same account, amount and currency/);
  });

  it("S3: is the only one of its entry", async () => {
    const { line } = await paidAtAccount();
    await run(line());
    await isRefused(line({ line_id: "txn_2" }), /payout_line_of_entry/);
    await run(line({ ...unmatched, line_id: "txn_2", reason: "already_paid" }));
  });

  it.each([
    ["without a reason", { ...unmatched }],
    ["with an unknown reason", { ...unmatched, reason: "lost" }],
    ["matched, with a reason", { reason: "not_found" }],
    ["matched to nothing", { entry_id: null }],
    ["of the account, with an entry", { kind: "FEE", status: "ACCOUNT" }],
    ["of the account, of a payment's kind", { status: "ACCOUNT", session_id: null, ...noEntry() }],
    ["of the account, unmatched", { ...unmatched, kind: "RESERVE", reason: "not_found" }],
    ["of a known kind, with an unknown type", { ...unmatched, reason: "unknown_type" }],
    ["of no known kind, not found", { ...unmatched, kind: "OTHER", reason: "not_found" }],
    ["matched as another type", { kind: "REFUND" }],
  ])("S6: is listed under one reason: not %s", async (_, columns) => {
    const { line } = await paidAtAccount();
    await isRefused(line(columns), /payout_line_status/);
  });

  it("keeps what the gateway's statement says, and its match", async () => {
    const { line, connection } = await paidAtAccount();
    await run(line({ payout_id: null }));
    const of = `WHERE connection_id = '${connection}'`;
    await isRefused(`UPDATE payout_line SET net_minor = 4805, fee_minor = 95 ${of}`, /never changes/);
    const none = "session_id = NULL, entry_type = NULL, entry_id = NULL, entry_ordinal = NULL, entry_at = NULL";
    await isRefused(`UPDATE payout_line SET status = 'UNMATCHED', reason = 'not_found', ${none} ${of}`, /stays so/);
    await isRefused(`DELETE FROM payout_line ${of}`, /permission denied/);
  });

  it("is counted in the costs once, with its match", async () => {
    const { line, connection, payout } = await paidAtAccount();
    await run(line({ payout_id: null }));
    await run(`UPDATE payout_line SET payout_id = '${payout}' WHERE connection_id = '${connection}'`);
    await run(line({ ...unmatched, line_id: "fee", kind: "FEE", status: "ACCOUNT", fee_minor: 0, ...charged(-30) }));
    const { rows } =
      await owner.query(`SELECT c.type, c.lines, c.settled_gross_minor::int AS gross, c.fee_minor::int AS fee
      FROM analytics_cost c JOIN connection n ON n.merchant_id = c.merchant_id AND n.id = '${connection}' ORDER BY c.type`);
    expect(rows.filter(({ type }) => type === "ACCOUNT").at(-1)).toMatchObject({ fee: 30 });
    expect(
      rows.find(({ type }) => type === "CAPTURED")!.fee / rows.find(({ type }) => type === "CAPTURED")!.lines,
    ).toBe(94);
  });
});
function charged(minor: number) {
  return { gross_minor: minor, settled_gross_minor: minor, net_minor: minor };
}

describe("a payout", () => {
  it("S4: has the remainder of its lines once it is complete", async () => {
    const { line, payout } = await paidAtAccount();
    await run(line());
    await run(line({ ...unmatched, ...charged(-30), fee_minor: 0, line_id: "fee", kind: "FEE", status: "ACCOUNT" }));
    await run(
      line({ ...unmatched, ...charged(-4776), fee_minor: 0, line_id: "po", kind: "PAYOUT", status: "ACCOUNT" }),
    );
    await run(`UPDATE payout SET complete_at = now(), remainder_minor = 0 WHERE id = '${payout}'`);
    const { rows } = await owner.query(`SELECT remainder_minor::int AS remainder FROM payout WHERE id = '${payout}'`);
    expect(rows).toEqual([{ remainder: 30 }]);
  });

  it("S4: gets no line any more once it is complete, and loses none", async () => {
    const { line, payout, connection } = await paidAtAccount();
    await run(line({ payout_id: null }));
    await run(complete(payout));
    await isRefused(line({ ...unmatched, line_id: "late", reason: "not_found" }), /fixed/);
    await isRefused(`UPDATE payout_line SET payout_id = '${payout}' WHERE connection_id = '${connection}'`, /fixed/);
    const other = await paidAtAccount();
    await run(other.line());
    await isRefused(
      `UPDATE payout_line SET payout_id = NULL WHERE connection_id = '${other.connection}'`,
      /stays in its payout/,
    );
  });

  it.each(["amount_minor = 1", "currency = 'USD'", "complete_at = NULL", "remainder_minor = 0"])(
    "S4: keeps its amounts once it is complete: %s",
    async (change) => {
      const { payout } = await paidAtAccount();
      await run(complete(payout));
      await isRefused(`UPDATE payout SET ${change} WHERE id = '${payout}'`, /never change/);
      await run(`UPDATE payout SET status = 'FAILED' WHERE id = '${payout}'`);
    },
  );

  it("has lines of its own account and currency", async () => {
    const [one, other] = [await paidAtAccount(), await paidAtAccount()];
    await isRefused(one.line({ payout_id: other.payout }), /payout_line_connection_id_payout_id_fkey/);
    const dollars = { ...unmatched, reason: "not_found", settlement_currency: "USD" };
    await isRefused(one.line(dollars), /currency of its payout/);
  });
});
