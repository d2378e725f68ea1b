/** Fans events out without a worker, so that a test decides when webhooks are posted. */
import { type EventPosition, endEvents } from "../../../events/end-events.ts";
import type { Database, Statement } from "../../../platform/database.ts";

const selectWaiting: Statement = {
  name: "select_waiting_events",
  text: `SELECT t.session_id AS "sessionId", t.sequence FROM event_todo t
         JOIN unnest($1::uuid[], $2::int[]) AS named (session_id, sequence)
           ON t.session_id = named.session_id AND t.sequence <= named.sequence
         WHERE NOT t.fanned_out ORDER BY 1, 2`,
};

/**
 * Makes due deliveries of these events and of those before them in their sessions, as a worker does that posts none of
 * them at once. Returns the endpoints that have new ones.
 */
export async function fanOut(database: Database, events: readonly EventPosition[]): Promise<string[]> {
  const named = [events.map(({ sessionId }) => sessionId), events.map(({ sequence }) => sequence)];
  const ended = await endEvents(database, await database.query<EventPosition>(selectWaiting, named));
  return [...new Set(ended.flatMap(({ dueAt }) => dueAt))];
}
