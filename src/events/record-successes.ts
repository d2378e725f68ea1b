/** Records many successful deliveries in one commit, each with the same effect as in record-delivery.ts. */
import type { Database, Statement, Tx } from "../platform/database.ts";
import { windowMax } from "./endpoint-health.ts";
import type { Attempt, Leased, RecordedAttempt } from "./record-delivery.ts";

/** An attempt that was answered with 2xx. */
export type Success = {
  readonly claimed: Leased;
  readonly attempt: Attempt & { readonly id: string };
  readonly slow: boolean;
};

const recordAll: Statement = {
  name: "record_delivery_successes",
  text: `WITH succeeded AS (
           SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::int[], $7::int[], $8::text[], $9::uuid[])
             AS t (event_id, id, endpoint_id, lease_token, started_at, duration_ms, status_code, answer, session_id)
         ), mine AS (
           UPDATE delivery d
           SET status = 'SUCCEEDED', tries = d.tries + 1, next_at = NULL, lease_token = NULL, ended_at = app.clock()
           FROM succeeded t
           WHERE d.session_id = ANY ($9) AND d.session_id = t.session_id AND d.event_id = t.event_id
             AND d.endpoint_id = t.endpoint_id AND d.lease_token = t.lease_token
           RETURNING d.event_id, t.id, d.endpoint_id, t.started_at, t.duration_ms, t.status_code, t.answer, d.ended_at
         ), logged AS (
           INSERT INTO delivery_attempt (event_id, id, endpoint_id, started_at, duration_ms, status_code, answer)
           SELECT event_id, id, endpoint_id, started_at, duration_ms, status_code, answer FROM mine
         )
         SELECT mine.id, mine.ended_at AS "acceptedAt", e.in_flight_max < ${windowMax} OR e.failures_in_row > 0 AS "isBelowItsBest"
         FROM mine JOIN endpoint e ON e.id = mine.endpoint_id`,
};

// In the order that all workers use, so they cannot deadlock.
const lockInOrder: Statement = {
  name: "lock_successful_endpoints",
  text: "SELECT FROM endpoint WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE",
};
// Has the same effect as recording each success by itself: a slow answer halves the window, any other widens it by one.
const recordHealth: Statement = {
  name: "record_endpoint_successes",
  text: `UPDATE endpoint e
         SET in_flight_max = CASE WHEN s.slow > 0 THEN greatest(1, e.in_flight_max / (1 << least(s.slow, 6)))
                                  ELSE least(${windowMax}, e.in_flight_max + s.count) END,
             failures_in_row = 0, failing_since = NULL, probe_at = NULL
         FROM unnest($1::uuid[], $2::int[], $3::int[]) AS s (id, count, slow) WHERE e.id = s.id`,
};

type Row = { readonly id: string; readonly acceptedAt: Date; readonly isBelowItsBest: boolean };

/**
 * Records successes under their leases, in the given order: deliveries, log lines and endpoints together. Successes
 * whose lease was lost are skipped.
 */
export async function recordSuccesses(database: Database, successes: readonly Success[]): Promise<RecordedAttempt[]> {
  const columns = successes.map(({ claimed, attempt }) => [
    ...[claimed.event_id, attempt.id, claimed.endpoint_id, claimed.lease_token, attempt.startedAt, attempt.durationMs],
    ...(attempt.kind === "answered" ? [attempt.statusCode, attempt.answer] : [null, null]),
    claimed.session_id,
  ]);
  const values = columns[0]!.map((_, column) => columns.map((row) => row[column]));
  return database.transaction(async (tx) => {
    const rows = new Map((await tx.query<Row>(recordAll, values)).map((row) => [row.id, row]));
    await recordEndpoints(
      tx,
      successes.filter(({ attempt, slow }) => rows.has(attempt.id) && (slow || rows.get(attempt.id)!.isBelowItsBest)),
    );
    return successes.map(({ attempt }) => {
      const row = rows.get(attempt.id);
      return { recorded: row !== undefined, disabledReason: null, acceptedAt: row?.acceptedAt ?? null };
    });
  });
}

async function recordEndpoints(tx: Tx, successes: readonly Success[]): Promise<void> {
  if (successes.length === 0) return;
  const byEndpoint = [...Map.groupBy(successes, ({ claimed }) => claimed.endpoint_id)];
  const ids = byEndpoint.map(([id]) => id);
  await tx.query(lockInOrder, [ids]);
  const slow = byEndpoint.map(([, ofIt]) => ofIt.filter((success) => success.slow).length);
  await tx.query(recordHealth, [ids, byEndpoint.map(([, ofIt]) => ofIt.length), slow]);
}
