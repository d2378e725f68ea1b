/** Hands stored notices to reconciliation: a notice changes no payment by itself, it makes a worker look at the payment again. */
import type { Core } from "../core/core.ts";
import { confirmCapture, reportCaptureFailed } from "../core/late-captures.ts";
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
  text: `SELECT session_id AS "sessionId" FROM attempt WHERE id = $1 AND connection_id = $2`,
};

type StoredNotice = { connectionId: string; noticeId: string; kind: string; attemptReference: string };

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
  const [found] = await core.database.query<{ sessionId: string }>(selectAttemptSession, [
    attemptId,
    notice.connectionId,
  ]);
  if (found === undefined) return;
  const attempt = { sessionId: found.sessionId, id: attemptId };
  if (notice.kind === "captured") await confirmCapture(core, attempt);
  else if (notice.kind === "capture_failed") await reportCaptureFailed(core, attempt);
  await wakeSession(core.database, found.sessionId);
}
