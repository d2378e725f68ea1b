/**
 * Reconciliation passes over the attempts of the last day: opens them, shares them among workers and counts their
 * results. This file reconciles nothing itself.
 */

import type { Core } from "../core/core.ts";
import { type Attempt, AttemptEntity } from "../core/rows/entities.ts";
import { heldInSql } from "../core/rows/payment.ts";
import {
  reconciliationEveryMs,
  reconciliationLagMs,
  reconciliationLeaseMs,
  reconciliationSliceAttempts,
  reconciliationWindowMs,
} from "../limits.ts";
import { columnsOf } from "../platform/columns.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { ReconciliationId } from "../platform/ids.ts";

/** The counts of a pass. `attempts` is the sum of `read`, `byNotifications` and `inconclusive`. */
export type ReconciliationCounts = {
  readonly attempts: number;
  readonly read: number;
  readonly byNotifications: number;
  readonly inconclusive: number;
  readonly mismatches: number;
  readonly orphans: number;
};

/** A pass; its counts grow until it is finished. */
export type ReconciliationRun = ReconciliationCounts & {
  readonly id: ReconciliationId;
  readonly startedAt: Date;
  readonly windowFrom: Date;
  readonly windowTo: Date;
  readonly finishedAt: Date | null;
};

/** A share of a pass that this worker has leased. */
export type ReconciliationSlice = {
  readonly runId: ReconciliationId;
  readonly id: string;
  readonly leaseToken: string;
};

/** An attempt to reconcile, as of its reading. `changedAt` has the database's own precision. */
export type ReconciledAttempt = Attempt & {
  readonly changedAt: string;
  readonly captureConfirmed: boolean;
  readonly isHeld: boolean;
  readonly hasMismatch: boolean;
};

const insertRun: Statement = {
  name: "insert_reconciliation_run",
  text: `
    INSERT INTO reconciliation_run (id, started_at, window_from, window_to)
    SELECT $1, now, now - $2 * interval '1 ms', now - $3 * interval '1 ms' FROM app.clock() AS now
    WHERE NOT EXISTS (
      SELECT FROM reconciliation_run WHERE finished_at IS NULL OR started_at > now - $4 * interval '1 ms')
    ON CONFLICT DO NOTHING RETURNING id`,
};

/**
 * Opens a pass when the last one began an hour ago and is finished. The first worker to call it opens the pass. Returns true
 * if this call did.
 */
export async function openRunIfDue(core: Core): Promise<boolean> {
  const values = [core.runtime.uuid(), reconciliationWindowMs, reconciliationLagMs, reconciliationEveryMs];
  return (await core.database.query(insertRun, values)).length > 0;
}

const retakeSlice: Statement = {
  name: "retake_reconciliation_slice",
  text: `
    UPDATE reconciliation_slice SET lease_token = $1, lease_until = app.clock() + $2 * interval '1 ms'
    WHERE (run_id, id) = (
      SELECT run_id, id FROM reconciliation_slice WHERE lease_until <= app.clock()
      ORDER BY run_id, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING run_id AS "runId", id, lease_token AS "leaseToken"`,
};

// Attempts in the order of their last change. A change only moves an attempt out of the window, into the next pass.
const cutSlice: Statement = {
  name: "cut_reconciliation_slice",
  text: `
    WITH run AS (
      SELECT id, window_to, coalesce(cut_changed_at, window_from) AS from_changed_at,
        coalesce(cut_attempt_id, '00000000-0000-0000-0000-000000000000') AS from_attempt_id
      FROM reconciliation_run WHERE finished_at IS NULL AND NOT all_cut FOR UPDATE),
    cut AS (
      SELECT a.changed_at, a.id FROM run CROSS JOIN LATERAL (
        SELECT changed_at, id FROM attempt
        WHERE (changed_at, id) > (run.from_changed_at, run.from_attempt_id) AND changed_at <= run.window_to
        ORDER BY changed_at, id LIMIT $4) a),
    last AS (SELECT changed_at, id FROM cut ORDER BY changed_at DESC, id DESC LIMIT 1),
    moved AS (
      UPDATE reconciliation_run r
      SET cut_changed_at = coalesce(last.changed_at, r.cut_changed_at),
          cut_attempt_id = coalesce(last.id, r.cut_attempt_id),
          all_cut = (SELECT count(*) FROM cut) < $4
      FROM run LEFT JOIN last ON true WHERE r.id = run.id)
    INSERT INTO reconciliation_slice (run_id, id, from_changed_at, from_attempt_id, to_changed_at, to_attempt_id,
                                  lease_token, lease_until)
    SELECT run.id, $1, run.from_changed_at, run.from_attempt_id, last.changed_at, last.id, $2,
      app.clock() + $3 * interval '1 ms'
    FROM run CROSS JOIN last
    RETURNING run_id AS "runId", id, lease_token AS "leaseToken"`,
};

/** Takes a slice of the open pass: one that a worker left behind, or the next. Returns undefined when there is none. */
export async function takeSlice(core: Core): Promise<ReconciliationSlice | undefined> {
  const { database, runtime } = core;
  const token = runtime.uuid();
  const [left] = await database.query<ReconciliationSlice>(retakeSlice, [token, reconciliationLeaseMs]);
  if (left !== undefined) return left;
  const values = [runtime.uuid(), token, reconciliationLeaseMs, reconciliationSliceAttempts];
  const [next] = await database.query<ReconciliationSlice>(cutSlice, values);
  return next;
}

const selectSlice: Statement = {
  name: "select_attempts_of_reconciliation_slice",
  text: `
    SELECT ${columnsOf(AttemptEntity, "a")}, a.changed_at::text AS "changedAt",
      coalesce(s.capture_confirmed, false) AS "captureConfirmed",
      ${heldInSql} AND s.winner_attempt_id IS NOT DISTINCT FROM a.id AS "isHeld",
      EXISTS (SELECT FROM work_item w WHERE w.session_id = a.session_id AND w.attempt_id = a.id
              AND w.kind = 'RECORD_MISMATCH' AND w.resolved_at IS NULL) AS "hasMismatch"
    FROM reconciliation_slice c
    JOIN attempt a ON (a.changed_at, a.id) > (c.from_changed_at, c.from_attempt_id)
                  AND (a.changed_at, a.id) <= (c.to_changed_at, c.to_attempt_id)
    JOIN payment_session s ON s.id = a.session_id
    WHERE c.run_id = $1 AND c.id = $2 AND a.amount_minor > 0 ORDER BY a.changed_at, a.id`,
};

/** Loads the attempts of a slice, without those that have changed since it was cut, and those of set-ups: a gateway's record of one has no money. */
export async function loadSlice(
  queryable: Queryable,
  { runId, id }: ReconciliationSlice,
): Promise<ReconciledAttempt[]> {
  return queryable.query<ReconciledAttempt>(selectSlice, [runId, id]);
}

const selectUnchanged: Statement = {
  name: "select_attempt_unchanged",
  text: "SELECT 1 FROM attempt WHERE session_id = $1 AND id = $2 AND changed_at = $3::timestamptz",
};

/**
 * Reports whether an attempt is unchanged since it was read; otherwise the gateway's answer may be about its new state.
 */
export async function isUnchanged(queryable: Queryable, attempt: ReconciledAttempt): Promise<boolean> {
  return (await queryable.query(selectUnchanged, [attempt.sessionId, attempt.id, attempt.changedAt])).length > 0;
}

const countSlice: Statement = {
  name: "count_reconciliation_slice",
  text: `
    WITH done AS (DELETE FROM reconciliation_slice WHERE run_id = $1 AND id = $2 AND lease_token = $3 RETURNING run_id)
    UPDATE reconciliation_run r
    SET attempts = attempts + $4 + $5 + $6, read = read + $4, by_notifications = by_notifications + $5,
        inconclusive = inconclusive + $6, mismatches = mismatches + $7, orphans = orphans + $8
    FROM done WHERE r.id = done.run_id`,
};

/** Adds a slice's counts to its pass, once: a late worker finds that another one has taken the slice. */
export async function recordSlice(
  queryable: Queryable,
  { runId, id, leaseToken }: ReconciliationSlice,
  counts: Omit<ReconciliationCounts, "attempts">,
): Promise<void> {
  const { read, byNotifications, inconclusive, mismatches, orphans } = counts;
  await queryable.query(countSlice, [runId, id, leaseToken, read, byNotifications, inconclusive, mismatches, orphans]);
}

const finishRun: Statement = {
  name: "finish_reconciliation_run",
  text: `
    UPDATE reconciliation_run r SET finished_at = app.clock()
    WHERE finished_at IS NULL AND all_cut AND NOT EXISTS (SELECT FROM reconciliation_slice WHERE run_id = r.id)`,
};

export async function finishRunIfCounted(queryable: Queryable): Promise<void> {
  await queryable.query(finishRun, []);
}

const selectRuns: Statement = {
  name: "select_reconciliation_runs",
  text: `
    SELECT id, started_at AS "startedAt", window_from AS "windowFrom", window_to AS "windowTo",
      finished_at AS "finishedAt", attempts, read, by_notifications AS "byNotifications", inconclusive AS "inconclusive",
      mismatches, orphans
    FROM reconciliation_run WHERE $1::uuid IS NULL OR id < $1 ORDER BY id DESC LIMIT $2`,
};

/** Returns a page of passes, newest first. `after` is the last id of the page before. */
export async function listReconciliationRuns(
  queryable: Queryable,
  page: { after: string | undefined; count: number },
): Promise<ReconciliationRun[]> {
  return queryable.query<ReconciliationRun>(selectRuns, [page.after ?? null, page.count]);
}
