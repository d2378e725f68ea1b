/** Hands stored notices to reconciliation: a notice changes no payment by itself, it makes a worker look at the payment again. */
import type { Core } from "../core/core.ts";
import type { Attempt } from "../core/entities.ts";
import { recordCaptureReport } from "../core/late-captures.ts";
import { wakeSession } from "../core/lease.ts";
import { findEndInNotices } from "../core/stored-notices.ts";
import { hurryStray, recordStray } from "../core/stray-holds.ts";
import type { Statement } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";

const selectWaiting: Statement = {
  name: "select_waiting_notices",
  text: `
    SELECT connection_id AS "connectionId", notice_id AS "noticeId", kind, attempt_reference AS "attemptReference",
      gateway_reference AS "gatewayReference"
    FROM gateway_notice WHERE processed_at IS NULL ORDER BY received_at LIMIT $1`,
};
const markProcessed: Statement = {
  name: "mark_notice_processed",
  text: "UPDATE gateway_notice SET processed_at = app.clock() WHERE connection_id = $1 AND notice_id = $2",
};
const selectAttemptSession: Statement = {
  name: "select_session_of_attempt",
  text: `
    SELECT session_id AS "sessionId", id, connection_id AS "connectionId", gateway, status,
      gateway_reference AS "gatewayReference", void_asked_at IS NOT NULL AS "voidAsked"
    FROM attempt WHERE id = $1 AND connection_id = $2`,
};

type StoredNotice = {
  connectionId: string;
  noticeId: string;
  kind: string;
  attemptReference: string;
  gatewayReference: string;
};
type FoundAttempt = Pick<Attempt, "sessionId" | "id" | "connectionId" | "gateway" | "status" | "gatewayReference"> & {
  voidAsked: boolean;
};

// One turn's share.
const batch = 100;

/**
 * Acts on the notices that wait; acting twice on one does no harm. True when there may be more. One that fails holds up
 * none of the others: it is tried again in the next turn, and the first failure is thrown when all were tried.
 */
export async function processNoticesOnce(core: Core): Promise<boolean> {
  const notices = await core.database.query<StoredNotice>(selectWaiting, [batch]);
  const failures: unknown[] = [];
  for (const notice of notices) await processNotice(core, notice).then(undefined, (error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
  return notices.length === batch;
}

async function processNotice(core: Core, notice: StoredNotice): Promise<void> {
  await act(core, notice);
  await core.database.query(markProcessed, [notice.connectionId, notice.noticeId]);
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
  if (notice.kind === "held") await recordLateHold(core, notice, found);
  if (notice.kind === "voided" || notice.kind === "already_captured") await hurryStray(core.database, found);
  if (changesNothing(notice, found)) return;
  await wakeSession(core.database, found.sessionId);
}

/**
 * A hold that is reported of an attempt which is over, and of which nothing was heard since, is a stray. Where the
 * gateway can be read, a late notice says nothing of what is there now, and the comparison finds what is.
 */
async function recordLateHold(core: Core, { gatewayReference }: StoredNotice, found: FoundAttempt): Promise<void> {
  const isOver = found.status === "VOIDED" || found.status === "DECLINED" || found.status === "FAILED";
  if (!isOver || gatewayReference === found.gatewayReference || core.connectorOf(found.gateway)?.canRead) return;
  if ((await findEndInNotices(core.database, found, gatewayReference)) !== undefined) return;
  await recordStray(core, { sessionId: found.sessionId, attemptId: found.id, gatewayReference }, "notice");
}

// Woken by these, a session would send the next void at once, which is answered in the same way, and so on.
function changesNothing({ kind }: StoredNotice, { voidAsked }: FoundAttempt): boolean {
  return kind === "void_refused" || (kind === "absent" && !voidAsked);
}
