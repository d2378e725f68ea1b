/**
 * The steps of a session whose customer is being authenticated: looking at the action, completing the payment, and
 * giving up. As in flow-steps.ts, each is a gateway call, a transaction, or a call followed by a transaction.
 */

import type { ActionAnswer, CompletionAnswer, Unknown } from "../../gateways/connector.ts";
import { customerTimeMs } from "../../limits.ts";
import type { Tx } from "../../platform/database.ts";
import { unreachable } from "../../platform/errors.ts";
import type { SessionId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { lockAndDecide, openAfter, recordAndContinue } from "../execute/after-failure.ts";
import { reportNeverOrdered } from "../execute/flow-steps.ts";
import * as gateway from "../execute/gateway-calls.ts";
import { recordAuthorized, recordWinner } from "../execute/held-payments.ts";
import { type Changed, commitAndReload, type Reloaded, type Work } from "../execute/work.ts";
import { isReferenceTaken, move, recordRefused } from "../record/attempts.ts";
import { lockAndRenew } from "../record/lease.ts";
import { latestExecutionMsAt } from "../record/open-attempt.ts";
import type { Attempt, Authentication } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import { endOf, type GivenUp, mayCompleteAgain } from "./after-authentication.ts";
import {
  endAuthentication,
  endWait,
  isGivenUp,
  laterOf,
  liabilityOf,
  loadCompletion,
  postponeLook,
  recordCompleting,
  recordCompletingAgain,
  recordNotAnswered,
} from "./authentications.ts";
import { endWithoutResult } from "./provided-rows.ts";

type Asked = { readonly attempt: Attempt; readonly authentication: Authentication };
/** The rows of `Asked`, and the session that pays the order instead, if another one does. */
type Ordered = Asked & { readonly payerId: SessionId | undefined };

/** Sends the completing request and records the answer. Without an answer it is sent once more, with the same key. */
export async function completePayment(work: Work, asked: Asked): Promise<Reloaded> {
  const { core, lease } = work;
  const completion = await loadCompletion(core, core.database, asked.authentication);
  const answer = await gateway.complete(core, asked, completion);
  return commitAndReload(core, lease, (tx, payerId) => recordCompletion(tx, work, { ...asked, payerId }, answer));
}

async function recordCompletion(tx: Tx, work: Work, asked: Ordered, answer: CompletionAnswer): Promise<Changed> {
  const { core, lease, loaded } = work;
  const { attempt, authentication, payerId } = asked;
  const { outcome, card, authenticated } = answer;
  switch (outcome.type) {
    case "held": {
      const end = () => endCompleted(tx, authentication, answer);
      await recordAuthorized(tx, core, lease, { loaded, attempt, hold: outcome, card, end, payerId });
      return {};
    }
    case "declined": {
      const isFailed = outcome.stop === "authentication_failed";
      const end = () =>
        isFailed
          ? endAuthentication(tx, authentication, "FAILED", authenticated)
          : endCompleted(tx, authentication, answer);
      return recordAndContinue(tx, work, attempt, outcome, { card, end });
    }
    // Anybody may send a return, so it never leads to another gateway.
    case "notAnswered": {
      const { now } = await lockAndRenew(tx, lease, card);
      recordNotAnswered(tx, asked, now);
      return {};
    }
    case "unknown":
    case "notProcessed":
    case "actionNeeded": {
      if (mayCompleteAgain(authentication)) {
        const { now } = await lockAndRenew(tx, lease, card);
        recordCompletingAgain(tx, asked, latestFrom(core, attempt, now, authentication.actionLifeMs));
        return { openedAttemptId: attempt.id };
      }
      const notProcessed = outcome.type === "notProcessed" ? outcome : undefined;
      const unknown: Unknown =
        outcome.type === "unknown"
          ? outcome
          : { type: "unknown", kind: "GATEWAY_ERROR", reason: outcome.type, notProcessed };
      const end = () => endAuthentication(tx, authentication, "UNAVAILABLE");
      return recordAndContinue(tx, work, attempt, unknown, { card, end });
    }
    default:
      return unreachable(outcome);
  }
}

/**
 * Ends an authentication with what the gateway's decision says about it. If the decision says nothing, the result is
 * unknown.
 */
function endCompleted(
  tx: Tx,
  authentication: Authentication,
  { outcome, authenticated }: Pick<CompletionAnswer, "outcome" | "authenticated">,
): void {
  const liability = authenticated?.liability ?? liabilityOf(authenticated?.eci) ?? "UNKNOWN";
  const status = endOf(outcome, authenticated) ?? "UNAVAILABLE";
  endAuthentication(tx, authentication, status, { ...authenticated, liability });
}

/** Returns the latest time at which the gateway may execute a request that is sent now. */
function latestFrom(core: Core, attempt: Attempt, now: Date, actionLifeMs = 0): Date {
  return new Date(now.getTime() + latestExecutionMsAt(core, attempt) + actionLifeMs);
}

/** Sends the completing request that another process left behind once more. */
export async function completeAgain({ core, lease }: Work, asked: Asked): Promise<Reloaded> {
  return commitAndReload(core, lease, async (tx) => {
    const { now } = await lockAndRenew(tx, lease);
    recordCompletingAgain(tx, asked, latestFrom(core, asked.attempt, now, asked.authentication.actionLifeMs));
    return { openedAttemptId: asked.attempt.id };
  });
}

/** Asks the gateway whether its customer has answered, and records what follows. */
export async function askOutcome(work: Work, asked: Asked): Promise<Reloaded> {
  const { core, lease } = work;
  const completion = await loadCompletion(core, core.database, asked.authentication);
  const answer = await gateway.askAction(core, asked.attempt, completion);
  return commitAndReload(core, lease, (tx, payerId) => recordOutcome(tx, work, { ...asked, payerId }, answer));
}

async function recordOutcome(tx: Tx, work: Work, asked: Ordered, answer: ActionAnswer): Promise<Changed> {
  const { core, lease, loaded } = work;
  const { attempt, authentication } = asked;
  const { session, now } = await lockAndRenew(tx, lease);
  // The customer gave up during the gateway call: nothing may follow, and a hold is voided with the end.
  if (answer.type !== "captured" && (await isGivenUp(tx, authentication))) return {};
  switch (answer.type) {
    case "answered": {
      // Returns that were none of the customer's answers have used up the requests.
      if (!mayCompleteAgain(authentication)) break;
      const isBegun = await recordCompleting(tx, asked, latestFrom(core, attempt, now, authentication.actionLifeMs));
      return isBegun ? { openedAttemptId: attempt.id } : {};
    }
    case "failed":
      recordGivenUp(tx, core, { ...asked, as: "FAILED", now });
      return {};
    case "held":
      if (await isReferenceTaken(tx, attempt, answer.gatewayReference)) break;
      endAuthentication(tx, authentication, "AUTHENTICATED");
      endWait(tx, attempt.sessionId);
      await recordWinner(tx, core, session, { attempt, hold: answer, payerId: asked.payerId });
      return {};
    case "declined":
      if (answer.stop === "authentication_failed") {
        recordGivenUp(tx, core, { ...asked, as: "FAILED", now });
        return {};
      }
      return recordDeclinedAction(tx, work, asked, { declined: answer, now });
    case "captured":
      await reportNeverOrdered(tx, core, attempt);
      break;
    case "waiting":
    case "heldOther":
    case "voided":
    case "absent":
    case "inconclusive":
      break;
    default:
      return unreachable(answer);
  }
  postponeLook(tx, attempt, loaded.readAt);
  return {};
}

/**
 * Records that the gateway declined while the customer was being authenticated. If a hold may still appear by itself,
 * the decline is believed only at the plan's end, as that of any unanswered attempt; what the decline forbids is
 * forbidden at once, also for the hold of an earlier gateway.
 */
async function recordDeclinedAction(
  tx: Tx,
  work: Work,
  { attempt, authentication }: Asked,
  { declined, now }: { declined: Extract<ActionAnswer, { type: "declined" }>; now: Date },
): Promise<Changed> {
  const { core } = work;
  endWait(tx, attempt.sessionId);
  if (holdsNothing(authentication)) {
    const end = () => endAuthentication(tx, authentication, "UNAVAILABLE");
    return recordAndContinue(tx, work, attempt, declined, { end });
  }
  const stop = declined.stop === "none" ? undefined : declined.stop;
  const next = await lockAndDecide(tx, work, attempt, { kind: "TIMEOUT", stop });
  endAuthentication(tx, authentication, "UNAVAILABLE");
  move(tx, attempt, "AWAITING_CUSTOMER", {
    set: {
      status: "UNKNOWN",
      failureKind: "TIMEOUT",
      ...(stop && { stop }),
      retries: 0,
      nextRetryAt: null,
      latestExecutionAt: laterOf(attempt, latestFrom(core, attempt, now, authentication.actionLifeMs)),
      nextAction: next.action,
      nextBecause: next.because,
    },
  });
  return next.action === "stop" ? {} : { openedAttemptId: await openAfter(tx, work, next) };
}

/**
 * Ends a wait without an answer. If a hold appears only after our completing request, the gateway's own record of the
 * action is then cancelled, once: it can no longer be completed.
 */
export async function giveUp(work: Work, asked: Asked, as: GivenUp): Promise<Reloaded> {
  const { core, lease, loaded } = work;
  const isInDoubt = loaded.session.unrecordedCheckAt !== null; // rule:doubt-ends-wait
  // rule:give-up-committed
  const reloaded = await commitAndReload(core, lease, async (tx) => {
    const { now } = await lockAndRenew(tx, lease);
    recordGivenUp(tx, core, { ...asked, as, now, isInDoubt });
    tx.afterCommit(() => core.observer?.gaveUp(asked.attempt.gateway, as));
    return {};
  });
  if (holdsNothing(asked.authentication) && !isInDoubt) {
    const cancelling: Promise<unknown> = gateway
      .voidHold(core, loaded, asked.attempt)
      .catch((err: unknown) => core.log.warn({ err }, "an action that was given up could not be cancelled"))
      .finally(() => core.inFlight.delete(cancelling));
    core.inFlight.add(cancelling);
  }
  return reloaded;
}

/** Reports whether a gateway surely holds nothing: it holds only after a completing request, and none was sent. */
function holdsNothing({ holdsOnlyWhenAsked, completionsSent }: Authentication): boolean {
  return holdsOnlyWhenAsked && completionsSent === 0;
}

/** Moves the attempt and its authentication out of the wait. The session must be locked. */
function recordGivenUp(
  tx: Tx,
  core: Core,
  given: Asked & { readonly as: GivenUp; readonly now: Date; readonly isInDoubt?: boolean },
): void {
  const { attempt, authentication, as, now, isInDoubt = false } = given;
  const { actionLifeMs } = authentication;
  endAuthentication(tx, authentication, as); // rule:wait-ends-whole
  const latest = laterOf(attempt, latestFrom(core, attempt, now, actionLifeMs));
  recordRefused(tx, attempt, holdsNothing(authentication) && !isInDoubt ? undefined : latest); // rule:late-hold-voided
  endWait(tx, attempt.sessionId);
}

/**
 * Ends what is open of a session in doubt, in the name of a person who has checked its gateways: an attempt that awaits
 * the customer becomes UNKNOWN. The session must be locked.
 */
export function abandonOpen(tx: Tx, { attempts, authentications, readAt }: Payment): void {
  for (const authentication of authentications.filter(({ completedAt }) => completedAt === null)) {
    const attempt = attempts.find(({ id }) => id === authentication.attemptId);
    if (authentication.provider !== null) {
      endWithoutResult(tx, authentication, "ABANDONED");
      continue;
    }
    if (authentication.status !== "AWAITING_CUSTOMER" || attempt === undefined) {
      endAuthentication(tx, authentication, "UNAVAILABLE");
      continue;
    }
    endAuthentication(tx, authentication, "ABANDONED");
    const latest = new Date(readAt.getTime() + authentication.actionLifeMs + customerTimeMs);
    recordRefused(tx, attempt, laterOf(attempt, latest));
    endWait(tx, attempt.sessionId);
  }
}
