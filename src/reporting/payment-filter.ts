/**
 * The filter of a payment list as SQL: the condition that an index can follow, and the conditions that each row is
 * checked for.
 */

import type { DisputeStatus } from "../core/rows/disputes.ts";
import type { PaymentSession, SessionStatus } from "../core/rows/entities.ts";
import { heldInSql, processingInSql } from "../core/rows/payment.ts";
import { isReleased } from "./analytics/counted-facts.ts";
import { type Condition, type MoneyFilter, moneyConditions, type Parameters } from "./list-walk.ts";
import { clockSkewMs, firstIdAt } from "./past-payments.ts";

/** The filters of a list; each is undefined for any. */
export type PaymentFilter = MoneyFilter & {
  readonly status?: SessionStatus | undefined;
  /** Submitted and not settled. */
  readonly processing?: boolean | undefined;
  /** Selects payments that are held and wait for their merchant. */
  readonly held?: boolean | undefined;
  /** Approved, and then cancelled by the merchant or not captured in time; their status is DECLINED. */
  readonly released?: boolean | undefined;
  /** A gateway that was tried for this payment, whatever the result. */
  readonly gateway?: string | undefined;
  readonly orderRef?: { readonly text: string; readonly isPrefix: boolean } | undefined;
  /** The customer's whole address; case is ignored. */
  readonly customerEmail?: string | undefined;
  readonly customerRef?: string | undefined;
  readonly cardLast4?: string | undefined;
  /** True for payments that another gateway than the first captured. */
  readonly failover?: boolean | undefined;
  /** True for payments with a dispute, whatever its end; a network's report of fraud counts. */
  readonly disputed?: boolean | undefined;
  /** Selects, of the disputes that the filter matches, those with this status. */
  readonly disputeStatus?: DisputeStatus | undefined;
  /** True for set-ups, which store a card without a payment. A list has payments alone if absent. */
  readonly isSetUp?: boolean | undefined;
  readonly wallet?: NonNullable<PaymentSession["wallet"]> | undefined;
};

/**
 * Returns the one condition besides the merchant for which payment_session has an index, or nothing. Further conditions
 * would be checked on row after row of the index, without a bound.
 */
export function indexedCondition(filter: PaymentFilter, parameters: Parameters): string {
  const { customerEmail, customerRef, orderRef, failover, processing, held, status, wallet } = filter;
  if (customerEmail !== undefined) return `AND ${ofCustomer(parameters.add(customerEmail))}`;
  if (customerRef !== undefined) return `AND s.customer_ref = ${parameters.add(customerRef)}`;
  if (orderRef && !orderRef.isPrefix) return `AND s.order_ref = ${parameters.add(orderRef.text)}`;
  if (wallet !== undefined) return `AND s.wallet = ${parameters.add(wallet)}`;
  if (failover === true) return "AND s.failover";
  if (held === true) return `AND s.manual_capture AND ${heldInSql}`;
  if (processing === true) return `AND ${processingInSql}`;
  if (status !== undefined && status !== "CREATED") {
    return `AND s.status <> 'CREATED' AND s.status = ${parameters.add(status)}`;
  }
  return "";
}

/** SQL that says whether a session `s` has this customer's address; its condition is that of the index. */
export const ofCustomer = (email: string) =>
  `s.customer_email IS NOT NULL AND lower(s.customer_email) = lower(${email}::text)`;

/** Returns the conditions that each row is checked for. They repeat the indexed condition, which costs nothing. */
export function rowConditions(filter: PaymentFilter): Condition[] {
  const { orderRef } = filter;
  return [
    ...moneyConditions("s", filter),
    [filter.status, (wanted) => `s.status = ${wanted}`],
    [filter.held, (wanted) => `(${heldInSql}) = ${wanted}::boolean`],
    [filter.released, (wanted) => `(${isReleased}) = ${wanted}::boolean`],
    [filter.processing, (wanted) => `(${processingInSql}) = ${wanted}::boolean`],
    // A scalar subquery, which the planner cannot turn into a join over all attempts.
    [
      filter.gateway,
      (wanted) => `(SELECT true FROM attempt a WHERE a.session_id = s.id AND a.gateway = ${wanted} LIMIT 1) IS TRUE`,
    ],
    [
      orderRef?.text,
      (wanted) => (orderRef?.isPrefix ? `starts_with(s.order_ref, ${wanted})` : `s.order_ref = ${wanted}`),
    ],
    [filter.customerEmail, ofCustomer],
    [filter.customerRef, (wanted) => `s.customer_ref = ${wanted}`],
    [filter.cardLast4, (wanted) => `s.card_last4 = ${wanted}`],
    [filter.failover, (wanted) => `s.failover = ${wanted}::boolean`],
    [filter.wallet, (wanted) => `s.wallet = ${wanted}`],
    [filter.disputed, (wanted) => `(s.disputes > 0) = ${wanted}::boolean`],
    [
      filter.disputeStatus,
      (wanted) =>
        `s.disputes > 0 AND (SELECT true FROM dispute d WHERE d.session_id = s.id AND d.status = ${wanted} LIMIT 1) IS TRUE`,
    ],
    [filter.isSetUp ?? false, (wanted) => `(s.amount_minor = 0) = ${wanted}::boolean`],
  ];
}

/** Returns an id below which no session was created after `createdAfter`. */
export function lowestId({ createdAfter }: PaymentFilter): string | undefined {
  return createdAfter && firstIdAt(new Date(createdAfter.getTime() - clockSkewMs));
}

/** Returns an id above which no session was created before `createdBefore`, where ids and times agree. */
export function highestId({ createdBefore }: PaymentFilter): string | undefined {
  return createdBefore && firstIdAt(new Date(createdBefore.getTime() + clockSkewMs));
}
