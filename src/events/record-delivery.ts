/** Writes what a try came to: the log line, when the delivery is tried again, and how its endpoint is doing. */
import type { Database, Queryable, Statement } from "../platform/database.ts";
import type { NoAnswer } from "./egress.ts";
import type { NextTry } from "./retry-schedule.ts";

/** One POST: when, how long, and what came back. `answer` is the beginning of the body, redacted. */
export type Try = { readonly startedAt: Date; readonly durationMs: number } & (
  | { readonly kind: "answered"; readonly statusCode: number; readonly retryAfterMs?: number; readonly answer: string }
  | { readonly kind: "no_answer"; readonly because: NoAnswer }
);

/** What the try means for the delivery. `gone` (410) follows the schedule too, at an endpoint that is disabled. */
export type TryVerdict =
  | { readonly kind: "succeeded"; readonly slow: boolean }
  | { readonly kind: "failed"; readonly gone: boolean; readonly next: NextTry };

/** What recording a try came to. */
export type RecordedTry = {
  /** False when the lease had ended and somebody else has the delivery: nothing was written. */
  readonly recorded: boolean;
  /** Set when this try disabled the endpoint. */
  readonly disabledBecause: "GONE" | "FAILING" | null;
  /** When a 2xx answer was recorded, by the database's clock. */
  readonly takenAt: Date | null;
};

/** A delivery as whoever claimed it names it. */
export type Leased = {
  readonly session_id: string;
  readonly event_id: string;
  readonly endpoint_id: string;
  readonly lease_token: string;
  /** The endpoint's breaker was open when it was claimed. */
  readonly is_probe: boolean;
};

/** Keeps one try of a delivery, with what the endpoint answered. */
export const insertDeliveryAttempt: Statement = {
  name: "insert_delivery_attempt",
  text: `INSERT INTO delivery_attempt (event_id, id, endpoint_id, started_at, duration_ms, status_code, no_answer, answer)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

/** The columns of a try after event, its own id and endpoint. */
export function tryColumns(tried: Try): unknown[] {
  const when = [tried.startedAt, tried.durationMs];
  return tried.kind === "answered"
    ? [...when, tried.statusCode, null, tried.answer]
    : [...when, null, tried.because, null];
}

// $1 event, $2 try, $3 endpoint, $4–$8 the try, $9 lease, $10 session. One statement, so that a delivery costs one commit.
const logTry = `logged AS (
  INSERT INTO delivery_attempt (event_id, id, endpoint_id, started_at, duration_ms, status_code, no_answer, answer)
  SELECT event_id, $2::uuid, endpoint_id, $4::timestamptz, $5::int, $6::int, $7::text, $8::text FROM mine
)`;

// A window at its full size with nothing to forget is left alone: one hot row must not slow a healthy endpoint.
const recordSuccess: Statement = {
  name: "record_delivery_success",
  text: `WITH mine AS (
           UPDATE delivery
           SET status = 'SUCCEEDED', tries = tries + 1, next_at = NULL, lease_token = NULL, ended_at = app.clock()
           WHERE session_id = $10 AND event_id = $1 AND endpoint_id = $3 AND lease_token = $9
           RETURNING event_id, endpoint_id, ended_at
         ), ${logTry}, health AS (
           UPDATE endpoint e
           SET in_flight_max = CASE WHEN $11 THEN greatest(1, e.in_flight_max / 2) ELSE least(64, e.in_flight_max + 1) END,
               failures_in_row = 0, failing_since = NULL, probe_at = NULL
           FROM mine WHERE e.id = mine.endpoint_id AND ($11 OR e.in_flight_max < 64 OR e.failures_in_row > 0)
         )
         SELECT true AS recorded, NULL AS "disabledBecause", ended_at AS "takenAt" FROM mine`,
};

// The breaker has opened since this post was claimed: it met the same outage as those that opened it.
const metTheSame = "(e.probe_at IS NOT NULL AND NOT $13)";

// What the endpoint is disabled for by this try, if it is.
const disablesBecause = `CASE WHEN e.status NOT IN ('ENABLED','PAUSED') THEN NULL WHEN $12 THEN 'GONE'
  WHEN e.failing_since < mine.recorded_at - interval '5 days' AND e.failures_in_row >= 9 THEN 'FAILING' END`;

/**
 * The breaker opens at 5 failures in a row and then lets one probe through after 5 s, 10 s, 20 s … at most 5 minutes:
 * long enough to leave a dead host alone, short enough for one that comes back. Posts that were under way when it opened
 * do not count: a moment's outage that a whole window meets is one failure too many, not sixty.
 * 5 days without a success in at least 10 tries disable: longer than any delivery's own schedule. Only what is posted to
 * is disabled: an endpoint with a new URL does not pay for what its old one answers. The owner's notice
 * (endpoint-notices.ts) is a part of the disabling and has the try's id.
 * The endpoint is updated without a lock before it: a statement that takes both locks the row's newest version and then
 * waits at the older one that it saw first. While a fan-out shares the row, two such statements wait for each other.
 */
const recordFailure: Statement = {
  name: "record_delivery_failure",
  text: `WITH mine AS (
           UPDATE delivery
           SET status = CASE WHEN $11::float8 IS NULL THEN 'EXHAUSTED' ELSE 'PENDING' END, tries = tries + 1,
               next_at = app.clock() + $11::float8 * interval '1 millisecond', lease_token = NULL,
               ended_at = CASE WHEN $11::float8 IS NULL THEN app.clock() END
           WHERE session_id = $10 AND event_id = $1 AND endpoint_id = $3 AND lease_token = $9
           RETURNING event_id, endpoint_id, app.clock() AS recorded_at
         ), ${logTry}, health AS (
           UPDATE endpoint e
           SET in_flight_max = greatest(1, e.in_flight_max / 2),
               failures_in_row = e.failures_in_row + CASE WHEN ${metTheSame} THEN 0 ELSE 1 END,
               failing_since = coalesce(e.failing_since, mine.recorded_at),
               probe_at = CASE WHEN ${metTheSame} THEN e.probe_at WHEN e.failures_in_row >= 4 THEN mine.recorded_at +
                 least(300, 5 * 2 ^ least(e.failures_in_row - 4, 10)) * interval '1 second' END,
               status = CASE WHEN ${disablesBecause} IS NULL THEN e.status ELSE 'DISABLED' END,
               disabled_at = CASE WHEN ${disablesBecause} IS NULL THEN e.disabled_at ELSE mine.recorded_at END,
               disabled_because = coalesce(${disablesBecause}, e.disabled_because)
           FROM mine WHERE e.id = mine.endpoint_id
           RETURNING e.id, e.merchant_id, e.failing_since,
             CASE WHEN e.disabled_at = mine.recorded_at THEN e.disabled_because END AS because
         ), noticed AS (
           INSERT INTO endpoint_notice (id, merchant_id, endpoint_id, kind, failing_since, status_code, no_answer)
           SELECT $2, merchant_id, id, 'DISABLED_' || because, failing_since, $6, $7 FROM health
           WHERE because IS NOT NULL ON CONFLICT DO NOTHING
         )
         SELECT true AS recorded, because AS "disabledBecause", NULL AS "takenAt" FROM health`,
};

/**
 * Records a try under its lease: log line, delivery and endpoint together or, when the lease was lost, not at all. It
 * takes the delivery before its endpoint, which a change by the owner takes first: a deadlock's loser tries again, or an
 * answer would be forgotten and the webhook posted once more.
 */
export async function recordTry(
  database: Database,
  claimed: Leased,
  tried: Try & { readonly id: string },
  verdict: TryVerdict,
): Promise<RecordedTry> {
  const { session_id, event_id, endpoint_id, lease_token } = claimed;
  const values = [event_id, tried.id, endpoint_id, ...tryColumns(tried), lease_token, session_id];
  const [statement, consequences] =
    verdict.kind === "succeeded"
      ? [recordSuccess, [verdict.slow]]
      : [recordFailure, [verdict.next.kind === "retry" ? verdict.next.pauseMs : null, verdict.gone, claimed.is_probe]];
  const record = (queryable: Queryable) => queryable.query<RecordedTry>(statement, [...values, ...consequences]);
  const rows = await record(database).catch((error: { code?: unknown }) => {
    // Nothing of it happened. A transaction from the beginning would cost every try two more round trips.
    if (error.code !== "40P01") throw error;
    return database.transaction(record);
  });
  return rows[0] ?? { recorded: false, disabledBecause: null, takenAt: null };
}
