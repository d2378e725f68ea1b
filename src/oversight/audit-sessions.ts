/**
 * Checks the database for violated invariants. The rules are in app.audit() (src/migrations/environment/audit.sql); this
 * file chooses the sessions that are checked.
 */

import type { Core } from "../core/core.ts";
import { isKnown, openWorkItem } from "../core/record/work-items.ts";
import { auditEveryMs, auditLookBackMs, auditSessionsMax, workItemQuietMs } from "../limits.ts";
import type { Statement } from "../platform/database.ts";
import type { AttemptId, SessionId } from "../platform/ids.ts";

export const auditRules = [
  "succeeded_without_capture",
  "captured_outside_succeeded",
  "two_capturable",
  "winner_without_hold",
  "open_after_end",
  "done_with_open_attempt",
  "amount_differs",
  "attempt_after_stop",
  "hold_after_fraud",
  "never_existed_too_early",
  "attempt_sequence_gap",
  "final_event",
  "event_sequence_gap",
  "card_kept_after_end",
  "authentication_open_after_end",
  "success_after_failed_authentication",
] as const;
export type AuditRule = (typeof auditRules)[number];

export type Violation = {
  readonly rule: AuditRule;
  readonly sessionId: SessionId;
  /** Null where the violation is about the session as a whole. */
  readonly attemptId: AttemptId | null;
};

// Each turn takes the next sessions by id, and begins again after the last: all sessions at 5,000 a minute, which is 7
// million a day. The cost of a turn is therefore the same however many sessions there are, at every hour.
const walkOn: Statement = {
  name: "walk_on_with_audit",
  text: `
    WITH walk AS (
      SELECT session_id FROM audit_walk
      WHERE audited_at IS NULL OR audited_at <= app.clock() - $1 * interval '1 ms' FOR UPDATE SKIP LOCKED),
    next AS (
      SELECT s.id FROM walk CROSS JOIN LATERAL (
        SELECT id FROM payment_session WHERE id > walk.session_id ORDER BY id LIMIT $2) s),
    moved AS (
      UPDATE audit_walk SET audited_at = app.clock(), session_id = CASE
        WHEN (SELECT count(*) FROM next) < $2 THEN '00000000-0000-0000-0000-000000000000'
        ELSE (SELECT id FROM next ORDER BY id DESC LIMIT 1) END
      WHERE EXISTS (SELECT FROM walk) RETURNING 1)
    SELECT ARRAY(SELECT id FROM next) AS ids FROM moved`,
};

// Recent changes, newest first, and sessions with a known violation, which may be repaired by now. The clock is a
// subselect: the volatile function itself gives an index no bound, and every attempt would be read.
const selectRecent: Statement = {
  name: "select_sessions_to_audit",
  text: `
    SELECT ARRAY(
      (SELECT session_id FROM attempt WHERE changed_at > (SELECT app.clock()) - $1 * interval '1 ms' ORDER BY changed_at DESC LIMIT $2)
      UNION
      (SELECT id FROM payment_session WHERE settled_at > (SELECT app.clock()) - $1 * interval '1 ms' ORDER BY settled_at DESC LIMIT $2)
      UNION
      (SELECT session_id FROM work_item WHERE kind = 'INVARIANT_VIOLATED' AND resolved_at IS NULL LIMIT $2)) AS ids`,
};

const selectViolations: Statement = {
  name: "select_violations",
  text: `
    SELECT v.rule, v.session_id AS "sessionId", v.attempt_id AS "attemptId",
      EXISTS (SELECT FROM work_item w
              WHERE w.session_id = v.session_id AND w.attempt_id IS NOT DISTINCT FROM v.attempt_id
              AND w.kind = 'INVARIANT_VIOLATED' AND w.rule = v.rule AND ${isKnown("$2")}) AS "isReported"
    FROM app.audit($1::uuid[]) v ORDER BY v.session_id, v.rule, v.attempt_id`,
};

const resolveMended: Statement = {
  name: "resolve_mended_violations",
  text: `
    UPDATE work_item w SET resolved_at = app.clock()
    WHERE w.kind = 'INVARIANT_VIOLATED' AND w.resolved_at IS NULL AND w.session_id = ANY ($1::uuid[])
      AND NOT EXISTS (SELECT FROM app.audit(ARRAY[w.session_id]) v
                      WHERE v.rule = w.rule AND v.attempt_id IS NOT DISTINCT FROM w.attempt_id)`,
};

type Found = Violation & { readonly isReported: boolean };

// A hundred violations at once show a person that something is badly broken. The others are reported in the turns that
// follow. Violations already reported do not count: a hundred lasting ones must not hide the next one.
const reportedMax = 100;

/**
 * Audits the sessions that changed in the last minutes, and the next ones of the walk over all sessions; one worker a
 * minute does this. Each violation raises an alarm and opens a row in the work queue. Returns the violations.
 */
export async function auditOnce(core: Core): Promise<readonly Violation[]> {
  const { database } = core;
  const [walked] = await database.query<{ ids: string[] }>(walkOn, [auditEveryMs, auditSessionsMax]);
  if (walked === undefined) return [];
  const [recent] = await database.query<{ ids: string[] }>(selectRecent, [auditLookBackMs, auditSessionsMax]);
  const checked = [...new Set([...walked.ids, ...(recent?.ids ?? [])])];
  const violations = await database.query<Found>(selectViolations, [checked, workItemQuietMs]);
  const news = violations.filter(({ isReported }) => !isReported).slice(0, reportedMax);
  for (const { rule, sessionId, attemptId } of news) {
    const detail = `The rule ${rule} of app.audit() does not hold.`;
    const item = { kind: "INVARIANT_VIOLATED", sessionId, attemptId: attemptId ?? undefined, rule, detail } as const;
    await openWorkItem(database, core, item);
  }
  await database.query(resolveMended, [checked]);
  return violations;
}
