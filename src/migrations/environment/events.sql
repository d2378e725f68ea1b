-- The outbox: the events of sessions. Each belongs to a session by a foreign key (partitions.sql).

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
  -- The transaction that wrote the event or, if that is later, the one of the session's event before it. Ids and times are
  -- made before the commit, so that paging by them misses what commits late; below the oldest running transaction,
  -- everything has committed.
  feed_position xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (session_id, id),
  UNIQUE (session_id, sequence)
) PARTITION BY RANGE (session_id);
CREATE INDEX outbox_event_in_order ON outbox_event (merchant_id, feed_position, sequence, id);
-- For services that read the events of several merchants.
CREATE INDEX outbox_event_of_all ON outbox_event (feed_position, sequence, id);
CREATE INDEX outbox_event_by_time ON outbox_event (merchant_id, created_at, id);

-- Events whose deliveries are not recorded for every endpoint: written with the event, removed with its deliveries. One that
-- had to be delivered without its message stays, fanned out, until it is published for other readers of the stream. Not
-- partitioned: it is nearly empty. Sparse pages and frequent vacuums, so that no plan is made for a table smaller than this one.
CREATE TABLE event_todo (
  session_id    uuid NOT NULL,
  sequence      int NOT NULL,
  created_at    timestamptz NOT NULL,
  -- When the sweep fans it out, or publishes it again; whoever publishes it pushes this ahead.
  due_at        timestamptz NOT NULL,
  -- True once its deliveries are recorded.
  fanned_out    boolean NOT NULL DEFAULT false,
  -- Part of the message id, so that a repeat passes the duplicate window. The process that wrote the event publishes it once.
  publish_count int NOT NULL DEFAULT 1,
  PRIMARY KEY (session_id, sequence)
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
CREATE INDEX event_todo_to_fan_out ON event_todo (due_at) WHERE NOT fanned_out;
CREATE INDEX event_todo_to_publish ON event_todo (due_at) WHERE fanned_out;
