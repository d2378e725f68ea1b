/** Which payments a list shows, as SQL: what an index can walk along, and what is asked of each row on the way. */
import { clockSkewMs } from "../limits/dashboard.ts";
import type { SessionStatus } from "./entities.ts";
import { firstIdAt } from "./past-payments.ts";

/** What a list may be narrowed to; each undefined for any. */
export type PaymentFilter = {
  readonly status?: SessionStatus | undefined;
  /** Submitted and not settled. */
  readonly processing?: boolean | undefined;
  /** Asked for this payment, whatever came of it. */
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
  /** Whether another gateway than the first took it. */
  readonly failover?: boolean | undefined;
};

/** Numbers parameters as they are named in a statement's text. */
export class Parameters {
  readonly values: unknown[] = [];

  /** `$3` for the third. */
  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/**
 * The one condition beside the merchant that an index of payment_session is ordered by, or nothing: more than one would
 * have to be tried on row after row of the index, without a bound.
 */
export function walkedBy(filter: PaymentFilter, parameters: Parameters): string {
  const { orderRef, failover, processing, status } = filter;
  if (orderRef && !orderRef.isPrefix) return `AND s.order_ref = ${parameters.add(orderRef.text)}`;
  if (failover === true) return "AND s.failover";
  if (processing === true) return "AND s.phase = 'PROCESSING' AND s.status = 'CREATED'";
  if (status !== undefined && status !== "CREATED") {
    return `AND s.status <> 'CREATED' AND s.status = ${parameters.add(status)}`;
  }
  return "";
}

/** What each row is asked. It repeats what it was walked by, which costs nothing. */
export function askedOfEach(filter: PaymentFilter, parameters: Parameters): string {
  const { status, processing, gateway, orderRef, amountFrom, amountTo, currency, createdAfter, createdBefore } = filter;
  const conditions: string[] = [];
  const ask = (value: unknown, condition: (parameter: string) => string) => {
    if (value !== undefined) conditions.push(condition(parameters.add(value)));
  };
  ask(status, (wanted) => `s.status = ${wanted}`);
  ask(processing, (wanted) => `(s.phase = 'PROCESSING' AND s.status = 'CREATED') = ${wanted}::boolean`);
  // A scalar, which the planner cannot turn into a join over all attempts.
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
  ask(createdAfter, (wanted) => `s.created_at >= ${wanted}::timestamptz`);
  ask(createdBefore, (wanted) => `s.created_at < ${wanted}::timestamptz`);
  ask(filter.failover, (wanted) => `s.failover = ${wanted}::boolean`);
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

/** Below it no session was created after `createdAfter`. */
export function lowestId({ createdAfter }: PaymentFilter): string | undefined {
  return createdAfter && firstIdAt(new Date(createdAfter.getTime() - clockSkewMs));
}

/** Above it no session was created before `createdBefore`, where ids and times agree. */
export function highestId({ createdBefore }: PaymentFilter): string | undefined {
  return createdBefore && firstIdAt(new Date(createdBefore.getTime() + clockSkewMs));
}
