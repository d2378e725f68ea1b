/** Hands stored notices to reconciliation: a notice changes no payment by itself, it makes a worker look at the payment again. */
import type { Core } from "../core/core.ts";
import { recordCaptureReport } from "../core/late-captures.ts";
import { wakeSession } from "../core/lease.ts";
import type { Statement } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";

const selectWaiting: Statement = {
  name: "select_waiting_notices",
  text: `
    SELECT connection_id AS "connectionId", notice_id AS "noticeId", kind, attempt_reference AS "attemptReference"
    FROM gateway_notice WHERE processed_at IS NULL ORDER BY received_at LIMIT $1`,
};
const markProcessed: Statement = {
  name: "mark_notice_processed",
  text: "UPDATE gateway_notice SET processed_at = app.clock() WHERE connection_id = $1 AND notice_id = $2",
};
const selectAttemptSession: Statement = {
  name: "select_session_of_attempt",
  text: `
    SELECT session_id AS "sessionId", void_asked_at IS NOT NULL AS "voidAsked"
    FROM attempt WHERE id = $1 AND connection_id = $2`,
};

type StoredNotice = { connectionId: string; noticeId: string; kind: string; attemptReference: string };
type FoundAttempt = { sessionId: string; voidAsked: boolean };

// One turn's share.
const batch = 100;

/** Acts on the notices that wait; acting twice on one does no harm. True when there may be more. */
export async function processNoticesOnce(core: Core): Promise<boolean> {
  const notices = await core.database.query<StoredNotice>(selectWaiting, [batch]);
  for (const notice of notices) {
    await act(core, notice);
    await core.database.query(markProcessed, [notice.connectionId, notice.noticeId]);
  }
  return notices.length === batch;
}

async function act(core: Core, notice: StoredNotice): Promise<void> {
  const attemptId = decodeId("att", notice.attemptReference);
  if (attemptId === undefined) return;
  const values = [attemptId, notice.connectionId];
  const [found] = await core.database.query<FoundAttempt>(selectAttemptSession, values);
  if (found === undefined) return;
  if (notice.kind === "captured" || notice.kind === "capture_failed") {
    await recordCaptureReport(core, { sessionId: found.sessionId, id: attemptId });
  }
  if (changesNothing(notice, found)) return;
  await wakeSession(core.database, found.sessionId);
}

// Woken by these, a session would send the next void at once, which is answered in the same way, and so on.
function changesNothing({ kind }: StoredNotice, { voidAsked }: FoundAttempt): boolean {
  return kind === "void_refused" || (kind === "absent" && !voidAsked);
}
