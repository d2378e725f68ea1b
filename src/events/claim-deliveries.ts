/** Takes due deliveries for this worker: what each endpoint's window, breaker and order of events let through. */
import type { Database, Statement } from "../platform/database.ts";

/** A delivery that this worker alone may try until its lease ends. */
export type ClaimedDelivery = {
  readonly event_id: string;
  readonly endpoint_id: string;
  /** Tries recorded before this one. */
  readonly tries: number;
  readonly url: string;
  readonly secret_sealed: string;
  readonly previous_sealed: string | null;
  readonly body: Buffer;
  readonly lease_token: string;
};

/**
 * One claimer an endpoint at a time, so that the count of what is under way holds until the claim commits. An endpoint
 * that somebody else claims from or records at is left to them; whoever records looks for more there afterwards.
 * The clock is asked in a sub-select, because an index cannot be searched by a volatile function.
 */
const lockReadyEndpoints: Statement = {
  name: "lock_ready_endpoints",
  text: `SELECT e.id FROM endpoint e
         WHERE e.status = 'ENABLED'
           AND ($1::uuid[] IS NULL OR e.id = ANY ($1))
           AND (e.probe_at IS NULL OR e.probe_at <= (SELECT app.clock()))
           AND EXISTS (SELECT FROM delivery d WHERE d.endpoint_id = e.id AND d.status = 'PENDING'
                                                AND d.next_at <= (SELECT app.clock()))
         ORDER BY e.id FOR NO KEY UPDATE SKIP LOCKED`,
};

/**
 * `free`: the window less what is under way; with an open breaker one probe in all.
 * A first try waits for the first tries of the session's earlier events, and for nothing after those.
 * The lease of 35 s is longer than any try (15 s) and its recording, so only a dead worker's deliveries are taken over.
 */
const claimDue: Statement = {
  name: "claim_due_deliveries",
  text: `WITH room AS (
           SELECT e.id, CASE WHEN e.probe_at IS NULL THEN e.in_flight_max ELSE 1 END -
             (SELECT count(*) FROM delivery u WHERE u.endpoint_id = e.id AND u.lease_token IS NOT NULL
                                                AND u.next_at > (SELECT app.clock())) AS free
           FROM endpoint e WHERE e.id = ANY ($1::uuid[])
         ), due AS (
           SELECT d.event_id, d.endpoint_id FROM room CROSS JOIN LATERAL (
             SELECT d.event_id, d.endpoint_id, d.next_at FROM delivery d
             WHERE d.endpoint_id = room.id AND d.status = 'PENDING' AND d.next_at <= (SELECT app.clock())
               AND (d.tries > 0 OR NOT EXISTS (
                 SELECT FROM delivery p WHERE p.session_id = d.session_id AND p.endpoint_id = d.endpoint_id
                   AND p.sequence < d.sequence AND p.status = 'PENDING' AND p.tries = 0))
             ORDER BY d.next_at, d.sequence LIMIT greatest(room.free, 0) FOR UPDATE SKIP LOCKED
           ) d ORDER BY d.next_at LIMIT $2
         )
         UPDATE delivery d SET lease_token = $3, next_at = app.clock() + interval '35 seconds'
         FROM due, endpoint e, outbox_event o
         WHERE d.event_id = due.event_id AND d.endpoint_id = due.endpoint_id AND e.id = d.endpoint_id
           AND o.session_id = d.session_id AND o.id = d.event_id
         RETURNING d.event_id, d.endpoint_id, d.tries, d.lease_token, e.url, e.secret_sealed,
           CASE WHEN e.previous_until > app.clock() THEN e.previous_sealed END AS previous_sealed, o.body`,
};

/**
 * Claims up to `limit` due deliveries under a lease of their own, oldest first; of the endpoints given, or of all.
 */
export async function claimDeliveries(
  database: Database,
  claim: { leaseToken: string; limit: number; endpointIds?: readonly string[] | undefined },
): Promise<ClaimedDelivery[]> {
  return database.transaction(async (tx) => {
    const ready = await tx.query<{ id: string }>(lockReadyEndpoints, [claim.endpointIds ?? null]);
    if (ready.length === 0) return [];
    return tx.query<ClaimedDelivery>(claimDue, [ready.map((row) => row.id), claim.limit, claim.leaseToken]);
  });
}
