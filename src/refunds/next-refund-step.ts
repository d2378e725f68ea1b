/** Decides from rows alone what a refund needs next, and when it is taken up again. PURE. */

import type { Attempt, Refund } from "../core/rows/entities.ts";
import { heldMinor, type Payment, refundedMinor } from "../core/rows/payment.ts";
import { unreachable } from "../platform/errors.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

// A request that the gateway has kept as an error may still be executed; a look-up before that proves nothing.
const quietMs = minute;
// A request without any answer may have been held up on its way, in a process that was stopped. The gateway would
// execute it as a new one once it has forgotten the key.
const longQuietMs = hour;
// Gateways report a capture within a day; Adyen repeats its notifications for longer.
const captureConfirmedMs = 3 * day;
// Card networks pay refunds out within five to ten days.
const overdueMs = 7 * day;
// Banks return refunded money within weeks; after 30 days, the refund is read no more.
const returnedMs = 30 * day;
// A request that was sent just before the database was lost is listed by then, or never made.
const restoredQuietMs = 5 * minute;
/** Time without an answer after which a person and the merchant are notified. */
export const unansweredMs = hour;

export type RefundTraits = {
  readonly needsConfirmedCapture: boolean;
  /** Time in which the gateway surely remembers a key. */
  readonly keyLifeMs: number;
  /** True if every refund of a payment can be read, also those made by hand. */
  readonly canList: boolean;
  /** True if the record of one refund can be read. */
  readonly canRead: boolean;
};

/** A step of a refund: a call, a change of the row, or a wait. */
export type RefundStep =
  | { readonly type: "send"; readonly key: 1 | 2 }
  | { readonly type: "lookUp" }
  | {
      readonly type: "fail";
      readonly failureCode: NeverMade | "capture_unconfirmed";
    }
  | { readonly type: "endDecided" }
  /** The refund waits for a person; `reason` is for them. */
  | { readonly type: "askPerson"; readonly reason: string; readonly repeatMs: number }
  | { readonly type: "wait"; readonly ms: number }
  | { readonly type: "rest" };

/** The reason why a refund that is unknown at the gateway is not sent. */
type NeverMade = "capture_failed" | "amount_exceeds_refundable" | "payment_disputed";

/** The rows that a refund's next step depends on, read together. */
export type RefundWork = {
  readonly refund: Refund;
  readonly loaded: Payment;
  readonly captured: Attempt;
  readonly traits: RefundTraits;
  /** The time at which the last restore of this database was declared. */
  readonly restoredAt: Date | undefined;
};

export function nextRefundStep(work: RefundWork): RefundStep {
  const { refund } = work;
  if (refund.decision && (refund.status === "REQUESTED" || refund.status === "PENDING")) return stepOfDecided(work);
  switch (refund.status) {
    case "REQUESTED":
      return refund.sends === 0 ? stepBeforeSending(work) : stepWithoutAnswer(work);
    case "PENDING":
      return stepOfPending(work);
    case "SUCCEEDED":
      return stepOfSucceeded(work);
    case "FAILED":
      return { type: "rest" };
    default:
      return unreachable(refund.status);
  }
}

/**
 * Decides about a refund whose end a person has recorded. That the gateway has none is known only once no request can be on its
 * way any more: until then a second refund of the same money would be one too many.
 */
function stepOfDecided({ refund, loaded }: RefundWork): RefundStep {
  const mayArrive = refund.decision === "FAILED" && refund.status === "REQUESTED" && refund.sends > 0;
  const ms = mayArrive ? absenceCertainInMs(refund, loaded.readAt) : 0;
  return ms > 0 ? { type: "wait", ms } : { type: "endDecided" };
}

function stepBeforeSending(work: RefundWork): RefundStep {
  const { refund, loaded, traits } = work;
  const now = loaded.readAt.getTime();
  const failureCode = whyNeverMade(work);
  if (failureCode && !mayBeMade(work)) return { type: "fail", failureCode };
  if (!failureCode && traits.needsConfirmedCapture && !loaded.session.captureConfirmed) {
    const isOver = now - refund.createdAt.getTime() > captureConfirmedMs;
    return isOver ? { type: "fail", failureCode: "capture_unconfirmed" } : { type: "wait", ms: pauseMs(refund) };
  }
  if (failureCode || mayBeMissing(work)) {
    const reason = `After a restore, refunds of this payment at ${refund.gateway} may be missing here.`;
    return { type: "askPerson", reason: `${reason} Check there, then let this one be sent or end it.`, repeatMs: day };
  }
  const waitMs = restoredWaitMs(work);
  return waitMs > 0 ? { type: "wait", ms: waitMs } : { type: "send", key: 1 };
}

/** Returns how long requests that were sent before a restore, and are not known here, may still be executed. */
function restoredWaitMs({ refund, loaded, restoredAt }: RefundWork): number {
  if (restoredAt === undefined || loaded.session.createdAt >= restoredAt || refund.createdAt <= restoredAt) return 0;
  if (refund.clearedAt && refund.clearedAt > restoredAt) return 0;
  return Math.max(0, restoredAt.getTime() + restoredQuietMs - loaded.readAt.getTime());
}

function whyNeverMade(work: RefundWork): NeverMade | undefined {
  const { loaded, captured } = work;
  if (captured.captureFailedAt) return "capture_failed";
  // Refunds made by hand meanwhile leave less than this one needs.
  // rule:refund-sum
  if (refundedMinor(loaded) > (captured.capturedAmountMinor ?? 0)) return "amount_exceeds_refundable";
  return isHeldByDispute(work) ? "payment_disputed" : undefined;
}

/** Reports whether a dispute holds what this refund would pay back a second time. */
function isHeldByDispute({ loaded, captured }: RefundWork): boolean {
  // rule:dispute-send
  if (loaded.disputes === undefined) return false;
  return refundedMinor(loaded) + heldMinor(loaded.disputes) > (captured.capturedAmountMinor ?? 0);
}

/**
 * Reports whether a restore may have lost a request for this refund, or other refunds of its payment, and the gateway
 * has no look-up. A row that was there at the backup keeps its key, so it is sent again while the gateway remembers it.
 */
function mayBeMissing(work: RefundWork): boolean {
  // rule:refund-restore
  if (!mayHaveLost(work)) return false;
  const { refund, loaded, traits } = work;
  return !mayBeMade(work) || loaded.readAt.getTime() - refund.createdAt.getTime() >= traits.keyLifeMs;
}

/** Reports whether a refund that is not sent here may have been sent before the restore: it is not known to be without effect. */
function mayBeMade(work: RefundWork): boolean {
  return mayHaveLost(work) && work.refund.createdAt <= work.restoredAt!;
}

function mayHaveLost({ refund, loaded, traits, restoredAt }: RefundWork): boolean {
  if (restoredAt === undefined || traits.canList || loaded.session.createdAt >= restoredAt) return false;
  return !(refund.clearedAt && refund.clearedAt > restoredAt);
}

/** Decides about a refund that was sent and has no answer: the same request again, or a look-up first. */
function stepWithoutAnswer(work: RefundWork): RefundStep {
  const { refund, loaded } = work;
  const { keys, keyUntil, lookUpFirst, absentAt } = refund;
  const now = loaded.readAt;
  // rule:refund-key-life
  if (!lookUpFirst && keyUntil && now < keyUntil && !isHeldByDispute(work))
    return { type: "send", key: keys === 2 ? 2 : 1 };
  // rule:refund-second-key
  if (keys === 1 && absentAt) {
    const failureCode = whyNeverMade(work);
    return failureCode ? { type: "fail", failureCode } : { type: "send", key: 2 };
  }
  if (keys === 2 && absentAt) {
    const reason = `${refund.gateway} has no record of this refund, and gave no answer to two requests.`;
    return { type: "askPerson", reason: `${reason} Check there, then record its end.`, repeatMs: day };
  }
  return { type: "lookUp" };
}

function stepOfPending({ refund, loaded, traits }: RefundWork): RefundStep {
  if (traits.canRead) return { type: "lookUp" };
  const ageMs = loaded.readAt.getTime() - refund.createdAt.getTime();
  if (ageMs < overdueMs) return { type: "wait", ms: overdueMs - ageMs };
  return { type: "askPerson", reason: overdueReason(refund), repeatMs: day };
}

export function overdueReason({ gateway }: Pick<Refund, "gateway">): string {
  return `${gateway} accepted this refund a week ago and has not reported its end. Check there, then record its end.`;
}

/** Reports whether a refund that the gateway accepted has been without an end for too long. */
export function isOverdue({ createdAt }: Pick<Refund, "createdAt">, now: Date): boolean {
  return now.getTime() - createdAt.getTime() >= overdueMs;
}

function stepOfSucceeded({ refund, loaded, traits }: RefundWork): RefundStep {
  const ageMs = loaded.readAt.getTime() - (refund.completedAt ?? refund.createdAt).getTime();
  return traits.canRead && ageMs < returnedMs ? { type: "lookUp" } : { type: "rest" };
}

/** Returns the pause until a refund with this status, read at `now`, is looked at again; undefined for never. */
export function pauseAfterLookUp(
  refund: Pick<Refund, "status" | "createdAt" | "completedAt">,
  traits: Pick<RefundTraits, "canRead">,
  now: Date,
): number | undefined {
  if (refund.status === "FAILED") return undefined;
  if (refund.status === "SUCCEEDED") {
    const ageMs = now.getTime() - (refund.completedAt ?? now).getTime();
    return traits.canRead && ageMs < returnedMs ? day : undefined;
  }
  const ageMs = now.getTime() - refund.createdAt.getTime();
  if (!traits.canRead) return Math.max(overdueMs - ageMs, minute);
  if (ageMs < day) return hour;
  return ageMs < overdueMs ? day : overdueMs;
}

/** Returns the pause before the same request is sent again, or a look-up is repeated: 1 s, 2 s, 4 s … at most 5 min. */
export function pauseMs({ retries }: Pick<Refund, "retries">): number {
  return Math.min(second * 2 ** Math.min(retries, 20), 5 * minute);
}

/** Returns the time after which a look-up that finds nothing proves that nothing follows; 0 if it does at this time. */
export function absenceCertainInMs({ sentAt, lookUpFirst }: Pick<Refund, "sentAt" | "lookUpFirst">, at: Date): number {
  const sinceMs = at.getTime() - (sentAt ?? at).getTime();
  return Math.max(0, (lookUpFirst ? quietMs : longQuietMs) - sinceMs);
}
