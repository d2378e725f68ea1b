/** Lists a merchant's payments: filtered, newest first, at a cost that grows with neither the table nor the filter. */

import type { Dispute } from "../core/rows/disputes.ts";
import { type PaymentSession, PaymentSessionEntity } from "../core/rows/entities.ts";
import { columnsOf } from "../platform/columns.ts";
import { type Queryable, unnamed } from "../platform/database.ts";
import type { MerchantId, SessionId } from "../platform/ids.ts";
import { isChallenged, takenMinor } from "./analytics/counted-facts.ts";
import { endOfWalk, Parameters, type Walk, type WalkedPage, walked, walkPage } from "./list-walk.ts";
import { highestId, indexedCondition, lowestId, type PaymentFilter, rowConditions } from "./payment-filter.ts";

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
  "wallet",
  "createdAt",
  "settledAt",
  "awaitingSince",
] as const;

export type ListedPayment = Pick<PaymentSession, (typeof shown)[number]> & {
  /** The gateway's reference of the hold or capture; null if there is neither. */
  readonly gatewayReference?: string | null;
  /** The captured amount; null unless the payment has succeeded. */
  readonly capturedMinor: number | null;
  /** The sum of the refunds that have not failed. */
  readonly refundedMinor: number;
  /** The gateways that were tried, in this order. */
  readonly gateways: readonly string[];
  /** The customer's name, or else the e-mail address; null without both. */
  readonly customer: string | null;
  /** True if a bank offered the customer a challenge. */
  readonly challenged: boolean;
  /** The dispute that matters most; null without one. */
  readonly dispute: ListedDispute | null;
};

type ListedDispute = Pick<Dispute, "stage" | "status"> & {
  /** ISO 8601. */
  readonly respondBy: string | null;
};

// Most payments have no refund, and read none.
/** SQL of the refunded amount of a session `s`. */
export const returnedMinor = `CASE WHEN s.refunds = 0 THEN 0 ELSE coalesce((SELECT sum(r.amount_minor) FROM refund r
  WHERE r.session_id = s.id AND r.status <> 'FAILED'), 0)::bigint END`;

// If a payment has several disputes, one to answer comes first, the sooner the better; a report of fraud comes last.
const statusesByUrgency: readonly Dispute["status"][] = [
  "NEEDS_RESPONSE",
  "UNDER_REVIEW",
  "LOST",
  "ACCEPTED",
  "WON",
  "CLOSED",
];

// Most payments have no dispute, and read none.
const firstDispute = `CASE WHEN s.disputes > 0 THEN (
    SELECT json_build_object('stage', d.stage, 'status', d.status, 'respondBy', d.respond_by) FROM dispute d WHERE d.session_id = s.id
    ORDER BY d.stage = 'FRAUD_WARNING', array_position('{${statusesByUrgency.join()}}'::text[], d.status), d.respond_by, d.created_at DESC
    LIMIT 1) END`;

/** Sorts the disputes of a payment: the first one is what the list shows. */
export function byUrgency<One extends Pick<Dispute, "stage" | "status" | "respondBy" | "createdAt">>(
  disputes: readonly One[],
): One[] {
  const rankOf = ({ stage, status }: One) =>
    (stage === "FRAUD_WARNING" ? statusesByUrgency.length : 0) + statusesByUrgency.indexOf(status);
  const deadlineOf = ({ respondBy }: One) => respondBy?.getTime() ?? Number.MAX_SAFE_INTEGER;
  return disputes.toSorted(
    (one, other) =>
      rankOf(one) - rankOf(other) ||
      deadlineOf(one) - deadlineOf(other) ||
      other.createdAt.getTime() - one.createdAt.getTime(),
  );
}

/** SQL: the columns of a listed payment, of the row `s` of payment_session. */
export const listedColumns = `${columnsOf(PaymentSessionEntity, "s", shown)},
  CASE WHEN s.status = 'SUCCEEDED' THEN ${takenMinor} END AS "capturedMinor", ${returnedMinor} AS "refundedMinor",
  (SELECT a.gateway_reference FROM attempt a WHERE a.session_id = s.id AND a.id = s.winner_attempt_id) AS "gatewayReference",
  ARRAY(SELECT a.gateway FROM attempt a WHERE a.session_id = s.id ORDER BY a.sequence) AS gateways,
  coalesce(s.details ->> 'customerName', s.customer_email) AS customer, ${isChallenged} AS challenged, ${firstDispute} AS dispute`;

type Wanted = {
  readonly merchantId: MerchantId;
  readonly filter: PaymentFilter;
  /** The last payment that the previous page checked. */
  readonly after: string | undefined;
  readonly count: number;
};

export function listPayments(queryable: Queryable, wanted: Wanted): Promise<WalkedPage<ListedPayment>> {
  return walkPayments<ListedPayment>(queryable, listedColumns, wanted);
}

/** Returns these columns, of the row `s` of payment_session, of the next page. */
export async function walkPayments<Row extends object>(
  queryable: Queryable,
  columns: string,
  wanted: Wanted,
): Promise<WalkedPage<Row>> {
  return walkPage<Row>(queryable, columns, { walk: await planWalk(queryable, wanted), count: wanted.count });
}

export type PaymentCount = {
  readonly payments: number;
  /** Minor units in each currency, as digits: a sum may be larger than any amount. */
  readonly amounts: readonly {
    readonly currency: string;
    readonly amountMinor: string;
    readonly capturedMinor: string;
  }[];
  /** Creation time of the oldest payment that was checked, where there are older ones. */
  readonly countedBackTo?: Date | undefined;
};

/** Counts and sums the payments of a list: of the newest `rowsWalked`. */
export async function countPayments(
  queryable: Queryable,
  wanted: Pick<Wanted, "merchantId" | "filter">,
): Promise<PaymentCount> {
  const walk = await planWalk(queryable, { ...wanted, after: undefined });
  const parameters = new Parameters();
  const text = `
    SELECT s.currency, count(*)::int AS payments, sum(s.amount_minor)::text AS "amountMinor",
      coalesce(sum(CASE WHEN s.status = 'SUCCEEDED' THEN ${takenMinor} END), 0)::text AS "capturedMinor"
    ${walked(walk, parameters)} GROUP BY s.currency ORDER BY s.currency`;
  type Sum = PaymentCount["amounts"][number] & { readonly payments: number };
  const sums = await queryable.query<Sum>({ name: unnamed, text }, parameters.values);
  const [oldest, older] = await endOfWalk(queryable, walk, 2);
  return {
    payments: sums.reduce((sum, { payments }) => sum + payments, 0),
    amounts: sums,
    ...(older && { countedBackTo: oldest!.createdAt }),
  };
}

async function planWalk(queryable: Queryable, wanted: Omit<Wanted, "count">): Promise<Walk> {
  const { merchantId, filter, after } = wanted;
  const [among, below] = [await findAmong(queryable, wanted), await boundOf(queryable, wanted)];
  return {
    table: "payment_session",
    row: "s",
    order: "s.id DESC",
    position: "s.id",
    within: (parameters) => {
      const own = parameters.all([
        [merchantId, (wanted) => `s.merchant_id = ${wanted}`],
        [among, (wanted) => `s.id = ANY (${wanted}::uuid[])`],
        // The lesser of the two; older servers have no `least` for uuid.
        [after, (wanted) => `s.id < ${wanted}::uuid`],
        [below, (wanted) => `s.id < ${wanted}::uuid`],
        [lowestId(filter), (wanted) => `s.id >= ${wanted}::uuid`],
      ]);
      return `${own} ${among === undefined ? indexedCondition(filter, parameters) : ""}`;
    },
    matches: (parameters) => parameters.all(rowConditions(filter)),
  };
}

/**
 * Finds the payments with a dispute, whose order reference begins with the text, or whose card ends in the digits;
 * undefined if they are too many to be checked separately.
 */
async function findAmong(
  queryable: Queryable,
  { merchantId, filter: { orderRef, cardLast4, disputed, disputeStatus } }: Pick<Wanted, "merchantId" | "filter">,
): Promise<string[] | undefined> {
  const count = matchesMax + 1;
  const found = disputed
    ? await findDisputed(queryable, { merchantId, disputeStatus, count })
    : orderRef?.isPrefix
      ? await findByOrderRefPrefix(queryable, { merchantId, text: orderRef.text, count })
      : cardLast4 !== undefined && orderRef === undefined
        ? await findByCardLast4(queryable, { merchantId, cardLast4, count })
        : undefined;
  return found && found.length > matchesMax ? undefined : found;
}

// The index of cards has a payment's row once it settles. Waiting payments have a separate index, and are few.
const cardParts = [
  "s.status <> 'CREATED'",
  "s.phase = 'PROCESSING'",
  "s.manual_capture AND s.held_at IS NOT NULL AND s.status = 'CREATED'",
].map(
  (condition) => `SELECT s.id FROM payment_session s
    WHERE s.merchant_id = $1 AND s.card_last4 = $2 AND s.amount_minor > 0 AND ${condition} ORDER BY s.id DESC LIMIT $3`,
);

/** Finds ids of the newest payments whose card ends in these digits. */
export async function findByCardLast4(
  queryable: Queryable,
  { merchantId, cardLast4, count }: { merchantId: MerchantId; cardLast4: string; count: number },
): Promise<string[]> {
  const rows = await queryable.query<{ id: SessionId }>(
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

async function findDisputed(
  queryable: Queryable,
  { merchantId, disputeStatus, count }: { merchantId: MerchantId; disputeStatus: string | undefined; count: number },
): Promise<string[]> {
  const text = `SELECT DISTINCT session_id AS id FROM dispute
    WHERE merchant_id = $1 AND ($2::text IS NULL OR status = $2) LIMIT $3`;
  const values = [merchantId, disputeStatus ?? null, count];
  const rows = await queryable.query<{ id: SessionId }>({ name: "find_disputed_payments", text }, values);
  return rows.map(({ id }) => id);
}

/** Finds ids of payments whose order reference begins with the text, in no particular order. */
export async function findByOrderRefPrefix(
  queryable: Queryable,
  { merchantId, text, count }: { merchantId: MerchantId; text: string; count: number },
): Promise<string[]> {
  return findByPrefix(queryable, "order_ref LIKE $2", { merchantId, text, count });
}

/** Finds ids of payments whose customer's name begins with the text, whatever its case, in no particular order. */
export async function findByNamePrefix(
  queryable: Queryable,
  wanted: { merchantId: MerchantId; text: string; count: number },
): Promise<string[]> {
  const name = "details ->> 'customerName'";
  return findByPrefix(queryable, `${name} IS NOT NULL AND lower(${name}) LIKE lower($2)`, wanted);
}

// Planned for its text, because only then the index of beginnings serves it, and without an order, which would have it
// walk the payments.
async function findByPrefix(
  queryable: Queryable,
  condition: string,
  { merchantId, text, count }: { merchantId: MerchantId; text: string; count: number },
): Promise<string[]> {
  const rows = await queryable.query<{ id: SessionId }>(
    {
      name: unnamed,
      text: `SELECT id FROM payment_session WHERE merchant_id = $1 AND ${condition} AND amount_minor > 0 LIMIT $3`,
    },
    [merchantId, patternOf(text), count],
  );
  return rows.map(({ id }) => id);
}

/** Returns the pattern of LIKE for what begins with the text. */
export function patternOf(text: string): string {
  return `${text.replace(/[\\%_]/g, "\\$&")}%`;
}

/**
 * Returns the id at which a list of payments before a given time may begin; undefined for the beginning of all
 * payments. The id is used only if the payment above it was created later, which does not hold for rows whose times
 * were changed afterwards, as in a demo.
 */
async function boundOf(
  queryable: Queryable,
  { merchantId, filter }: Pick<Wanted, "merchantId" | "filter">,
): Promise<string | undefined> {
  const bound = highestId(filter);
  if (bound === undefined) return undefined;
  const text = `
    SELECT created_at >= $3::timestamptz AS agrees FROM payment_session
    WHERE merchant_id = $1 AND id >= $2 ORDER BY id LIMIT 1`;
  const statement = { name: "check_id_against_time", text };
  const [above] = await queryable.query<{ agrees: boolean }>(statement, [merchantId, bound, filter.createdBefore]);
  return above?.agrees ? bound : undefined;
}
