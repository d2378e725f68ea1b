/** Reads the ledger: every capture, refund, void and chargeback of a merchant in past days, in an order that never changes. */

import { type PageTokenKeys, signPageToken, verifyPageToken } from "../core/page-token.ts";
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { AttemptId, DisputeId, MerchantId, RefundId, SessionId } from "../platform/ids.ts";
import { type LedgerDays, type LedgerRange, rangeOf } from "./ledger-days.ts";
import { amountIn, idsIn, type LedgerSource, ledgerSources, merchantIn } from "./ledger-sources.ts";

export type LedgerEntry = {
  readonly type: LedgerSource["type"];
  /** The time of recording, in UTC with microseconds, which gives the order. */
  readonly recordedAt: string;
  readonly sessionId: SessionId;
  readonly attemptId: AttemptId;
  readonly refundId: RefundId | null;
  readonly disputeId: DisputeId | null;
  readonly orderRef: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly gateway: string;
  /** Null for the void of a hold whose answer was lost. */
  readonly gatewayReference: string | null;
};

export type LedgerPage = { readonly entries: readonly LedgerEntry[]; readonly nextPageToken: string | undefined };

// This is a separate statement before the entries are read: what it finds closed is in the snapshot of the next
// statement.
const selectIsClosed: Statement = {
  name: "select_ledger_is_closed",
  text: `SELECT app.settled_before() >= $1::timestamptz AS "isClosed"`,
};

// Sessions of a merchant, of all time, up to which its own are read instead of all that moved money in these days.
const fewSessions = 10_000;

// Planned for its merchant, because a plan for any merchant may read the others' sessions.
const selectHasFew: Statement = {
  name: unnamed,
  text: `SELECT count(*) <= $2 AS "hasFew" FROM (SELECT FROM payment_session WHERE merchant_id = $1 LIMIT $2::int + 1) counted`,
};

// Each source walks an index over its time from the last entry on, so that a page costs what it shows.
function selectSource(source: LedgerSource): string {
  const { type, from, at, of } = source;
  const { id, attempt, refund, dispute, row } = idsIn(source);
  return `(
    SELECT '${type}' AS type, ${at} AS at, ${id} AS id, m.session_id, ${attempt} AS attempt_id, ${refund} AS refund_id,
      ${dispute} AS dispute_id, s.order_ref, ${amountIn(source)} AS amount_minor, m.currency, m.gateway, ${row}.gateway_reference
    FROM ${from}
    WHERE ${of} AND ${merchantIn(source)} = $1 AND ${at} >= greatest($2::timestamptz, $4::timestamptz) AND ${at} < $3::timestamptz
      AND ($4::timestamptz IS NULL OR (${at}, '${type}', ${id}) > ($4::timestamptz, $5::text COLLATE "C", $6::uuid))
    ORDER BY ${at}, ${id} LIMIT $7)`;
}

const selectEntries: Statement = {
  name: "select_ledger_entries",
  text: `
    SELECT type, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "recordedAt", session_id AS "sessionId",
      attempt_id AS "attemptId", refund_id AS "refundId", dispute_id AS "disputeId", order_ref AS "orderRef", amount_minor::float8 AS "amountMinor",
      currency, gateway, gateway_reference AS "gatewayReference"
    FROM (${ledgerSources.map(selectSource).join(" UNION ALL ")}) entry
    ORDER BY at, type COLLATE "C", id LIMIT $7`,
};

// Planned for its merchant each time, which takes some 20 ms. The plan for any merchant walks the days of all, and one for a
// merchant with very many payments would sort a month of them for each page.
const selectEntriesOfFew: Statement = { ...selectEntries, name: unnamed };

/**
 * Returns one page of the days, over all databases that have payments of the merchant. Throws `invalid_parameter` for
 * days that break a rule or are not over, and for a page token of another ledger.
 */
export async function readLedger(
  databases: readonly Queryable[],
  wanted: {
    readonly merchantId: MerchantId;
    readonly days: LedgerDays;
    readonly count: number;
    readonly pageToken: string | undefined;
    readonly keys: PageTokenKeys;
  },
): Promise<LedgerPage> {
  const { merchantId, count, keys } = wanted;
  const range = rangeOf(wanted.days);
  const { firstDay, lastDay, begin } = range;
  // A range of one day is that day.
  const scope = JSON.stringify(["ledger", merchantId, ...new Set([firstDay, lastDay])]);
  // A token of the ledger's own time expires for no reader, and is the same bytes each time.
  const token = { scope, now: begin };
  const position = wanted.pageToken ? verifyPageToken(keys, { ...token, token: wanted.pageToken }) : undefined;
  const after = position?.split("|") ?? [null, null, null];
  for (const database of databases) await requireClosed(database, range);
  const values = [merchantId, begin, range.end, ...after, count + 1];
  const found = await Promise.all(
    databases.map(async (database) => {
      const [sessions] = await database.query<{ hasFew: boolean }>(selectHasFew, [merchantId, fewSessions]);
      return database.query<LedgerEntry>(sessions?.hasFew ? selectEntriesOfFew : selectEntries, [...values]);
    }),
  );
  const rows = found.length === 1 ? found[0]! : found.flat().toSorted(byPosition);
  const entries = rows.slice(0, count);
  const last = entries.at(-1);
  if (rows.length <= count || last === undefined) return { entries, nextPageToken: undefined };
  return { entries, nextPageToken: signPageToken(keys, { ...token, lastId: positionOf(last) }) };
}

/** Throws `invalid_parameter` unless the last day is over, for every transaction that began on it. */
export async function requireClosed(database: Queryable, { lastDay, lastField, end }: LedgerRange): Promise<void> {
  const [row] = await database.query<{ isClosed: boolean }>(selectIsClosed, [end]);
  if (row?.isClosed) return;
  const message = `${lastField} must be over: the ledger of ${lastDay} is complete shortly after midnight UTC. Ask again then.`;
  throw new DomainError("invalid_parameter", message, { field: lastField });
}

function positionOf({ recordedAt, type, refundId, disputeId, attemptId }: LedgerEntry): string {
  return [recordedAt, type, refundId ?? disputeId ?? attemptId].join("|");
}

// Times of one length, names in capitals and ids in lower case: as PostgreSQL orders them.
function byPosition(one: LedgerEntry, other: LedgerEntry): number {
  return positionOf(one) < positionOf(other) ? -1 : 1;
}
