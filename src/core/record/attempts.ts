/**
 * The transitions of an attempt: each is one conditional update under the session's lock. The flow decides their
 * order.
 */

import type { CaptureRecord, NotProcessed } from "../../gateways/connector.ts";
import type { Declined } from "../../gateways/declines.ts";
import { changesOf, columnName } from "../../platform/columns.ts";
import type { Statement, Tx } from "../../platform/database.ts";
import type { SessionId } from "../../platform/ids.ts";
import { scrub } from "../../platform/scrub.ts";
import { because, holdEnded } from "../decide/because.ts";
import type { FailoverDecision } from "../decide/failover.ts";
import type { Attempt, AttemptStatus, FailureKind, Refusal } from "../rows/entities.ts";
import type { NextStatus } from "../rows/transitions.ts";
import { nameWinner, required } from "./lease.ts";
import { type HoldNames, usable } from "./payment-functions.ts";

type Changes = Partial<Omit<Attempt, "sessionId" | "id" | "status" | "holds" | "captured">>;

/** Timestamps that the database's clock fills in. */
type Stamps = readonly ("captureOrderedAt" | "lookedUpAt" | "answeredAt" | "completedAt")[];

// The first answer counts: what comes after a challenge has the customer's time in it.
function answered({ answeredAt }: Pick<Attempt, "answeredAt">): Stamps {
  return answeredAt ? [] : ["answeredAt"];
}

const moveStatement: Statement = {
  name: "move_attempt",
  partitionKey: 1,
  text: required("app.move_attempt($1, $2, $3, $4, $5)", "the attempt has moved on"),
};

/**
 * Moves an attempt from exactly this status. Otherwise `underLease` returns the transaction as lost: the rows are
 * not what the caller read. The guards of the schema refuse illegal transitions (transitions.ts).
 */
export function move<From extends AttemptStatus>(
  tx: Tx,
  attempt: Pick<Attempt, "sessionId" | "id">,
  from: From,
  change: { set: Changes & { status?: NextStatus<From> }; stamp?: Stamps },
): void {
  const { set, stamp = [] } = change;
  tx.send(moveStatement, [attempt.sessionId, attempt.id, from, changesOf(set), stamp.map(columnName)]);
}

const selectTaken: Statement = {
  name: "select_reference_taken",
  text: `
    SELECT 1 WHERE EXISTS (SELECT FROM attempt WHERE connection_id = $1 AND gateway_reference = $2 AND id <> $3)
      OR EXISTS (SELECT FROM orphaned_authorization h JOIN attempt a ON a.session_id = h.session_id AND a.id = h.attempt_id
                 WHERE h.gateway_reference = $2 AND a.connection_id = $1)`,
};

/**
 * Reports whether a gateway's reference belongs to another attempt or to an orphaned authorization, so that it cannot
 * be this attempt's.
 */
export async function isReferenceTaken(
  tx: Tx,
  attempt: Pick<Attempt, "id" | "connectionId">,
  gatewayReference: string,
): Promise<boolean> {
  return (await tx.query(selectTaken, [attempt.connectionId, gatewayReference, attempt.id])).length > 0;
}

// A name that the gateway does not give leaves the statement as it is.
function columnsOfHold({ gatewayReference, networkTransactionId }: HoldNames): Changes {
  const usableName = usable(networkTransactionId);
  return { gatewayReference, ...(usableName !== null && { networkTransactionId: usableName }) };
}

/**
 * Records that the gateway holds the amount. The attempt becomes the session's winner, and every unknown attempt is
 * voided. `recordWinner` (held-payments.ts) also records what follows for a payment that is captured later.
 */
export function recordHeld(tx: Tx, attempt: Attempt, held: HoldNames): void {
  recordAdopted(tx, attempt, held);
  nameWinner(tx, attempt);
  voidUnknown(tx, attempt.sessionId); // rule:winner-voids-unknown
}

/** Records that the gateway holds the amount, and nothing of what follows. */
export function recordAdopted(tx: Tx, attempt: Attempt, held: HoldNames): void {
  move(tx, attempt, attempt.status, {
    set: { status: "AUTHORIZED", ...columnsOfHold(held), failureKind: null, retries: 0, nextRetryAt: null },
    stamp: answered(attempt),
  });
}

const setVoiding: Statement = {
  name: "void_unknown_attempts",
  partitionKey: 1,
  text: "SELECT FROM app.void_unknown_attempts($1)",
};

/** Moves every UNKNOWN attempt of a session to VOIDING; only VOIDED or CAPTURED can follow. */
export function voidUnknown(tx: Tx, sessionId: SessionId): void {
  tx.send(setVoiding, [sessionId]);
}

const nextColumns = (next: FailoverDecision): Changes => ({ nextAction: next.action, nextBecause: next.because });

const codeCharactersMax = 100;

/** Returns a gateway's code as it may be stored and shown: short, on one line, and without the digits of a card. */
export function storableCode(code: string): string {
  return scrub(code.toWellFormed())
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .slice(0, codeCharactersMax);
}

/** Records that the gateway declined. */
export function recordDeclined(tx: Tx, attempt: Attempt, declined: Declined, next?: FailoverDecision): void {
  move(tx, attempt, attempt.status, {
    set: {
      status: "DECLINED",
      failureKind: declined.kind,
      stop: declined.stop === "none" ? null : declined.stop,
      declineCode: declined.declineCode,
      gatewayCode: storableCode(declined.gatewayCode),
      ...(next && nextColumns(next)),
    },
    stamp: [...answered(attempt), "completedAt"],
  });
}

/** Returns who did not process a request, and why; empty if the fault is our own. */
export function refusalOf(answer: NotProcessed | undefined): { refusal?: Refusal; gatewayCode?: string } {
  if (answer?.cause === "connection_refused") return { refusal: "NO_ANSWER" };
  if (answer?.gatewayCode === undefined) return {};
  const { cause, gatewayCode } = answer;
  return { refusal: cause === "credentials_refused" ? "CREDENTIALS" : "REQUEST", gatewayCode };
}

/** Records that provably nothing happened at the gateway. */
export function recordFailed(tx: Tx, attempt: Attempt, answer: NotProcessed, next: FailoverDecision): void {
  move(tx, attempt, "AUTHORIZING", {
    set: { status: "FAILED", failureKind: "GATEWAY_ERROR", ...refusalOf(answer), ...nextColumns(next) },
    stamp: ["answeredAt", "completedAt"],
  });
}

/**
 * Records that the gateway may or may not hold the amount. Its reference for the payment, if it returned one, helps to
 * look the payment up and to void it.
 */
export function recordUnknown(
  tx: Tx,
  attempt: Attempt,
  kind: Extract<FailureKind, "TIMEOUT" | "GATEWAY_ERROR">,
  known: {
    next: FailoverDecision;
    gatewayReference?: string | undefined;
    notProcessed?: NotProcessed | undefined;
  },
): void {
  const { next, gatewayReference, notProcessed } = known;
  move(tx, attempt, "AUTHORIZING", {
    set: {
      status: "UNKNOWN",
      failureKind: kind,
      ...refusalOf(notProcessed),
      ...nextColumns(next),
      ...(gatewayReference !== undefined && { gatewayReference }),
    },
    stamp: answered(attempt),
  });
}

/**
 * Records that the customer was refused, gave up or did not finish. If no hold can appear without a further request,
 * nothing is held; otherwise the attempt is voided with the session's end.
 */
export function recordRefused(
  tx: Tx,
  attempt: Attempt,
  latestExecutionAt: Date | undefined,
  gatewayCode?: string,
): void {
  const set = { stop: "authentication_failed", ...nextColumns(refused), retries: 0, nextRetryAt: null } as const;
  if (latestExecutionAt !== undefined) {
    const declineCode = "authentication_failed";
    const nextBecause = refused.because + because.andMayStillHold(attempt);
    const late = { status: "UNKNOWN", declineCode, latestExecutionAt, nextBecause } as const;
    move(tx, attempt, "AWAITING_CUSTOMER", { set: { ...set, ...late } });
    return;
  }
  move(tx, attempt, "AWAITING_CUSTOMER", {
    set: {
      ...set,
      status: "DECLINED",
      failureKind: "SOFT_DECLINE",
      declineCode: "authentication_failed",
      gatewayCode: gatewayCode ?? null,
    },
    stamp: ["completedAt"],
  });
}

const refused = { action: "stop", because: because.notAuthenticated } as const;

/** Records that a look-up returned nothing that could be adopted, and what follows if it has changed that. */
export function recordLookedUp(tx: Tx, attempt: Attempt, next?: FailoverDecision): void {
  move(tx, attempt, "UNKNOWN", { set: next ? nextColumns(next) : {}, stamp: ["lookedUpAt"] });
}

/** Records what follows an attempt in doubt, which a look-up has changed. */
export function recordNext(tx: Tx, attempt: Attempt, next: FailoverDecision): void {
  move(tx, attempt, "UNKNOWN", { set: nextColumns(next) });
}

/**
 * Records that the capture is ordered: of the whole amount, unless a part is named. From here on it may reach the
 * gateway, so it is never given up before the gateway has answered it.
 */
export function recordCaptureOrdered(tx: Tx, attempt: Attempt, capturedAmountMinor?: number): void {
  const set = capturedAmountMinor === undefined ? {} : { capturedAmountMinor, retries: 0, nextRetryAt: null };
  move(tx, attempt, "AUTHORIZED", { set, stamp: ["captureOrderedAt"] });
}

/** An amount that was captured instead of the ordered one, and the sentence of the trail that says so. */
export type OtherAmount = { readonly capturedMinor: number; readonly because: string };

/**
 * Marks an attempt as captured. The session's `captureConfirmed`, which `settleSession` writes, distinguishes a
 * completed capture from an accepted one. `other` is given only if a person has captured at the gateway.
 */
export function recordCaptured(tx: Tx, attempt: Attempt, capture: CaptureRecord = {}, other?: OtherAmount): void {
  const { captureReference, networkTransactionId } = capture;
  const names = {
    ...(usable(captureReference) && attempt.captureReference === null && { captureReference }),
    ...(usable(networkTransactionId) && { networkTransactionId }),
  };
  const amounts = other && {
    capturedAmountMinor: other.capturedMinor,
    orderedAmountMinor: attempt.capturedAmountMinor,
    ...nextColumns({ action: "stop", because: other.because }),
  };
  move(tx, attempt, attempt.status, { set: { status: "CAPTURED", ...names, ...amounts }, stamp: ["completedAt"] });
}

const clearWinner: Statement = {
  name: "clear_winner",
  partitionKey: 1,
  text: "SELECT FROM app.clear_winner($1)",
};

/** Records that the gateway definitively refused the capture. The winner is cleared and its hold is voided. */
export function recordCaptureRefused(tx: Tx, attempt: Attempt, gatewayCode: string, next: FailoverDecision): void {
  tx.send(clearWinner, [attempt.sessionId]);
  move(tx, attempt, "AUTHORIZED", {
    set: { status: "VOIDING", captureRefusalCode: gatewayCode, retries: 0, nextRetryAt: null, ...nextColumns(next) },
  });
}

/** Records that the hold is gone or provably never existed. */
export function recordVoided(
  tx: Tx,
  attempt: Attempt,
  options: { voidKind: "VOIDED" | "NEVER_EXISTED"; askedAt: Date },
): void {
  move(tx, attempt, "VOIDING", {
    set: { status: "VOIDED", voidKind: options.voidKind, voidAskedAt: options.askedAt },
    stamp: ["completedAt"],
  });
}

/** Clears the winner of a hold whose capture was never ordered; its hold is voided. */
export function recordHoldGivenUp(tx: Tx, attempt: Attempt, ended: keyof typeof holdEnded): void {
  tx.send(clearWinner, [attempt.sessionId]);
  const set = {
    status: "VOIDING",
    retries: 0,
    nextRetryAt: null,
    ...nextColumns({ action: "stop", because: holdEnded[ended] }),
  } as const;
  move(tx, attempt, "AUTHORIZED", { set });
}

/**
 * Records a person's statement that no money of the attempt is kept. The winner is cleared, and no further gateway is
 * tried.
 */
export function recordGivenUp(tx: Tx, attempt: Attempt): void {
  if (attempt.status === "AUTHORIZED") {
    tx.send(clearWinner, [attempt.sessionId]);
    const next = nextColumns({ action: "stop", because: because.givenUp });
    move(tx, attempt, "AUTHORIZED", { set: { status: "VOIDING", ...next } });
  }
  move(tx, attempt, "VOIDING", { set: { status: "VOIDED", voidKind: "GIVEN_UP" }, stamp: ["completedAt"] });
}

/**
 * Schedules a repeat of the same request. `voidAskedAt` is given when the gateway accepted a void after the attempt's
 * latest execution time.
 */
export function recordRepeat(tx: Tx, attempt: Attempt, nextRetryAt: Date, voidAskedAt?: Date): void {
  const set = { retries: attempt.retries + 1, nextRetryAt, ...(voidAskedAt && { voidAskedAt }) };
  move(tx, attempt, attempt.status, { set });
}
