/**
 * A merchant's changes of a session that was not submitted: it is cancelled, or another one takes its place. A submission races for
 * the same row, and exactly one of the two wins.
 */
import type { Statement, Tx } from "../platform/database.ts";
import { DomainError, type DomainErrorCode } from "../platform/errors.ts";
import { encodeId, type MerchantId, type SessionId } from "../platform/ids.ts";
import type { Core } from "./core.ts";
import { type EndParts, emitEvent, endEventOf } from "./record/settle.ts";
import type { PaymentSession } from "./rows/entities.ts";
import { isProcessing } from "./rows/payment.ts";

/** A session of the merchant that changes it. */
type OwnSession = { readonly merchantId: MerchantId; readonly sessionId: SessionId };

const end: Statement = {
  name: "end_unsubmitted_session",
  partitionKey: 1,
  text: 'SELECT id, merchant_id AS "merchantId", amount_minor AS "amountMinor" FROM app.end_unsubmitted($1, $2, $3, $4)',
};

/** Ends a session that was not submitted. Returns false when it was, or has ended. */
export async function endUnsubmitted(
  tx: Tx,
  core: EndParts,
  { merchantId, sessionId }: OwnSession,
  { because, successor }: { readonly because: "CANCELLED" | "REPLACED"; readonly successor: SessionId | null },
): Promise<boolean> {
  const values = [sessionId, merchantId, because, successor];
  const [session] = await tx.query<Pick<PaymentSession, "id" | "merchantId" | "amountMinor">>(end, values);
  if (session === undefined) return false;
  await emitEvent(tx, core, session, endEventOf(session, "EXPIRED"));
  tx.afterCommit(() => core.vault.forget(session.id));
  tx.afterCommit(() => core.observer?.settled("EXPIRED"));
  return true;
}

type Replaceable = Pick<
  PaymentSession,
  "id" | "status" | "phase" | "heldAt" | "captureAskedAt" | "expiredBecause" | "replacedBy"
>;

const lock: Statement = {
  name: "lock_replaced_session",
  partitionKey: 1,
  text: `
    SELECT id, status, phase, held_at AS "heldAt", capture_asked_at AS "captureAskedAt", expired_because AS "expiredBecause",
      replaced_by AS "replacedBy"
    FROM app.lock_session_of($1, $2)`,
};

const nameSuccessor: Statement = {
  name: "name_successor",
  partitionKey: 1,
  text: "SELECT FROM app.name_successor($1, $2)",
};

/**
 * Puts `successor` in the place of a session, which ends by it unless it has ended. Throws `not_found`, `session_replaced` when it has
 * another successor, `session_being_paid` when it was submitted, and `session_ended` when it has SUCCEEDED.
 */
export async function replaceSession(
  tx: Tx,
  core: EndParts,
  replaced: OwnSession,
  successor: SessionId,
): Promise<void> {
  const [session] = await tx.query<Replaceable>(lock, [replaced.sessionId, replaced.merchantId]);
  if (session === undefined) {
    throw new DomainError("not_found", "There is no payment session with this id.", { field: "replaces" });
  }
  if (session.replacedBy === successor) return;
  if (session.replacedBy) throw alreadyReplaced(session);
  if (session.status === "SUCCEEDED") {
    throw refusal(
      "session_ended",
      "The session has SUCCEEDED: its order is paid, so nothing takes its place.",
      session,
    );
  }
  if (session.phase === "IDLE") await endUnsubmitted(tx, core, replaced, { because: "REPLACED", successor });
  else if (session.status !== "CREATED") await tx.query(nameSuccessor, [session.id, successor]);
  else throw beingPaid(session);
}

const selectSuccessor: Statement = {
  name: "select_successor",
  partitionKey: 1,
  text: `SELECT replaced_by AS "replacedBy" FROM payment_session WHERE id = $1 AND merchant_id = $2`,
};

/** Returns the id of the session that was named as the successor of another, whether or not it was created. */
export async function findSuccessor({ database }: Core, replaced: OwnSession): Promise<SessionId | undefined> {
  const values = [replaced.sessionId, replaced.merchantId];
  const [row] = await database.query<{ replacedBy: SessionId | null }>(selectSuccessor, values);
  return row?.replacedBy ?? undefined;
}

/** Returns the refusal of a change of a session that has a successor. */
export function alreadyReplaced(session: Replaceable): DomainError {
  return refusal("session_replaced", "Another session has taken the place of this one: state.replacedBy.", session);
}

/** Returns the refusal of a change of a session that was submitted. */
export function beingPaid(session: Replaceable): DomainError {
  const detail = session.heldAt
    ? "The amount is held: cancel the session first, or capture it."
    : "The session was submitted, and its outcome is not known yet: wait for its webhook.";
  return refusal("session_being_paid", detail, session);
}

/** Returns a refusal with the state in which the session is. */
export function refusal(code: DomainErrorCode, message: string, session: Replaceable): DomainError {
  const { id, status, expiredBecause, replacedBy } = session;
  const state = {
    sessionId: encodeId("ps", id),
    status,
    processing: isProcessing(session),
    ...(status === "EXPIRED" && { expiredBecause: expiredBecause ?? "LIFETIME" }),
    ...(replacedBy && { replacedBy: encodeId("ps", replacedBy) }),
  };
  return new DomainError(code, message, { state });
}
