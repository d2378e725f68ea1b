/**
 * The steps of the flow. Each is a gateway call, a transaction, or a call followed by a transaction; never a call
 * inside a transaction.
 */

import type { CaptureAnswer, LookUpAnswer, Refused, VoidAnswer } from "../../gateways/connector.ts";
import { repeatFirstMs, repeatLongestMs } from "../../limits.ts";
import type { Tx } from "../../platform/database.ts";
import { unreachable } from "../../platform/errors.ts";
import type { SessionId } from "../../platform/ids.ts";
import { openAuthenticationOf } from "../authentication/after-authentication.ts";
import { authenticationExtras } from "../authentication/authenticated-attempts.ts";
import { endAuthentication, openAuthentication, recordFrictionless } from "../authentication/authentications.ts";
import type { Core } from "../core.ts";
import type { FailoverDecision } from "../decide/failover.ts";
import { inOrder, payerOf, recordOrderLost } from "../orders/order-winner.ts";
import {
  isReferenceTaken,
  recordCaptured,
  recordCaptureRefused,
  recordDeclined,
  recordLookedUp,
  recordNext,
  recordRepeat,
  recordUnknown,
  recordVoided,
} from "../record/attempts.ts";
import { lockAndRenew, lockOnly, renewLease, wakeSession } from "../record/lease.ts";
import { recordCapturedAndEnded, recordHeldAndOrdered } from "../record/payment-functions.ts";
import { emitEvent, settleSession } from "../record/settle.ts";
import { countUnclassified } from "../record/unclassified-codes.ts";
import { openWorkItem } from "../record/work-items.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import { exemptionOf, hasCryptogram, isAuthenticatedFirst, type Payment, plannedAt } from "../rows/payment.ts";
import { gatewayUse } from "../stored-cards/gateway-use.ts";
import { releaseCard } from "../stored-cards/keep-card.ts";
import { actOnDecline } from "../stored-cards/renewals/record-decline.ts";
import { decideAfterLookUp } from "../wallets/after-look-up.ts";
import { failOver, lockAndDecide, recordAndContinue } from "./after-failure.ts";
import * as gateway from "./gateway-calls.ts";
import { adoptCapture, recordAuthorized, recordWinner } from "./held-payments.ts";
import { actOnReports, queryCaptureReports, readCaptureReports } from "./late-captures.ts";
import { commitAndReload, type Reloaded, type Work } from "./work.ts";

/**
 * Asks each feature of the payment for its part of the request. The condition of a feature is here, so that a payment
 * without it runs none of its code.
 */
async function extrasFor(work: Work, attempt: Attempt): Promise<gateway.Extras> {
  const { shopper } = work;
  const { session } = work.loaded;
  const mayAsk = shopper?.browser !== undefined && plannedAt(session, attempt)?.authentication !== undefined;
  const isAuthenticated = session.authentications > 0 || isAuthenticatedFirst(session.plan);
  const exemption = exemptionOf(session, attempt);
  const { stored } = work.loaded;
  const storedCard = stored ? gatewayUse(work.core, stored, attempt) : undefined;
  const { walletCredential: credential, wallet: name } = session;
  const wallet = credential ? { credential, name: name ?? undefined } : undefined;
  return mayAsk || isAuthenticated
    ? { ...(await authenticationExtras(work, attempt)), exemption, storedCard, wallet }
    : { shopper, exemption, storedCard, wallet };
}

/**
 * Authorizes at a gateway and records the answer. When the rule fails over, the next attempt is opened in the same
 * transaction.
 */
export async function tryGateway(work: Work, attempt: Attempt): Promise<Reloaded> {
  const { core, lease, loaded } = work;
  const extras = await extrasFor(work, attempt);
  const answer = await gateway.authorize(core, loaded.session, attempt, extras);
  const { outcome, card } = answer;
  // A renewal begins no chain.
  const isChained = loaded.session.stored && loaded.stored?.role !== "RENEWAL";
  const isPlain =
    outcome.type === "held" && !loaded.session.manualCapture && !isChained && answer.authenticated === undefined;
  if (isPlain) {
    const held = { loaded, attempt, hold: outcome, card };
    try {
      return { loaded: await recordHeldAndOrdered(core.database, lease, held) };
    } catch (error) {
      const payerId = payerOf(error);
      if (payerId === undefined) throw error;
      return commitAndReload(core, lease, (tx) => {
        renewLease(tx, lease, card);
        recordOrderLost(tx, { ...held, payerId });
        return {};
      });
    }
  }
  const failedOver = await failOver(work, attempt, answer);
  if (failedOver) return failedOver;
  return commitAndReload(core, lease, async (tx, payerId) => {
    const end = () => answer.authenticated && recordFrictionless(tx, core, attempt, answer);
    if (outcome.type === "held") {
      await recordAuthorized(tx, core, lease, { loaded, attempt, hold: outcome, card, end, payerId });
      return {};
    }
    if (outcome.type === "actionNeeded") {
      const { now } = await lockAndRenew(tx, lease, card);
      openAuthentication(tx, core, { attempt, needed: outcome, shopper: extras.shopper, now });
      return {};
    }
    return recordAndContinue(tx, work, attempt, outcome, { card, end });
  });
}
/** Records an attempt as UNKNOWN because its process disappeared during the call and the answer is lost. */
export async function markUnknown(work: Work, attempt: Attempt): Promise<void> {
  await work.core.database.transaction(async (tx) => {
    const next = await lockAndDecide(tx, work, attempt, { kind: "TIMEOUT", mayHaveActed: true });
    recordUnknown(tx, attempt, "TIMEOUT", { next });
    const completing = work.loaded.authentications.length > 0 && openAuthenticationOf(work.loaded, attempt);
    if (completing) endAuthentication(tx, completing, "UNAVAILABLE");
  });
}

/** Looks an attempt up at the end of the plan, or before its cryptogram goes to another gateway. If the gateway does hold the amount, the attempt becomes the winner. */
export async function adoptIfHeld({ core, lease, loaded }: Work, attempt: Attempt): Promise<void> {
  const answer = await gateway.lookUp(core, attempt);
  const change = async (tx: Tx, payerId?: SessionId) => {
    const { session, now } = await lockAndRenew(tx, lease);
    if (answer.type === "captured") await reportNeverOrdered(tx, core, attempt);
    // An answer that names another attempt's hold says nothing about this attempt.
    const isTaken = answer.type === "held" && (await isReferenceTaken(tx, attempt, answer.gatewayReference));
    const known = isTaken ? ({ type: "inconclusive", reason: "another attempt has this reference" } as const) : answer;
    const payment = { ...loaded, session, readAt: now };
    const next = hasCryptogram(session) ? await decideAfterLookUp(tx, payment, attempt, known) : undefined;
    await recordLookUp(tx, core, { session, attempt, payerId, next }, known);
  };
  await inOrder((payerId) => core.database.transaction((tx) => change(tx, payerId)));
}

/** Opens a work item for money that a gateway captured without an order; a person has to handle it. */
export async function reportNeverOrdered(tx: Tx, core: Core, { sessionId, id, gateway: name }: Attempt): Promise<void> {
  const detail = `${name} has captured an attempt whose capture was never ordered.`;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId: id, detail });
}

async function recordLookUp(
  tx: Tx,
  core: Core,
  {
    session,
    attempt,
    payerId,
    next,
  }: {
    session: PaymentSession;
    attempt: Attempt;
    payerId: SessionId | undefined;
    next: FailoverDecision | undefined;
  },
  answer: LookUpAnswer,
): Promise<void> {
  switch (answer.type) {
    case "held":
      // Its gateway reported a fraud decline before.
      if (attempt.stop === "fraud") return recordLookedUp(tx, attempt, next);
      if (next) recordNext(tx, attempt, next);
      return recordWinner(tx, core, session, { attempt, hold: answer, payerId });
    case "declined":
      if (session.stored) await actOnDecline(tx, core, session, answer);
      recordDeclined(tx, attempt, answer, next);
      return countUnclassified(tx, attempt, answer);
    case "heldOther":
    case "captured":
    case "voided":
    case "absent":
    case "inconclusive":
      return recordLookedUp(tx, attempt, next);
    default:
      return unreachable(answer);
  }
}

/**
 * Sends the ordered capture and settles the session when it is acknowledged. Without an acknowledgement the capture is
 * repeated for as long as it takes.
 */
export async function captureWinner(work: Work, attempt: Attempt): Promise<Reloaded> {
  const { core, lease, loaded } = work;
  const answer = await gateway.capture(core, loaded, attempt);
  if (answer.type === "done" || answer.type === "accepted") {
    const isConfirmed = answer.type === "done";
    const captured = { loaded, attempt, capture: answer, isConfirmed };
    const ended = await recordCapturedAndEnded(core, lease, captured);
    if (ended) {
      if (ended.session.stored) releaseCard(core, ended);
      else core.vault.forget(ended.session.id);
      core.observer?.settled("SUCCEEDED");
      return { loaded: ended };
    }
  }
  return commitAndReload(core, lease, async (tx) => ({ loaded: await recordCapture(tx, work, attempt, answer) }));
}

/** Records the answer to a capture. Returns the session if it has settled. */
async function recordCapture(
  tx: Tx,
  work: Work,
  attempt: Attempt,
  answer: CaptureAnswer | gateway.FoundCapture,
): Promise<Payment | undefined> {
  const { core, lease, loaded } = work;
  switch (answer.type) {
    case "done":
    case "accepted": {
      const hasMoreToDo = loaded.attempts.some(({ id, completedAt }) => id !== attempt.id && completedAt === null);
      if (hasMoreToDo) renewLease(tx, lease);
      else lockOnly(tx, lease);
      // The gateway's notification may arrive before its answer.
      const sent = queryCaptureReports(tx, attempt);
      if (answer.type === "accepted" && (await readCaptureReports(sent)).voided) {
        return abandonCapture(tx, work, attempt, gateway.holdVoided);
      }
      recordCaptured(tx, attempt, answer);
      const captureConfirmed = answer.type === "done" || (await readCaptureReports(sent)).captured;
      const ending = { status: "SUCCEEDED", winner: attempt, captureConfirmed } as const;
      const settled = await settleSession(tx, core, loaded.session, ending);
      const reports = await readCaptureReports(sent);
      await actOnReports(tx, core, { session: loaded.session, attemptId: attempt.id, reports });
      return settled;
    }
    case "captured": {
      const { session } = await lockAndRenew(tx, lease);
      await adoptCapture(tx, core, { session, attempt }, answer);
      return undefined;
    }
    case "refused":
      return answer.definitive ? abandonCapture(tx, work, attempt, answer) : repeatCapture(tx, work, attempt);
    case "unknown":
      return repeatCapture(tx, work, attempt); // rule:capture-never-given-up rule:success-is-captured
    default:
      return unreachable(answer);
  }
}

async function abandonCapture(tx: Tx, work: Work, attempt: Attempt, { gatewayCode }: Refused): Promise<undefined> {
  const next = await lockAndDecide(tx, work, attempt, { kind: "GATEWAY_ERROR", captureRefused: true });
  recordCaptureRefused(tx, attempt, gatewayCode, next);
}

async function repeatCapture(tx: Tx, { lease }: Work, attempt: Attempt): Promise<undefined> {
  const { now } = await lockAndRenew(tx, lease);
  recordRepeat(tx, attempt, repeatAt(now, attempt.retries));
}

/** Voids the hold. An attempt leaves VOIDING only on the gateway's answer. */
export async function voidHold({ core, lease, loaded }: Work, attempt: Attempt): Promise<void> {
  const answer = await gateway.voidHold(core, loaded, attempt);
  const mayBeOurs = answer.type === "alreadyCaptured" && attempt.captureOrderedAt;
  const record = mayBeOurs ? await gateway.lookUp(core, attempt) : undefined;
  await core.database.transaction(async (tx) => {
    const { session, now } = await lockAndRenew(tx, lease);
    await recordVoidAnswer(tx, { core, lease, loaded: { ...loaded, session } }, { attempt, answer, record, now });
  });
  // The gateway's notification may arrive before its answer; then no session was waiting for it.
  if (answer.type === "accepted" && (await gateway.isEndReported(core, attempt))) {
    await wakeSession(core.database, attempt.sessionId);
  }
}

async function recordVoidAnswer(
  tx: Tx,
  { core, loaded }: Work,
  given: { attempt: Attempt; answer: VoidAnswer; record: LookUpAnswer | undefined; now: Date },
): Promise<void> {
  const { attempt, answer, record, now } = given;
  // The rows were read before the void was sent, so `readAt` is never later than the sending.
  const askedAt = loaded.readAt;
  const late = askedAt >= attempt.latestExecutionAt; // rule:latest-execution-time
  const mayBeCaptured = attempt.captureOrderedAt && !attempt.captureRefusalCode;
  if (answer.type === "done" || (answer.type === "absent" && late && !mayBeCaptured)) {
    const voidKind = answer.type === "done" ? "VOIDED" : "NEVER_EXISTED";
    recordVoided(tx, attempt, { voidKind, askedAt });
    const hasEnded = loaded.session.status !== "CREATED" && loaded.session.amountMinor > 0;
    if (hasEnded) await emitEvent(tx, core, loaded.session, "payment_attempt.voided", { attemptId: attempt.id });
    return;
  }
  // rule:landed-capture-adopted
  if (answer.type === "alreadyCaptured" && attempt.captureOrderedAt && loaded.session.status === "CREATED") {
    const found = record?.type === "captured" ? record : { capturedMinor: attempt.capturedAmountMinor ?? undefined };
    return adoptCapture(tx, core, { session: loaded.session, attempt }, found);
  }
  if (answer.type === "alreadyCaptured") await reportNeverOrdered(tx, core, attempt);
  // Stores the first of the voids that the gateway reports on later and that no late authorization can follow.
  const voidAskedAt = answer.type === "accepted" && late ? (attempt.voidAskedAt ?? askedAt) : undefined;
  recordRepeat(tx, attempt, repeatAt(now, attempt.retries), voidAskedAt);
}

/** Returns the time at which a capture or void is repeated: after 1 s, 2 s, 4 s … at most 5 minutes. */
export function repeatAt(now: Date, retries: number): Date {
  return new Date(now.getTime() + Math.min(repeatFirstMs * 2 ** retries, repeatLongestMs));
}
