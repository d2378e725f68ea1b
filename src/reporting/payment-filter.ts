/**
 * The filter of a payment list as SQL: the condition that an index can follow, and the conditions that each row is
 * checked for.
 */

import type { SessionStatus } from "../core/rows/entities.ts";
import { heldInSql, processingInSql } from "../core/rows/payment.ts";
import { isReleased } from "./analytics/counted-facts.ts";
import { clockSkewMs, firstIdAt } from "./past-payments.ts";

/** The filters of a list; each is undefined for any. */
export type PaymentFilter = {
  readonly status?: SessionStatus | undefined;
  /** Submitted and not settled. */
  readonly processing?: boolean | undefined;
  /** Held, and waiting for its merchant. */
  readonly held?: boolean | undefined;
  /** Approved, and then cancelled by the merchant or not captured in time; their status is DECLINED. */
  readonly released?: boolean | undefined;
  /** A gateway that was tried for this payment, whatever the result. */
  readonly gateway?: string | undefined;
  readonly orderRef?: { readonly text: string; readonly isPrefix: boolean } | undefined;
  /** Minor units, both inclusive. */
  readonly amountFrom?: number | undefined;
  readonly amountTo?: number | undefined;
  readonly currency?: string | undefined;
  /** Inclusive. */
  readonly createdAfter?: Date | undefined;
  /** Exclusive. */
  readonly createdBefore?: Date | undefined;
  /** The customer's whole address; case is ignored. */
  readonly customerEmail?: string | undefined;
  /** The last four digits of the card. */
  readonly cardLast4?: string | undefined;
  /** True for payments that another gateway than the first captured. */
  readonly failover?: boolean | undefined;
};

/** Collects the parameters of a statement and numbers them. */
export class Parameters {
  readonly values: unknown[] = [];

  /** Adds a parameter. Returns its name, such as `$3` for the third. */
  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/**
 * Returns the one condition besides the merchant for which payment_session has an index, or nothing. Further conditions
 * would be checked on row after row of the index, without a bound.
 */
export function indexedCondition(filter: PaymentFilter, parameters: Parameters): string {
  const { customerEmail, orderRef, failover, processing, held, status } = filter;
  if (customerEmail !== undefined) return `AND ${ofCustomer(parameters.add(customerEmail))}`;
  if (orderRef && !orderRef.isPrefix) return `AND s.order_ref = ${parameters.add(orderRef.text)}`;
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
export function rowConditions(filter: PaymentFilter, parameters: Parameters): string {
  const { status, processing, gateway, orderRef, amountFrom, amountTo, currency, createdAfter, createdBefore } = filter;
  const conditions: string[] = [];
  const ask = (value: unknown, condition: (parameter: string) => string) => {
    if (value !== undefined) conditions.push(condition(parameters.add(value)));
  };
  ask(status, (wanted) => `s.status = ${wanted}`);
  ask(filter.held, (wanted) => `(${heldInSql}) = ${wanted}::boolean`);
  ask(filter.released, (wanted) => `(${isReleased}) = ${wanted}::boolean`);
  ask(processing, (wanted) => `(${processingInSql}) = ${wanted}::boolean`);
  // A scalar subquery, which the planner cannot turn into a join over all attempts.
  ask(
    gateway,
    (wanted) => `(SELECT true FROM attempt a WHERE a.session_id = s.id AND a.gateway = ${wanted} LIMIT 1) IS TRUE`,
  );
  ask(orderRef?.text, (wanted) =>
    orderRef?.isPrefix ? `starts_with(s.order_ref, ${wanted})` : `s.order_ref = ${wanted}`,
  );
  ask(amountFrom, (wanted) => `s.amount_minor >= ${wanted}::bigint`);
  ask(amountTo, (wanted) => `s.amount_minor <= ${wanted}::bigint`);
  ask(currency, (wanted) => `s.currency = ${wanted}`);
  ask(filter.customerEmail, ofCustomer);
  ask(filter.cardLast4, (wanted) => `s.card_last4 = ${wanted}`);
  ask(createdAfter, (wanted) => `s.created_at >= ${wanted}::timestamptz`);
  ask(createdBefore, (wanted) => `s.created_at < ${wanted}::timestamptz`);
  ask(filter.failover, (wanted) => `s.failover = ${wanted}::boolean`);
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

/** Returns an id below which no session was created after `createdAfter`. */
export function lowestId({ createdAfter }: PaymentFilter): string | undefined {
  return createdAfter && firstIdAt(new Date(createdAfter.getTime() - clockSkewMs));
}

/** Returns an id above which no session was created before `createdBefore`, where ids and times agree. */
export function highestId({ createdBefore }: PaymentFilter): string | undefined {
  return createdBefore && firstIdAt(new Date(createdBefore.getTime() + clockSkewMs));
}
