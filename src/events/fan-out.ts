/**
 * Fans out an event: creates one delivery row for each subscribed endpoint. Uses PostgreSQL only, neither NATS nor
 * HTTP.
 */
import type { Database, Statement } from "../platform/database.ts";

/** An event by its position in its session. */
export type EventPosition = { readonly sessionId: string; readonly sequence: number };

/**
 * Includes the session's earlier events, so deliveries are created in sequence whatever the order of messages.
 * Endpoints of every status get a row: one that is unverified, paused or disabled may need it later. Each session's
 * events are looked up separately. Before the first ANALYZE, the planner does not know how few they are and would read
 * the whole table for them, or, without `coalesce`, all waiting events once for each.
 */
const insertDeliveries: Statement = {
  name: "insert_deliveries",
  text: `WITH requested AS (
           SELECT session_id, max(sequence) AS sequence
           FROM unnest($1::uuid[], $2::int[]) AS a (session_id, sequence) GROUP BY session_id ORDER BY session_id
         ), due AS (
           SELECT waiting.* FROM requested CROSS JOIN LATERAL (
             SELECT o.session_id, o.id FROM outbox_event o
             WHERE o.session_id = requested.session_id AND o.sequence <= requested.sequence
               AND coalesce(o.fanned_out_at, 'infinity') = 'infinity'
             ORDER BY o.sequence OFFSET 0 FOR UPDATE
           ) waiting
         ), marked AS (
           UPDATE outbox_event o SET fanned_out_at = app.clock()
           WHERE o.session_id = ANY (ARRAY(SELECT session_id FROM due)) AND o.id = ANY (ARRAY(SELECT id FROM due))
           RETURNING o.session_id, o.id, o.sequence, o.type, o.merchant_id
         )
         INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, next_at)
         SELECT marked.id, e.id, marked.session_id, marked.sequence, app.clock()
         FROM marked JOIN endpoint e ON e.merchant_id = marked.merchant_id
         WHERE e.status <> 'REMOVED' AND (e.event_types IS NULL OR marked.type = ANY (e.event_types))
         ON CONFLICT DO NOTHING
         RETURNING endpoint_id AS "endpointId"`,
};

/**
 * Creates the deliveries of these events and marks their outbox rows in one statement. An event that was fanned out
 * before changes nothing. Returns the endpoints that have new deliveries.
 */
export async function fanOut(database: Database, events: readonly EventPosition[]): Promise<string[]> {
  const sessionIds = events.map((event) => event.sessionId);
  const sequences = events.map((event) => event.sequence);
  const rows = await database.query<{ endpointId: string }>(insertDeliveries, [sessionIds, sequences]);
  return [...new Set(rows.map((row) => row.endpointId))];
}

// A message normally takes milliseconds; after 10 s it is lost, or NATS is down.
const selectOverdue: Statement = {
  name: "select_overdue_events",
  text: `SELECT session_id AS "sessionId", sequence, published_at IS NOT NULL AS published FROM outbox_event
         WHERE fanned_out_at IS NULL AND created_at < (SELECT app.clock()) - interval '10 seconds'
         ORDER BY created_at LIMIT $1`,
};
const sweepRows = 500;

/** The result of one turn of the sweep: the endpoints with new deliveries, and the losses it found. */
export type Swept = {
  readonly endpointIds: readonly string[];
  /** Number of events that JetStream accepted and never delivered: the consumer may be broken. */
  readonly lostMessages: number;
  /** True when there may be more. */
  readonly full: boolean;
};

/** Fans out the events whose message did not arrive in time. */
export async function sweepOnce(database: Database): Promise<Swept> {
  const overdue = await database.query<EventPosition & { published: boolean }>(selectOverdue, [sweepRows]);
  return {
    endpointIds: overdue.length > 0 ? await fanOut(database, overdue) : [],
    lostMessages: overdue.filter((event) => event.published).length,
    full: overdue.length === sweepRows,
  };
}
