/**
 * Records the result of a delivery attempt: the log line, the time of the next attempt, and the endpoint's health.
 * Successes that end while others are written are written together afterwards.
 */

import type { Database, Queryable, Statement, Tx } from "../platform/database.ts";
import type { EndpointId, EventId, SessionId } from "../platform/ids.ts";
import type { NoAnswer } from "./egress.ts";
import { breakerOpensAt, breakerPausesMs, disabledAfter, windowMax } from "./endpoint-health.ts";
import type { NextAttempt } from "./retry-schedule.ts";

/** A POST: its start, its duration and its answer. `answer` is the beginning of the body, redacted. */
export type Attempt = { readonly startedAt: Date; readonly durationMs: number } & (
  | { readonly type: "answered"; readonly statusCode: number; readonly retryAfterMs?: number; readonly answer: string }
  | { readonly type: "noAnswer"; readonly reason: NoAnswer }
);

export type NumberedAttempt = Attempt & { readonly id: string };

/** The meaning of an attempt for its delivery. `gone` (410) follows the schedule too. */
export type AttemptVerdict =
  | { readonly type: "succeeded"; readonly slow: boolean }
  | { readonly type: "failed"; readonly gone: boolean; readonly next: NextAttempt };

export type RecordedAttempt = {
  /** False when the lease had ended and another worker has the delivery: nothing was written. */
  readonly recorded: boolean;
  /** Set when this attempt disabled the endpoint. */
  readonly disabledReason: "GONE" | "FAILING" | null;
  /** Time at which a 2xx answer was recorded, by the database's clock. */
  readonly acceptedAt: Date | null;
};

export type LeasedDelivery = {
  readonly sessionId: SessionId;
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  readonly leaseToken: string;
  /** True when the endpoint's breaker was open at the time of the claim. */
  readonly isProbe: boolean;
};

type Success = {
  readonly claimed: LeasedDelivery;
  readonly attempt: NumberedAttempt;
  readonly slow: boolean;
};

// A success that waits for its commit.
type Waiting = Success & PromiseWithResolvers<RecordedAttempt>;

// A few milliseconds of one connection, and the number of webhooks that a failed commit repeats.
const batchAttempts = 100;
// A quarter of a worker's connections, so results do not queue behind a single slow commit.
const writersMax = 4;

/** Records the attempts of one worker. Successes are batched opportunistically; a single one is written at once. */
export class AttemptRecorder {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #writers = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Records an attempt. Resolves when it is durable, or its lease is known to be lost. */
  record(claimed: LeasedDelivery, attempt: NumberedAttempt, verdict: AttemptVerdict): Promise<RecordedAttempt> {
    if (verdict.type === "failed") return recordAttempt(this.#database, claimed, attempt, verdict);
    const waiting = { claimed, attempt, slow: verdict.slow, ...Promise.withResolvers<RecordedAttempt>() };
    this.#waiting.push(waiting);
    if (this.#writers < writersMax) void this.#writeAll();
    return waiting.promise;
  }

  async #writeAll(): Promise<void> {
    this.#writers += 1;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchAttempts);
      await this.#write(batch).then(
        (written) => batch.forEach((one, index) => void one.resolve(written[index]!)),
        (error: unknown) => batch.forEach((one) => void one.reject(error)),
      );
    }
    this.#writers -= 1;
  }

  #write(batch: readonly Waiting[]): Promise<RecordedAttempt[]> {
    const [{ claimed, attempt, slow }] = batch as readonly [Waiting];
    if (batch.length > 1) return recordSuccesses(this.#database, batch);
    return recordAttempt(this.#database, claimed, attempt, { type: "succeeded", slow }).then((written) => [written]);
  }
}

/** Inserts the log line of an attempt without a lease: of a verification or a replay. */
export const insertDeliveryAttempt: Statement = {
  name: "insert_delivery_attempt",
  text: `INSERT INTO delivery_attempt (event_id, id, endpoint_id, started_at, duration_ms, status_code, no_answer, answer)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

/** Inserts the one attempt of a test event, which has no delivery; values as above. */
export const insertTestAttempt: Statement = {
  name: "insert_test_attempt",
  text: `INSERT INTO delivery_attempt
           (event_id, id, endpoint_id, started_at, duration_ms, status_code, no_answer, answer, is_test)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, true)`,
};

/** Returns the columns of an attempt after its event, its own id and its endpoint. */
export function attemptColumns(attempt: Attempt): unknown[] {
  const when = [attempt.startedAt, attempt.durationMs];
  return attempt.type === "answered"
    ? [...when, attempt.statusCode, null, attempt.answer]
    : [...when, null, attempt.reason, null];
}

// $1 event, $2 attempt id, $3 endpoint, $4–$8 the attempt, $9 lease, $10 session. One statement, so a delivery costs
// one commit.
const logAttempt = `logged AS (
  INSERT INTO delivery_attempt (event_id, id, endpoint_id, started_at, duration_ms, status_code, no_answer, answer)
  SELECT event_id, $2::uuid, endpoint_id, $4::timestamptz, $5::int, $6::int, $7::text, $8::text FROM mine
)`;

// A full-size window without failures is not updated: one hot row must not slow a healthy endpoint.
const recordSuccess: Statement = {
  name: "record_delivery_success",
  partitionKey: 10,
  text: `WITH mine AS (
           UPDATE delivery
           SET status = 'SUCCEEDED', tries = tries + 1, next_at = NULL, lease_token = NULL, ended_at = app.clock()
           WHERE session_id = $10 AND event_id = $1 AND endpoint_id = $3 AND lease_token = $9
           RETURNING event_id, endpoint_id, ended_at
         ), ${logAttempt}, health AS (
           UPDATE endpoint e
           SET in_flight_max = CASE WHEN $11 THEN greatest(1, e.in_flight_max / 2) ELSE least(${windowMax}, e.in_flight_max + 1) END,
               failures_in_row = 0, failing_since = NULL, probe_at = NULL
           FROM mine WHERE e.id = mine.endpoint_id AND ($11 OR e.in_flight_max < ${windowMax} OR e.failures_in_row > 0)
         )
         SELECT true AS recorded, NULL AS "disabledReason", ended_at AS "acceptedAt" FROM mine`,
};

// The breaker has opened since this post was claimed: the post met the same outage as those that opened it.
const metSameOutage = "(e.probe_at IS NOT NULL AND NOT $13)";

// The reason for which this attempt disables the endpoint, if it does.
const disableReason = `CASE WHEN $12 THEN 'GONE'
  WHEN e.failing_since < mine.recorded_at - interval '${disabledAfter.days} days'
    AND e.failures_in_row + 1 >= ${disabledAfter.failures} THEN 'FAILING' END`;

/**
 * Applies endpoint-health.ts to a failure. Posts in progress when the breaker opened do not count: a short outage that
 * a whole window meets counts as one failure too many, not sixty. Only an endpoint that is posted to is updated: one
 * with a new URL is not affected by answers of its old URL, and of many attempts that end together only one disables
 * it. The owner's alert (endpoint-alerts.ts) is part of the disabling and has the attempt's id. The endpoint is updated
 * without a lock before it: a statement that takes both locks the row's newest version and then waits at the older one
 * that it saw first. While new deliveries share the row, two such statements wait for each other.
 */
const recordFailure: Statement = {
  name: "record_delivery_failure",
  partitionKey: 10,
  text: `WITH mine AS (
           UPDATE delivery
           SET status = CASE WHEN $11::float8 IS NULL THEN 'EXHAUSTED' ELSE 'PENDING' END, tries = tries + 1,
               next_at = app.clock() + $11::float8 * interval '1 millisecond', lease_token = NULL,
               ended_at = CASE WHEN $11::float8 IS NULL THEN app.clock() END
           WHERE session_id = $10 AND event_id = $1 AND endpoint_id = $3 AND lease_token = $9
           RETURNING event_id, endpoint_id, app.clock() AS recorded_at
         ), ${logAttempt}, health AS (
           UPDATE endpoint e
           SET in_flight_max = greatest(1, e.in_flight_max / 2),
               failures_in_row = e.failures_in_row + CASE WHEN ${metSameOutage} THEN 0 ELSE 1 END,
               failing_since = coalesce(e.failing_since, mine.recorded_at),
               probe_at = CASE WHEN ${metSameOutage} THEN e.probe_at WHEN e.failures_in_row + 1 >= ${breakerOpensAt} THEN mine.recorded_at +
                 (ARRAY[${breakerPausesMs}])[least(e.failures_in_row + 2 - ${breakerOpensAt}, ${breakerPausesMs.length})] * interval '1 ms' END,
               status = CASE WHEN ${disableReason} IS NULL THEN e.status ELSE 'DISABLED' END,
               disabled_at = CASE WHEN ${disableReason} IS NULL THEN e.disabled_at ELSE mine.recorded_at END,
               disabled_reason = ${disableReason}
           FROM mine WHERE e.id = mine.endpoint_id AND e.status IN ('ENABLED','PAUSED')
           RETURNING e.id, e.merchant_id, e.failing_since, e.disabled_reason AS reason
         ), alerted AS (
           INSERT INTO alert (id, merchant_id, endpoint_id, kind, since, status_code, no_answer)
           SELECT $2, merchant_id, id, 'DISABLED_' || reason, failing_since, $6, $7 FROM health
           WHERE reason IS NOT NULL ON CONFLICT DO NOTHING
         )
         SELECT true AS recorded, (SELECT reason FROM health) AS "disabledReason", NULL AS "acceptedAt" FROM mine`,
};

/**
 * Records an attempt under its lease: log line, delivery and endpoint together or, when the lease was lost, not at all.
 * It locks the delivery before its endpoint, whereas a change by the owner locks the endpoint first. The loser of a
 * deadlock is therefore retried; otherwise an answer would be lost and the webhook posted once more.
 */
async function recordAttempt(
  database: Database,
  claimed: LeasedDelivery,
  attempt: NumberedAttempt,
  verdict: AttemptVerdict,
): Promise<RecordedAttempt> {
  const { sessionId, eventId, endpointId, leaseToken } = claimed;
  const values = [eventId, attempt.id, endpointId, ...attemptColumns(attempt), leaseToken, sessionId];
  const [statement, consequences] =
    verdict.type === "succeeded"
      ? [recordSuccess, [verdict.slow]]
      : [recordFailure, [verdict.next.type === "retry" ? verdict.next.pauseMs : null, verdict.gone, claimed.isProbe]];
  const record = (queryable: Queryable) => queryable.query<RecordedAttempt>(statement, [...values, ...consequences]);
  const rows = await record(database).catch((error: { code?: unknown }) => {
    // The statement was rolled back. A transaction from the beginning would cost every attempt two more round trips.
    if (error.code !== "40P01") throw error;
    return database.transaction(record);
  });
  return rows[0] ?? { recorded: false, disabledReason: null, acceptedAt: null };
}

const recordSuccessesAtOnce: Statement = {
  name: "record_delivery_successes",
  partitionKey: 9,
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

// All workers use this order, so they cannot deadlock.
const lockEndpointsInOrder: Statement = {
  name: "lock_successful_endpoints",
  text: "SELECT FROM endpoint WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE",
};
// Has the same effect as recording each success by itself: a slow answer halves the window, any other widens it by one.
const recordEndpointSuccesses: Statement = {
  name: "record_endpoint_successes",
  text: `UPDATE endpoint e
         SET in_flight_max = CASE WHEN s.slow > 0 THEN greatest(1, e.in_flight_max / (1 << least(s.slow, 6)))
                                  ELSE least(${windowMax}, e.in_flight_max + s.count) END,
             failures_in_row = 0, failing_since = NULL, probe_at = NULL
         FROM unnest($1::uuid[], $2::int[], $3::int[]) AS s (id, count, slow) WHERE e.id = s.id`,
};

type SuccessRow = { readonly id: string; readonly acceptedAt: Date; readonly isBelowItsBest: boolean };

/**
 * Records successes under their leases, in the given order: deliveries, log lines and endpoints together. Successes
 * whose lease was lost are skipped.
 */
async function recordSuccesses(database: Database, successes: readonly Success[]): Promise<RecordedAttempt[]> {
  const columns = successes.map(({ claimed, attempt }) => [
    ...[claimed.eventId, attempt.id, claimed.endpointId, claimed.leaseToken, attempt.startedAt, attempt.durationMs],
    ...(attempt.type === "answered" ? [attempt.statusCode, attempt.answer] : [null, null]),
    claimed.sessionId,
  ]);
  const values = columns[0]!.map((_, column) => columns.map((row) => row[column]));
  return database.transaction(async (tx) => {
    const rows = new Map((await tx.query<SuccessRow>(recordSuccessesAtOnce, values)).map((row) => [row.id, row]));
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

/** Records the health of the endpoints that have accepted these. */
export async function recordEndpoints(
  tx: Tx,
  successes: readonly { readonly claimed: Pick<LeasedDelivery, "endpointId">; readonly slow: boolean }[],
): Promise<void> {
  if (successes.length === 0) return;
  const byEndpoint = [...Map.groupBy(successes, ({ claimed }) => claimed.endpointId)];
  const ids = byEndpoint.map(([id]) => id);
  await tx.query(lockEndpointsInOrder, [ids]);
  const slow = byEndpoint.map(([, ofIt]) => ofIt.filter((success) => success.slow).length);
  await tx.query(recordEndpointSuccesses, [ids, byEndpoint.map(([, ofIt]) => ofIt.length), slow]);
}
