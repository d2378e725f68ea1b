/**
 * Finds voids and captures that a gateway leaves unanswered or unreported, customers whose authentication takes too
 * long, and disputes without news. It goes by time alone, so it also finds an attempt that cannot be looked up.
 */

import type { Core } from "../core/core.ts";
import { isKnown, openWorkItem, type WorkItemKind } from "../core/record/work-items.ts";
import {
  actionAlarmMs,
  captureAlarmMs,
  confirmationAlarmMs,
  holdAlarmMs,
  voidAlarmMs,
  workItemQuietMs,
} from "../limits.ts";
import type { Statement } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { type AttemptId, encodeId, type SessionId } from "../platform/ids.ts";
import { findUnconfirmedTimeline } from "./declare-restore.ts";
import { alarmSilentDisputesOnce } from "./silent-disputes.ts";

// A void before the latest execution time ends nothing yet. The clock is a subselect, because the volatile function itself gives an index no bound.
const selectUnanswered: Statement = {
  name: "select_unanswered_attempts",
  text: `
    SELECT late.kind, late.session_id AS "sessionId", late.id AS "attemptId", late.gateway, late.since, late.retries,
      late.order_may_be_lost AS "orderMayBeLost"
    FROM (
      SELECT 'VOID_UNANSWERED' AS kind, session_id, id, gateway, retries, voiding_at AS since, false AS order_may_be_lost FROM attempt
      WHERE status = 'VOIDING' AND voiding_at <= (SELECT app.clock()) - $1 * interval '1 ms'
        AND latest_execution_at <= (SELECT app.clock()) - $1 * interval '1 ms'
      UNION ALL
      SELECT 'CAPTURE_UNANSWERED', session_id, id, gateway, retries, capture_ordered_at, false FROM attempt
      WHERE status = 'AUTHORIZED' AND capture_ordered_at <= (SELECT app.clock()) - $2 * interval '1 ms'
      UNION ALL
      SELECT 'ACTION_OVERDUE', t.session_id, a.id, coalesce(t.provider, a.gateway), 0, t.deadline_at, false
      FROM authentication t LEFT JOIN attempt a ON a.session_id = t.session_id AND a.id = t.attempt_id
      WHERE t.completed_at IS NULL AND (t.provider IS NOT NULL OR t.status = 'AWAITING_CUSTOMER') AND t.deadline_at <= (SELECT app.clock()) - $5 * interval '1 ms'
      UNION ALL
      SELECT 'HOLD_OVERDUE', s.id, a.id, a.gateway, a.retries, s.held_until, s.held_at <= (SELECT restored_at FROM replica_mark)
      FROM payment_session s JOIN attempt a ON a.session_id = s.id AND a.id = s.winner_attempt_id
      WHERE s.held_at IS NOT NULL AND s.status = 'CREATED' AND s.capture_asked_at IS NULL
        AND s.held_until <= (SELECT app.clock()) - $6 * interval '1 ms') late
    WHERE NOT EXISTS (
      SELECT FROM work_item w
      WHERE w.session_id = late.session_id AND w.attempt_id IS NOT DISTINCT FROM late.id AND w.kind = late.kind AND ${isKnown("$4")})
    ORDER BY late.since LIMIT $3`,
};

// The alarm is raised once for each capture, and never if its failure was reported. A person who closes the row has
// contacted the gateway, whose report may never come, and nothing else could end the matter.
const selectUnconfirmed: Statement = {
  name: "select_unconfirmed_captures",
  text: `
    SELECT 'CAPTURE_UNCONFIRMED' AS kind, s.id AS "sessionId", s.captured_attempt_id AS "attemptId",
      s.captured_via AS gateway, s.settled_at AS since, 0 AS retries, false AS "orderMayBeLost"
    FROM payment_session s
    WHERE NOT s.capture_confirmed AND s.settled_at <= (SELECT app.clock()) - $1 * interval '1 ms'
      AND NOT EXISTS (
        SELECT FROM work_item w
        WHERE w.session_id = s.id AND w.attempt_id = s.captured_attempt_id
          AND w.kind IN ('CAPTURE_UNCONFIRMED','CAPTURE_FAILED'))
    ORDER BY s.settled_at LIMIT $2`,
};

const resolveAnswered: Statement = {
  name: "resolve_answered_work_items",
  text: `
    UPDATE work_item w SET resolved_at = app.clock()
    FROM attempt a
    WHERE w.resolved_at IS NULL AND w.kind IN ('VOID_UNANSWERED','CAPTURE_UNANSWERED','ACTION_OVERDUE','HOLD_OVERDUE')
      AND a.session_id = w.session_id AND a.id = w.attempt_id
      AND a.status <> CASE w.kind WHEN 'VOID_UNANSWERED' THEN 'VOIDING' WHEN 'CAPTURE_UNANSWERED' THEN 'AUTHORIZED'
                                  WHEN 'HOLD_OVERDUE' THEN 'AUTHORIZED' ELSE 'AWAITING_CUSTOMER' END`,
};

// At a provider no attempt is open.
const resolveAuthenticated: Statement = {
  name: "resolve_authenticated_work_items",
  text: `
    UPDATE work_item w SET resolved_at = app.clock()
    WHERE w.resolved_at IS NULL AND w.kind = 'ACTION_OVERDUE' AND w.attempt_id IS NULL
      AND NOT EXISTS (SELECT FROM authentication t WHERE t.session_id = w.session_id AND t.completed_at IS NULL)`,
};

const resolveReported: Statement = {
  name: "resolve_reported_work_items",
  text: `
    UPDATE work_item w SET resolved_at = app.clock()
    FROM payment_session s
    WHERE w.resolved_at IS NULL AND w.kind = 'CAPTURE_UNCONFIRMED' AND s.id = w.session_id
      AND (s.capture_confirmed OR EXISTS (
        SELECT FROM work_item f
        WHERE f.session_id = w.session_id AND f.attempt_id = w.attempt_id AND f.kind = 'CAPTURE_FAILED'))`,
};

type Unanswered = {
  kind: Extract<
    WorkItemKind,
    "VOID_UNANSWERED" | "CAPTURE_UNANSWERED" | "CAPTURE_UNCONFIRMED" | "ACTION_OVERDUE" | "HOLD_OVERDUE"
  >;
  sessionId: SessionId;
  /** Null for an authentication at a provider. */
  attemptId: AttemptId | null;
  gateway: string;
  since: Date;
  retries: number;
  /** True for a hold that was made before a restore, which may have lost the order of its capture. */
  orderMayBeLost: boolean | null;
};

// Attempts of each kind in one turn; a gateway that is down for an hour may leave thousands.
const batch = 100;

const timelineAlarm =
  "the database was promoted, or restored into another cluster, and may have lost commits: no session is submitted, taken over or expired until " +
  "`switchyard restore confirm` or `switchyard restore declare`";

/**
 * Raises an alarm for each void, capture, hold and customer's action that has waited too long, and resolves those that were
 * answered, reported or given up after all. Also raises one for a promotion while it is not confirmed. Returns true when there may be more.
 */
export async function raiseAlarmsOnce(core: Core): Promise<boolean> {
  const { database } = core;
  if ((await findUnconfirmedTimeline(database)) !== undefined) {
    core.log.error({ alarm: "TIMELINE_CHANGED" }, timelineAlarm);
  }
  await database.query(resolveAnswered, []);
  await database.query(resolveAuthenticated, []);
  await database.query(resolveReported, []);
  await alarmSilentDisputesOnce(core);
  const bounds = [voidAlarmMs, captureAlarmMs, batch, workItemQuietMs, actionAlarmMs, holdAlarmMs];
  const unanswered = await database.query<Unanswered>(selectUnanswered, bounds);
  const unconfirmed = await database.query<Unanswered>(selectUnconfirmed, [confirmationAlarmMs, batch]);
  for (const found of [...unanswered, ...unconfirmed]) {
    const { kind, sessionId, attemptId } = found;
    const detail = lostOrderOf(core, found) ?? describe(found);
    await openWorkItem(database, core, { kind, sessionId, ...(attemptId && { attemptId }), detail });
  }
  return unanswered.length === batch || unconfirmed.length === batch;
}

/** Describes a hold whose capture may have been ordered before a restore, at a gateway that cannot be read. */
function lostOrderOf(
  core: Core,
  { gateway, sessionId, attemptId, since, orderMayBeLost }: Unanswered,
): string | undefined {
  if (!orderMayBeLost || attemptId === null || core.connectorOf(gateway)?.canRead) return undefined;
  const session = encodeId("ps", sessionId);
  const attempt = encodeId("att", attemptId);
  return (
    `A restore may have lost the order of this capture, and ${gateway} has confirmed no void since ${since.toISOString()}. Look the payment up there. ` +
    `Captured: \`switchyard restore adopt --session ${session} --attempt ${attempt} --captured REFERENCE --amount AMOUNT\`. ` +
    `Not captured: end the attempt as abandoned, on the payment's page or by \`switchyard rpc PaymentService/DecideAttempt\`.`
  );
}

function describe({ kind, gateway, since, retries }: Unanswered): string {
  const at = since.toISOString();
  switch (kind) {
    case "VOID_UNANSWERED":
      return `${gateway} has not confirmed a void that was first requested at ${at}. Requests so far: ${retries}.`;
    case "CAPTURE_UNANSWERED":
      return `${gateway} has not confirmed a capture that was first requested at ${at}. Requests so far: ${retries}.`;
    case "ACTION_OVERDUE":
      return `The customer could act for ${gateway} until ${at}, and no worker has given that up since.`;
    case "HOLD_OVERDUE":
      return `The hold at ${gateway} could be captured until ${at}, and no worker has ended it since.`;
    case "CAPTURE_UNCONFIRMED":
      return `${gateway} accepted the capture at ${at} and has reported neither its success nor its failure.`;
    default:
      return unreachable(kind);
  }
}
