/** The promises of docs/capture-refund-safety.md as a program checks them, after every step of a run and at its end. PURE. */
import type { Observed, ObservedRefund } from "./observed.ts";
import type { Authorization } from "./simulated-gateway.ts";
import type { MadeRefund } from "./simulated-refunds.ts";

/** Our rows, and the gateways' own records. */
export type RefundMoment = {
  readonly observed: Observed;
  /** The authorizations of every attempt, by the attempt's public id. */
  readonly authorizations: readonly Authorization[];
  readonly refundsMade: readonly MadeRefund[];
  readonly refundReferenceOf: (id: string) => string;
  /**
   * True if the database was restored to an earlier time, which lost some of the messages to gateways and customers.
   */
  readonly isRestored: boolean;
};

const sumOf = (refunds: readonly { amountMinor: number }[]) =>
  refunds.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
const isStanding = ({ status }: MadeRefund) => status !== "failed";

export function findRefundViolation(moment: RefundMoment): string | undefined {
  const { refundsMade, authorizations } = moment;
  if (refundsMade.length === 0 && moment.observed.refunds.length === 0) return undefined;
  const ours = refundsMade.filter((one) => isStanding(one) && one.refundReference !== undefined);
  const references = ours.map(({ refundReference }) => refundReference);
  const twice = references.find((reference, index) => references.indexOf(reference) !== index);
  if (twice !== undefined) return `the refund ${twice} was made twice`;
  for (const payment of new Set(ours.map((one) => one.payment))) {
    const paid = authorizations.find(({ gatewayReference }) => gatewayReference === payment);
    const captured = paid?.capturedMinor ?? paid?.amountMinor ?? 0;
    const refunded = sumOf(ours.filter((one) => one.payment === payment));
    if (refunded > captured) return `${refunded} of ${captured} captured were refunded`;
  }
  for (const refund of moment.observed.refunds) {
    const violation = findWrongRow(moment, refund);
    if (violation !== undefined) return violation;
  }
  return undefined;
}

function findWrongRow(moment: RefundMoment, refund: ObservedRefund): string | undefined {
  const { id, status, origin, amount_minor, gateway_reference } = refund;
  const reference = moment.refundReferenceOf(id);
  if (status === "REQUESTED") return undefined;
  if (status === "FAILED") {
    const isKept = moment.refundsMade.some((one) => isStanding(one) && one.refundReference === reference);
    return isKept ? `${reference} has FAILED (${refund.failure_code}), and the money is refunded` : undefined;
  }
  const made = moment.refundsMade.find((one) => one.gatewayReference === gateway_reference);
  if (made === undefined) return `${reference} is ${status}, and the gateway has no such refund`;
  if (made.amountMinor !== amount_minor) return `${reference} is over another amount than at the gateway`;
  if (status === "SUCCEEDED" && made.status === "pending") return `${reference} is SUCCEEDED before it is made`;
  const isOurs = made.refundReference === undefined ? origin === "GATEWAY" : made.refundReference === reference;
  return isOurs ? undefined : `${reference} has the money of ${made.refundReference ?? "a refund by hand"}`;
}

/**
 * Returns the refunds that are still on their way, and about which no person has been alarmed. One that waits for the
 * gateway to confirm the capture waits for three days: a restore may have lost the confirmation.
 */
export function openRefunds(observed: Observed, referenceOf: (id: string) => string): readonly ObservedRefund[] {
  const { session, refunds, alarms } = observed;
  return refunds.filter(({ id, status, sends }) => {
    if (alarms.includes(referenceOf(id))) return false;
    return status === "PENDING" || (status === "REQUESTED" && (sends > 0 || session.capture_confirmed === true));
  });
}

/** Returns the promise about refunds that is broken once faults have stopped and time has passed. */
export function findUnfinishedRefund(moment: RefundMoment): string | undefined {
  const { observed, refundsMade, refundReferenceOf, isRestored } = moment;
  const { refunds, events } = observed;
  // A restore may lose the report of one that was accepted; a person is alarmed after a week.
  const open = openRefunds(observed, refundReferenceOf).filter(({ status }) => !isRestored || status !== "PENDING");
  if (open.length > 0) return "a refund did not end";
  // Refunds that a restore has lost may be unknown until the next refund.
  if (isRestored) return undefined;
  for (const made of refundsMade) {
    const row = refunds.find(
      ({ id, gateway_reference }) =>
        gateway_reference === made.gatewayReference || refundReferenceOf(id) === made.refundReference,
    );
    const violation = findUnrecorded(
      made,
      row,
      row !== undefined && observed.alarms.includes(refundReferenceOf(row.id)),
    );
    if (violation !== undefined) return violation;
  }
  const emitted = events.filter(({ type }) => type === "refund.succeeded").length;
  const succeeded = refunds.filter(({ succeeded_at }) => succeeded_at !== null).length;
  return emitted === succeeded ? undefined : `${succeeded} refunds succeeded, and ${emitted} events say so`;
}

/** Requires a refund here for each at the gateway, with the same end, unless an alarm is raised. */
function findUnrecorded(made: MadeRefund, row: ObservedRefund | undefined, isAlarmed: boolean): string | undefined {
  const name = made.refundReference ?? "a refund by hand";
  // A refund by hand at a gateway that can be read is found before the next refund, and the return of money within a
  // day.
  if (row === undefined) {
    if (made.status === "failed" || (made.refundReference === undefined && !made.isReported)) return undefined;
    return `${name} is refunded at the gateway, and unknown here`;
  }
  if (isAlarmed) return undefined;
  const expected = made.status === "failed" ? "FAILED" : "SUCCEEDED";
  if (made.status === "failed" && !made.isReported && row.status === "SUCCEEDED") return undefined;
  return row.status === expected ? undefined : `${name} is ${made.status} at the gateway, and ${row.status} here`;
}
