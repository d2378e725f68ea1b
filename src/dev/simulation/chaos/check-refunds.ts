/** Checks whether the refunds of the service, the acquirers and the merchant agree, once everything has settled. PURE. */
import type { Records, RefundRecord } from "./records.ts";

export const refundViolationKinds = {
  refunded_twice: "one refund was made twice",
  refunded_more: "more was refunded than was captured",
  refund_lost: "a refund that was answered is missing, or an acquirer has one that is not known here",
  refund_open: "a refund has not ended",
  refund_differs: "a refund has another end here than at the acquirer",
} as const;

type RefundViolationKind = keyof typeof refundViolationKinds;
type Found = { readonly kind: RefundViolationKind; readonly sessionId: string; readonly detail: string };
type Made = Records["authorizations"][number]["refunds"][number];

/**
 * Returns the refunds without an end that only a person can give them; the work queue has a row. Adyen keeps an error
 * for their key, has not made them, and cannot be read; neither of two keys had an answer, and the gateway has no
 * refund; or the gateway refuses each repeat, because of its card or because less is left, which says nothing of the
 * request that had no answer. An amount that a dispute has taken is not left either. Another key could refund twice.
 */
export function refundsLeftToPerson({
  refunds,
  disputed,
  authorizations,
  keptErrors,
  workItems,
}: Records): ReadonlyMap<string, RefundRecord> {
  const made = new Set(authorizations.flatMap((one) => one.refunds.map(({ reference }) => reference)));
  const kept = new Set(keptErrors);
  const takenOf = new Map(disputed.map(({ attemptId, value }) => [attemptId, value]));
  const restOf = new Map(
    authorizations.map(({ reference, refund, capturedValue, refunds: those }) => [
      reference,
      refund === "refuse" ? 0 : capturedValue - sumOf(those.filter(isStanding)) - (takenOf.get(reference) ?? 0),
    ]),
  );
  const reported = new Set(
    workItems.filter(({ kind }) => kind === "REFUND_UNANSWERED").map(({ sessionId }) => sessionId),
  );
  const left = refunds.filter(
    ({ status, refundId, sessionId, keys, attemptId, value }) =>
      status === "REQUESTED" &&
      (kept.has(refundId) || keys === 2 || value > (restOf.get(attemptId) ?? 0)) &&
      !made.has(refundId) &&
      reported.has(sessionId),
  );
  return new Map(left.map((refund) => [refund.refundId, refund]));
}

export function findRefundViolations(records: Records): Found[] {
  const { refunds, authorizations, orders } = records;
  const left = refundsLeftToPerson(records);
  const known = new Map(refunds.map((refund) => [refund.refundId, refund]));
  const made = authorizations.flatMap((authorization) =>
    authorization.refunds.map((one) => ({ ...one, payment: authorization })),
  );
  const sessionOf = (reference: string) => known.get(reference)?.sessionId ?? "";
  const found = (kind: RefundViolationKind, sessionId: string, detail: string): Found => ({ kind, sessionId, detail });
  const byReference = Map.groupBy(made, ({ reference }) => reference);
  const answered = orders.flatMap(({ refunded }) => refunded);
  return [
    ...authorizations
      .filter((one) => sumOf(one.refunds.filter(isStanding)) > one.capturedValue)
      .map(({ id, capturedValue }) => found("refunded_more", "", `${id}, ${capturedValue} captured`)),
    ...[...byReference]
      .filter(([reference, of]) => reference !== "" && of.filter(isStanding).length > 1)
      .map(([reference]) => found("refunded_twice", sessionOf(reference), reference)),
    ...[...byReference.keys(), ...answered]
      .filter((reference) => reference !== "" && !known.has(reference))
      .map((reference) => found("refund_lost", "", reference)),
    ...refunds
      .filter(({ refundId }) => !left.has(refundId))
      .flatMap((refund) => checkEnd(refund, byReference.get(refund.refundId) ?? [], found)),
  ];
}

function checkEnd(
  { sessionId, refundId, status, origin, failureCode, sends }: RefundRecord,
  made: readonly Made[],
  found: (kind: RefundViolationKind, sessionId: string, detail: string) => Found,
): Found[] {
  if (origin !== "MERCHANT") return [];
  if (status === "REQUESTED" || status === "PENDING")
    return [found("refund_open", sessionId, `${refundId}, ${status}, sent ${sends} times`)];
  const standing = made.filter(isStanding).length;
  if (standing === (status === "SUCCEEDED" ? 1 : 0)) return [];
  return [found("refund_differs", sessionId, `${refundId}, ${status} (${failureCode}); ${standing} at the acquirer`)];
}

function isStanding({ status }: Pick<Made, "status">): boolean {
  return status !== "failed";
}

function sumOf(refunds: readonly Made[]): number {
  return refunds.reduce((sum, { value }) => sum + value, 0);
}
