/** Notifies merchants of disputes whose deadline is near. */
import type { Core } from "../core/core.ts";
import { loadSession, lockSession } from "../core/record/load-session.ts";
import { emitEvent } from "../core/record/settle.ts";
import type { Statement } from "../platform/database.ts";
import type { DisputeId, SessionId } from "../platform/ids.ts";

/** Hours before the deadline at which a merchant is notified. */
export const dueSoonHours = 72;
const batch = 100;

/** SQL: true if an answer of ours to the present stage of the dispute is in effect. */
export const isAnswered = (d: string) =>
  `EXISTS (SELECT FROM dispute_response r WHERE r.session_id = ${d}.session_id AND r.dispute_id = ${d}.id AND r.stage = ${d}.stage AND r.status <> 'REFUSED')`;

const selectDue: Statement = {
  name: "select_disputes_due_soon",
  text: `
    SELECT session_id AS "sessionId", id FROM dispute
    WHERE closed_at IS NULL AND status = 'NEEDS_RESPONSE' AND due_soon_at IS NULL
      AND respond_by > (SELECT app.clock()) AND respond_by <= (SELECT app.clock()) + interval '${dueSoonHours} hours'
      AND NOT ${isAnswered("dispute")}
    ORDER BY respond_by LIMIT ${batch}`,
};
const markDue: Statement = {
  name: "mark_dispute_due",
  partitionKey: 1,
  text: "SELECT FROM app.mark_dispute_due($1, $2)",
};

type Due = { readonly sessionId: SessionId; readonly id: DisputeId };

/** Emits `dispute.due_soon` for each dispute that needs a response within 72 hours, once for each of its stages. */
export async function emitDueDisputesOnce(core: Core): Promise<void> {
  for (const due of await core.database.query<Due>(selectDue, [])) await emitDueDispute(core, due);
}

export async function emitDueDispute(core: Core, { sessionId, id }: Due): Promise<void> {
  await core.database.transaction(async (tx) => {
    if ((await lockSession(tx, sessionId)) === undefined) return;
    // rule:dispute-due-once
    if ((await tx.query(markDue, [sessionId, id])).length === 0) return;
    const { session } = await loadSession(tx, sessionId);
    await emitEvent(tx, core, session, "dispute.due_soon", { disputeId: id });
  });
}
