/**
 * The steps of the flow. Each is a gateway call, a transaction, or a call followed by a transaction; never a call
 * inside a transaction.
 */

import type { CardSummary } from "../card-vault/card-forwarder.ts";
import type { Exemption } from "../gateways/authentication.ts";
import type {
  AuthorizeAnswer,
  CaptureAnswer,
  GatewayOutcome,
  LookUpAnswer,
  NotProcessed,
  Refused,
  Shopper,
  VoidAnswer,
} from "../gateways/connector.ts";
import { repeatFirstMs, repeatLongestMs } from "../limits.ts";
import type { Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { mayRepeat, openAuthenticationOf } from "./after-authentication.ts";
import { exemptionOf, isLeftToProvider, proofFor, providerAfter, providerBefore } from "./after-provider.ts";
import {
  attemptIdOf,
  isReferenceTaken,
  openAttempt,
  openingOf,
  recordCaptured,
  recordCaptureRefused,
  recordDeclined,
  recordFailed,
  recordLookedUp,
  recordRepeat,
  recordUnknown,
  recordVoided,
  refusalOf,
  storableCode,
} from "./attempts.ts";
import {
  endAuthentication,
  findShopper,
  openAuthentication,
  plannedWish,
  recordFrictionless,
  wishFor,
} from "./authentications.ts";
import type { Core } from "./core.ts";
import type { Attempt, PaymentSession, PlannedConnection, PlannedProvider } from "./entities.ts";
import * as gateway from "./gateway-calls.ts";
import { adoptCapture, recordAuthorized, recordWinner } from "./held-payments.ts";
import { actOnReports, queryCaptureReports, readCaptureReports } from "./late-captures.ts";
import { type Lease, lockAndRenew, lockOnly, renewLease, wakeSession } from "./lease.ts";
import {
  becauseProviderFirst,
  decideAfterFailure,
  type FailoverDecision,
  type Failure,
  type NoCard,
} from "./next-step.ts";
import {
  type FailedOver,
  recordCapturedAndEnded,
  recordFailedAndOpened,
  recordHeldAndOrdered,
} from "./payment-functions.ts";
import { loadProof, openProvided } from "./provided-rows.ts";
import { loadFailoverRule } from "./routing-rules.ts";
import { querySessionWithAttempts, type SessionWithAttempts, wholeSession } from "./session-with-attempts.ts";
import { emitEvent, isFailover, settleSession } from "./settle.ts";
import { countUnclassified } from "./unclassified-codes.ts";
import { openWorkItem } from "./work-items.ts";

/**
 * The result of a step: the session's committed rows, and the attempt that it opened for the caller to continue with.
 */
export type Reloaded = { readonly loaded: SessionWithAttempts; readonly openedAttemptId?: string | undefined };

/** The result of a change, as `commitAndReload` takes it. */
export type Changed = {
  readonly loaded?: SessionWithAttempts | undefined;
  readonly openedAttemptId?: string | undefined;
};

/** A claimed session that one process works on. */
export type Work = {
  readonly core: Core;
  readonly lease: Lease;
  readonly loaded: SessionWithAttempts;
  /** Undefined where another process received the submission. */
  readonly shopper?: Shopper | undefined;
};

/**
 * Runs `change` in a transaction and reads the session back in the same round trip as COMMIT. `change` returns the id
 * of the attempt that it opened, if any, and the session if it has read it after its last change of it.
 */
export async function commitAndReload(
  core: Core,
  { sessionId }: Pick<Lease, "sessionId">,
  change: (tx: Tx) => Changed | Promise<Changed>,
): Promise<Reloaded> {
  const { changed, reading } = await core.database.transaction(async (tx) => {
    const changed = await change(tx);
    return { changed, reading: changed.loaded ? undefined : querySessionWithAttempts(tx, sessionId) };
  });
  const { loaded, openedAttemptId } = changed;
  if (loaded !== undefined) return { loaded, openedAttemptId };
  const [row] = (await reading?.rows) ?? [];
  if (row === undefined) throw new Error("the session no longer exists");
  return { loaded: await wholeSession(core.database, row), openedAttemptId };
}

/**
 * Authorizes at a gateway and records the answer. When the rule fails over, the next attempt is opened in the same
 * transaction.
 */
export async function tryGateway(work: Work, attempt: Attempt): Promise<Reloaded> {
  const { core, lease, loaded } = work;
  const shopper = await findShopper(core, loaded.session, work.shopper);
  const authentication = wishFor(core, loaded, attempt, shopper);
  const proof = await loadProof(core, attempt);
  const exemption = exemptionOf(loaded.session, attempt);
  const given = { session: loaded.session, shopper, authentication, proof, exemption };
  const answer = await gateway.authorize(core, given, attempt);
  const { outcome, card } = answer;
  const isPlain = outcome.type === "held" && !loaded.session.manualCapture && answer.authenticated === undefined;
  if (isPlain)
    return { loaded: await recordHeldAndOrdered(core.database, lease, { loaded, attempt, hold: outcome, card }) };
  const failedOver = await failOver(work, attempt, answer);
  if (failedOver) return failedOver;
  return commitAndReload(core, lease, async (tx) => {
    if (outcome.type === "held") {
      const end = () => recordFrictionless(tx, core, attempt, answer);
      await recordAuthorized(tx, core, lease, { loaded, attempt, hold: outcome, card, end });
      return {};
    }
    if (outcome.type === "actionNeeded") {
      const { now } = await lockAndRenew(tx, lease, card);
      openAuthentication(tx, core, { attempt, needed: outcome, shopper, now });
      return {};
    }
    const end = () => recordFrictionless(tx, core, attempt, answer);
    return recordAndContinue(tx, work, attempt, outcome, { card, end });
  });
}

/**
 * Records a failed authorization and opens the plan's next attempt in one statement. Returns undefined, and records nothing, where
 * more than the plan decides what follows.
 */
async function failOver(
  work: Work,
  attempt: Attempt,
  { outcome, card }: AuthorizeAnswer,
): Promise<Reloaded | undefined> {
  const { core, lease, loaded } = work;
  if (outcome.type === "held" || outcome.type === "actionNeeded" || loaded.authentications.length > 0) return undefined;
  if (outcome.type === "unknown" && outcome.gatewayReference !== undefined) return undefined;
  const { merchantId, ruleVersion } = loaded.session;
  const ruled = { merchantId, version: ruleVersion ?? 0 };
  const rule = await core.hold(`rule ${merchantId} ${ruled.version}`, () => loadFailoverRule(core.database, ruled));
  const failure = { gateway: attempt.gateway, ...failureOf(outcome), ...mayTryAgain(work, attempt, outcome) };
  const decided = decideAfterFailure(loaded, failure, rule);
  if (decided.action !== "failover" || providerBefore(loaded, decided.to) !== undefined) return undefined;
  const next = nextOpening(core, loaded, decided);
  const failed = { loaded, attempt, as: endOf(outcome), because: decided.because, card, next };
  const reloaded = await recordFailedAndOpened(core.database, lease, failed);
  if (reloaded === undefined) return undefined;
  core.observer?.failedOver(attempt.gateway);
  return { loaded: reloaded, openedAttemptId: next.id };
}

function endOf(outcome: Failed): FailedOver {
  const none = { declineCode: null, gatewayCode: null, refusal: null };
  switch (outcome.type) {
    case "declined": {
      const { kind, declineCode, gatewayCode } = outcome;
      return { ...none, status: "DECLINED", failureKind: kind, declineCode, gatewayCode: storableCode(gatewayCode) };
    }
    case "notProcessed":
      return { ...none, status: "FAILED", failureKind: "GATEWAY_ERROR", ...refusalOf(outcome) };
    case "unknown":
      return { ...none, status: "UNKNOWN", failureKind: outcome.kind, ...refusalOf(outcome.notProcessed) };
    default:
      return unreachable(outcome);
  }
}

/**
 * Records a failed authorization, and opens what follows it, if anything. `end` records the end of the attempt's
 * authentication: a session has one that is open.
 */
export async function recordAndContinue(
  tx: Tx,
  work: Work,
  attempt: Attempt,
  outcome: Failed,
  { card, end }: { readonly card?: CardSummary | undefined; readonly end: () => void },
): Promise<Changed> {
  const { core } = work;
  const next = await lockAndDecide(
    tx,
    work,
    attempt,
    { ...failureOf(outcome), ...mayTryAgain(work, attempt, outcome) },
    card,
  );
  await recordFailure(tx, attempt, outcome, next);
  end();
  if (next.action === "stop") return {};
  if (next.action === "failover") tx.afterCommit(() => core.observer?.failedOver(attempt.gateway));
  return { openedAttemptId: await openAfter(tx, work, next) };
}

/** Opens what follows a failed attempt: the next one, or a provider's authentication. */
export async function openAfter(
  tx: Tx,
  work: Work,
  next: Exclude<FailoverDecision, { action: "stop" }>,
): Promise<string> {
  const { core, loaded } = work;
  const first = next.action === "failover" ? providerBefore(loaded, next.to) : undefined;
  if (first !== undefined) return openProvider(tx, work, first, becauseProviderFirst(loaded.session));
  if (next.action !== "authenticate" || next.provider === undefined) return openNext(tx, core, loaded, next);
  return openProvider(tx, work, next.provider, `${next.to.gateway} asked for authentication.`);
}

/** Records that a provider is about to authenticate the customer. Returns the authentication's id. */
export async function openProvider(tx: Tx, work: Work, provider: PlannedProvider, because: string): Promise<string> {
  const { core, loaded } = work;
  const shopper = await findShopper(core, loaded.session, work.shopper);
  return openProvided(tx, core, { sessionId: loaded.session.id, provider, because, shopper });
}

type Failed = Exclude<GatewayOutcome, { type: "held" | "actionNeeded" }>;

function failureOf(outcome: Failed): Omit<Failure, "gateway"> {
  switch (outcome.type) {
    case "declined":
      return { kind: outcome.kind, stop: outcome.stop === "none" ? undefined : outcome.stop };
    case "notProcessed":
      return { kind: "GATEWAY_ERROR", noCard: noCardOf(outcome), ...refusalOf(outcome) };
    case "unknown": {
      const { kind, lostAtVault, notProcessed } = outcome;
      return { kind, noCard: lostAtVault && "vault_unavailable", ...refusalOf(notProcessed) };
    }
    default:
      return unreachable(outcome);
  }
}

/**
 * Returns the connection that declined, if it may get the payment once more: it documents that for this decline, and the
 * payment was not retried before. A decline is certain: it holds nothing. A gateway that asked the customer is not retried:
 * it would ask again.
 */
function mayTryAgain({ loaded }: Work, attempt: Attempt, outcome: Failed): Pick<Failure, "again"> {
  if (outcome.type !== "declined" || !outcome.again || outcome.stop !== "none") return {}; // rule:retry-as-allowed
  const isRetried = loaded.attempts.some(({ round }) => round === 2); // rule:retry-once
  const wasAsked = loaded.authentications.some(({ attemptId }) => attemptId === attempt.id);
  return isRetried || attempt.round !== 0 || wasAsked ? {} : { again: attempt };
}

function noCardOf({ cause }: NotProcessed): NoCard | undefined {
  return cause === "vault_unavailable" || cause === "token_unusable" ? cause : undefined;
}

async function recordFailure(tx: Tx, attempt: Attempt, outcome: Failed, next: FailoverDecision): Promise<void> {
  switch (outcome.type) {
    case "declined":
      recordDeclined(tx, attempt, outcome, next);
      return countUnclassified(tx, attempt, outcome);
    case "notProcessed":
      return recordFailed(tx, attempt, outcome, next);
    case "unknown": {
      const { gatewayReference, notProcessed } = outcome;
      const isOurs = gatewayReference !== undefined && !(await isReferenceTaken(tx, attempt, gatewayReference));
      return recordUnknown(tx, attempt, outcome.kind, {
        next,
        gatewayReference: isOurs ? gatewayReference : undefined,
        notProcessed,
      });
    }
    default:
      return unreachable(outcome);
  }
}

/** Locks the session and decides, from its current state, what follows a failure of this attempt. */
export async function lockAndDecide(
  tx: Tx,
  work: Work,
  attempt: Attempt,
  failure: Omit<Failure, "gateway">,
  card?: CardSummary,
): Promise<FailoverDecision> {
  const { lease, loaded } = work;
  const { merchantId, ruleVersion } = loaded.session;
  const [{ session, now }, rule] = await Promise.all([
    lockAndRenew(tx, lease, card),
    loadFailoverRule(tx, { merchantId, version: ruleVersion ?? 0 }),
  ]);
  const repeat = failure.stop === "authentication_required" ? await findRepeat(work, attempt) : {};
  const described = { gateway: attempt.gateway, ...failure, ...repeat };
  const { authentication = rule.authentication } = session.routedBy ?? {};
  return decideAfterFailure({ ...loaded, session, readAt: now }, described, { ...rule, authentication });
}

/**
 * Returns the way in which the gateway that asked for authentication can be asked once more: with a provider's, or with
 * its own. Empty if there is none, or the page cannot show an action.
 */
async function findRepeat(
  { core, loaded, shopper }: Work,
  attempt: Attempt,
): Promise<Pick<Failure, "repeat" | "provider">> {
  const provider = providerAfter(loaded, attempt);
  if (attempt.round !== 0) return {};
  const isLeft = isLeftToProvider(loaded, attempt);
  const runsOwn = !isLeft && plannedWish(core, loaded.session, attempt) !== undefined && mayRepeat(loaded, attempt);
  if (attempt.authenticationId != null || (provider === undefined && !runsOwn)) return {};
  const canShow = (await findShopper(core, loaded.session, shopper))?.browser !== undefined;
  return canShow ? { repeat: attempt, provider } : {};
}

const exemptionInWords: Record<Exemption, string> = { LOW_VALUE: "low value", RISK_ANALYSIS: "risk analysis" };

/** The session in which an attempt is opened, and its authentications. */
type Opening = {
  readonly session: Pick<PaymentSession, "id" | "amountMinor" | "currency" | "plan">;
  readonly authentications: SessionWithAttempts["authentications"];
};

/** Returns an attempt at the next connection, with the customer's proof if there is one that it takes. */
export function nextOpening(
  core: Core,
  { session, authentications }: Opening,
  next: { to: PlannedConnection; because: string; round?: 0 | 1 | 2 },
) {
  const { round = 0, to } = next;
  const id = attemptIdOf({ sessionId: session.id, connectionId: to.connectionId, round });
  const { authenticationId, because } = proofFor(session, authentications, to);
  const exemption = exemptionOf(session, { connectionId: to.connectionId, round, authenticationId });
  const asking = exemption === undefined ? "" : ` The request asks for an exemption: ${exemptionInWords[exemption]}.`;
  return openingOf({
    ...{ id, session, to, round, because: next.because + because + asking, authenticationId },
    ...limitsAt(core, to),
  });
}

/** Opens an attempt at the next connection. Returns its id. */
export function openNext(tx: Tx, core: Core, opening: Opening, next: Parameters<typeof nextOpening>[2]): string {
  const attempt = nextOpening(core, opening, next);
  openAttempt(tx, attempt);
  return attempt.id;
}

/**
 * Returns the limits on how long a gateway may execute a request that it was sent. If the connector was removed after
 * planning, nothing is sent.
 */
export function limitsAt(core: Core, { gateway: name }: Pick<Attempt, "gateway">) {
  const { attemptTimeoutMs } = core.timing;
  const { refusesVoidedReference = false, executionLimitMs = 0 } = core.connectorOf(name) ?? {};
  const lateMs = executionLimitMs + core.vault.forwarding.lateMs;
  return { refusesVoidedReference, executionLimitMs: lateMs, attemptTimeoutMs };
}

/** Records an attempt as UNKNOWN because its process disappeared during the call and the answer is lost. */
export async function markUnknown(work: Work, attempt: Attempt): Promise<void> {
  await work.core.database.transaction(async (tx) => {
    const next = await lockAndDecide(tx, work, attempt, { kind: "TIMEOUT" });
    recordUnknown(tx, attempt, "TIMEOUT", { next });
    const completing = openAuthenticationOf(work.loaded, attempt);
    if (completing) endAuthentication(tx, completing, "UNAVAILABLE");
  });
}

/** Looks an attempt up at the end of the plan. If the gateway does hold the amount, the attempt becomes the winner. */
export async function adoptIfHeld({ core, lease }: Work, attempt: Attempt): Promise<void> {
  const answer = await gateway.lookUp(core, attempt);
  await core.database.transaction(async (tx) => {
    const { session } = await lockAndRenew(tx, lease);
    if (answer.type === "captured") await reportNeverOrdered(tx, core, attempt);
    // An answer that names another attempt's hold says nothing about this attempt.
    const isTaken = answer.type === "held" && (await isReferenceTaken(tx, attempt, answer.gatewayReference));
    await recordLookUp(
      tx,
      core,
      { session, attempt },
      isTaken ? { type: "inconclusive", reason: "another attempt has this reference" } : answer,
    );
  });
}

/** Opens a work item for money that a gateway captured without an order; a person has to handle it. */
export async function reportNeverOrdered(tx: Tx, core: Core, { sessionId, id, gateway: name }: Attempt): Promise<void> {
  const detail = `${name} has captured an attempt whose capture was never ordered.`;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId: id, detail });
}

async function recordLookUp(
  tx: Tx,
  core: Core,
  { session, attempt }: { session: PaymentSession; attempt: Attempt },
  answer: LookUpAnswer,
): Promise<void> {
  switch (answer.type) {
    case "held":
      // Its gateway reported a fraud decline before.
      if (attempt.stop === "fraud") return recordLookedUp(tx, attempt);
      return recordWinner(tx, core, session, { attempt, hold: answer });
    case "declined":
      recordDeclined(tx, attempt, answer);
      return countUnclassified(tx, attempt, answer);
    case "heldOther":
    case "captured":
    case "voided":
    case "absent":
    case "inconclusive":
      return recordLookedUp(tx, attempt);
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
    const captured = { loaded, attempt, capture: answer, isConfirmed, isFailover: isFailover(attempt) };
    const ended = await recordCapturedAndEnded(core, lease, captured);
    if (ended) {
      core.vault.forget(ended.session.id);
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
): Promise<SessionWithAttempts | undefined> {
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
    const hasEnded = loaded.session.status !== "CREATED";
    if (hasEnded) await emitEvent(tx, core, loaded.session, "payment_attempt.voided", { attemptId: attempt.id });
    return;
  }
  // rule:landed-capture-adopted
  if (answer.type === "alreadyCaptured" && attempt.captureOrderedAt && loaded.session.status === "CREATED") {
    const found = record?.type === "captured" ? record : { capturedMinor: attempt.capturedAmountMinor ?? undefined };
    return adoptCapture(tx, core, { session: loaded.session, attempt }, found);
  }
  if (answer.type === "alreadyCaptured") await reportNeverOrdered(tx, core, attempt);
  // Of the voids that the gateway reports on later, the first one that no late authorization can follow is stored.
  const voidAskedAt = answer.type === "accepted" && late ? (attempt.voidAskedAt ?? askedAt) : undefined;
  recordRepeat(tx, attempt, repeatAt(now, attempt.retries), voidAskedAt);
}

/** Returns the time at which a capture or void is repeated: after 1 s, 2 s, 4 s … at most 5 minutes. */
export function repeatAt(now: Date, retries: number): Date {
  return new Date(now.getTime() + Math.min(repeatFirstMs * 2 ** retries, repeatLongestMs));
}
