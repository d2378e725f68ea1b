-- The outbox: events of sessions, until they are published and their deliveries exist. Each belongs to a session by a foreign
-- key (partitions.sql).

CREATE TABLE outbox_event (
  session_id    uuid NOT NULL,
  id            uuid NOT NULL,
  -- 1 for the session's first event; the writer holds the session's row lock, so there are no gaps.
  sequence      int NOT NULL CHECK (sequence >= 1),
  type          text NOT NULL CHECK (type ~ '^[a-z_]+[.][a-z_]+$'),
  merchant_id   uuid NOT NULL,
  -- The exact bytes of every delivery.
  body          bytea NOT NULL,
  created_at    timestamptz NOT NULL,
  -- How often the relay has claimed the row; part of the message id, so that a repeat passes the duplicate window.
  publish_count int NOT NULL DEFAULT 0,
  -- When the relay may claim the row: at once, later while it is being published, never once it is published.
  publish_at    timestamptz,
  published_at  timestamptz,
  -- Its delivery rows exist from here on.
  fanned_out_at timestamptz,
  -- The transaction that wrote the event or, if that is later, the one of the session's event before it. Ids and times are
  -- made before the commit, so that paging by them misses what commits late; below the oldest running transaction,
  -- everything has committed.
  feed_position xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (session_id, id),
  UNIQUE (session_id, sequence),
  CHECK ((published_at IS NULL) = (publish_at IS NOT NULL))
) PARTITION BY RANGE (session_id);
CREATE INDEX outbox_event_to_publish ON outbox_event (publish_at) WHERE published_at IS NULL;
CREATE INDEX outbox_event_to_fan_out ON outbox_event (created_at) WHERE fanned_out_at IS NULL;
CREATE INDEX outbox_event_in_order ON outbox_event (merchant_id, feed_position, sequence, id);
CREATE INDEX outbox_event_by_time ON outbox_event (merchant_id, created_at, id);
