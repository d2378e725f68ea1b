/** Writes many webhooks that were taken in one commit; record-delivery.ts says what one comes to. */
import type { Database, Statement, Tx } from "../platform/database.ts";
import type { Leased, RecordedTry, Try } from "./record-delivery.ts";

/** A try that was answered with 2xx. */
export type Success = {
  readonly claimed: Leased;
  readonly tried: Try & { readonly id: string };
  readonly slow: boolean;
};

const recordAll: Statement = {
  name: "record_delivery_successes",
  text: `WITH tried AS (
           SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::int[], $7::int[], $8::text[], $9::uuid[])
             AS t (event_id, id, endpoint_id, lease_token, started_at, duration_ms, status_code, answer, session_id)
         ), mine AS (
           UPDATE delivery d
           SET status = 'SUCCEEDED', tries = d.tries + 1, next_at = NULL, lease_token = NULL, ended_at = app.clock()
           FROM tried t
           WHERE d.session_id = ANY ($9) AND d.session_id = t.session_id AND d.event_id = t.event_id
             AND d.endpoint_id = t.endpoint_id AND d.lease_token = t.lease_token
           RETURNING d.event_id, t.id, d.endpoint_id, t.started_at, t.duration_ms, t.status_code, t.answer, d.ended_at
         ), logged AS (
           INSERT INTO delivery_attempt (event_id, id, endpoint_id, started_at, duration_ms, status_code, answer)
           SELECT event_id, id, endpoint_id, started_at, duration_ms, status_code, answer FROM mine
         )
         SELECT mine.id, mine.ended_at AS "takenAt", e.in_flight_max < 64 OR e.failures_in_row > 0 AS "isBelowItsBest"
         FROM mine JOIN endpoint e ON e.id = mine.endpoint_id`,
};

// In an order that all workers keep to, so that none of them waits for another in a circle.
const lockInOrder: Statement = {
  name: "lock_successful_endpoints",
  text: "SELECT FROM endpoint WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE",
};
// As each success by itself would do it: an answer that took long halves the window, any other widens it by one.
const recordHealth: Statement = {
  name: "record_endpoint_successes",
  text: `UPDATE endpoint e
         SET in_flight_max = CASE WHEN s.slow > 0 THEN greatest(1, e.in_flight_max / (1 << least(s.slow, 6)))
                                  ELSE least(64, e.in_flight_max + s.count) END,
             failures_in_row = 0, failing_since = NULL, probe_at = NULL
         FROM unnest($1::uuid[], $2::int[], $3::int[]) AS s (id, count, slow) WHERE e.id = s.id`,
};

type Row = { readonly id: string; readonly takenAt: Date; readonly isBelowItsBest: boolean };

/**
 * Records them under their leases, in the order given: deliveries, log lines and endpoints together. Whose lease was lost
 * is left out.
 */
export async function recordSuccesses(database: Database, successes: readonly Success[]): Promise<RecordedTry[]> {
  const columns = successes.map(({ claimed, tried }) => [
    ...[claimed.event_id, tried.id, claimed.endpoint_id, claimed.lease_token, tried.startedAt, tried.durationMs],
    ...(tried.kind === "answered" ? [tried.statusCode, tried.answer] : [null, null]),
    claimed.session_id,
  ]);
  const values = columns[0]!.map((_, column) => columns.map((row) => row[column]));
  return database.transaction(async (tx) => {
    const rows = new Map((await tx.query<Row>(recordAll, values)).map((row) => [row.id, row]));
    await recordEndpoints(
      tx,
      successes.filter(({ tried, slow }) => rows.has(tried.id) && (slow || rows.get(tried.id)!.isBelowItsBest)),
    );
    return successes.map(({ tried }) => {
      const row = rows.get(tried.id);
      return { recorded: row !== undefined, disabledBecause: null, takenAt: row?.takenAt ?? null };
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
