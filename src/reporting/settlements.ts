/** Lists the ledger's movements of money, oldest first, each with the payout that paid it or the reason why none has. */
import { type PageTokenKeys, signPageToken, verifyPageToken } from "../core/page-token.ts";
import { pageSizeDefault } from "../limits.ts";
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import type { ConnectionId, MerchantId, PayoutId, SessionId } from "../platform/ids.ts";
import { type AccountStatements, type UnsettledReason, whyUnsettled } from "../settlement/why-unsettled.ts";
import type { LedgerEntry } from "./ledger.ts";
import { rangeOf } from "./ledger-days.ts";
import { amountIn, idsIn, type LedgerSource, ledgerSources, merchantIn } from "./ledger-sources.ts";
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
  /** Of an open one. */
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
  readonly differs: boolean;
  readonly position: string;
  readonly place: number;
  readonly ageMs: number;
};

// A void moves nothing, and neither does a capture that failed. One that failed and stands is listed once.
const moved = ledgerSources.filter(
  ({ type, at }) => type !== "VOIDED" && type !== "CAPTURE_FAILED" && at !== "m.capture_stands_at",
);

// A scalar look-up for each session: a join would be planned as one of whole tables, because few attempts seem to fit.
const capturedFrom = `payment_session s CROSS JOIN LATERAL (
      SELECT * FROM attempt m WHERE m.session_id = s.id AND m.id = s.captured_attempt_id LIMIT 1) m`;

function selectSource(source: LedgerSource, where: string, rest: string): string {
  const { type, at, of, table } = source;
  const from = type === "CAPTURED" ? capturedFrom : source.from;
  const { id, attempt, refund, dispute, row } = idsIn(source);
  const account = table === "dispute_movement" ? "d.connection_id" : "m.connection_id";
  const stands = type === "CAPTURED" ? "AND m.capture_failed_at IS NULL" : "";
  return `(
    SELECT '${type}' AS type, ${at} AS at, ${id} AS id, ${ordinalIn(source)} AS ordinal, m.session_id, ${attempt} AS attempt_id, ${refund} AS refund_id,
      ${dispute} AS dispute_id, s.order_ref, ${amountIn(source)} AS amount_minor, m.currency, m.gateway, ${row}.gateway_reference,
      ${account} AS connection_id, ${type === "CAPTURED" ? "s.capture_confirmed IS FALSE" : "false"} AS is_unconfirmed
    FROM ${from}
    WHERE ${of} ${stands} AND ${merchantIn(source)} = $1 AND ${where} ${rest})`;
}

const ordinalIn = ({ table }: LedgerSource) => (table === "dispute_movement" ? "m.ordinal" : "0");

function selectInOrder(source: LedgerSource): string {
  const { type, at } = source;
  const [{ id }, ordinal] = [idsIn(source), ordinalIn(source)];
  const where = `${at} >= greatest($2::timestamptz, $4::timestamptz) AND ${at} < $3::timestamptz
      AND ($4::timestamptz IS NULL OR (${at}, '${type}', ${id}, ${ordinal}) > ($4::timestamptz, $5::text COLLATE "C", $6::uuid, $7::int))`;
  return selectSource(source, where, `ORDER BY ${at}, ${id}${ordinal === "0" ? "" : `, ${ordinal}`} LIMIT $8`);
}

const inOrder = 'row_number() OVER (ORDER BY at, type COLLATE "C", id, ordinal) AS place';
const found = `
    found AS (
      SELECT w.*, l.payout_id, l.fee_minor, l.net_minor, l.settlement_currency,
        CASE WHEN l.connection_id IS NULL THEN 'OPEN' WHEN l.payout_id IS NULL THEN 'IN_BALANCE' ELSE 'PAID' END AS state
      FROM walked w LEFT JOIN LATERAL (
        SELECT * FROM payout_line l WHERE l.status = 'MATCHED' AND l.session_id = w.session_id AND l.entry_type = w.type AND l.entry_id = w.id
          AND l.entry_ordinal = w.ordinal LIMIT 1) l ON true)
    SELECT type, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "recordedAt", session_id AS "sessionId",
      attempt_id AS "attemptId", refund_id AS "refundId", dispute_id AS "disputeId", order_ref AS "orderRef", amount_minor::float8 AS "amountMinor",
      currency, gateway, gateway_reference AS "gatewayReference", connection_id AS "connectionId", is_unconfirmed AS "isUnconfirmed", state,
      payout_id AS "payoutId", fee_minor::float8 AS "feeMinor", net_minor::float8 AS "netMinor", settlement_currency AS "settlementCurrency", place::int,
      (1000 * extract(epoch FROM (SELECT app.clock()) - at))::float8 AS "ageMs",
      to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '|' || type || '|' || id || '|' || ordinal AS position,
      state = 'OPEN' AND EXISTS (SELECT FROM payout_line d WHERE d.status = 'UNMATCHED' AND d.session_id = found.session_id AND d.reason = 'amount_differs') AS differs
    FROM found`;

// The last movement that was looked at is returned too, so that the next page begins after it.
const selectSettlements: Statement = {
  name: unnamed,
  text: `
    WITH walked AS (
      SELECT *, ${inOrder}
      FROM (${moved.map(selectInOrder).join(" UNION ALL ")}) entry ORDER BY place LIMIT $8),${found}
    WHERE $9::text IS NULL OR state = $9 OR place = $8 ORDER BY place LIMIT $10::int + 1`,
};

const selectOfPayment: Statement = {
  name: "select_settlements_of_payment",
  text: `
    WITH walked AS (
      SELECT *, ${inOrder}
      FROM (${moved.map((source) => selectSource(source, "s.id = $2", "")).join(" UNION ALL ")}) entry),${found} ORDER BY place`,
};

const selectAccounts: Statement = {
  name: "select_accounts_statements",
  text: `
    SELECT f.connection_id AS "connectionId", f.read_at IS NOT NULL AS "isRead", f.blocked_reason IS NOT NULL AS "isBlocked",
      f.usual_delay_ms::float8 AS "usualDelayMs", EXISTS (
        SELECT FROM (SELECT gateway_reference::int - lag(gateway_reference::int) OVER (ORDER BY gateway_reference::int) AS step FROM payout p
          WHERE p.connection_id = f.connection_id AND p.gateway_reference ~ '^[0-9]{1,9}$') batch WHERE step > 1) AS "isReportMissing"
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
  /** With a next page: when the last movement that was looked at was recorded. */
  readonly lookedUntil: Date | undefined;
}> {
  const to = days.to ?? now.toISOString().slice(0, 10);
  // Of a `to` that is no day, the rule is reported.
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
  // What lies behind the end of one database's page is not known there.
  const ends = pages.flatMap(({ rows }) =>
    rows.filter(({ place }) => place === looked).map(({ position }) => position),
  );
  const until = ends.toSorted()[0];
  const rows = pages
    .flatMap((page) => page.rows)
    .filter((row) => until === undefined || row.position <= until)
    .toSorted((one, other) => (one.position < other.position ? -1 : 1));
  const matching = rows.filter((row) => state === undefined || row.state === state);
  const shown = matching.slice(0, count);
  const isMore = matching.length > count || until !== undefined;
  const lastId = matching.length > count ? shown.at(-1)?.position : until;
  return {
    settlements: shown.map((row) => settlementOf(row, accounts)),
    nextPageToken: isMore && lastId ? signPageToken(keys, { scope, lastId, now }) : undefined,
    lookedUntil: isMore && lastId ? new Date(lastId.split("|")[0]!) : undefined,
  };
}

/** Returns what has become of the money of one payment, oldest first; nothing if none has moved. */
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
  const { position: _, place: __, ageMs, ...entry } = rest;
  const listed = { entry, state, payoutId, feeMinor, netMinor, settlementCurrency };
  if (state !== "OPEN") return listed;
  const reason = whyUnsettled({ ageMs, isUnconfirmed, differs }, accounts.get(connectionId));
  return { ...listed, open: { ageDays: Math.floor(ageMs / day), reason } };
}
