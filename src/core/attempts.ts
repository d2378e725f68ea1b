/** The transitions of an attempt, each one conditional update under the session's lock. Which one comes when is the flow's business. */
import type { Declined } from "../gateways/declines.ts";
import { timingBounds } from "../limits.ts";
import { columnName } from "../platform/columns.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { sha256 } from "../platform/secrets.ts";
import type { Attempt, AttemptStatus, FailureKind, PaymentSession, PlannedConnection } from "./entities.ts";
import type { NextStep } from "./failover.ts";
import { nameWinner, required } from "./lease.ts";

const insertAttempt: Statement = {
  name: "insert_attempt",
  text: `
    INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because,
                         amount_minor, currency, started_at, horizon_at)
    SELECT $1, $2, (SELECT count(*) + 1 FROM attempt WHERE session_id = $1), $3, $4, $5, $6, $7, $8, $9, now,
           now + $10 * interval '1 ms'
    FROM app.clock() AS now`,
};

/**
 * Opens an attempt; it is committed before a byte goes to the gateway, so a crash is always visible.
 * `executionLimitMs` is how long vault and gateway may still work on a request that left us; zero where a voided reference
 * is refused for ever. The horizon lies beyond twice our own timeout and that limit. A short timeout brings it no nearer
 * than the usual one: it does not shorten the wait for the vault, after which the request leaves.
 */
export function openAttempt(
  tx: Tx,
  attempt: {
    id: string;
    session: Pick<PaymentSession, "id" | "amountMinor" | "currency">;
    to: PlannedConnection;
    because: string;
    refusesVoidedReference: boolean;
    executionLimitMs: number;
    attemptTimeoutMs: number;
  },
): void {
  const { session, to } = attempt;
  const horizonMs = horizonMsOf(attempt);
  tx.send(insertAttempt, [
    session.id,
    attempt.id,
    to.gateway,
    to.connectionId,
    to.credentialVersion,
    to.priority,
    attempt.because,
    session.amountMinor,
    session.currency,
    horizonMs,
  ]);
}

/** How long after its start a gateway may still execute an attempt; 0 where a void keeps it from doing so. */
export function horizonMsOf(attempt: {
  readonly refusesVoidedReference: boolean;
  readonly executionLimitMs: number;
  readonly attemptTimeoutMs: number;
}): number {
  const sendingMs = 2 * Math.max(attempt.attemptTimeoutMs, timingBounds.attemptTimeoutMs.usual);
  return attempt.refusesVoidedReference ? 0 : sendingMs + attempt.executionLimitMs;
}

type Changes = Partial<Omit<Attempt, "sessionId" | "id" | "holds" | "captured">>;

/** Moments that the database's clock fills in. */
type Stamps = readonly ("captureStartedAt" | "lookedUpAt" | "answeredAt" | "completedAt")[];

/**
 * Moves an attempt from exactly this status, or the transaction is `isLeaseLost`: then the rows are not what the caller saw.
 * The guards of the migration refuse what is no legal transition.
 */
function move(
  tx: Tx,
  attempt: Pick<Attempt, "sessionId" | "id">,
  from: AttemptStatus,
  change: { set: Changes; stamp?: Stamps },
): void {
  const names = Object.keys(change.set);
  const sets = names.map((name, index) => `${columnName(name)} = $${index + 4}`);
  const stamps = (change.stamp ?? []).map((name) => `${columnName(name)} = app.clock()`);
  const text = required(
    `UPDATE attempt SET ${[...sets, ...stamps].join(", ")}
    WHERE session_id = $1 AND id = $2 AND status = $3 RETURNING id`,
    "the attempt has moved on",
  );
  // The calls below make a small, fixed set of texts; each is prepared once, named by its hash.
  const name = `move_attempt_${sha256(text).toString("hex").slice(0, 16)}`;
  tx.send({ name, text }, [attempt.sessionId, attempt.id, from, ...Object.values(change.set)]);
}

const selectTaken: Statement = {
  name: "select_reference_taken",
  text: `
    SELECT 1 WHERE EXISTS (SELECT FROM attempt WHERE connection_id = $1 AND gateway_reference = $2 AND id <> $3)
      OR EXISTS (SELECT FROM stray_hold h JOIN attempt a ON a.session_id = h.session_id AND a.id = h.attempt_id
                 WHERE h.gateway_reference = $2 AND a.connection_id = $1)`,
};

/** Whether a gateway's reference is another attempt's, or a stray hold's, so that it cannot be this one's. */
export async function isReferenceTaken(tx: Tx, attempt: Attempt, gatewayReference: string): Promise<boolean> {
  return (await tx.query(selectTaken, [attempt.connectionId, gatewayReference, attempt.id])).length > 0;
}

/** The gateway holds the amount: the attempt becomes the session's winner, and every unknown one is given back. */
export function recordHeld(tx: Tx, attempt: Attempt, gatewayReference: string): void {
  move(tx, attempt, attempt.status, {
    set: { status: "AUTHORIZED", gatewayReference, failureKind: null, tries: 0, nextTryAt: null },
    ...(attempt.answeredAt ? {} : { stamp: ["answeredAt"] }),
  });
  nameWinner(tx, attempt);
  voidUnknown(tx, attempt.sessionId);
}

const setVoiding: Statement = {
  name: "void_unknown_attempts",
  text: `UPDATE attempt SET status = 'VOIDING', tries = 0, next_try_at = NULL WHERE session_id = $1 AND status = 'UNKNOWN'`,
};

/** Every attempt that may hold money goes through the one-way door to being given back. */
export function voidUnknown(tx: Tx, sessionId: string): void {
  tx.send(setVoiding, [sessionId]);
}

const nextColumns = (next: NextStep): Changes => ({ nextAction: next.action, nextBecause: next.because });

/** The gateway said no. */
export function recordDeclined(tx: Tx, attempt: Attempt, declined: Declined, next?: NextStep): void {
  move(tx, attempt, attempt.status, {
    set: {
      status: "DECLINED",
      failureKind: declined.kind,
      stop: declined.stop === "none" ? null : declined.stop,
      declineCode: declined.declineCode,
      gatewayCode: declined.gatewayCode,
      ...(next && nextColumns(next)),
    },
    stamp: attempt.answeredAt ? ["completedAt"] : ["answeredAt", "completedAt"],
  });
}

/** Provably nothing happened at the gateway. */
export function recordFailed(tx: Tx, attempt: Attempt, next: NextStep): void {
  move(tx, attempt, "AUTHORIZING", {
    set: { status: "FAILED", failureKind: "GATEWAY_ERROR", ...nextColumns(next) },
    stamp: ["answeredAt", "completedAt"],
  });
}

/** The gateway may or may not hold the amount; what it calls the payment, if it said so, helps to look it up and to give it back. */
export function recordUnknown(
  tx: Tx,
  attempt: Attempt,
  kind: Extract<FailureKind, "TIMEOUT" | "GATEWAY_ERROR">,
  known: { next: NextStep; gatewayReference?: string | undefined },
): void {
  const { next, gatewayReference } = known;
  move(tx, attempt, "AUTHORIZING", {
    set: {
      status: "UNKNOWN",
      failureKind: kind,
      ...nextColumns(next),
      ...(gatewayReference !== undefined && { gatewayReference }),
    },
    stamp: ["answeredAt"],
  });
}

/** The look-up at the plan's end told nothing that could be adopted. */
export function recordLookedUp(tx: Tx, attempt: Attempt): void {
  move(tx, attempt, "UNKNOWN", { set: {}, stamp: ["lookedUpAt"] });
}

/** From here on the capture may reach the gateway, so it is never given up before the gateway has answered it. */
export function recordCaptureOrdered(tx: Tx, attempt: Attempt): void {
  move(tx, attempt, "AUTHORIZED", { set: {}, stamp: ["captureStartedAt"] });
}

/** The gateway acknowledged the capture. */
export function recordCaptured(tx: Tx, attempt: Attempt): void {
  move(tx, attempt, attempt.status, { set: { status: "CAPTURED" }, stamp: ["completedAt"] });
}

const clearWinner: Statement = {
  name: "clear_winner",
  text: "UPDATE payment_session SET winner_attempt_id = NULL WHERE id = $1",
};

/** The gateway refused the capture for good: the winner is cleared and its hold given back. */
export function recordCaptureRefused(tx: Tx, attempt: Attempt, gatewayCode: string, next: NextStep): void {
  tx.send(clearWinner, [attempt.sessionId]);
  move(tx, attempt, "AUTHORIZED", {
    set: { status: "VOIDING", captureRefused: gatewayCode, tries: 0, nextTryAt: null, ...nextColumns(next) },
  });
}

/** The hold is gone, or provably never was. */
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

/** The same request has to be repeated at a later moment; `voidAskedAt` when a void was taken on after the horizon. */
export function recordRepeat(tx: Tx, attempt: Attempt, nextTryAt: Date, voidAskedAt?: Date): void {
  const set = { tries: attempt.tries + 1, nextTryAt, ...(voidAskedAt && { voidAskedAt }) };
  move(tx, attempt, attempt.status, { set });
}
