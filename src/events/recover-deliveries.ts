/** Makes events due again that an endpoint has not accepted since a time, a batch per call. */

import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EventId } from "../platform/ids.ts";
import { type EndpointKey, lockEndpoint } from "./endpoints.ts";

export type RecoveredBatch = {
  /** Deliveries that are due now and were not before. */
  readonly due: number;
  /** Start of the next batch: the last event of this one. Undefined when nothing is left. */
  readonly nextAfter: EventId | undefined;
};

// Some 50 ms of one connection; the deliveries in progress at an endpoint stay bounded by its window.
const batchEvents = 2_000;

const isEnded = (event: string) => `NOT EXISTS (
  SELECT FROM event_todo t WHERE t.session_id = ${event}.session_id AND t.sequence = ${event}.sequence AND NOT t.fanned_out)`;

// An event in `event_todo` arrives by itself, and may be on its way now. A delivery that is being posted is left to its
// result. So is one that is being recorded: the recorder holds it and waits for the endpoint, which the caller holds.
const recoverBatch: Statement = {
  name: "recover_deliveries",
  text: `WITH page AS MATERIALIZED (
           SELECT o.session_id, o.id, o.sequence, o.type, o.created_at FROM outbox_event o
           WHERE o.merchant_id = $1 AND o.created_at >= $3 AND (o.created_at, o.id) > (
               coalesce((SELECT p.created_at FROM outbox_event p WHERE p.merchant_id = $1 AND p.created_at >= $3 AND p.id = $4),
                 '-infinity'), coalesce($4, '00000000-0000-0000-0000-000000000000'))
           ORDER BY o.created_at, o.id LIMIT ${batchEvents}
         ), wanted AS MATERIALIZED (
           SELECT page.id, e.id AS endpoint_id, page.session_id, page.sequence, page.created_at
           FROM page JOIN endpoint e ON e.id = $2
           WHERE ${isEnded("page")} AND (e.event_types IS NULL OR page.type = ANY (e.event_types))
         ), idle AS MATERIALIZED (
           SELECT d.session_id, d.sequence, d.endpoint_id FROM wanted w
             JOIN delivery d ON d.session_id = w.session_id AND d.sequence = w.sequence AND d.endpoint_id = w.endpoint_id
           WHERE d.status = 'EXHAUSTED' OR (d.status = 'PENDING' AND d.lease_token IS NULL
             AND NOT (d.tries = 0 AND d.next_at <= app.clock()))
           FOR UPDATE OF d SKIP LOCKED
         ), again AS (
           UPDATE delivery d SET status = 'PENDING', tries = 0, next_at = app.clock(), ended_at = NULL
           FROM idle WHERE d.session_id = idle.session_id AND d.sequence = idle.sequence AND d.endpoint_id = idle.endpoint_id
           RETURNING 1
         ), added AS (
           INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, next_at)
           SELECT w.id, w.endpoint_id, w.session_id, w.sequence, app.clock() FROM wanted w
           WHERE NOT EXISTS (SELECT FROM delivery d WHERE d.session_id = w.session_id AND d.sequence = w.sequence AND d.endpoint_id = w.endpoint_id)
           ORDER BY w.created_at, w.id
           ON CONFLICT DO NOTHING
           RETURNING 1
         ), due AS (SELECT FROM again UNION ALL SELECT FROM added)
         SELECT (SELECT count(*)::int FROM due) AS due, (SELECT count(*) FROM page) = ${batchEvents} AS full,
           (SELECT id FROM page ORDER BY created_at DESC, id DESC LIMIT 1) AS last`,
};

/**
 * Recovers the merchant's events since a given time, oldest first and after the given one. It makes due those that the
 * endpoint subscribes to and has not accepted with a 2xx answer: given up, waiting for a later attempt, or never sent.
 * Each begins its whole schedule again, and a session's events keep their sequence. A repeat finds fewer, or none.
 * Throws `state_conflict` for a disabled endpoint: enabling it would give all of them up again.
 */
export async function recoverDeliveries(
  tx: Tx,
  key: EndpointKey,
  from: { since: Date; after?: EventId | undefined },
): Promise<RecoveredBatch> {
  const { status } = await lockEndpoint(tx, key);
  if (status === "DISABLED") {
    throw new DomainError("state_conflict", "The endpoint is DISABLED: enable it, then recover what it has missed.");
  }
  const values = [key.merchantId, key.endpointId, from.since, from.after ?? null];
  const [row] = await tx.query<{ due: number; full: boolean; last: EventId | null }>(recoverBatch, values);
  return { due: row?.due ?? 0, nextAfter: row?.full ? (row.last ?? undefined) : undefined };
}

/**
 * Builds the SQL for the time of the oldest event that an endpoint has not accepted since its failures began: the event
 * still waits, or was given up since. That time is before the first failure, because an event is emitted before its
 * delivery fails. The tolerance of a second is for the delivery whose last attempt began the failures: one statement
 * writes both times at two readings of the clock.
 */
export function oldestUnaccepted(endpointId: string, troubleSince: string): string {
  return `(SELECT min(o.created_at) FROM delivery d JOIN outbox_event o ON o.session_id = d.session_id AND o.id = d.event_id
           WHERE d.endpoint_id = ${endpointId} AND (d.status = 'PENDING'
             OR d.status = 'EXHAUSTED' AND d.ended_at >= ${troubleSince} - interval '1 second'))`;
}

// Enough to know that it is a lot; a higher count would cost more than it is worth.
const missedCountMax = 10_000;
const countMissed: Statement = {
  name: "count_missed_events",
  text: `SELECT count(*)::int AS missed FROM (
           SELECT FROM outbox_event o JOIN endpoint e ON e.id = $2
           WHERE o.merchant_id = $1 AND o.created_at >= $3 AND ${isEnded("o")}
             AND (e.event_types IS NULL OR o.type = ANY (e.event_types))
             AND NOT EXISTS (SELECT FROM delivery d WHERE d.session_id = o.session_id AND d.sequence = o.sequence AND d.endpoint_id = e.id
                                                     AND d.status IN ('SUCCEEDED','PENDING'))
           LIMIT ${missedCountMax}) missed`,
};

/**
 * Counts the events since a given time that an endpoint has not accepted and that are not about to be sent; 10 000
 * means 10 000 or more.
 */
export async function countMissedEvents(queryable: Queryable, key: EndpointKey, since: Date): Promise<number> {
  const [row] = await queryable.query<{ missed: number }>(countMissed, [key.merchantId, key.endpointId, since]);
  return row?.missed ?? 0;
}
