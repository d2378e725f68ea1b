/** What an owner may do to an endpoint, the delivery log by endpoint, and a merchant's events in an order to follow. */

export const name = "009-webhook-endpoints";

export const sql = `
-- Counts the owner's changes, so that two people who look at the same endpoint cannot undo each other unseen.
ALTER TABLE endpoint ADD COLUMN version int NOT NULL DEFAULT 1;
-- A removed endpoint is kept for its log; nothing goes to it, and its owner sees it no more.
ALTER TABLE endpoint DROP CONSTRAINT endpoint_status_check;
ALTER TABLE endpoint ADD CONSTRAINT endpoint_status_check
  CHECK (status IN ('PENDING','ENABLED','PAUSED','DISABLED','REMOVED'));
ALTER TABLE endpoint DROP CONSTRAINT endpoint_disabled_because_check;
ALTER TABLE endpoint ADD CONSTRAINT endpoint_disabled_because_check
  CHECK (disabled_because IN ('GONE','FAILING','OWNER'));
-- A paused endpoint whose URL has changed is paused and not verified.
ALTER TABLE endpoint DROP CONSTRAINT endpoint_check2;
ALTER TABLE endpoint ADD CONSTRAINT endpoint_enabled_verified CHECK (status <> 'ENABLED' OR verified_at IS NOT NULL);

-- The transaction that wrote the event or, if that is later, the one of the session's event before it. Ids and times are
-- made before the commit, so that whoever pages by them misses what commits late; below the oldest running transaction,
-- everything has committed. Events from before this column come first.
ALTER TABLE outbox_event ADD COLUMN feed_position xid8 NOT NULL DEFAULT '0';
ALTER TABLE outbox_event ALTER COLUMN feed_position SET DEFAULT pg_current_xact_id();
CREATE INDEX outbox_event_in_order ON outbox_event (merchant_id, feed_position, sequence, id);
CREATE INDEX outbox_event_by_time ON outbox_event (merchant_id, created_at, id);

CREATE INDEX delivery_of_endpoint ON delivery (endpoint_id, status, event_id);
`;
