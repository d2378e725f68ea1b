/** What a claimed session needs next, read from its rows alone: so whoever takes over goes on where the last one stopped. PURE. */
import { openingMarginMs } from "../limits.ts";
import type { Attempt, PaymentSession, PlannedConnection } from "./entities.ts";
import { decideNext, type FailoverRule, type Failure, type NextStep } from "./failover.ts";
import type { SessionWithTrail } from "./session-trail.ts";

/** One step of the flow. Each is a transaction, or a gateway call between two. */
export type Step =
  | { readonly type: "authorize"; readonly attempt: Attempt }
  | { readonly type: "giveUpWaiting"; readonly attempt: Attempt }
  | { readonly type: "findLost" }
  | { readonly type: "open"; readonly to: PlannedConnection; readonly because: string }
  | { readonly type: "lookUp"; readonly attempt: Attempt }
  | { readonly type: "orderCapture"; readonly attempt: Attempt }
  | { readonly type: "capture"; readonly attempt: Attempt }
  | { readonly type: "void"; readonly attempt: Attempt }
  | { readonly type: "tellPending" }
  | { readonly type: "end"; readonly status: "DECLINED" | "DEGRADED"; readonly declineCode: string }
  | { readonly type: "wait"; readonly until: Date }
  | { readonly type: "close" };

type Moment = { readonly now: Date; readonly inHand?: string | undefined };

/**
 * The one next step. `inHand` is the attempt that this worker has opened itself and not yet called for: any other that
 * is AUTHORIZING was left behind by a worker that is gone.
 */
export function nextStep(work: SessionWithTrail, inHand?: string): Step {
  const { session, attempts } = work;
  const moment = { now: work.readAt, inHand };
  const voiding = attempts.filter((attempt) => attempt.status === "VOIDING");
  if (session.status !== "CREATED") return voiding.length > 0 ? firstDue(voiding, moment, voidOf) : { type: "close" };

  const authorizing = attempts.find((attempt) => attempt.status === "AUTHORIZING");
  if (authorizing?.id === moment.inHand && authorizing) return { type: "authorize", attempt: authorizing };
  if (authorizing) return { type: "giveUpWaiting", attempt: authorizing };

  const unanswered = attempts.filter((attempt) => attempt.captureStartedAt && !attempt.completedAt);
  if (unanswered.length > 0 && isOver(session, moment) && !session.pendingToldAt) return { type: "tellPending" };

  const winner = attempts.find((attempt) => attempt.status === "AUTHORIZED");
  const inDoubt = winner && findLostFirst(session, moment);
  if (inDoubt) return inDoubt;
  if (winner && !winner.captureStartedAt) return { type: "orderCapture", attempt: winner };
  if (winner) return noLaterThanPending(session, firstDue([winner], moment, captureOf));

  // A former winner may still turn out captured, so nothing else happens before it is given back.
  const formerWinner = voiding.filter((attempt) => attempt.captureStartedAt);
  if (formerWinner.length > 0) return noLaterThanPending(session, firstDue(formerWinner, moment, voidOf));
  return stepOfPlan(work, moment);
}

function stepOfPlan({ session, attempts }: SessionWithTrail, moment: Moment): Step {
  const inDoubt = findLostFirst(session, moment);
  if (inDoubt) return inDoubt;
  const last = attempts.at(-1);
  const [to] = planLeft(session, attempts);
  const mayOpen = to !== undefined && mayStillOpen(session, moment);
  if (last === undefined && mayOpen) return { type: "open", to, because: becauseFirst(session) };
  if (last?.nextAction === "failover" && mayOpen) return { type: "open", to, because: last.nextBecause ?? "" };
  // Nothing follows a fraud decline, not even a hold that an earlier gateway may turn out to have.
  const isFraud = attempts.some((attempt) => attempt.failureKind === "FRAUD");
  const unknown = attempts.find((attempt) => attempt.status === "UNKNOWN" && !attempt.lookedUpAt);
  if (unknown && !isFraud) return { type: "lookUp", attempt: unknown };
  if (last?.status === "DECLINED") {
    return { type: "end", status: "DECLINED", declineCode: last.declineCode ?? "card_declined" };
  }
  return { type: "end", status: "DEGRADED", declineCode: "processing_unavailable" };
}

/** After a restore nothing is taken, adopted or ended before the gateways have told what was done and forgotten here. */
function findLostFirst({ lostCheckAt }: PaymentSession, { now }: Moment): Step | undefined {
  if (!lostCheckAt) return undefined;
  return lostCheckAt <= now ? { type: "findLost" } : { type: "wait", until: lostCheckAt };
}

/** The connections of the plan that no attempt was made at. */
export function planLeft(session: PaymentSession, attempts: readonly Attempt[]): readonly PlannedConnection[] {
  return (session.plan ?? []).slice(attempts.length);
}

/** Why the first gateway of a plan is asked. */
export function becauseFirst(session: Pick<PaymentSession, "ruleVersion">): string {
  return `First of the plan by rule version ${session.ruleVersion}.`;
}

/** What follows the failure of this attempt, the last of the session. */
export function nextAfter(work: SessionWithTrail, failure: Failure, rule: FailoverRule): NextStep {
  const withinBudget = mayStillOpen(work.session, { now: work.readAt });
  return decideNext(failure, rule, { plan: planLeft(work.session, work.attempts), withinBudget });
}

function isOver(session: PaymentSession, { now }: Moment): boolean {
  return session.submitDeadline != null && session.submitDeadline <= now;
}

/** The database refuses an attempt from the deadline on; deciding a little earlier leaves time to store what is decided. */
function mayStillOpen(session: PaymentSession, { now }: Moment): boolean {
  return !isOver(session, { now: new Date(now.getTime() + openingMarginMs) });
}

/** The wait for an unanswered capture ends with the budget too, for then the merchant is told. */
function noLaterThanPending({ submitDeadline, pendingToldAt }: PaymentSession, step: Step): Step {
  if (step.type !== "wait" || pendingToldAt || !submitDeadline || step.until <= submitDeadline) return step;
  return { type: "wait", until: submitDeadline };
}

function captureOf(attempt: Attempt): Step {
  return { type: "capture", attempt };
}

function voidOf(attempt: Attempt): Step {
  return { type: "void", attempt };
}

/** The step for the attempt that is due first, or the wait until it is. */
function firstDue(attempts: readonly Attempt[], { now }: Moment, step: (attempt: Attempt) => Step): Step {
  const [first] = attempts.toSorted((left, right) => dueAt(left) - dueAt(right));
  if (first === undefined) throw new Error("firstDue needs an attempt");
  return dueAt(first) <= now.getTime() ? step(first) : { type: "wait", until: new Date(dueAt(first)) };
}

function dueAt(attempt: Attempt): number {
  return attempt.nextTryAt?.getTime() ?? 0;
}
