/** Ends events: leaves a delivery of each for every subscribed endpoint, in one statement. */

import { deliveryLeaseMs } from "../limits.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { EndpointId, SessionId } from "../platform/ids.ts";
import { attemptColumns, type LeasedDelivery, type NumberedAttempt } from "./record-delivery.ts";

export type EventPosition = { readonly sessionId: SessionId; readonly sequence: number };

/** The first attempt of a delivery: accepted by the endpoint, or still to be recorded under its lease. */
export type FirstAttempt = { readonly claimed: LeasedDelivery; readonly accepted?: NumberedAttempt };

export type EndedEvent = EventPosition & {
  /** The end by the database's clock. */
  readonly endedAt: Date;
  /** The endpoints whose deliveries are due. */
  readonly dueAt: readonly EndpointId[];
};

/**
 * The process that takes the row from `event_todo` decides: an event that another process has ended meanwhile, or is
 * ending now, is left alone. Endpoints are read here, and those of every status get a row: one that is unverified,
 * paused or disabled may need it later. A row of `event_todo` is changed only once, so its place is the one that was
 * locked. Each event is looked up separately: before the first ANALYZE, the planner does not know how few they are and
 * would read the whole table.
 */
const endStatement: Statement = {
  name: "end_events",
  partitionKey: 1,
  text: `WITH mine AS MATERIALIZED (
           SELECT todo.* FROM (
             SELECT * FROM unnest($1::uuid[], $2::int[]) AS ended (session_id, sequence) ORDER BY session_id, sequence
           ) ended CROSS JOIN LATERAL (
             SELECT t.ctid, t.session_id, t.sequence FROM event_todo t
             WHERE t.session_id = ended.session_id AND t.sequence = ended.sequence AND NOT t.fanned_out
             OFFSET 0 FOR UPDATE SKIP LOCKED
           ) todo
         ), removed AS (
           DELETE FROM event_todo WHERE ctid = ANY (ARRAY(SELECT ctid FROM mine WHERE NOT $3))
         ), kept AS (
           UPDATE event_todo SET fanned_out = true WHERE ctid = ANY (ARRAY(SELECT ctid FROM mine WHERE $3))
         ), event AS (
           SELECT o.* FROM mine CROSS JOIN LATERAL (
             SELECT o.session_id, o.sequence, o.id, o.type, o.merchant_id FROM outbox_event o
             WHERE o.session_id = mine.session_id AND o.sequence = mine.sequence OFFSET 0
           ) o
         ), attempted AS MATERIALIZED (
           SELECT * FROM unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::uuid[], $8::timestamptz[], $9::int[], $10::int[], $11::text[])
             AS f (event_id, endpoint_id, lease_token, attempt_id, started_at, duration_ms, status_code, answer)
         ), made AS (
           INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, status, tries, next_at, lease_token, ended_at)
           SELECT event.id, e.id, event.session_id, event.sequence,
             CASE WHEN f.attempt_id IS NULL THEN 'PENDING' ELSE 'SUCCEEDED' END, CASE WHEN f.attempt_id IS NULL THEN 0 ELSE 1 END,
             CASE WHEN f.attempt_id IS NULL THEN app.clock() +
               CASE WHEN f.lease_token IS NULL THEN 0 ELSE ${deliveryLeaseMs} END * interval '1 ms' END,
             f.lease_token, CASE WHEN f.attempt_id IS NOT NULL THEN app.clock() END
           FROM event JOIN endpoint e ON e.merchant_id = event.merchant_id
             LEFT JOIN attempted f ON f.event_id = event.id AND f.endpoint_id = e.id
           WHERE f.endpoint_id IS NOT NULL
             OR e.status <> 'REMOVED' AND (e.event_types IS NULL OR event.type = ANY (e.event_types))
           ON CONFLICT DO NOTHING
           RETURNING session_id, sequence, event_id, endpoint_id, next_at, lease_token
         ), logged AS (
           INSERT INTO delivery_attempt (event_id, id, endpoint_id, started_at, duration_ms, status_code, answer)
           SELECT event_id, attempt_id, endpoint_id, f.started_at, f.duration_ms, f.status_code, f.answer
           FROM made JOIN attempted f USING (event_id, endpoint_id) WHERE f.attempt_id IS NOT NULL
         )
         SELECT session_id AS "sessionId", sequence, app.clock() AS "endedAt", ARRAY(
             SELECT d.endpoint_id FROM made d WHERE d.session_id = mine.session_id AND d.sequence = mine.sequence
               AND d.next_at IS NOT NULL AND d.lease_token IS NULL) AS "dueAt"
         FROM mine`,
};

/**
 * Ends these events, with the results of the first attempts that were made. Everything else gets a delivery that is due.
 * `unpublished`: the events stay, fanned out, until they are published (publish.ts). Returns the events that were ended
 * here.
 */
export async function endEvents(
  queryable: Queryable,
  events: readonly EventPosition[],
  { firsts = [], unpublished = false }: { firsts?: readonly FirstAttempt[]; unpublished?: boolean } = {},
): Promise<EndedEvent[]> {
  const rows = firsts.map(({ claimed, accepted }) => {
    const [startedAt, durationMs, statusCode, , answer] = accepted ? attemptColumns(accepted) : [];
    const lease = accepted ? null : claimed.leaseToken;
    return [claimed.eventId, claimed.endpointId, lease, accepted?.id, startedAt, durationMs, statusCode, answer];
  });
  return queryable.query<EndedEvent>(endStatement, [
    events.map(({ sessionId }) => sessionId),
    events.map(({ sequence }) => sequence),
    unpublished,
    ...Array.from({ length: 8 }, (_, column) => rows.map((row) => row[column] ?? null)),
  ]);
}

/** SQL: events that no worker has ended in time. */
export const overdueEvents = "event_todo WHERE NOT fanned_out AND due_at <= (SELECT app.clock())";

const selectOverdue: Statement = {
  name: "select_overdue_events",
  text: `SELECT session_id AS "sessionId", sequence FROM ${overdueEvents} ORDER BY due_at LIMIT $1`,
};
const sweepRows = 500;

type Swept = {
  /** Number of events that no worker has ended in time. */
  readonly events: number;
  readonly dueAt: readonly EndpointId[];
  /** True when there may be more. */
  readonly full: boolean;
};

/**
 * Fans out the events that no worker has ended in time: their message was lost, or a worker died with it. The delivery
 * pool then posts them, in the order of each session.
 */
export async function sweepOnce(queryable: Queryable): Promise<Swept> {
  const overdue = await queryable.query<EventPosition>(selectOverdue, [sweepRows]);
  const ended = overdue.length > 0 ? await endEvents(queryable, overdue, { unpublished: true }) : [];
  const dueAt = [...new Set(ended.flatMap((event) => event.dueAt))];
  return { events: ended.length, dueAt, full: overdue.length === sweepRows };
}
