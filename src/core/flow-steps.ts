/** What the flow's steps do: a gateway call, or a transaction, or one after the other. Never a call inside a transaction. */

import type { CardShown } from "../gateways/card-forwarder.ts";
import type { GatewayOutcome, LookUpAnswer, NotProcessed, Shopper, VoidAnswer } from "../gateways/connector.ts";
import { repeatFirstMs, repeatLongestMs } from "../limits.ts";
import type { Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { attemptIdOf } from "./attempt-id.ts";
import {
  isReferenceTaken,
  openAttempt,
  recordCaptured,
  recordCaptureOrdered,
  recordDeclined,
  recordFailed,
  recordHeld,
  recordLookedUp,
  recordRepeat,
  recordUnknown,
  recordVoided,
} from "./attempts.ts";
import type { Core } from "./core.ts";
import type { Attempt, PaymentSession, PlannedConnection } from "./entities.ts";
import type { Failure, NextStep, NoCard } from "./failover.ts";
import * as gateway from "./gateway-steps.ts";
import { holdSession, type Lease, lockSession, nameWinner, wakeSession } from "./lease.ts";
import { loadFailoverRule } from "./load-route.ts";
import { nextAfter } from "./next-step.ts";
import { type SessionWithTrail, sendTrail, trailOf } from "./session-trail.ts";
import { settleSession, tellMerchant } from "./settle.ts";
import { countUnclassified } from "./unclassified-codes.ts";
import { openWorkItem } from "./work-items.ts";

/** Where a step has left a session: its rows as they are committed, and the attempt that is now the caller's to go on with. */
export type Reached = { readonly trail: SessionWithTrail; readonly opened?: string | undefined };

/** A claimed session in one worker's hands. */
export type Work = {
  readonly core: Core;
  readonly lease: Lease;
  readonly trail: SessionWithTrail;
  /** Undefined where another process took the submission. */
  readonly shopper?: Shopper | undefined;
};

/**
 * Runs a change of a session in a transaction whose last words read what it has come to, in one round trip with the
 * commit. The change returns the attempt that it has opened, if it has.
 */
export async function reach(
  core: Core,
  { sessionId }: Pick<Lease, "sessionId">,
  change: (tx: Tx) => string | undefined | Promise<string | undefined>,
): Promise<Reached> {
  const { opened, reading } = await core.database.transaction(async (tx) => {
    const opened = await change(tx);
    return { opened, reading: sendTrail(tx, sessionId) };
  });
  const [row] = await reading.rows;
  if (row === undefined) throw new Error("a session that was there is gone");
  return { trail: trailOf(row), opened };
}

/**
 * Asks a gateway for the hold and records what it said. When the rule fails over, the next attempt is opened in the same
 * transaction.
 */
export async function tryGateway(work: Work, attempt: Attempt): Promise<Reached> {
  const { core, lease, trail, shopper } = work;
  const { outcome, card } = await gateway.authorize(core, { session: trail.session, shopper }, attempt);
  return reach(core, lease, async (tx) => {
    if (outcome.type === "held") {
      holdSession(tx, lease, card);
      recordHeld(tx, attempt, outcome.gatewayReference);
      recordCaptureOrdered(tx, attempt);
      return undefined;
    }
    const next = await decide(tx, work, attempt, failureOf(outcome), card);
    await recordFailure(tx, attempt, outcome, next);
    if (next.action !== "failover") return undefined;
    tx.afterCommit(() => core.watch?.failedOver(attempt.gateway));
    return openNext(tx, core, trail.session, next);
  });
}

type Failed = Exclude<GatewayOutcome, { type: "held" }>;

function failureOf(outcome: Failed): Omit<Failure, "gateway"> {
  switch (outcome.type) {
    case "declined":
      return { kind: outcome.kind, stop: outcome.stop === "none" ? undefined : outcome.stop };
    case "notProcessed":
      return { kind: "GATEWAY_ERROR", noCard: noCardOf(outcome) };
    case "unknown":
      return { kind: outcome.kind, noCard: outcome.lostAtVault && "vault_unavailable" };
    default:
      return unreachable(outcome);
  }
}

function noCardOf({ cause }: NotProcessed): NoCard | undefined {
  return cause === "vault_unavailable" || cause === "token_unusable" ? cause : undefined;
}

async function recordFailure(tx: Tx, attempt: Attempt, outcome: Failed, next: NextStep): Promise<void> {
  switch (outcome.type) {
    case "declined":
      recordDeclined(tx, attempt, outcome, next);
      return countUnclassified(tx, attempt, outcome);
    case "notProcessed":
      return recordFailed(tx, attempt, next);
    case "unknown": {
      const { gatewayReference } = outcome;
      const isOurs = gatewayReference !== undefined && !(await isReferenceTaken(tx, attempt, gatewayReference));
      return recordUnknown(tx, attempt, outcome.kind, {
        next,
        gatewayReference: isOurs ? gatewayReference : undefined,
      });
    }
    default:
      return unreachable(outcome);
  }
}

/** Locks the session and says what comes after a failure of this attempt, by the session as it is now. */
export async function decide(
  tx: Tx,
  { lease, trail: { session: seen, attempts } }: Work,
  attempt: Attempt,
  failure: Omit<Failure, "gateway">,
  card?: CardShown,
): Promise<NextStep> {
  const { merchantId, ruleVersion } = seen;
  const [{ session, now }, rule] = await Promise.all([
    lockSession(tx, lease, card),
    loadFailoverRule(tx, { merchantId, version: ruleVersion ?? 0 }),
  ]);
  return nextAfter({ session, attempts, readAt: now }, { gateway: attempt.gateway, ...failure }, rule);
}

/** Opens an attempt at the next connection and returns its id. */
export function openNext(
  tx: Tx,
  core: Core,
  session: Pick<PaymentSession, "id" | "amountMinor" | "currency">,
  next: { to: PlannedConnection; because: string },
): string {
  // One that was taken away since the plan was made is sent nothing, which the attempt then says.
  const connector = core.connectorOf(next.to.gateway);
  const { refusesVoidedReference, executionLimitMs } = connector ?? {
    refusesVoidedReference: false,
    executionLimitMs: 0,
  };
  const id = attemptIdOf({ sessionId: session.id, connectionId: next.to.connectionId });
  const { attemptTimeoutMs } = core.timing;
  const lateMs = executionLimitMs + core.vault.forwarding.lateMs;
  openAttempt(tx, { id, session, ...next, refusesVoidedReference, executionLimitMs: lateMs, attemptTimeoutMs });
  return id;
}

/** An attempt that a worker left behind in mid-call: nobody will ever tell us what it was answered. */
export async function giveUpWaiting(work: Work, attempt: Attempt): Promise<void> {
  await work.core.database.transaction(async (tx) => {
    const next = await decide(tx, work, attempt, { kind: "TIMEOUT" });
    recordUnknown(tx, attempt, "TIMEOUT", { next });
  });
}

/** At the end of the plan: was there a hold after all? Then it becomes the winner. */
export async function adoptIfHeld({ core, lease }: Work, attempt: Attempt): Promise<void> {
  const answer = await gateway.lookUp(core, attempt);
  await core.database.transaction(async (tx) => {
    await lockSession(tx, lease);
    if (answer.type === "captured") await tellNeverOrdered(tx, core, attempt);
    // A gateway that names another attempt's hold has told nothing about this one.
    const isTaken = answer.type === "held" && (await isReferenceTaken(tx, attempt, answer.gatewayReference));
    await recordLookUp(
      tx,
      attempt,
      isTaken ? { type: "cannotTell", reason: "another attempt has this reference" } : answer,
    );
  });
}

/** A gateway that took money which nobody ordered it to take: a person has to see to it. */
async function tellNeverOrdered(tx: Tx, core: Core, { sessionId, id, gateway: name }: Attempt): Promise<void> {
  const detail = `${name} has captured an attempt whose capture was never ordered.`;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId: id, detail });
}

async function recordLookUp(tx: Tx, attempt: Attempt, answer: LookUpAnswer): Promise<void> {
  switch (answer.type) {
    case "held":
      return recordHeld(tx, attempt, answer.gatewayReference);
    case "declined":
      recordDeclined(tx, attempt, answer);
      return countUnclassified(tx, attempt, answer);
    case "heldOther":
    case "captured":
    case "voided":
    case "absent":
    case "cannotTell":
      return recordLookedUp(tx, attempt);
    default:
      return unreachable(answer);
  }
}

/** Asks for the hold back; an attempt leaves VOIDING only by the gateway's word. */
export async function giveBack({ core, lease, trail }: Work, attempt: Attempt): Promise<void> {
  const answer = await gateway.giveBack(core, trail.session, attempt);
  await core.database.transaction(async (tx) => {
    const { session, now } = await lockSession(tx, lease);
    await recordGivenBack(tx, { core, lease, trail: { ...trail, session } }, { attempt, answer, now });
  });
  // The notice may be faster than the answer; then it found nobody who waited for it.
  if (answer.type === "accepted" && (await gateway.isEndReported(core, attempt))) {
    await wakeSession(core.database, attempt.sessionId);
  }
}

async function recordGivenBack(
  tx: Tx,
  { core, trail }: Work,
  given: { attempt: Attempt; answer: VoidAnswer; now: Date },
): Promise<void> {
  const { attempt, answer, now } = given;
  // The rows were read before the void was sent, so that moment is never later than the sending.
  const askedAt = trail.readAt;
  const late = askedAt >= attempt.horizonAt;
  const mayBeCaptured = attempt.captureStartedAt && !attempt.captureRefused;
  if (answer.type === "done" || (answer.type === "absent" && late && !mayBeCaptured)) {
    const voidKind = answer.type === "done" ? "VOIDED" : "NEVER_EXISTED";
    recordVoided(tx, attempt, { voidKind, askedAt });
    const hasEnded = trail.session.status !== "CREATED";
    if (hasEnded) await tellMerchant(tx, core, trail.session, "payment_attempt.voided", attempt.id);
    return;
  }
  if (answer.type === "alreadyCaptured" && attempt.captureStartedAt && trail.session.status === "CREATED") {
    recordCaptured(tx, attempt);
    nameWinner(tx, attempt);
    return settleSession(tx, core, trail.session, { status: "SUCCEEDED", winner: attempt, captureConfirmed: true });
  }
  if (answer.type === "alreadyCaptured") await tellNeverOrdered(tx, core, attempt);
  // Of voids that the gateway reports on later, the first one that no late authorize can outrun is remembered.
  const voidAskedAt = answer.type === "accepted" && late ? (attempt.voidAskedAt ?? askedAt) : undefined;
  recordRepeat(tx, attempt, repeatAt(now, attempt.tries), voidAskedAt);
}

/** When a capture or void is sent again: after 1 s, 2 s, 4 s … at most 5 minutes. */
export function repeatAt(now: Date, tries: number): Date {
  return new Date(now.getTime() + Math.min(repeatFirstMs * 2 ** tries, repeatLongestMs));
}
