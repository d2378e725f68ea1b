/** Lists a merchant's payments: filtered, newest first, at a cost that grows with neither the table nor the filter. */

import { type PaymentSession, PaymentSessionEntity } from "../core/rows/entities.ts";
import { columnsOf } from "../platform/columns.ts";
import { type Queryable, unnamed } from "../platform/database.ts";
import { takenMinor } from "./analytics/counted-facts.ts";
import {
  highestId,
  indexedCondition,
  lowestId,
  Parameters,
  type PaymentFilter,
  rowConditions,
} from "./payment-filter.ts";

/** Payments that one call checks against a filter, newest first: 100 ms of reading, not a million payments. */
export const paymentsWalked = 10_000;
// Most payments with a common beginning of their order reference, or with the same last four digits, that are searched; beyond
// it the whole list is walked.
const matchesMax = 2_000;

const shown = [
  "id",
  "orderRef",
  "amountMinor",
  "currency",
  "status",
  "phase",
  "heldAt",
  "heldUntil",
  "captureAskedAt",
  "capturedVia",
  "failover",
  "declineCode",
  "cardBrand",
  "cardLast4",
  "createdAt",
  "settledAt",
  "awaitingSince",
] as const;

/** A payment as lists show it. */
export type ListedPayment = Pick<PaymentSession, (typeof shown)[number]> & {
  /** The gateway's reference of what is held or captured; null if nothing is. */
  readonly gatewayReference?: string | null;
  /** The captured amount; null unless the payment has succeeded. */
  readonly capturedMinor: number | null;
  /** The sum of the refunds that have not failed. */
  readonly refundedMinor: number;
  /** The gateways that were tried, in this order. */
  readonly gateways: readonly string[];
};

// Most payments have no refund, and read none.
/** SQL of the refunded amount of a session `s`. */
export const returnedMinor = `CASE WHEN s.refunds = 0 THEN 0 ELSE coalesce((SELECT sum(r.amount_minor) FROM refund r
  WHERE r.session_id = s.id AND r.status <> 'FAILED'), 0)::bigint END`;

/** SQL: the columns of a listed payment, of the row `s` of payment_session. */
export const listedColumns = `${columnsOf(PaymentSessionEntity, "s", shown)},
  CASE WHEN s.status = 'SUCCEEDED' THEN ${takenMinor} END AS "capturedMinor", ${returnedMinor} AS "refundedMinor",
  (SELECT a.gateway_reference FROM attempt a WHERE a.session_id = s.id AND a.id = s.winner_attempt_id) AS "gatewayReference",
  ARRAY(SELECT a.gateway FROM attempt a WHERE a.session_id = s.id ORDER BY a.sequence) AS gateways`;

/** A page of a list. It may hold fewer rows than requested although the list goes on. */
export type PaymentPage = {
  readonly payments: readonly ListedPayment[];
  /** The last payment that was checked; undefined at the end of the list. */
  readonly lastId?: string | undefined;
  /** Creation time of that payment, where the search stopped before the page was full. */
  readonly searchedBackTo?: Date | undefined;
};

type Wanted = {
  readonly merchantId: string;
  readonly filter: PaymentFilter;
  /** The last payment that the previous page checked. */
  readonly after: string | undefined;
  readonly count: number;
};

/**
 * Returns the next page. It checks at most `paymentsWalked` payments, and sets `searchedBackTo` where these were too
 * few.
 */
export async function listPayments(queryable: Queryable, wanted: Wanted): Promise<PaymentPage> {
  const { rows: payments, ...end } = await walkPayments<ListedPayment>(queryable, listedColumns, wanted);
  return { payments, ...end };
}

/** Returns these columns, of the row `s` of payment_session, of the next page. */
export async function walkPayments<Row extends { readonly id: string }>(
  queryable: Queryable,
  columns: string,
  wanted: Wanted,
): Promise<Omit<PaymentPage, "payments"> & { readonly rows: readonly Row[] }> {
  const walk = await planWalk(queryable, wanted);
  const found = await queryable.query<Row>(...selectPage(columns, walk));
  const rows = found.slice(0, wanted.count);
  if (found.length > wanted.count) return { rows, lastId: rows.at(-1)?.id };
  const [end] = await queryable.query<{ id: string; createdAt: Date }>(...selectWalkEnd(walk));
  return end === undefined ? { rows } : { rows, lastId: end.id, searchedBackTo: end.createdAt };
}

/** The number and the amounts of a list. */
export type PaymentCount = {
  readonly payments: number;
  /** Minor units in each currency, as digits: a sum may be larger than any amount. */
  readonly amounts: readonly { readonly currency: string; readonly amountMinor: string }[];
  /** Creation time of the oldest payment that was checked, where there are older ones. */
  readonly countedBackTo?: Date | undefined;
};

/** Counts and sums the payments of a list: of the newest `paymentsWalked`. */
export async function countPayments(
  queryable: Queryable,
  wanted: Pick<Wanted, "merchantId" | "filter">,
): Promise<PaymentCount> {
  const walk = await planWalk(queryable, { ...wanted, after: undefined, count: 0 });
  type Sum = PaymentCount["amounts"][number] & { readonly payments: number };
  const sums = await queryable.query<Sum>(...selectSums(walk));
  const [oldest, older] = await queryable.query<{ createdAt: Date }>(...selectWalkEnd(walk, 2));
  return {
    payments: sums.reduce((sum, { payments }) => sum + payments, 0),
    amounts: sums,
    ...(older && { countedBackTo: oldest!.createdAt }),
  };
}

function selectSums(walk: Walk) {
  const parameters = new Parameters();
  const text = `
    SELECT s.currency, count(*)::int AS payments, sum(s.amount_minor)::text AS "amountMinor"
    FROM (${walkSql(walk, parameters)} LIMIT ${paymentsWalked}) s
    WHERE ${rowConditions(walk.filter, parameters)} GROUP BY s.currency ORDER BY s.currency`;
  return [{ name: unnamed, text }, parameters.values] as const;
}

type Walk = Wanted & { readonly among: readonly string[] | undefined; readonly below: string | undefined };

function selectPage(columns: string, walk: Walk) {
  const parameters = new Parameters();
  const walked = walkSql(walk, parameters);
  const text = `
    SELECT ${columns} FROM (${walked} LIMIT ${paymentsWalked}) s
    WHERE ${rowConditions(walk.filter, parameters)}
    ORDER BY s.id DESC LIMIT ${parameters.add(walk.count + 1)}`;
  return [{ name: unnamed, text }, parameters.values] as const;
}

/** Selects the last payment that a walk checks, and up to `rows - 1` after it. */
function selectWalkEnd(walk: Walk, rows = 1) {
  const parameters = new Parameters();
  const text = `
    SELECT s.id, s.created_at AS "createdAt"
    FROM (${walkSql(walk, parameters)} OFFSET ${paymentsWalked - 1} LIMIT ${rows}) s`;
  return [{ name: unnamed, text }, parameters.values] as const;
}

function walkSql({ merchantId, filter, after, among, below }: Walk, parameters: Parameters): string {
  const conditions = [`s.merchant_id = ${parameters.add(merchantId)}`];
  if (among !== undefined) conditions.push(`s.id = ANY (${parameters.add(among)}::uuid[])`);
  // The lesser of the two; older servers have no `least` for uuid.
  for (const bound of [after, below]) {
    if (bound !== undefined) conditions.push(`s.id < ${parameters.add(bound)}::uuid`);
  }
  const lowest = lowestId(filter);
  if (lowest !== undefined) conditions.push(`s.id >= ${parameters.add(lowest)}::uuid`);
  const by = among === undefined ? indexedCondition(filter, parameters) : "";
  return `SELECT s.* FROM payment_session s WHERE ${conditions.join(" AND ")} ${by} ORDER BY s.id DESC`;
}

async function planWalk(queryable: Queryable, wanted: Wanted): Promise<Walk> {
  return { ...wanted, among: await findAmong(queryable, wanted), below: await boundOf(queryable, wanted) };
}

/**
 * Finds the payments whose order reference begins with the text, or whose card ends in the digits; undefined where they
 * are too many to be checked separately.
 */
async function findAmong(
  queryable: Queryable,
  { merchantId, filter: { orderRef, cardLast4 } }: Wanted,
): Promise<string[] | undefined> {
  const count = matchesMax + 1;
  const found = orderRef?.isPrefix
    ? await findByOrderRefPrefix(queryable, { merchantId, text: orderRef.text, count })
    : cardLast4 !== undefined && orderRef === undefined
      ? await findByCardLast4(queryable, { merchantId, cardLast4, count })
      : undefined;
  return found && found.length > matchesMax ? undefined : found;
}

// A row comes into the index of cards when its payment settles. Those that wait have an index of their own, and are few.
const cardParts = [
  "s.status <> 'CREATED'",
  "s.phase = 'PROCESSING'",
  "s.manual_capture AND s.held_at IS NOT NULL AND s.status = 'CREATED'",
].map(
  (condition) => `SELECT s.id FROM payment_session s
    WHERE s.merchant_id = $1 AND s.card_last4 = $2 AND ${condition} ORDER BY s.id DESC LIMIT $3`,
);

/** Finds ids of the newest payments whose card ends in these digits. */
export async function findByCardLast4(
  queryable: Queryable,
  { merchantId, cardLast4, count }: { merchantId: string; cardLast4: string; count: number },
): Promise<string[]> {
  const rows = await queryable.query<{ id: string }>(
    {
      name: "find_by_card_last4",
      text: `SELECT id FROM (
        ${cardParts.map((part) => `(${part})`).join(" UNION ")}
      ) found ORDER BY id DESC LIMIT $3`,
    },
    [merchantId, cardLast4, count],
  );
  return rows.map(({ id }) => id);
}

/** Finds ids of payments whose order reference begins with the text, in no particular order. */
export async function findByOrderRefPrefix(
  queryable: Queryable,
  { merchantId, text, count }: { merchantId: string; text: string; count: number },
): Promise<string[]> {
  const pattern = `${text.replace(/[\\%_]/g, "\\$&")}%`;
  const rows = await queryable.query<{ id: string }>(
    {
      name: unnamed,
      text: "SELECT id FROM payment_session WHERE merchant_id = $1 AND order_ref LIKE $2 LIMIT $3",
    },
    [merchantId, pattern, count],
  );
  return rows.map(({ id }) => id);
}

/**
 * Returns the id at which a list of payments before a given time may begin; undefined for the beginning of all
 * payments. The id is used only if the payment above it was created later, which does not hold for rows whose times
 * were changed afterwards, as in a demo.
 */
async function boundOf(queryable: Queryable, { merchantId, filter }: Wanted): Promise<string | undefined> {
  const bound = highestId(filter);
  if (bound === undefined) return undefined;
  const text = `
    SELECT created_at >= $3::timestamptz AS agrees FROM payment_session
    WHERE merchant_id = $1 AND id >= $2 ORDER BY id LIMIT 1`;
  const statement = { name: "check_id_against_time", text };
  const [above] = await queryable.query<{ agrees: boolean }>(statement, [merchantId, bound, filter.createdBefore]);
  return above?.agrees ? bound : undefined;
}
