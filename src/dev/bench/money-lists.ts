/** Times the first and a late page of the lists about money over a merchant's million payments: refunds, holds, the ledger. */
import { type PageTokenKeys, signPageToken } from "../../core/page-token.ts";
import type { Database } from "../../platform/database.ts";
import { Secret } from "../../platform/secrets.ts";
import { readLedger } from "../../reporting/ledger.ts";
import type { LedgerDays } from "../../reporting/ledger-days.ts";
import { totalLedger } from "../../reporting/ledger-totals.ts";
import { listPayments } from "../../reporting/payment-list.ts";
import { listRefunds } from "../../reporting/refund-list.ts";
import { withClient } from "../testing/with-client.ts";

export type MoneyRows = {
  readonly merchantId: string;
  /** A merchant with a hundred refunds, beside the one with very many. */
  readonly smallMerchantId: string;
  /** The day on which every captured payment was refunded. */
  readonly day: string;
  readonly held: number;
};

// Every captured payment is refunded on one day: the ledger's longest day, and the longest list.
const insertRefunds = `
  INSERT INTO refund (session_id, id, merchant_id, attempt_id, connection_id, gateway, amount_minor, currency, status,
    request_hash, gateway_reference, sends, keys, first_sent_at, sent_at, created_at, completed_at, succeeded_at)
  SELECT session_id, id, merchant_id, attempt_id, connection_id, gateway, amount_minor, currency, 'SUCCEEDED',
    sha256('x'), 're_' || id, 1, 1, at, at, at, at, at
  FROM (
    SELECT s.id AS session_id, gen_random_uuid() AS id, s.merchant_id, a.id AS attempt_id, a.connection_id, a.gateway,
      a.amount_minor, a.currency, $1::timestamptz + random() * interval '1 day' AS at
    FROM payment_session s JOIN attempt a ON a.session_id = s.id AND a.id = s.captured_attempt_id) made`;
const giveAway = `
  UPDATE refund SET merchant_id = $1 WHERE (session_id, id) IN (SELECT session_id, id FROM refund ORDER BY session_id LIMIT 100)`;
const giveAwaySessions = `
  UPDATE payment_session SET merchant_id = $1 WHERE id IN (SELECT session_id FROM refund WHERE merchant_id = $1)`;
// The payments are made over five days, which is how long most gateways hold.
const insertHeld = `
  WITH p AS (
    SELECT uuidv7(at - clock_timestamp()) AS id, uuidv7(at - clock_timestamp()) AS winner, at, i
    FROM (SELECT i, clock_timestamp() - interval '5 days' * ($2 - i) / $2 AS at FROM generate_series(1, $2::int) AS i) drawn),
  sessions AS (
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, status, phase, lease_epoch,
      lease_until, submit_deadline, rule_version, winner_attempt_id, capture_confirmed, card_brand, card_last4, created_at,
      expires_at, submitted_at, manual_capture, held_at, held_until)
    SELECT id, $1, 4900, 'EUR', 'held-' || i, 1, 'CREATED', 'PROCESSING', 1, at + interval '6 days', at, 1, winner, NULL, 'visa',
      '4242', at, at + interval '30 minutes', at, true, at, at + interval '6 days'
    FROM p)
  INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor,
    currency, status, gateway_reference, latest_execution_at, started_at, answered_at, changed_at)
  SELECT id, winner, 1, 'SANDBOX_A', $1, 1, 1, 'by the rule', 4900, 'EUR', 'AUTHORIZED', winner::text, at, at, at, at FROM p`;

/** Writes the rows beside a merchant's payments as the server's superuser, who bypasses the guards. */
export async function fillMoney(superuserUrl: string, rows: MoneyRows): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    await client.query("SET session_replication_role = replica; SET synchronous_commit = off");
    await client.query(insertRefunds, [rows.day]);
    await client.query(giveAway, [rows.smallMerchantId]);
    await client.query(giveAwaySessions, [rows.smallMerchantId]);
    await client.query(insertHeld, [rows.merchantId, rows.held]);
    await client.query("VACUUM ANALYZE");
  });
}

export function totalCalls(database: Database, { merchantId, day }: MoneyRows, when: string): readonly MoneyCall[] {
  return [
    ["totals of the longest day", when, () => totalLedger(database, { merchantId, days: { day } })],
    [
      "totals of 31 days, the longest among them",
      when,
      () => totalLedger(database, { merchantId, days: monthTo(day) }),
    ],
  ];
}

const monthTo = (day: string) => ({
  from: new Date(Date.parse(day) - 30 * 86_400_000).toISOString().slice(0, 10),
  to: day,
});

export type MoneyCall = readonly [list: string, page: string, call: () => Promise<unknown>];

const pageSize = 50;
const ledgerPage = 1_000;

/** Returns the calls. A late page begins after nine tenths of the rows. */
export async function moneyCalls(database: Database, rows: MoneyRows): Promise<readonly MoneyCall[]> {
  const { merchantId, smallMerchantId, day } = rows;
  const keys: PageTokenKeys = [new Secret("bench")];
  const one = async (text: string, values: readonly unknown[]) =>
    (await database.query<{ position: string }>({ name: "", text }, values))[0]?.position ?? "";
  const late = (count: string) => `OFFSET (SELECT count(*) * 9 / 10 FROM ${count}) LIMIT 1`;
  const lateRefund = await one(
    `SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '|' || id AS position
     FROM refund WHERE merchant_id = $1 ORDER BY created_at DESC, id DESC ${late("refund WHERE merchant_id = $1")}`,
    [merchantId],
  );
  const held =
    "payment_session WHERE merchant_id = $1 AND manual_capture AND held_at IS NOT NULL AND status = 'CREATED'";
  const lateHold = await one(`SELECT id::text AS position FROM ${held} ORDER BY id DESC ${late(held)}`, [merchantId]);
  const lateEntry = await one(
    `SELECT to_char(succeeded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '|REFUNDED|' || id AS position
     FROM refund WHERE merchant_id = $1 ORDER BY succeeded_at, id ${late("refund WHERE merchant_id = $1")}`,
    [merchantId],
  );
  const scope = { scope: JSON.stringify(["ledger", merchantId, day]), now: new Date(day) };
  const pageToken = signPageToken(keys, { ...scope, lastId: lateEntry });
  const refunds = (after: string | undefined, filter = {}) =>
    listRefunds(database, { merchantId, filter, after, count: pageSize });
  const holds = (after: string | undefined) =>
    listPayments(database, { merchantId, filter: { held: true }, after, count: pageSize });
  const month = monthTo(day);
  const ledger = (of: string, token: string | undefined, days: LedgerDays = { day }) =>
    readLedger([database], { merchantId: of, days, count: ledgerPage, pageToken: token, keys });
  return [
    ["refunds", "first", () => refunds(undefined)],
    ["refunds", "late", () => refunds(lateRefund)],
    ["refunds that failed, of which there are none", "first", () => refunds(undefined, { status: "FAILED" })],
    ["held payments", "first", () => holds(undefined)],
    ["held payments", "late", () => holds(lateHold)],
    ["ledger of the longest day", "first", () => ledger(merchantId, undefined)],
    ["ledger of the longest day", "late", () => ledger(merchantId, pageToken)],
    ["ledger of 31 days, the longest among them", "first", () => ledger(merchantId, undefined, month)],
    [
      "ledger of the same 31 days for a merchant with 100 refunds",
      "first",
      () => ledger(smallMerchantId, undefined, month),
    ],
    ["ledger of the same day for a merchant with 100 refunds", "first", () => ledger(smallMerchantId, undefined)],
  ];
}
