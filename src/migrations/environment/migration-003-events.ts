/** Events of settled sessions and their way to the merchants' endpoints: outbox, endpoints, deliveries and every try. */

export const name = "003-events";

export const sql = `
CREATE TABLE outbox_event (
  session_id    uuid NOT NULL REFERENCES payment_session (id),
  id            uuid NOT NULL,
  -- 1 for the session's first event; whoever writes holds the session's row lock, so there are no gaps.
  sequence      int NOT NULL CHECK (sequence >= 1),
  type          text NOT NULL CHECK (type ~ '^[a-z_]+[.][a-z_]+$'),
  merchant_id   uuid NOT NULL,
  -- The exact bytes of every delivery.
  body          bytea NOT NULL,
  created_at    timestamptz NOT NULL,
  -- How often the relay has taken the row; part of the message id, so that a repeat passes the duplicate window.
  publish_count int NOT NULL DEFAULT 0,
  -- When the relay may take the row: at once, later while somebody is publishing it, never once it is published.
  publish_at    timestamptz,
  published_at  timestamptz,
  -- Its delivery rows exist from here on.
  fanned_out_at timestamptz,
  PRIMARY KEY (session_id, id),
  UNIQUE (session_id, sequence),
  CHECK ((published_at IS NULL) = (publish_at IS NOT NULL))
);
CREATE INDEX outbox_event_to_publish ON outbox_event (publish_at) WHERE published_at IS NULL;
CREATE INDEX outbox_event_to_fan_out ON outbox_event (created_at) WHERE fanned_out_at IS NULL;

CREATE TABLE endpoint (
  id                    uuid PRIMARY KEY,
  merchant_id           uuid NOT NULL,
  url                   text NOT NULL CHECK (char_length(url) BETWEEN 8 AND 2048),
  -- Only ENABLED ones are posted to; for the others deliveries are kept and wait.
  status                text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING','ENABLED','PAUSED','DISABLED')),
  -- Null: every type.
  event_types           text[] CHECK (cardinality(event_types) >= 1),
  secret_sealed         text NOT NULL,
  -- The secret before the last rotation, which still signs until the end of the overlap.
  previous_sealed       text,
  previous_until        timestamptz,
  created_at            timestamptz NOT NULL DEFAULT app.clock(),
  verified_at           timestamptz,
  disabled_at           timestamptz,
  disabled_because      text CHECK (disabled_because IN ('GONE','FAILING')),
  -- How many deliveries may be under way at once.
  in_flight_max         int NOT NULL DEFAULT 4 CHECK (in_flight_max BETWEEN 1 AND 64),
  failures_in_row       int NOT NULL DEFAULT 0 CHECK (failures_in_row >= 0),
  failing_since         timestamptz,
  -- While the breaker is open: when the next single delivery may probe.
  probe_at              timestamptz,
  CHECK ((failures_in_row = 0) = (failing_since IS NULL)),
  CHECK ((previous_sealed IS NULL) = (previous_until IS NULL)),
  CHECK (status NOT IN ('ENABLED','PAUSED') OR verified_at IS NOT NULL),
  CHECK ((status = 'DISABLED') = (disabled_at IS NOT NULL)),
  CHECK ((status = 'DISABLED') = (disabled_because IS NOT NULL))
);
CREATE INDEX endpoint_of_merchant ON endpoint (merchant_id);

CREATE TABLE delivery (
  event_id     uuid NOT NULL,
  endpoint_id  uuid NOT NULL REFERENCES endpoint (id),
  session_id   uuid NOT NULL,
  sequence     int NOT NULL,
  status       text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING','SUCCEEDED','EXHAUSTED')),
  -- Tries whose result is recorded.
  tries        int NOT NULL DEFAULT 0,
  -- Retry time, visibility timeout and end of the lease in one: whoever claims the row pushes it ahead.
  next_at      timestamptz,
  -- Names the claim that may record a result.
  lease_token  uuid,
  ended_at     timestamptz,
  PRIMARY KEY (event_id, endpoint_id),
  UNIQUE (session_id, endpoint_id, sequence),
  FOREIGN KEY (session_id, event_id) REFERENCES outbox_event (session_id, id),
  CHECK ((status = 'PENDING') = (next_at IS NOT NULL)),
  CHECK ((status = 'PENDING') = (ended_at IS NULL)),
  CHECK (status = 'PENDING' OR lease_token IS NULL)
);
CREATE INDEX delivery_due ON delivery (endpoint_id, next_at) WHERE status = 'PENDING';
CREATE INDEX delivery_under_way ON delivery (endpoint_id) WHERE lease_token IS NOT NULL;

-- One row a try, never changed. A verification is a try of an event that has no delivery, hence no foreign key to one.
CREATE TABLE delivery_attempt (
  event_id     uuid NOT NULL,
  id           uuid NOT NULL,
  endpoint_id  uuid NOT NULL REFERENCES endpoint (id),
  started_at   timestamptz NOT NULL,
  duration_ms  int NOT NULL CHECK (duration_ms >= 0),
  -- One of the two: what the endpoint answered, or why there was no answer.
  status_code  int,
  no_answer    text,
  -- The beginning of the answer's body, redacted.
  answer       text,
  PRIMARY KEY (event_id, id),
  CHECK ((status_code IS NULL) <> (no_answer IS NULL))
);
CREATE INDEX delivery_attempt_of_endpoint ON delivery_attempt (endpoint_id, id);
CREATE TRIGGER unchanging BEFORE UPDATE OR DELETE ON delivery_attempt FOR EACH ROW EXECUTE FUNCTION app.refuse_change();

-- The claim of due deliveries takes 5 ms over 1000 endpoints, and 125 ms when the server compiles it first.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = off', current_database()); END $$;
`;
