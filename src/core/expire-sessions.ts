/** Ends sessions that nobody submitted in time. Submission races for the same row, and exactly one of the two wins. */
import type { Statement } from "../platform/database.ts";
import type { Core } from "./core.ts";

const expire: Statement = {
  name: "expire_session",
  text: `
    UPDATE payment_session SET status = 'EXPIRED', phase = 'DONE', settled_at = app.clock()
    WHERE id = $1 AND phase = 'IDLE' AND expires_at <= app.clock()
    RETURNING id`,
};

/** Ends one overdue session; false when it was submitted, or ended, meanwhile. Durable on return. */
export async function expireSession(core: Core, sessionId: string): Promise<boolean> {
  return core.database.transaction(async (tx) => (await tx.query(expire, [sessionId])).length === 1);
}
