/** Times the lists of disputes, payouts and settlement lines over a merchant's million payments, with every filter. */
import type { PageTokenKeys } from "../../core/page-token.ts";
import { disputeStages, disputeStatuses } from "../../core/rows/disputes.ts";
import type { Database } from "../../platform/database.ts";
import type { MerchantId, PayoutId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { type DisputeFilters, listDisputes } from "../../reporting/dispute-list.ts";
import { countOpenDisputes } from "../../reporting/open-disputes.ts";
import { lineStatuses, listPayoutLines, listPayouts } from "../../reporting/payouts.ts";
import { countUnmatched, groupOpen, totalLines } from "../../reporting/settlement-overview.ts";
import { listSettlements, settlementStates } from "../../reporting/settlements.ts";
import { withClient } from "../testing/with-client.ts";
import type { MoneyCall } from "./money-lists.ts";

// Disputes one captured payment in a hundred, up to the newest of a year: more than networks allow a merchant.
const insertDisputes = `
  INSERT INTO dispute (session_id, id, merchant_id, attempt_id, connection_id, gateway, gateway_reference, stage, status, amount_minor, currency,
    held_minor, reason, respond_by, notices, created_at, updated_at, closed_at)
  SELECT session_id, gen_random_uuid(), merchant_id, attempt_id, connection_id, gateway, 'dp_' || session_id,
    CASE WHEN dice < 0.1 THEN 'INQUIRY' WHEN dice > 0.95 THEN 'FRAUD_WARNING' ELSE 'CHARGEBACK' END, status, amount_minor, currency,
    CASE WHEN status IN ('WON','CLOSED') THEN 0 ELSE amount_minor END, (ARRAY['fraudulent','not_received','other'])[1 + floor(random() * 3)],
    at + interval '14 days', '[]', at, at, CASE WHEN status IN ('NEEDS_RESPONSE','UNDER_REVIEW') THEN NULL ELSE at + interval '20 days' END
  FROM (
    SELECT *, settled_at + random() * (clock_timestamp() - settled_at) AS at,
      CASE WHEN dice < 0.05 THEN 'NEEDS_RESPONSE' WHEN dice < 0.1 THEN 'UNDER_REVIEW' WHEN dice < 0.5 THEN 'LOST' WHEN dice < 0.55 THEN 'ACCEPTED'
        WHEN dice <= 0.95 THEN 'WON' ELSE 'CLOSED' END AS status
    FROM (
      SELECT s.id AS session_id, s.merchant_id, s.settled_at, a.id AS attempt_id, a.connection_id, a.gateway, a.amount_minor, a.currency, random() AS dice
      FROM payment_session s JOIN attempt a ON a.session_id = s.id AND a.id = s.captured_attempt_id WHERE random() < 0.01) drawn) made`;
const insertMovements = `
  INSERT INTO dispute_movement (session_id, dispute_id, ordinal, merchant_id, gateway, type, amount_minor, currency, recorded_at)
  SELECT session_id, id, n, merchant_id, gateway, (ARRAY['CHARGEBACK','CHARGEBACK_REVERSED'])[n], amount_minor, currency, created_at
  FROM dispute, generate_series(1, CASE status WHEN 'WON' THEN 2 ELSE 1 END) n WHERE stage = 'CHARGEBACK'`;
const countDisputes = `
  UPDATE payment_session s SET disputes = 1 FROM dispute d WHERE d.session_id = s.id`;

// Two accounts, each with a payout a day. One payout has a hundred thousand lines, and the newest week is not paid out.
const insertAccounts = `
  INSERT INTO connection (id, merchant_id, gateway, account)
  SELECT gen_random_uuid(), $1, gateway, 'a merchant''s' FROM unnest('{SANDBOX_A,SANDBOX_B}'::text[]) gateway;
`;
const insertFeeds = `
  INSERT INTO gateway_feed (connection_id, kind, next_read_at, read_at, usual_delay_ms)
  SELECT id, 'settlement', clock_timestamp(), clock_timestamp(), 172800000 FROM connection WHERE merchant_id = $1`;
const insertPayouts = `
  INSERT INTO payout (id, merchant_id, connection_id, gateway, gateway_reference, status, amount_minor, currency, arrives_on, lines_known, complete_at, remainder_minor)
  SELECT gen_random_uuid(), $1, c.id, c.gateway, row_number() OVER ()::text, 'PAID', 100000, 'EUR', day, true, day, CASE WHEN random() < 0.01 THEN 5 ELSE 0 END
  FROM connection c, generate_series(current_date - 365, current_date - 7, interval '1 day') day WHERE c.merchant_id = $1`;
const lineColumns = `connection_id, line_id, digest, merchant_id, gateway, payout_id, kind, status, reason, gross_minor, currency, settled_gross_minor,
    fee_minor, net_minor, settlement_currency, gateway_type, gateway_reference, session_id, entry_type, entry_id, entry_ordinal, entry_at, recorded_at`;
const insertCaptureLines = `
  WITH newest AS MATERIALIZED (
    SELECT min(settled_at) AS at FROM (SELECT settled_at FROM payment_session WHERE status = 'SUCCEEDED' AND settled_at < current_date - 7
      ORDER BY settled_at DESC LIMIT $1) s)
  INSERT INTO payout_line (${lineColumns})
  SELECT p.connection_id, 'txn_' || a.id, sha256('x'), s.merchant_id, c.gateway, p.id, 'CAPTURE', 'MATCHED', NULL, a.amount_minor, a.currency, a.amount_minor,
    25, a.amount_minor - 25, a.currency, 'charge', a.id::text, s.id, 'CAPTURED', a.id, 0, s.settled_at, s.settled_at + interval '1 day'
  FROM payment_session s JOIN attempt a ON a.session_id = s.id AND a.id = s.captured_attempt_id CROSS JOIN newest
  JOIN connection c ON c.merchant_id = s.merchant_id AND c.gateway = CASE WHEN s.settled_at >= newest.at THEN 'SANDBOX_A' ELSE a.gateway END
  JOIN payout p ON p.connection_id = c.id AND p.arrives_on = CASE WHEN s.settled_at >= newest.at THEN current_date - 7 ELSE s.settled_at::date END
  WHERE s.settled_at < current_date - 7`;
const insertDisputeLines = `
  INSERT INTO payout_line (${lineColumns})
  SELECT p.connection_id, 'txn_' || m.dispute_id || m.ordinal, sha256('x'), m.merchant_id, m.gateway, p.id, m.type, 'MATCHED', NULL, -m.amount_minor, m.currency,
    -m.amount_minor, 1500, -m.amount_minor - 1500, m.currency, 'adjustment', m.dispute_id::text, m.session_id, m.type, m.dispute_id, m.ordinal, m.recorded_at,
    m.recorded_at + interval '1 day'
  FROM dispute_movement m JOIN connection c ON c.merchant_id = m.merchant_id AND c.gateway = m.gateway
  JOIN payout p ON p.connection_id = c.id AND p.arrives_on = m.recorded_at::date`;
// Inserts for each payout its fee, itself, and two lines of another amount.
const insertOtherLines = `
  INSERT INTO payout_line (${lineColumns})
  SELECT connection_id, 'fee_' || id || kind, sha256('x'), merchant_id, gateway, id, kind, 'ACCOUNT', NULL, -100, 'EUR', -100, 0, -100, 'EUR', lower(kind), 'fee',
    NULL::uuid, NULL, NULL::uuid, NULL::smallint, NULL::timestamptz, day + interval '1 day'
  FROM payout, unnest('{FEE,PAYOUT}'::text[]) kind
  UNION ALL
  SELECT connection_id, 'other_' || id || n, sha256('x'), merchant_id, gateway, id, 'CAPTURE', 'UNMATCHED', 'amount_differs', 4900, 'EUR', 4900, 0, 4900,
    'EUR', 'charge', 'other', NULL, NULL, NULL, NULL, NULL, day + n * interval '1 hour'
  FROM payout, generate_series(1, 2) n`;
// The account is used beside us, for five seconds each.
const insertForeignLines = `
  INSERT INTO payout_line (${lineColumns})
  SELECT c.id, 'foreign_' || n, sha256('x'), c.merchant_id, c.gateway, NULL, 'CAPTURE', 'UNMATCHED', 'not_ours', 4900, 'EUR', 4900, 0, 4900, 'EUR', 'charge',
    'other', NULL, NULL, NULL, NULL, NULL, clock_timestamp() - n * interval '5 seconds'
  FROM connection c, generate_series(1, $2::int) n WHERE c.merchant_id = $1 AND c.gateway = 'SANDBOX_A'`;

export type SettlementRows = {
  readonly merchantId: MerchantId;
  /** The lines of one payout among those of a year. */
  readonly longestPayout: number;
  /** Unmatched lines of payments that other systems made with the same account. */
  readonly foreignLines: number;
};

/** Writes the rows beside a merchant's payments as the server's superuser, who bypasses the guards. */
export async function fillSettlement(superuserUrl: string, rows: SettlementRows): Promise<void> {
  const { merchantId, longestPayout, foreignLines } = rows;
  await withClient(superuserUrl, async (client) => {
    await client.query("SET session_replication_role = replica; SET synchronous_commit = off; SELECT setseed(0.5)");
    for (const statement of [insertDisputes, insertMovements, countDisputes]) await client.query(statement);
    for (const statement of [insertAccounts, insertFeeds, insertPayouts]) await client.query(statement, [merchantId]);
    await client.query("ANALYZE");
    await client.query(insertCaptureLines, [longestPayout]);
    await client.query(insertDisputeLines);
    await client.query(insertOtherLines);
    await client.query(insertForeignLines, [merchantId, foreignLines]);
    await client.query("VACUUM ANALYZE");
  });
}

const pageSize = 50;
const keys: PageTokenKeys = [new Secret("bench")];

/** Returns the calls: each list without a filter and with each filter, the first page; and late pages of the long ones. */
export async function settlementCalls(
  database: Database,
  { merchantId }: SettlementRows,
): Promise<readonly MoneyCall[]> {
  const one = async <Row extends object>(text: string) =>
    (await database.query<Row>({ name: "", text }, [merchantId]))[0]!;
  const { orderRef } = await one<{ orderRef: string }>(
    `SELECT order_ref AS "orderRef" FROM payment_session s JOIN dispute d ON d.session_id = s.id WHERE s.merchant_id = $1 ORDER BY d.created_at LIMIT 1`,
  );
  const { id: payoutId } = await one<{ id: PayoutId }>(
    "SELECT payout_id AS id FROM payout_line WHERE merchant_id = $1 AND payout_id IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
  );
  const now = new Date();
  const [from, to] = [new Date(now.getTime() - 37 * 86_400_000), new Date(now.getTime() - 7 * 86_400_000)].map((at) =>
    at.toISOString().slice(0, 10),
  ) as [string, string];
  const paged = { merchantId, pageSize, keys, now };
  const disputes = (what: string, filters: DisputeFilters): MoneyCall => [
    "disputes",
    what,
    () => listDisputes([database], { ...paged, filters }),
  ];
  const payouts = (what: string, filters: Parameters<typeof listPayouts>[1]["filters"]): MoneyCall => [
    "payouts",
    what,
    () => listPayouts([database], { ...paged, filters }),
  ];
  const lines = (what: string, filters: Parameters<typeof listPayoutLines>[1]["filters"]): MoneyCall => [
    "payout lines",
    what,
    () => listPayoutLines([database], { ...paged, filters }),
  ];
  const settlements = (what: string, wanted: object): MoneyCall => [
    "settlements",
    what,
    () => listSettlements([database], { ...paged, ...wanted }),
  ];
  return [
    disputes("all", {}),
    ...disputeStatuses.map((status) => disputes(status, { status })),
    ...disputeStages.map((stage) => disputes(stage, { stage })),
    disputes("a gateway", { gateway: "SANDBOX_B" }),
    disputes("a gateway without any", { gateway: "STRIPE" }),
    disputes("an orderRef", { orderRef }),
    disputes("an orderRef without any", { orderRef: "none" }),
    disputes("an early deadline", { respondBefore: new Date(now.getTime() - 360 * 86_400_000) }),
    disputes("a month", { createdAfter: new Date(from), createdBefore: new Date(to) }),
    ["disputes", "count to answer", () => countOpenDisputes(database, { merchantId, now })],
    payouts("all", {}),
    payouts("a month", { from, to }),
    payouts("a gateway", { gateway: "SANDBOX_B" }),
    payouts("a gateway without any", { gateway: "STRIPE" }),
    payouts("with a remainder", { hasRemainder: true }),
    lines("all", {}),
    ...lineStatuses.map((status) => lines(status, { status })),
    lines("amount_differs", { reason: "amount_differs" }),
    lines("a reason that none has", { reason: "unreadable" }),
    lines("of the longest payout", { payoutId }),
    ...lineStatuses.map((status) => lines(`${status} of the longest payout`, { payoutId, status })),
    ["payout lines", "unmatched by reason", () => countUnmatched(database, merchantId)],
    ["payout lines", "the totals of the longest payout", () => totalLines(database, payoutId)],
    settlements("the newest 30 days", {}),
    settlements("a month", { from, to }),
    ...settlementStates.flatMap((state) => [
      settlements(`${state}, the newest 30 days`, { state }),
      settlements(`${state}, a month`, { from, to, state }),
    ]),
    ["settlements", "open ones by reason and age", () => groupOpen(database, { merchantId, keys, now })],
  ];
}
