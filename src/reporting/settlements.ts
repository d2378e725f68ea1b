/** Lists the ledger's movements of money, oldest first, each with the payout that paid it or the reason why none has. */
import { type PageTokenKeys, signPageToken, verifyPageToken } from "../core/page-token.ts";
import { pageSizeDefault } from "../limits.ts";
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import type { ConnectionId, MerchantId, PayoutId, SessionId } from "../platform/ids.ts";
import { type AccountStatements, type UnsettledReason, whyUnsettled } from "../settlement/why-unsettled.ts";
import type { LedgerEntry } from "./ledger.ts";
import { rangeOf } from "./ledger-days.ts";
import { idsIn, type LedgerSource, ledgerSources, merchantIn } from "./ledger-sources.ts";
import { rowsWalked } from "./list-walk.ts";

export const settlementStates = ["PAID", "IN_BALANCE", "OPEN"] as const;
type SettlementState = (typeof settlementStates)[number];

const day = 24 * 60 * 60_000;
const daysBefore = 30;

export type ListedSettlement = {
  readonly entry: LedgerEntry;
  readonly state: SettlementState;
  readonly payoutId: PayoutId | null;
  readonly feeMinor: number | null;
  readonly netMinor: number | null;
  readonly settlementCurrency: string | null;
  readonly open?: { readonly ageDays: number; readonly reason: UnsettledReason };
};

type Row = LedgerEntry & {
  readonly state: SettlementState;
  readonly payoutId: PayoutId | null;
  readonly feeMinor: number | null;
  readonly netMinor: number | null;
  readonly settlementCurrency: string | null;
  readonly connectionId: ConnectionId;
  readonly isUnconfirmed: boolean;
  /** True of a movement that no gateway pays. It is returned only as the last one that was looked at. */
  readonly isUnpaid: boolean;
  readonly differs: boolean;
  readonly position: string;
  readonly place: number;
  readonly ageMs: number;
};

// A void moves nothing, and neither does a capture that failed. One that failed and stands is listed once.
const moved = ledgerSources.filter(
  ({ type, at }) => type !== "VOIDED" && type !== "CAPTURE_FAILED" && at !== "m.capture_stands_at",
);

// The walk reads the movement's own row alone, in the order of an index over merchant and time.
function walkedIn(source: LedgerSource) {
  if (source.table === undefined)
    return {
      from: "payment_session s",
      session: "s.id",
      id: "s.captured_attempt_id",
      isOne: "s.captured_attempt_id IS NOT NULL",
    };
  return { from: `${source.table} m`, session: "m.session_id", id: idsIn(source).id, isOne: "true" };
}

function selectSource(source: LedgerSource, where: (session: string) => string, rest: string): string {
  const { type, at, of } = source;
  const { from, session, id, isOne } = walkedIn(source);
  return `(
    SELECT '${type}' AS type, ${at} AS at, ${id} AS id, ${ordinalIn(source)} AS ordinal, ${session} AS session_id
    FROM ${from} WHERE ${of} AND ${isOne} AND ${merchantIn(source)} = $1 AND ${where(session)} ${rest})`;
}

const ordinalIn = ({ table }: LedgerSource) => (table === "dispute_movement" ? "m.ordinal" : "0");

function selectInOrder(source: LedgerSource): string {
  const { type, at } = source;
  const [{ id }, ordinal] = [walkedIn(source), ordinalIn(source)];
  const where = `${at} >= greatest($2::timestamptz, $4::timestamptz) AND ${at} < $3::timestamptz
      AND ($4::timestamptz IS NULL OR (${at}, '${type}', ${id}, ${ordinal}) > ($4::timestamptz, $5::text COLLATE "C", $6::uuid, $7::int))`;
  return selectSource(source, () => where, `ORDER BY ${at}, ${id}${ordinal === "0" ? "" : `, ${ordinal}`} LIMIT $8`);
}

const inOrder = 'row_number() OVER (ORDER BY at, type COLLATE "C", id, ordinal) AS place';
const found = `
    found AS (
      SELECT w.*, l.payout_id, l.fee_minor, l.net_minor, l.settlement_currency,
        CASE WHEN l.connection_id IS NULL THEN 'OPEN' WHEN l.payout_id IS NULL THEN 'IN_BALANCE' ELSE 'PAID' END AS state
      FROM walked w LEFT JOIN LATERAL (
        SELECT * FROM payout_line l WHERE l.status = 'MATCHED' AND l.session_id = w.session_id AND l.entry_type = w.type AND l.entry_id = w.id
          AND l.entry_ordinal = w.ordinal LIMIT 1) l ON true)`;

// A capture that failed, and the amount that a dispute took until its gateway settled it by its own refund: the
// statement has the refund alone. Once such a dispute moves again, everything is shown.
const unpaid = `(f.type = 'CAPTURED' AND a.capture_failed_at IS NOT NULL OR f.state = 'OPEN' AND d.id IS NOT NULL AND EXISTS (
        SELECT FROM refund w WHERE w.session_id = f.session_id AND w.dispute_id = f.id AND w.status <> 'FAILED')
        AND (SELECT count(*) <= 2 FROM dispute_movement n WHERE n.session_id = f.session_id AND n.dispute_id = f.id))`;

// Look-ups for each movement that is listed: a join would be planned as one of whole tables. A refund and a dispute are of the
// captured attempt, at its account.
const one = (table: string, condition: string) => `LATERAL (SELECT * FROM ${table} o WHERE ${condition} LIMIT 1)`;
const described = `
    SELECT f.type, to_char(f.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "recordedAt", f.session_id AS "sessionId",
      a.id AS "attemptId", r.id AS "refundId", d.id AS "disputeId", s.order_ref AS "orderRef",
      coalesce(r.amount_minor, m.amount_minor, a.captured_amount_minor)::float8 AS "amountMinor", coalesce(m.currency, a.currency) AS currency, a.gateway,
      CASE WHEN f.type = 'CAPTURED' THEN a.gateway_reference ELSE coalesce(r.gateway_reference, d.gateway_reference) END AS "gatewayReference",
      a.connection_id AS "connectionId", f.type = 'CAPTURED' AND s.capture_confirmed IS FALSE AS "isUnconfirmed",
      ${unpaid} AS "isUnpaid", f.state,
      f.payout_id AS "payoutId", f.fee_minor::float8 AS "feeMinor", f.net_minor::float8 AS "netMinor", f.settlement_currency AS "settlementCurrency",
      f.place::int, (1000 * extract(epoch FROM (SELECT app.clock()) - f.at))::float8 AS "ageMs",
      to_char(f.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '|' || f.type || '|' || f.id || '|' || f.ordinal AS position,
      f.state = 'OPEN' AND EXISTS (SELECT FROM payout_line d WHERE d.status = 'UNMATCHED' AND d.session_id = f.session_id AND d.reason = 'amount_differs') AS differs
    FROM shown f CROSS JOIN ${one("payment_session", "o.id = f.session_id")} s
      CROSS JOIN ${one("attempt", "o.session_id = f.session_id AND o.id = s.captured_attempt_id")} a
      LEFT JOIN ${one("refund", "f.type IN ('REFUNDED','REFUND_FAILED') AND o.session_id = f.session_id AND o.id = f.id")} r ON true
      LEFT JOIN ${one("dispute", "f.type IN ('CHARGEBACK','CHARGEBACK_REVERSED') AND o.session_id = f.session_id AND o.id = f.id")} d ON true
      LEFT JOIN ${one("dispute_movement", "d.id IS NOT NULL AND o.session_id = f.session_id AND o.dispute_id = f.id AND o.ordinal = f.ordinal")} m ON true`;

// The last movement that was looked at is returned too, so that the next page begins after it.
const selectSettlements: Statement = {
  name: unnamed,
  text: `
    WITH walked AS (
      SELECT *, ${inOrder}
      FROM (${moved.map(selectInOrder).join(" UNION ALL ")}) entry ORDER BY place LIMIT $8),${found},
    shown AS (SELECT * FROM found WHERE $9::text IS NULL OR state = $9 OR place = $8 ORDER BY place)${described}
    WHERE f.place = $8 OR NOT ${unpaid} ORDER BY f.place LIMIT $10::int + 1`,
};

const selectOfPayment: Statement = {
  name: "select_settlements_of_payment",
  text: `
    WITH walked AS (
      SELECT *, ${inOrder}
      FROM (${moved.map((source) => selectSource(source, (session) => `${session} = $2`, "")).join(" UNION ALL ")}) entry),${found},
    shown AS (SELECT * FROM found)${described} WHERE NOT ${unpaid} ORDER BY f.place`,
};

const selectAccounts: Statement = {
  name: "select_accounts_statements",
  text: `
    SELECT f.connection_id AS "connectionId", f.read_at IS NOT NULL AS "isRead", f.blocked_reason IS NOT NULL AS "isBlocked",
      f.usual_delay_ms::float8 AS "usualDelayMs", EXISTS (
        SELECT FROM settlement_report r
        WHERE r.connection_id = f.connection_id AND r.is_missing AND r.queued_at > app.clock() - interval '90 days') AS "isReportMissing"
    FROM gateway_feed f JOIN connection c ON c.id = f.connection_id WHERE c.merchant_id = $1 AND f.kind = 'settlement'`,
};

type Wanted = {
  readonly merchantId: MerchantId;
  /** An export continues with its own page tokens only: one of the list would leave no audit row. */
  readonly isExport?: boolean;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly state?: SettlementState | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
  readonly keys: PageTokenKeys;
  readonly now: Date;
};

/** Returns one page. Throws `invalid_parameter` for days that break a rule, and for a page token of another list. */
export async function listSettlements(
  databases: readonly Queryable[],
  { merchantId, isExport, state, pageSize: count = pageSizeDefault, pageToken, keys, now, ...days }: Wanted,
): Promise<{
  readonly settlements: readonly ListedSettlement[];
  readonly nextPageToken: string | undefined;
  /** Present with a next page: the time at which the last movement that was read was recorded. */
  readonly lookedUntil: Date | undefined;
}> {
  const to = days.to ?? now.toISOString().slice(0, 10);
  // If `to` is no day, the range's rule is reported.
  const beginning = new Date(Date.parse(`${to}T00:00:00Z`) - daysBefore * day);
  const from = days.from ?? (Number.isNaN(beginning.getTime()) ? to : beginning.toISOString().slice(0, 10));
  const { begin, end } = rangeOf({ from, to });
  const scope = JSON.stringify([isExport ? "settlements export" : "settlements", merchantId, from, to, state]);
  const after = pageToken
    ? verifyPageToken(keys, { scope, token: pageToken, now }).split("|")
    : [null, null, null, null];
  const looked = state === undefined ? count + 1 : rowsWalked;
  const values = [merchantId, begin, end, ...after, looked, state ?? null, count];
  const pages = await Promise.all(
    databases.map(async (database) => {
      const rows = await database.query<Row>(selectSettlements, [...values]);
      const accounts = await database.query<AccountStatements & { connectionId: ConnectionId }>(selectAccounts, [
        merchantId,
      ]);
      return { rows, accounts };
    }),
  );
  const accounts = new Map(pages.flatMap((page) => page.accounts.map((one) => [one.connectionId, one] as const)));
  // Rows past the end of a database's page are not known there.
  const ends = pages.flatMap(({ rows }) =>
    rows.filter(({ place }) => place === looked).map(({ position }) => position),
  );
  const until = ends.toSorted()[0];
  const rows = pages
    .flatMap((page) => page.rows)
    .filter((row) => until === undefined || row.position <= until)
    .toSorted((one, other) => (one.position < other.position ? -1 : 1));
  const matching = rows.filter((row) => !row.isUnpaid && (state === undefined || row.state === state));
  const shown = matching.slice(0, count);
  const isMore = matching.length > count || until !== undefined;
  const lastId = matching.length > count ? shown.at(-1)?.position : until;
  return {
    settlements: shown.map((row) => settlementOf(row, accounts)),
    nextPageToken: isMore && lastId ? signPageToken(keys, { scope, lastId, now }) : undefined,
    lookedUntil: isMore && lastId ? new Date(lastId.split("|")[0]!) : undefined,
  };
}

/** Returns the settlement of each movement of one payment, oldest first; empty if no money has moved. */
export async function listPaymentSettlements(
  database: Queryable,
  { merchantId, sessionId }: { readonly merchantId: MerchantId; readonly sessionId: SessionId },
): Promise<readonly ListedSettlement[]> {
  const rows = await database.query<Row>(selectOfPayment, [merchantId, sessionId]);
  if (rows.length === 0) return [];
  const accounts = await database.query<AccountStatements & { connectionId: ConnectionId }>(selectAccounts, [
    merchantId,
  ]);
  const byId = new Map(accounts.map((one) => [one.connectionId, one]));
  return rows.map((row) => settlementOf(row, byId));
}

function settlementOf(row: Row, accounts: ReadonlyMap<ConnectionId, AccountStatements>): ListedSettlement {
  const { state, payoutId, feeMinor, netMinor, settlementCurrency, connectionId, isUnconfirmed, differs, ...rest } =
    row;
  const { position: _, place: __, isUnpaid: ___, ageMs, ...entry } = rest;
  const listed = { entry, state, payoutId, feeMinor, netMinor, settlementCurrency };
  if (state !== "OPEN") return listed;
  const reason = whyUnsettled({ ageMs, isUnconfirmed, differs }, accounts.get(connectionId));
  return { ...listed, open: { ageDays: Math.floor(ageMs / day), reason } };
}
