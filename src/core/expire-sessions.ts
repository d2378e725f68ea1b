/**
 * Ends sessions that were not submitted in time. Submission races for the same row, and exactly one of the two wins.
 */

import type { Statement } from "../platform/database.ts";
import type { SessionId } from "../platform/ids.ts";
import type { Core } from "./core.ts";
import { emitEvent, endEventOf } from "./record/settle.ts";
import type { PaymentSession } from "./rows/entities.ts";

const expire: Statement = {
  name: "expire_session",
  partitionKey: 1,
  text: 'SELECT id, merchant_id AS "merchantId", amount_minor AS "amountMinor" FROM app.expire_session($1)',
};

/** Ends one overdue session. Returns false when it was submitted or ended meanwhile. Durable on return. */
export async function expireSession(core: Core, sessionId: SessionId): Promise<boolean> {
  return core.database.transaction(async (tx) => {
    type Ended = Pick<PaymentSession, "id" | "merchantId" | "amountMinor">;
    const [session] = await tx.query<Ended>(expire, [sessionId]);
    if (session === undefined) return false;
    await emitEvent(tx, core, session, endEventOf(session, "EXPIRED"));
    tx.afterCommit(() => core.vault.forget(session.id));
    tx.afterCommit(() => core.observer?.settled("EXPIRED"));
    return true;
  });
}

/** SQL: sessions that were not submitted in time. A subselect bounds the index; with the volatile function itself, every open session would be read. */
export const overdueSessions = "payment_session WHERE phase = 'IDLE' AND expires_at <= (SELECT app.clock())";

const selectOverdue: Statement = {
  name: "select_overdue_sessions",
  text: `
    SELECT id FROM ${overdueSessions}
    ORDER BY expires_at LIMIT $1`,
};

// Sessions in one turn: few enough to stop soon after a request to stop.
const batch = 100;

/** Ends overdue sessions that no reader has ended yet. Returns true when there may be more. */
export async function expireOnce(core: Core): Promise<boolean> {
  const overdue = await core.database.query<{ id: SessionId }>(selectOverdue, [batch]);
  for (const { id } of overdue) await expireSession(core, id);
  return overdue.length === batch;
}
