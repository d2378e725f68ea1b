/**
 * Decides from rows alone the next step of a claimed session, and what follows a failed attempt. A process that takes
 * over therefore continues where the last one stopped. PURE.
 */

import { openingMarginMs, submitWaitMs } from "../../limits.ts";
import type { AttemptId, AuthenticationId } from "../../platform/ids.ts";
import type { AuthenticationStep } from "../authentication/after-authentication.ts";
import { isRefusedByProvider, isStoppedUnavailable, type ProviderStep } from "../authentication/after-provider.ts";
import { stepBeforePlan, stepOfAuthentication } from "../authentication/next-authentication-step.ts";
import type { Attempt, FailoverSwitch, FailureKind, PaymentSession, PlannedConnection } from "../rows/entities.ts";
import { hasCryptogram, isHeld, type Payment } from "../rows/payment.ts";
import { beforeSecondUse, decideForCryptogram } from "../wallets/second-use.ts";
import { because } from "./because.ts";
import type { FailoverDecision, FailoverRule, Failure } from "./failover.ts";

/** A step of the flow: a transaction, or a gateway call between two transactions. */
export type Step =
  | AuthenticationStep
  | ProviderStep
  | { readonly type: "authorize"; readonly attempt: Attempt }
  | { readonly type: "markUnknown"; readonly attempt: Attempt }
  | { readonly type: "findUnrecorded" }
  | { readonly type: "open"; readonly to: PlannedConnection; readonly because: string; readonly round?: 1 | 2 }
  | { readonly type: "lookUp"; readonly attempt: Attempt }
  | { readonly type: "orderCapture"; readonly attempt: Attempt }
  | { readonly type: "lookAtHold"; readonly attempt: Attempt }
  | { readonly type: "emitCaptureDue" }
  | { readonly type: "capture"; readonly attempt: Attempt }
  | { readonly type: "void"; readonly attempt: Attempt }
  | { readonly type: "endDecided"; readonly attempt: Attempt }
  | { readonly type: "emitPending" }
  | { readonly type: "end"; readonly status: "DECLINED" | "DEGRADED"; readonly declineCode: string }
  | { readonly type: "wait"; readonly until: Date }
  | { readonly type: "close" };

type Moment = { readonly now: Date; readonly unsentAttemptId?: AttemptId | AuthenticationId | undefined };

/**
 * Returns the next step. `unsentAttemptId` is the attempt that this process has opened and not yet sent; any other
 * AUTHORIZING attempt was left behind by a process that is gone.
 */
export function nextStep(loaded: Payment, unsentAttemptId?: AttemptId | AuthenticationId): Step {
  const { session, attempts } = loaded;
  const moment = { now: loaded.readAt, unsentAttemptId };
  const decided = attempts.find((attempt) => attempt.decisionConfirmedAt && !attempt.completedAt);
  if (decided) {
    const until = quietUntil(decided);
    return until > moment.now ? { type: "wait", until } : { type: "endDecided", attempt: decided };
  }
  const voiding = attempts.filter((attempt) => attempt.status === "VOIDING");
  if (session.status !== "CREATED") return voiding.length > 0 ? firstDue(voiding, moment, "void") : { type: "close" };

  const asked = loaded.authentications.length > 0 ? stepOfAuthentication(loaded, unsentAttemptId) : undefined;
  if (asked) return asked;
  // rule:one-authorizing
  const authorizing = attempts.find((attempt) => attempt.status === "AUTHORIZING");
  if (authorizing?.id === unsentAttemptId && authorizing) return { type: "authorize", attempt: authorizing };
  if (authorizing) return { type: "markUnknown", attempt: authorizing }; // rule:one-authorizing

  const unanswered = attempts.filter((attempt) => attempt.captureOrderedAt && !attempt.completedAt);
  const pendingAt = pendingFrom(session, unanswered);
  if (pendingAt && pendingAt <= moment.now && !session.pendingEventAt) return { type: "emitPending" };

  const winner = attempts.find((attempt) => attempt.status === "AUTHORIZED");
  const inDoubt = winner && findUnrecordedFirst(session, moment);
  if (inDoubt) return inDoubt;
  // rule:manual-capture
  if (winner && isHeld(session)) return stepOfHold(session, winner, voiding, moment);
  // rule:capture-ordered-first
  if (winner && !winner.captureOrderedAt) return { type: "orderCapture", attempt: winner };
  if (winner) return noLaterThan(pendingAt, session, firstDue([winner], moment, "capture"));

  // A former winner may still turn out to be captured, so nothing else happens before it is voided.
  const formerWinner = voiding.filter((attempt) => attempt.captureOrderedAt);
  // rule:former-winner-waits
  if (formerWinner.length > 0) return noLaterThan(pendingAt, session, firstDue(formerWinner, moment, "void"));
  return stepOfPlan(loaded, moment);
}

// A capture that was in flight when its attempt was given up may still be executed and then reported. The longest pause
// of a process between reading and sending, plus the gateway's own time, is far below this.
const givenUpQuietMs = 15 * 60_000;

/**
 * Returns the end of the quiet time. No capture is sent after the confirmation, and the gateway is read a last time
 * only after the quiet time.
 */
function quietUntil({ decision, decisionConfirmedAt, captureOrderedAt }: Attempt): Date {
  if (decision !== "GIVEN_UP" || !decisionConfirmedAt || captureOrderedAt === null) return new Date(0);
  return new Date(decisionConfirmedAt.getTime() + givenUpQuietMs);
}

function stepOfPlan(loaded: Payment, moment: Moment): Step {
  const { session, attempts, authentications } = loaded;
  const inDoubt = findUnrecordedFirst(session, moment);
  if (inDoubt) return inDoubt;
  // A customer who was refused, gave up or did not finish. Not even a hold that an earlier gateway may have follows.
  const isRefused = attempts.some(({ stop }) => stop === "authentication_failed"); // rule:refusal-ends-payment
  if (isRefused || (authentications.length > 0 && isRefusedByProvider(authentications)))
    return { type: "end", status: "DECLINED", declineCode: "authentication_failed" };
  // Another session pays the order, so not even an earlier hold is looked up.
  const isOrderLost = attempts.some(({ stop }) => stop === "order_being_paid");
  if (isOrderLost) return { type: "end", status: "DECLINED", declineCode: "order_being_paid" };
  const last = attempts.at(-1);
  const [to] = planLeft(loaded);
  if (mayStillOpen(session, moment)) {
    const first = authentications.length > 0 || to?.providerFirst ? stepBeforePlan(loaded, to) : undefined;
    if (first) return first;
    if (to && last === undefined) return { type: "open", to, because: because.first(session) };
    const second = hasCryptogram(session) ? beforeSecondUse(session, attempts) : undefined;
    if (second?.lookUp) return { type: "lookUp", attempt: second.lookUp };
    if (to && last?.nextAction === "failover" && !second?.isRefused)
      return { type: "open", to, because: last.nextBecause ?? "" };
  }
  // A fraud decline ends the payment, even if an earlier gateway may turn out to have a hold.
  const isFraud = attempts.some((attempt) => attempt.failureKind === "FRAUD" || attempt.stop === "fraud");
  // A look-up before a second use of a cryptogram is not the one at the end.
  const since = hasCryptogram(session) ? last?.startedAt : undefined;
  const unknown = attempts.filter(
    ({ status, lookedUpAt }) => status === "UNKNOWN" && !(lookedUpAt && (!since || lookedUpAt >= since)),
  );
  const [lookedUp] = isFraud ? unknown.filter(({ stop }) => stop === "fraud") : unknown; // rule:no-hold-after-fraud
  if (lookedUp) return { type: "lookUp", attempt: lookedUp };
  // A hold whose capture was refused for good is not a decline.
  if (!session.heldAt && last?.status === "DECLINED") {
    return { type: "end", status: "DECLINED", declineCode: last.declineCode ?? "card_declined" };
  }
  return { type: "end", status: "DEGRADED", declineCode: "processing_unavailable" };
}

/**
 * Returns the step that finds unrecorded attempts, if it is still needed. After a restore, nothing is captured, adopted
 * or ended before the gateways have reported what this database has lost.
 */
function findUnrecordedFirst({ unrecordedCheckAt }: PaymentSession, { now }: Moment): Step | undefined {
  if (!unrecordedCheckAt) return undefined;
  return unrecordedCheckAt <= now ? { type: "findUnrecorded" } : { type: "wait", until: unrecordedCheckAt };
}

/** Returns the connections of the plan at which an attempt may still be made. */
function planLeft({ session, attempts, authentications }: Payment): readonly PlannedConnection[] {
  // The card is forgotten, and the customer is gone.
  if (session.heldAt) return [];
  const left = (session.plan ?? []).slice(attempts.filter(({ round }) => round === 0).length);
  return left.filter((to) => !to.stopsIfUnavailable || !isStoppedUnavailable(authentications, to));
}

/** Decides what follows the failure of the session's last attempt. */
export function decideAfterFailure(work: Payment, failure: Failure, rule: FailoverRule): FailoverDecision {
  const withinBudget = mayStillOpen(work.session, { now: work.readAt });
  if (work.session.heldAt) {
    return { action: "stop", because: because.cardIsForgotten(failure) };
  }
  const decided = decideNext(failure, rule, { plan: planLeft(work), withinBudget });
  const isDeclined = failure.kind === "HARD_DECLINE" || failure.kind === "SOFT_DECLINE";
  // rule:braked-after-decline
  if (
    decided.action === "failover" &&
    isDeclined && // rule:braked-declines-only
    !failure.captureRefused &&
    work.session.brakes?.includes("NEW_CARD")
  )
    return { action: "stop", because: because.newCardDeclined(failure) };
  if (hasCryptogram(work.session)) return decideForCryptogram(work.session, failure, rule, decided);
  return decided;
}

/**
 * Reports whether an attempt may still be opened. The database refuses attempts from the deadline on; deciding a little
 * earlier leaves time to store the decision.
 */
function mayStillOpen({ submitDeadline }: PaymentSession, { now }: Moment): boolean {
  return submitDeadline == null || submitDeadline.getTime() > now.getTime() + openingMarginMs; // rule:deadline
}

/**
 * Returns the step of a payment that its merchant captures later: its reminder, a look at the hold or its end, and the
 * voids of other holds, which do not wait for the merchant.
 */
function stepOfHold(session: PaymentSession, winner: Attempt, voiding: readonly Attempt[], moment: Moment): Step {
  const { now } = moment;
  const { captureDueAt } = session;
  // Past its end, a hold that was sent a void is looked at again after a pause.
  const pausedUntil = winner.retries > 0 ? winner.nextRetryAt : undefined;
  const lookAt = pausedUntil ?? earlier(session.heldUntil, winner.nextRetryAt) ?? now;
  if (lookAt <= now) return { type: "lookAtHold", attempt: winner };
  if (captureDueAt && captureDueAt <= now) return { type: "emitCaptureDue" };
  const other = voiding.length > 0 ? firstDue(voiding, moment, "void") : undefined;
  if (other && other.type !== "wait") return other;
  return { type: "wait", until: earlier(earlier(lookAt, captureDueAt), other?.until) ?? lookAt };
}

function earlier(one: Date | null | undefined, other: Date | null | undefined): Date | undefined {
  if (!one || !other) return one ?? other ?? undefined;
  return one < other ? one : other;
}

/**
 * Returns the time from which an unanswered capture is pending: the end of the time budget, or of the merchant's call that
 * ordered it.
 */
export function pendingFrom(
  { manualCapture, submitDeadline }: PaymentSession,
  [unanswered]: readonly Attempt[],
): Date | undefined {
  if (!unanswered?.captureOrderedAt) return undefined;
  if (!manualCapture) return submitDeadline ?? undefined;
  return new Date(unanswered.captureOrderedAt.getTime() + submitWaitMs);
}

/** Limits the wait for an unanswered capture to the time at which the pending event is emitted. */
function noLaterThan(pendingAt: Date | undefined, { pendingEventAt }: PaymentSession, step: Step): Step {
  if (step.type !== "wait" || pendingEventAt || !pendingAt || step.until <= pendingAt) return step;
  return { type: "wait", until: pendingAt };
}

/** Returns the step for the attempt that is due first, or the wait until it is due. */
function firstDue(attempts: readonly Attempt[], { now }: Moment, type: "capture" | "void"): Step {
  const dueAt = ({ nextRetryAt }: Attempt) => nextRetryAt?.getTime() ?? 0;
  const [attempt] = attempts.toSorted((left, right) => dueAt(left) - dueAt(right));
  if (attempt === undefined) throw new Error("firstDue needs an attempt");
  return dueAt(attempt) <= now.getTime() ? { type, attempt } : { type: "wait", until: new Date(dueAt(attempt)) };
}

// A soft decline has no separate switch: it follows the one for declines.
const switchOf: Record<Exclude<FailureKind, "FRAUD">, FailoverSwitch> = {
  HARD_DECLINE: "HARD_DECLINE",
  SOFT_DECLINE: "HARD_DECLINE",
  TIMEOUT: "TIMEOUT",
  GATEWAY_ERROR: "GATEWAY_ERROR",
};

/**
 * Returns the next connection of the plan unless a stop, a missing card, the rule, the end of the plan or the time
 * budget forbids it; they are checked in this order. Before the plan continues, a gateway that allows it gets the
 * payment once more.
 */
export function decideNext(
  failure: Failure,
  rule: FailoverRule,
  left: { readonly plan: readonly PlannedConnection[]; readonly withinBudget: boolean },
): FailoverDecision {
  const stop = failure.kind === "FRAUD" ? "fraud" : failure.stop; // rule:stop-ends-plan
  const { provider } = failure;
  if (stop === "authentication_required" && failure.repeat && left.withinBudget)
    return {
      action: "authenticate",
      to: stepOf(failure.repeat),
      because: because.repeated(failure.repeat) + (provider ? because.andAuthenticatedBy(provider.name) : ""),
      round: 1,
      provider,
    };
  if (stop === "authentication_required" && rule.authentication === "NEVER")
    return { action: "stop", because: because.neverAuthenticated(rule) };
  if (stop !== undefined) return { action: "stop", because: because.stopped(rule, stop) };
  if (failure.noCard !== undefined) return { action: "stop", because: because.noCard(rule, failure.noCard) };
  if (failure.again && rule.retriesSameGateway && left.withinBudget) {
    return { action: "retry", to: stepOf(failure.again), because: because.retried(rule, failure), round: 2 };
  }
  const [to] = left.plan;
  // rule:stop-ends-plan
  if (failure.kind === "FRAUD" || !rule.failoverOn.includes(switchOf[failure.kind])) {
    return { action: "stop", because: because.notFollowed(rule, failure) };
  }
  if (to === undefined) return { action: "stop", because: because.planIsOver(rule, failure) };
  if (!left.withinBudget) return { action: "stop", because: because.timeIsOver(rule, failure) };
  return { action: "failover", to, because: because.failedOver(rule, to, failure) };
}

function stepOf({ priority, gateway, connectionId, credentialVersion }: PlannedConnection): PlannedConnection {
  return { priority, gateway, connectionId, credentialVersion };
}
