/** Lists a merchant's payouts and the lines of its gateways' statements: newest first, in one cell or over several. */
import { type PageTokenKeys, signPageToken, verifyPageToken } from "../core/page-token.ts";
import { pageSizeDefault } from "../limits.ts";
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import type { ConnectionId, MerchantId, PayoutId, SessionId } from "../platform/ids.ts";
import type { LedgerSource } from "./ledger-sources.ts";

export const lineStatuses = ["MATCHED", "UNMATCHED", "ACCOUNT"] as const;
type LineStatus = (typeof lineStatuses)[number];

export type ListedPayout = {
  readonly id: PayoutId;
  readonly gateway: string;
  readonly connectionId: ConnectionId;
  readonly gatewayReference: string;
  readonly status: "PENDING" | "PAID" | "FAILED";
  readonly amountMinor: number;
  readonly currency: string;
  /** In the form year-month-day. */
  readonly arrivesOn: string | null;
  readonly remainderMinor: number | null;
  readonly completeAt: Date | null;
};

export type ListedLine = {
  readonly kind:
    | ("CAPTURE" | "REFUND" | "REFUND_FAILED" | "CHARGEBACK" | "CHARGEBACK_REVERSED" | "FEE" | "RESERVE")
    | ("CONVERSION" | "ADJUSTMENT" | "PAYOUT" | "OTHER");
  readonly status: LineStatus;
  readonly reason: string | null;
  readonly grossMinor: number | null;
  readonly currency: string | null;
  readonly settledGrossMinor: number | null;
  readonly feeMinor: number | null;
  readonly netMinor: number | null;
  readonly settlementCurrency: string | null;
  readonly gatewayType: string;
  readonly gatewayReference: string;
  readonly sessionId: SessionId | null;
  readonly entryType: LedgerSource["type"] | null;
  readonly entryId: string | null;
  readonly payoutId: PayoutId | null;
  readonly gateway: string;
  readonly connectionId: ConnectionId;
  readonly recordedAt: Date;
};

/** Each is undefined for any. Days are years, months and days, both included. */
type PayoutFilters = {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly gateway?: string | undefined;
  /** Selects only the payouts whose lines do not explain their amount. */
  readonly hasRemainder?: true | undefined;
};
type LineFilters = {
  readonly payoutId?: PayoutId | undefined;
  readonly status?: LineStatus | undefined;
  readonly reason?: string | undefined;
};

export type Wanted<Filters> = {
  readonly merchantId: MerchantId;
  /** An export continues with its own page tokens only: one of the list would leave no audit row. */
  readonly isExport?: boolean;
  readonly filters: Filters;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
  readonly keys: PageTokenKeys;
  readonly now: Date;
};
type Page<Row> = { readonly rows: readonly Row[]; readonly nextPageToken: string | undefined };

const payoutColumns = `p.id, p.gateway, p.connection_id AS "connectionId", p.gateway_reference AS "gatewayReference", p.status,
      p.amount_minor AS "amountMinor", p.currency, p.arrives_on::text AS "arrivesOn", p.remainder_minor AS "remainderMinor", p.complete_at AS "completeAt"`;

// Planned for its filters each time. A merchant has a few payouts a day.
const selectPayouts: Statement = {
  name: unnamed,
  text: `
    SELECT ${payoutColumns}, p.day || '|' || p.id AS position FROM payout p
    WHERE p.merchant_id = $1 AND ($2::date IS NULL OR p.day >= $2) AND ($3::date IS NULL OR p.day <= $3) AND ($4::text IS NULL OR p.gateway = $4)
      AND ($5::bool IS NULL OR p.remainder_minor <> 0) AND ($6::date IS NULL OR (p.day, p.id) < ($6::date, $7::uuid))
    ORDER BY p.day DESC, p.id DESC LIMIT $8`,
};

export async function listPayouts(
  databases: readonly Queryable[],
  wanted: Wanted<PayoutFilters>,
): Promise<Page<ListedPayout>> {
  const { merchantId, filters } = wanted;
  const { from = null, to = null, gateway = null, hasRemainder = null } = filters;
  return readPage(databases, wanted, {
    name: "payouts",
    statement: selectPayouts,
    values: [merchantId, from, to, gateway, hasRemainder],
  });
}

const selectPayout: Statement = {
  name: "select_payout_of_merchant",
  text: `SELECT ${payoutColumns} FROM payout p WHERE p.id = $1 AND p.merchant_id = $2`,
};

/** Returns a merchant's payout; undefined if none of the databases has it. */
export async function findPayout(
  databases: readonly Queryable[],
  { merchantId, id }: { readonly merchantId: MerchantId; readonly id: PayoutId },
): Promise<ListedPayout | undefined> {
  for (const database of databases) {
    const [row] = await database.query<ListedPayout>(selectPayout, [id, merchantId]);
    if (row) return row;
  }
  return undefined;
}

// The line's own name is hashed, because it may have characters that no page token has.
const selectLines: Statement = {
  name: unnamed,
  text: `
    SELECT l.kind, l.status, l.reason, l.gross_minor AS "grossMinor", l.currency, l.settled_gross_minor AS "settledGrossMinor", l.fee_minor AS "feeMinor",
      l.net_minor AS "netMinor", l.settlement_currency AS "settlementCurrency", l.gateway_type AS "gatewayType", l.gateway_reference AS "gatewayReference",
      l.session_id AS "sessionId", l.entry_type AS "entryType", l.entry_id AS "entryId", l.payout_id AS "payoutId", l.gateway,
      l.connection_id AS "connectionId", l.recorded_at AS "recordedAt",
      to_char(l.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '|' || encode(l.line_id::bytea, 'hex') AS position
    FROM payout_line l
    WHERE l.merchant_id = $1 AND ($2::uuid IS NULL OR l.payout_id = $2) AND ($3::text IS NULL OR l.status = $3)
      AND ($4::text IS NULL OR l.reason = $4)
      AND ($5::timestamptz IS NULL OR (l.recorded_at, l.line_id) < ($5::timestamptz, convert_from(decode($6, 'hex'), 'UTF8')))
    ORDER BY l.recorded_at DESC, l.line_id DESC LIMIT $7`,
};

export async function listPayoutLines(
  databases: readonly Queryable[],
  wanted: Wanted<LineFilters>,
): Promise<Page<ListedLine>> {
  const { merchantId, filters } = wanted;
  // Unmatched lines alone have a reason, which their indexes need to know.
  const { payoutId = null, reason = null, status = reason === null ? null : "UNMATCHED" } = filters;
  return readPage(databases, wanted, {
    name: "payout lines",
    statement: selectLines,
    values: [merchantId, payoutId, status, reason],
  });
}

/** Reads one page of all databases together, newest first. Throws `invalid_parameter` for a page token of another list. */
export async function readPage<Row extends object>(
  databases: readonly Queryable[],
  { merchantId, isExport, filters, pageSize: count = pageSizeDefault, pageToken, keys, now }: Wanted<object>,
  list: { readonly name: string; readonly statement: Statement; readonly values: readonly unknown[] },
): Promise<Page<Row>> {
  const scope = JSON.stringify([isExport ? `${list.name} export` : list.name, merchantId, filters]);
  const after = pageToken ? verifyPageToken(keys, { scope, token: pageToken, now }).split("|") : [null, null];
  const values = [...list.values, ...after, count + 1];
  type Found = Row & { readonly position: string };
  const pages = await Promise.all(databases.map((database) => database.query<Found>(list.statement, [...values])));
  const rows = pages.flat().toSorted((one, other) => (one.position < other.position ? 1 : -1));
  const shown = rows.slice(0, count);
  const last = shown.at(-1);
  return {
    rows: shown.map(({ position: _, ...row }) => row as unknown as Row),
    nextPageToken: rows.length > count && last ? signPageToken(keys, { scope, lastId: last.position, now }) : undefined,
  };
}
