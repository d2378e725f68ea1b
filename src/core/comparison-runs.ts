/** Passes over the attempts of the last day: who opens one, how workers share it, and what it came to. Compares nothing itself. */
import {
  comparisonEveryMs,
  comparisonLagMs,
  comparisonLeaseMs,
  comparisonSliceAttempts,
  comparisonWindowMs,
} from "../limits.ts";
import { columnsOf } from "../platform/columns.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { Core } from "./core.ts";
import { type Attempt, AttemptEntity } from "./entities.ts";

/** What a pass has seen. `attempts` is the sum of `read`, `byNotices` and `couldNotTell`. */
export type ComparisonCounts = {
  readonly attempts: number;
  readonly read: number;
  readonly byNotices: number;
  readonly couldNotTell: number;
  readonly mismatches: number;
  readonly strays: number;
};

/** One pass; its counts grow until it is finished. */
export type ComparisonRun = ComparisonCounts & {
  readonly id: string;
  readonly startedAt: Date;
  readonly windowFrom: Date;
  readonly windowTo: Date;
  readonly finishedAt: Date | null;
};

/** A share of a pass in this worker's hands. */
export type ComparisonSlice = { readonly runId: string; readonly id: string; readonly leaseToken: string };

/** An attempt to be compared, as it stood when it was read. `changedAt` has the database's own precision. */
export type ComparedAttempt = Attempt & {
  readonly changedAt: string;
  readonly captureConfirmed: boolean;
  readonly hasMismatch: boolean;
};

const insertRun: Statement = {
  name: "insert_comparison_run",
  text: `
    INSERT INTO comparison_run (id, started_at, window_from, window_to)
    SELECT $1, now, now - $2 * interval '1 ms', now - $3 * interval '1 ms' FROM app.clock() AS now
    WHERE NOT EXISTS (
      SELECT FROM comparison_run WHERE finished_at IS NULL OR started_at > now - $4 * interval '1 ms')
    ON CONFLICT DO NOTHING`,
};

/** Opens a pass when the last one began an hour ago and is finished; whoever comes first. */
export async function openRunIfDue(core: Core): Promise<void> {
  const values = [core.entropy.uuid(), comparisonWindowMs, comparisonLagMs, comparisonEveryMs];
  await core.database.query(insertRun, values);
}

const retakeSlice: Statement = {
  name: "retake_comparison_slice",
  text: `
    UPDATE comparison_slice SET lease_token = $1, lease_until = app.clock() + $2 * interval '1 ms'
    WHERE (run_id, id) = (
      SELECT run_id, id FROM comparison_slice WHERE lease_until <= app.clock()
      ORDER BY run_id, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING run_id AS "runId", id, lease_token AS "leaseToken"`,
};

// Attempts in the order of their last change, which only moves one out of the window: the next pass has it then.
const cutSlice: Statement = {
  name: "cut_comparison_slice",
  text: `
    WITH run AS (
      SELECT id, window_to, coalesce(cut_changed_at, window_from) AS from_changed_at,
        coalesce(cut_attempt_id, '00000000-0000-0000-0000-000000000000') AS from_attempt_id
      FROM comparison_run WHERE finished_at IS NULL AND NOT all_cut FOR UPDATE),
    cut AS (
      SELECT a.changed_at, a.id FROM run CROSS JOIN LATERAL (
        SELECT changed_at, id FROM attempt
        WHERE (changed_at, id) > (run.from_changed_at, run.from_attempt_id) AND changed_at <= run.window_to
        ORDER BY changed_at, id LIMIT $4) a),
    last AS (SELECT changed_at, id FROM cut ORDER BY changed_at DESC, id DESC LIMIT 1),
    moved AS (
      UPDATE comparison_run r
      SET cut_changed_at = coalesce(last.changed_at, r.cut_changed_at),
          cut_attempt_id = coalesce(last.id, r.cut_attempt_id),
          all_cut = (SELECT count(*) FROM cut) < $4
      FROM run LEFT JOIN last ON true WHERE r.id = run.id)
    INSERT INTO comparison_slice (run_id, id, from_changed_at, from_attempt_id, to_changed_at, to_attempt_id,
                                  lease_token, lease_until)
    SELECT run.id, $1, run.from_changed_at, run.from_attempt_id, last.changed_at, last.id, $2,
      app.clock() + $3 * interval '1 ms'
    FROM run CROSS JOIN last
    RETURNING run_id AS "runId", id, lease_token AS "leaseToken"`,
};

/** A slice of the open pass: one that a worker left behind, or the next; undefined when there is none. */
export async function takeSlice(core: Core): Promise<ComparisonSlice | undefined> {
  const { database, entropy } = core;
  const token = entropy.uuid();
  const [left] = await database.query<ComparisonSlice>(retakeSlice, [token, comparisonLeaseMs]);
  if (left !== undefined) return left;
  const values = [entropy.uuid(), token, comparisonLeaseMs, comparisonSliceAttempts];
  const [next] = await database.query<ComparisonSlice>(cutSlice, values);
  return next;
}

const selectSlice: Statement = {
  name: "select_attempts_of_comparison_slice",
  text: `
    SELECT ${columnsOf(AttemptEntity, "a")}, a.changed_at::text AS "changedAt",
      coalesce(s.capture_confirmed, false) AS "captureConfirmed",
      EXISTS (SELECT FROM work_item w WHERE w.session_id = a.session_id AND w.attempt_id = a.id
              AND w.kind = 'RECORD_MISMATCH' AND w.resolved_at IS NULL) AS "hasMismatch"
    FROM comparison_slice c
    JOIN attempt a ON (a.changed_at, a.id) > (c.from_changed_at, c.from_attempt_id)
                  AND (a.changed_at, a.id) <= (c.to_changed_at, c.to_attempt_id)
    JOIN payment_session s ON s.id = a.session_id
    WHERE c.run_id = $1 AND c.id = $2 ORDER BY a.changed_at, a.id`,
};

/** The attempts of a slice, without those that have changed since it was cut. */
export async function loadSlice(queryable: Queryable, { runId, id }: ComparisonSlice): Promise<ComparedAttempt[]> {
  return queryable.query<ComparedAttempt>(selectSlice, [runId, id]);
}

const selectUnchanged: Statement = {
  name: "select_attempt_unchanged",
  text: "SELECT 1 FROM attempt WHERE session_id = $1 AND id = $2 AND changed_at = $3::timestamptz",
};

/** Whether an attempt still stands as it was read: otherwise what the gateway said may be about its new state. */
export async function isUnchanged(queryable: Queryable, attempt: ComparedAttempt): Promise<boolean> {
  return (await queryable.query(selectUnchanged, [attempt.sessionId, attempt.id, attempt.changedAt])).length > 0;
}

const countSlice: Statement = {
  name: "count_comparison_slice",
  text: `
    WITH done AS (DELETE FROM comparison_slice WHERE run_id = $1 AND id = $2 AND lease_token = $3 RETURNING run_id)
    UPDATE comparison_run r
    SET attempts = attempts + $4 + $5 + $6, read = read + $4, by_notices = by_notices + $5,
        could_not_tell = could_not_tell + $6, mismatches = mismatches + $7, strays = strays + $8
    FROM done WHERE r.id = done.run_id`,
};

/** Adds a slice's counts to its pass, once: a worker that comes late finds that another one had taken it. */
export async function recordSlice(
  queryable: Queryable,
  { runId, id, leaseToken }: ComparisonSlice,
  counts: Omit<ComparisonCounts, "attempts">,
): Promise<void> {
  const { read, byNotices, couldNotTell, mismatches, strays } = counts;
  await queryable.query(countSlice, [runId, id, leaseToken, read, byNotices, couldNotTell, mismatches, strays]);
}

const finishRun: Statement = {
  name: "finish_comparison_run",
  text: `
    UPDATE comparison_run r SET finished_at = app.clock()
    WHERE finished_at IS NULL AND all_cut AND NOT EXISTS (SELECT FROM comparison_slice WHERE run_id = r.id)`,
};

/** Finishes the pass when every slice of it is counted. */
export async function finishRunIfCounted(queryable: Queryable): Promise<void> {
  await queryable.query(finishRun, []);
}

const selectRuns: Statement = {
  name: "select_comparison_runs",
  text: `
    SELECT id, started_at AS "startedAt", window_from AS "windowFrom", window_to AS "windowTo",
      finished_at AS "finishedAt", attempts, read, by_notices AS "byNotices", could_not_tell AS "couldNotTell",
      mismatches, strays
    FROM comparison_run WHERE $1::uuid IS NULL OR id < $1 ORDER BY id DESC LIMIT $2`,
};

/** A page of passes, newest first. `after` is the last id of the page before. */
export async function listComparisonRuns(
  queryable: Queryable,
  page: { after: string | undefined; count: number },
): Promise<ComparisonRun[]> {
  return queryable.query<ComparisonRun>(selectRuns, [page.after ?? null, page.count]);
}
