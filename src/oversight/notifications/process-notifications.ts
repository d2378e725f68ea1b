/** Processes gateway notifications. One changes no payment: it makes a worker resume the payment. */
import type { Core } from "../../core/core.ts";
import { alarmIfContradicted } from "../../core/execute/decisions.ts";
import { recordCaptureReport } from "../../core/execute/late-captures.ts";
import { findSessionOfUnrecorded } from "../../core/execute/unrecorded-attempts.ts";
import { wakeSession } from "../../core/record/lease.ts";
import { findEndInNotifications } from "../../core/record/stored-notifications.ts";
import type { Attempt } from "../../core/rows/entities.ts";
import { recordDisputeReport } from "../../disputes/dispute-reports.ts";
import { repeatFirstMs } from "../../limits.ts";
import type { Statement } from "../../platform/database.ts";
import { type AttemptId, type ConnectionId, decodeId } from "../../platform/ids.ts";
import { recordRefundReport } from "../../refunds/refund-reports.ts";
import { recordReportNotice } from "../../settlement/statement-feed.ts";
import { hurryOrphan, recordOrphan, recordUnrecordedHold } from "../orphaned-authorizations.ts";

export const waitingNotifications =
  "gateway_notification WHERE processed_at IS NULL AND next_try_at <= (SELECT app.clock())";

const selectWaiting: Statement = {
  name: "select_waiting_notifications",
  text: `
    SELECT connection_id AS "connectionId", notification_id AS "notificationId", kind, attempt_reference AS "attemptReference",
      gateway_reference AS "gatewayReference"
    FROM ${waitingNotifications}
    ORDER BY next_try_at LIMIT $1`,
};
// Its own age is its pause, so that the pauses double up to the longest.
const postpone: Statement = {
  name: "postpone_notification",
  text: `
    UPDATE gateway_notification
    SET next_try_at = app.clock() + least(greatest(app.clock() - received_at, $3 * interval '1 ms'), $4 * interval '1 ms')
    WHERE connection_id = $1 AND notification_id = $2 AND processed_at IS NULL`,
};
const markProcessed: Statement = {
  name: "mark_notification_processed",
  text: "UPDATE gateway_notification SET processed_at = app.clock() WHERE connection_id = $1 AND notification_id = $2",
};
const attemptSession = `
    SELECT session_id AS "sessionId", id, connection_id AS "connectionId", gateway, status,
      gateway_reference AS "gatewayReference", void_asked_at IS NOT NULL AS "voidAsked", decision,
      decision_confirmed_at AS "decisionConfirmedAt", completed_at AS "completedAt"
    FROM attempt WHERE id = $1 AND connection_id = $2`;
const selectAttemptSession: Statement = { name: "select_session_of_attempt", partitionKey: 1, text: attemptSession };
// An attempt of a renewal has the time of its agreement in its id, and lies in the month of its session.
const selectAttemptOfAnyMonth: Statement = { name: "select_session_of_attempt_of_any_month", text: attemptSession };

type StoredNotification = {
  connectionId: ConnectionId;
  notificationId: string;
  kind: string;
  attemptReference: string;
  gatewayReference: string;
};
type FoundAttempt = Pick<Attempt, "sessionId" | "id" | "connectionId" | "gateway" | "status" | "gatewayReference"> &
  Pick<Attempt, "decision" | "decisionConfirmedAt" | "completedAt"> & { voidAsked: boolean };

// Notifications in one turn.
const batch = 100;
// Longest pause: one that fails for ever keeps the alert SwitchyardLoopFailing up, which wants six failures in 15 minutes.
const longestPauseMs = 2 * 60_000;

/**
 * Processes the notifications that are due; processing one twice is harmless. Returns true when there may be more. A
 * notification that fails or has to wait is processed again after its own pause, and holds up no other one. The first
 * failure is thrown after all have been processed.
 */
export async function processNotificationsOnce(core: Core): Promise<boolean> {
  const notifications = await core.database.query<StoredNotification>(selectWaiting, [batch]);
  const failures: unknown[] = [];
  for (const notification of notifications) {
    await processNotification(core, notification).catch((error) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
  return notifications.length === batch;
}

async function processNotification(core: Core, notification: StoredNotification): Promise<void> {
  const key = [notification.connectionId, notification.notificationId];
  const later = () => core.database.query(postpone, [...key, repeatFirstMs, longestPauseMs]);
  const result = await act(core, notification).catch(async (error: unknown) => {
    await later();
    throw error;
  });
  await (result === "later" ? later() : core.database.query(markProcessed, key));
}

/** Acts on a notification. `later`: it is processed again after a pause. */
async function act(core: Core, notification: StoredNotification): Promise<"later" | undefined> {
  if (notification.kind === "refunded" || notification.kind === "refund_failed")
    return recordRefundReport(core, notification);
  if (notification.kind === "dispute") return recordDisputeReport(core, notification);
  if (notification.kind === "report") return recordReportNotice(core, notification);
  const attemptId = decodeId("att", notification.attemptReference);
  if (attemptId === undefined) return;
  const values = [attemptId, notification.connectionId];
  const [ofMonth] = await core.database.query<FoundAttempt>(selectAttemptSession, values);
  const [found] = ofMonth ? [ofMonth] : await core.database.query<FoundAttempt>(selectAttemptOfAnyMonth, values);
  if (found === undefined) return actOnUnrecorded(core, notification, attemptId);
  // First, because of all rows about the attempt's record this one says most, and only one is open at a time.
  await alarmIfContradicted(core, found, notification.kind);
  if (reportsCapture(notification, found))
    await recordCaptureReport(core, { sessionId: found.sessionId, id: attemptId });
  if (reportsHold(notification)) await recordLateHold(core, notification, found);
  if (notification.kind === "voided" || notification.kind === "already_captured")
    await hurryOrphan(core.database, found);
  if (changesNothing(notification, found)) return;
  await wakeSession(core.database, found.sessionId);
}

/** Acts on a notification about an attempt whose row a restore has lost. */
async function actOnUnrecorded(
  core: Core,
  notification: StoredNotification,
  id: AttemptId,
): Promise<"later" | undefined> {
  const { kind, connectionId, gatewayReference } = notification;
  if (!reportsHold(notification) && kind !== "voided" && kind !== "already_captured") return;
  const sessionId = await findSessionOfUnrecorded(core.database, { id, connectionId });
  if (sessionId === undefined) return;
  if (reportsHold(notification)) return recordUnrecordedHold(core, { sessionId, id, connectionId }, gatewayReference);
  await hurryOrphan(core.database, { sessionId, id });
}

/**
 * Reports whether a notification names a hold. A hold whose void is refused exists, and a restore may have lost its
 * other rows.
 */
function reportsHold({ kind }: StoredNotification): boolean {
  return kind === "held" || kind === "void_refused";
}

/** Reports whether a notification concerns a capture. A voided hold does where it is captured or about to be. */
function reportsCapture({ kind }: StoredNotification, { status }: FoundAttempt): boolean {
  if (kind === "voided") return status === "AUTHORIZED" || status === "CAPTURED";
  return kind === "captured" || kind === "already_captured" || kind === "capture_failed";
}

/**
 * Records an orphaned authorization when a hold is reported for an attempt that is over, with no later report about it.
 * If the gateway can be read, a late notification says nothing about the current state, and reconciliation finds it.
 */
async function recordLateHold(
  core: Core,
  { gatewayReference }: StoredNotification,
  found: FoundAttempt,
): Promise<void> {
  const isOver = found.status === "VOIDED" || found.status === "DECLINED" || found.status === "FAILED";
  if (!isOver || gatewayReference === found.gatewayReference || core.connectorOf(found.gateway)?.canRead) return;
  if ((await findEndInNotifications(core.database, found, gatewayReference)) !== undefined) return;
  await recordOrphan(core, { sessionId: found.sessionId, attemptId: found.id, gatewayReference }, "notification");
}

// A session woken by these would send the next void at once and get the same answer, and so on.
function changesNothing({ kind }: StoredNotification, { voidAsked }: FoundAttempt): boolean {
  return kind === "void_refused" || (kind === "absent" && !voidAsked);
}
