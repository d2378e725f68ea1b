/**
 * Finds payments by an id of ours, a gateway's reference, an order reference or its beginning, the card's last digits, the customer's
 * address, the beginning of the customer's name, an amount, or the merchant's reference of the customer.
 */
import type { Queryable, Statement } from "../platform/database.ts";
import { decodeId, type IdPrefix, type MerchantId } from "../platform/ids.ts";
import { amountsIn } from "./amounts-in-text.ts";
import { rowsWalked } from "./list-walk.ts";
import { clockSkewMs, firstIdAt } from "./past-payments.ts";
import { ofCustomer } from "./payment-filter.ts";
import {
  findByCardLast4,
  findByNamePrefix,
  findByOrderRefPrefix,
  type ListedPayment,
  listedColumns,
  patternOf,
} from "./payment-list.ts";

// Payments that a search shows for a beginning of order references: one screen.
const searchRows = 20;
// Most payments of customers whose names begin alike that are read to find the newest.
const namesakesMax = 2_000;
// Time within which almost every submitted payment has settled: several time budgets.
const settledWithinMs = 5 * 60_000;

type FoundBy =
  | "SESSION_ID"
  | "ATTEMPT_ID"
  | "EVENT_ID"
  | "REQUEST_ID"
  | "GATEWAY_REFERENCE"
  | "ORDER_REF"
  | "ORDER_REF_PREFIX"
  | "CARD_LAST4"
  | "CUSTOMER_EMAIL"
  | "CUSTOMER_NAME"
  | "AMOUNT"
  | "CUSTOMER_REF";

type PaymentMatch = { readonly payment: ListedPayment; readonly by: FoundBy };

/** The payments found, and the merchant's reference of the customer whom the text names, if it names one. */
export type SearchResult = { readonly matches: readonly PaymentMatch[]; readonly customerRef: string | undefined };

type Finder = { readonly by: FoundBy; readonly statement: Statement };

// $1 merchant, $2 the searched value, and, where the finder uses them, $3 and $4 the bounds of its time.
const finder = (by: FoundBy, condition: string, name = by.toLowerCase()): Finder => ({
  by,
  statement: {
    name: `search_payments_by_${name}`,
    text: `SELECT ${listedColumns} FROM payment_session s WHERE s.merchant_id = $1 AND ${condition}
           ORDER BY s.id DESC LIMIT ${searchRows}`,
  },
});

const bySession = finder("SESSION_ID", "s.id = $2");
const byAttempt = finder("ATTEMPT_ID", "s.id = (SELECT a.session_id FROM attempt a WHERE a.id = $2)");
const byEvent = finder(
  "EVENT_ID",
  `s.id = (SELECT o.session_id FROM outbox_event o
           WHERE o.merchant_id = $1 AND o.id = $2 AND o.created_at BETWEEN $3 AND $4)`,
);
// A session gets its id within the same second as the request that creates it.
const byCreation = finder("REQUEST_ID", "s.create_request_id = $2 AND s.id BETWEEN $3 AND $4", "creation");
const bySubmission = finder(
  "REQUEST_ID",
  `s.submit_request_id = $2
   AND (s.settled_at BETWEEN $3 AND $4 OR s.phase = 'PROCESSING' AND s.lease_until IS NOT NULL)`,
  "submission",
);
const byReference = finder(
  "GATEWAY_REFERENCE",
  `s.id IN (
     SELECT a.session_id FROM connection c JOIN attempt a ON a.connection_id = c.id AND a.gateway_reference = $2
     WHERE c.merchant_id = $1
     UNION ALL SELECT h.session_id FROM orphaned_authorization h WHERE h.gateway_reference = $2)`,
);
const byOrderRef = finder("ORDER_REF", "s.order_ref = $2 AND s.amount_minor > 0");
const byIds = finder("ORDER_REF_PREFIX", "s.id = ANY ($2::uuid[])");
const byCard = finder("CARD_LAST4", "s.id = ANY ($2::uuid[])", "card_last4");

const byEmail = finder("CUSTOMER_EMAIL", ofCustomer("$2"));
const byName = finder("CUSTOMER_NAME", "s.id = ANY ($2::uuid[])");
// Among so many the newest are found soon by their order.
const byFrequentName = finder(
  "CUSTOMER_NAME",
  "s.details ->> 'customerName' IS NOT NULL AND lower(s.details ->> 'customerName') LIKE lower($2)",
  "frequent_customer_name",
);
const byCustomer = finder("CUSTOMER_REF", "s.customer_ref = $2 AND s.amount_minor > 0");
// Finds the customer whom the text names, or the owner of a stored card ($3) or of an agreement ($4) by its id.
const selectCustomer: Statement = {
  name: "search_customer",
  text: `
    SELECT coalesce(
      (SELECT m.customer_ref FROM payment_method m WHERE m.id = $3 AND m.merchant_id = $1),
      (SELECT a.customer_ref FROM agreement a WHERE a.id = $4 AND a.merchant_id = $1),
      (SELECT s.customer_ref FROM payment_session s WHERE s.merchant_id = $1 AND s.customer_ref = $2 LIMIT 1),
      (SELECT m.customer_ref FROM payment_method m WHERE m.merchant_id = $1 AND m.customer_ref = $2 AND m.status = 'ACTIVE' LIMIT 1)) AS "customerRef"`,
};
// There is no index of amounts: every session would be in it. The newest payments are checked.
const byAmount: Finder = {
  by: "AMOUNT",
  statement: {
    name: "search_payments_by_amount",
    text: `SELECT ${listedColumns}
      FROM (SELECT * FROM payment_session WHERE merchant_id = $1 ORDER BY id DESC LIMIT ${rowsWalked}) s
      WHERE (s.currency, s.amount_minor) IN (SELECT * FROM unnest($2::text[], $3::bigint[]))
      ORDER BY s.id DESC LIMIT ${searchRows}`,
  },
};

/**
 * Searches payments. Returns exact matches first, each payment once, then the newest whose order reference begins with
 * the text, then the newest whose card ends in it, then those of customers with this address or a name that begins so, of this amount, and
 * of the customer with this reference, stored card or agreement.
 */
export async function searchPayments(
  queryable: Queryable,
  { merchantId, text }: { merchantId: MerchantId; text: string },
): Promise<SearchResult> {
  const run = async ({ by, statement }: Finder, ...values: unknown[]): Promise<PaymentMatch[]> => {
    const found = await queryable.query<ListedPayment>(statement, [merchantId, ...values]);
    return found.map((payment) => ({ payment, by }));
  };
  const prefixed = async () => {
    const ids = await findByOrderRefPrefix(queryable, { merchantId, text, count: searchRows * 10 });
    return ids.length === 0 ? [] : run(byIds, ids);
  };
  const ofCard = async () => {
    if (!/^\d{4}$/.test(text)) return [];
    const ids = await findByCardLast4(queryable, { merchantId, cardLast4: text, count: searchRows });
    return ids.length === 0 ? [] : run(byCard, ids);
  };
  const ofAmount = () => {
    const amounts = amountsIn(text);
    if (amounts.length === 0) return [];
    return run(
      byAmount,
      amounts.map(({ currency }) => currency),
      amounts.map(({ amountMinor }) => amountMinor),
    );
  };
  const ofNamesakes = async () => {
    const ids = await findByNamePrefix(queryable, { merchantId, text, count: namesakesMax + 1 });
    if (ids.length > namesakesMax) return run(byFrequentName, patternOf(text));
    return ids.length === 0 ? [] : run(byName, ids.toSorted().slice(-searchRows));
  };
  const ofCustomers = text.includes("@") ? run(byEmail, text) : ofNamesakes();
  const named = findCustomer(queryable, { merchantId, text });
  const ofNamed = async () => {
    const customerRef = await named;
    return customerRef === undefined ? [] : run(byCustomer, customerRef);
  };
  const byValue = [run(byReference, text), run(byOrderRef, text), prefixed(), ofCard(), ofCustomers, ofAmount()];
  const groups = await Promise.all([...findById(text, run), ...byValue, ofNamed()]);
  const seen = new Map<string, PaymentMatch>();
  for (const match of groups.flat()) {
    if (!seen.has(match.payment.id)) seen.set(match.payment.id, match);
  }
  return { matches: [...seen.values()], customerRef: await named };
}

async function findCustomer(
  queryable: Queryable,
  { merchantId, text }: { merchantId: MerchantId; text: string },
): Promise<string | undefined> {
  const values = [merchantId, text, decodeId("pm", text) ?? null, decodeId("agr", text) ?? null];
  const [row] = await queryable.query<{ customerRef: string | null }>(selectCustomer, values);
  return row?.customerRef ?? undefined;
}

function findById(text: string, run: (finder: Finder, ...values: unknown[]) => Promise<PaymentMatch[]>) {
  const idOf = <Prefix extends IdPrefix>(prefix: Prefix) => decodeId(prefix, text);
  const sessionId = idOf("ps");
  if (sessionId !== undefined) return [run(bySession, sessionId)];
  const attemptId = idOf("att");
  if (attemptId !== undefined) return [run(byAttempt, attemptId)];
  const eventId = idOf("evt");
  if (eventId !== undefined) {
    const { from, to } = around(timeOf(eventId));
    return [run(byEvent, eventId, from, to)];
  }
  const requestId = idOf("req");
  if (requestId === undefined) return [];
  const { from, to } = around(timeOf(requestId));
  const settledBy = new Date(to.getTime() + settledWithinMs);
  return [run(byCreation, requestId, firstIdAt(from), firstIdAt(to)), run(bySubmission, requestId, from, settledBy)];
}

/** Returns the time of a UUIDv7, whose first 48 bits are milliseconds. */
function timeOf(uuid: string): Date {
  return new Date(Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16));
}

// The latest time that the database can store; an arbitrary id may contain any time.
const latestMs = Date.UTC(9999, 0);

function around(at: Date): { from: Date; to: Date } {
  const time = Math.min(at.getTime(), latestMs);
  return { from: new Date(time - clockSkewMs), to: new Date(time + clockSkewMs) };
}
