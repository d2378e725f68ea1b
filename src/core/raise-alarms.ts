/** Finds voids and captures that a gateway leaves unanswered. By time alone, so an attempt that cannot even be asked about is found too. */
import { captureAlarmMs, voidAlarmMs } from "../limits.ts";
import type { Statement } from "../platform/database.ts";
import type { Core } from "./core.ts";
import { openWorkItem, type WorkItemKind } from "./work-items.ts";

const selectUnanswered: Statement = {
  name: "select_unanswered_attempts",
  text: `
    SELECT late.kind, late.session_id AS "sessionId", late.id AS "attemptId", late.gateway, late.since, late.tries
    FROM (
      SELECT 'VOID_UNANSWERED' AS kind, session_id, id, gateway, tries, voiding_at AS since FROM attempt
      WHERE status = 'VOIDING' AND voiding_at <= app.clock() - $1 * interval '1 ms'
      UNION ALL
      SELECT 'CAPTURE_UNANSWERED', session_id, id, gateway, tries, capture_started_at FROM attempt
      WHERE status = 'AUTHORIZED' AND capture_started_at <= app.clock() - $2 * interval '1 ms') late
    WHERE NOT EXISTS (
      SELECT FROM work_item w
      WHERE w.session_id = late.session_id AND w.attempt_id = late.id AND w.kind = late.kind)
    ORDER BY late.since LIMIT $3`,
};

const resolveAnswered: Statement = {
  name: "resolve_answered_work_items",
  text: `
    UPDATE work_item w SET resolved_at = app.clock()
    FROM attempt a
    WHERE w.resolved_at IS NULL AND w.kind IN ('VOID_UNANSWERED','CAPTURE_UNANSWERED')
      AND a.session_id = w.session_id AND a.id = w.attempt_id
      AND a.status <> CASE w.kind WHEN 'VOID_UNANSWERED' THEN 'VOIDING' ELSE 'AUTHORIZED' END`,
};

type Unanswered = {
  kind: Extract<WorkItemKind, "VOID_UNANSWERED" | "CAPTURE_UNANSWERED">;
  sessionId: string;
  attemptId: string;
  gateway: string;
  since: Date;
  tries: number;
};

// One turn's share; a gateway that is down for an hour may leave thousands.
const batch = 100;

/**
 * Raises an alarm for each void and capture that has waited too long, and notes those that were answered after all.
 * True when there may be more.
 */
export async function raiseAlarmsOnce(core: Core): Promise<boolean> {
  await core.database.query(resolveAnswered, []);
  const found = await core.database.query<Unanswered>(selectUnanswered, [voidAlarmMs, captureAlarmMs, batch]);
  for (const { kind, sessionId, attemptId, gateway, since, tries } of found) {
    const what = kind === "VOID_UNANSWERED" ? "give the hold back" : "capture";
    const detail = `${gateway} has been asked to ${what} since ${since.toISOString()} and has not done so; tries: ${tries}.`;
    await openWorkItem(core.database, core, { kind, sessionId, attemptId, detail });
  }
  return found.length === batch;
}
