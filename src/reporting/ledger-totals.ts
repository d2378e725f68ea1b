/**
 * The totals of a ledger. A worker adds up the days that are over; the others are read from the entries themselves.
 */

import { type Database, type Queryable, type Statement, unnamed } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import { requireClosed } from "./ledger.ts";
import { type LedgerDays, rangeOf } from "./ledger-days.ts";
import { amountIn, type LedgerSource, ledgerSources, merchantIn } from "./ledger-sources.ts";

export type LedgerTotal = {
  readonly type: LedgerSource["type"];
  readonly gateway: string;
  readonly currency: string;
  readonly amountMinor: number;
  readonly entries: number;
};

/** Selects the entries between two moments, without their order. */
type Entries = (from: string, before: string, also: (merchant: string) => string) => string;

// A capture together with the payment is for the whole amount (app.guard_attempt), so no attempt is read for it:
// joining them reads every attempt there is.
const automaticCaptures: Entries = (from, before, also) => `
  SELECT s.merchant_id, s.id AS session_id, s.settled_at AS at, 'CAPTURED' AS type, s.captured_via AS gateway, s.currency, s.amount_minor
  FROM payment_session s WHERE s.settled_at IS NOT NULL AND s.status = 'SUCCEEDED' AND NOT s.manual_capture AND s.amount_minor > 0
    AND s.settled_at >= ${from} AND s.settled_at < ${before} ${also("s.merchant_id")}`;

const entriesOf =
  (source: LedgerSource): Entries =>
  (from, before, also) => {
    const merchant = merchantIn(source);
    return `
  SELECT ${merchant}, ${source.at === "s.settled_at" ? "s.id" : "m.session_id"}, ${source.at}, '${source.type}', m.gateway, m.currency, ${amountIn(source)}
  FROM ${source.table ? `${source.table} m` : source.from}
  WHERE ${source.of} ${source.at === "s.settled_at" ? "AND s.manual_capture" : ""}
    AND ${source.at} >= ${from} AND ${source.at} < ${before} ${also(merchant)}`;
  };

const allEntries: Entries = (...given) =>
  [automaticCaptures, ...ledgerSources.map(entriesOf)].map((entries) => entries(...given)).join(" UNION ALL ");

const selectCountedUntil: Statement = {
  name: "select_ledger_counted_until",
  text: `SELECT date_trunc('day', counted_until, 'UTC')::text AS "countedUntil", counted_until >= $1::timestamptz AS "isCounted" FROM ledger_walk`,
};

const selectSums = `
  SELECT type, gateway, currency, amount_minor, entries FROM ledger_sum
  WHERE merchant_id = $1 AND day >= ($2::timestamptz AT TIME ZONE 'UTC')::date AND day < ($3::timestamptz AT TIME ZONE 'UTC')::date`;

const totalsOf = (sums: string) => `
  SELECT type, gateway, currency, sum(amount_minor)::float8 AS "amountMinor", sum(entries)::int AS entries
  FROM (${sums}) total GROUP BY type, gateway, currency`;

const selectCounted: Statement = { name: "select_ledger_totals", text: totalsOf(selectSums) };

// Planned for its own days each time: a plan for any days would read whole tables for one, or row after row for a month.
// A day of which a part is counted is read from its entries: a worker may add to its sums meanwhile.
const selectTotals: Statement = {
  name: unnamed,
  text: totalsOf(`
    ${selectSums} AND day < ($4::timestamptz AT TIME ZONE 'UTC')::date
    UNION ALL
    SELECT type, gateway, currency, sum(amount_minor), count(*)
    FROM (${allEntries("greatest($2::timestamptz, $4::timestamptz)", "$3::timestamptz", (merchant) => `AND ${merchant} = $1`)}) entry
    GROUP BY type, gateway, currency`),
};

/** Returns the totals of the days. Throws `invalid_parameter` for days that break a rule or are not over. */
export async function totalLedger(
  database: Queryable,
  { merchantId, days }: { merchantId: MerchantId; days: LedgerDays },
): Promise<readonly LedgerTotal[]> {
  const range = rangeOf(days);
  await requireClosed(database, range);
  const values = [merchantId, range.begin, range.end];
  const [walk] = await database.query<{ countedUntil: string; isCounted: boolean }>(selectCountedUntil, [range.end]);
  if (walk!.isCounted) return database.query<LedgerTotal>(selectCounted, values);
  return database.query<LedgerTotal>(selectTotals, [...values, walk!.countedUntil]);
}

// The worker that locks the row counts; the others have nothing to do. An hour at a time is far below the longest
// statement; the entries before the first turn are counted at once.
const takeWalk: Statement = {
  name: "take_ledger_walk",
  text: `
    SELECT w.counted_until::text AS "countedUntil", next.until::text AS "until", next.until < closed.before AS "isMore"
    FROM ledger_walk w, LATERAL (SELECT date_trunc('day', app.settled_before() - interval '1 hour', 'UTC') AS before) closed,
      LATERAL (SELECT CASE WHEN isfinite(w.counted_until) THEN w.counted_until + interval '1 hour' ELSE closed.before END AS until) next
    WHERE w.counted_until < closed.before FOR UPDATE OF w SKIP LOCKED`,
};

const countEntries: Statement = {
  name: unnamed,
  text: `
    INSERT INTO ledger_sum AS c (merchant_id, day, month, type, gateway, currency, entries, amount_minor)
    SELECT merchant_id, (at AT TIME ZONE 'UTC')::date, date_trunc('month', uuid_extract_timestamp(session_id) AT TIME ZONE 'UTC')::date,
      type, gateway, currency, count(*), sum(amount_minor)
    FROM (${allEntries("$1::timestamptz", "$2::timestamptz", () => "")}) entry GROUP BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (merchant_id, day, month, type, gateway, currency)
      DO UPDATE SET entries = c.entries + excluded.entries, amount_minor = c.amount_minor + excluded.amount_minor`,
};

const moveWalk: Statement = {
  name: "move_ledger_walk",
  text: "UPDATE ledger_walk SET counted_until = $1::timestamptz WHERE counted_until < $1::timestamptz",
};

/** SQL: forgets the sums, so that all days are counted again. The tables' owner alone can run it. */
export const forgetLedgerSums = "DELETE FROM ledger_sum; UPDATE ledger_walk SET counted_until = '-infinity'";

/** Adds up what moved on days that are over and was not counted yet. Returns true when there is more. Durable on return. */
export async function countLedgerOnce(database: Database): Promise<boolean> {
  return database.transaction(async (tx) => {
    const [walk] = await tx.query<{ countedUntil: string; until: string; isMore: boolean }>(takeWalk, []);
    if (walk === undefined) return false;
    await tx.query(countEntries, [walk.countedUntil, walk.until]);
    await tx.query(moveWalk, [walk.until]);
    return walk.isMore;
  });
}
