/** A merchant's events in a stable order: reading on after the last one misses none and repeats none. */

import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { EventId, MerchantId, SessionId } from "../platform/ids.ts";
import type { EventType } from "./outbox.ts";

export type FedEvent = {
  readonly id: EventId;
  readonly sessionId: SessionId;
  readonly sequence: number;
  readonly type: EventType;
  readonly createdAt: Date;
  /** The exact bytes of every delivery. */
  readonly body: Buffer;
};

// Running transactions have at least this number, so everything below it is permanently visible. It is shared by all
// databases of the server: a long transaction in one of them delays the feed but loses nothing.
const settled = "feed_position < pg_snapshot_xmin(pg_current_snapshot())";
const inOrder = "ORDER BY feed_position, sequence, id";
const newestFirst = "ORDER BY feed_position DESC, sequence DESC, id DESC";

// A position that no transaction can have reached yet comes from another server, whose dump was restored here.
const rankRestored: Statement = {
  name: "rank_restored_events_of_merchant",
  text: `UPDATE outbox_event SET feed_position = '0'
         WHERE merchant_id = $1 AND feed_position >= pg_snapshot_xmax(pg_current_snapshot())`,
};

// Read from the newest, where a following reader is.
const selectPosition: Statement = {
  name: "select_position_in_feed",
  text: `SELECT feed_position AS position, sequence, id FROM outbox_event
         WHERE merchant_id = $1 AND id = $2 ${newestFirst} LIMIT 1`,
};
const selectNewest: Statement = {
  name: "select_newest_in_feed",
  text: `SELECT id FROM outbox_event WHERE merchant_id = $1 AND ${settled} ${newestFirst} LIMIT 1`,
};
const selectFrom = (name: string, after: string): Statement => ({
  name,
  text: `SELECT id, session_id AS "sessionId", sequence, type, created_at AS "createdAt", body FROM outbox_event
         WHERE merchant_id = $1 AND ${settled} ${after} ${inOrder} LIMIT $2`,
});
const selectFirst = selectFrom("select_first_in_feed", "");
const selectNext = selectFrom(
  "select_next_in_feed",
  "AND (feed_position, sequence, id) > ($3::xid8, $4::int, $5::uuid)",
);

type Position = { readonly position: string; readonly sequence: number; readonly id: EventId };

/**
 * Reads the merchant's next events after the one with this id, or its first events. A session's events are in sequence.
 * An event is shown once every transaction that began before it has ended, so no event can be inserted before it.
 * Throws `not_found` for an event that is not the merchant's.
 */
export async function readFeed(
  queryable: Queryable,
  merchantId: MerchantId,
  page: { after: EventId | undefined; count: number },
): Promise<FedEvent[]> {
  await queryable.query(rankRestored, [merchantId]);
  if (page.after === undefined) return queryable.query<FedEvent>(selectFirst, [merchantId, page.count]);
  const [found] = await queryable.query<Position>(selectPosition, [merchantId, page.after]);
  if (found === undefined) throw new DomainError("not_found", "The merchant has no event with this id.");
  const { position, sequence, id } = found;
  return queryable.query<FedEvent>(selectNext, [merchantId, page.count, position, sequence, id]);
}

/** Finds the id of the merchant's newest event in that order; undefined when there is none. */
export async function findFeedEnd(queryable: Queryable, merchantId: MerchantId): Promise<EventId | undefined> {
  const [newest] = await queryable.query<{ id: EventId }>(selectNewest, [merchantId]);
  return newest?.id;
}
