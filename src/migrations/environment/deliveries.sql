-- Deliveries of events to endpoints, and the log of every delivery attempt. A delivery belongs to an event by a foreign key
-- (partitions.sql).

CREATE TABLE delivery (
  event_id     uuid NOT NULL,
  endpoint_id  uuid NOT NULL REFERENCES endpoint (id),
  session_id   uuid NOT NULL,
  sequence     int NOT NULL,
  status       text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING','SUCCEEDED','EXHAUSTED')),
  -- Delivery attempts whose result is recorded.
  tries        int NOT NULL DEFAULT 0,
  -- Retry time, visibility timeout and end of the lease in one: whoever claims the row pushes it ahead.
  next_at      timestamptz,
  -- Names the claim that may record a result.
  lease_token  uuid,
  ended_at     timestamptz,
  -- The session's id leads to the partition.
  PRIMARY KEY (event_id, endpoint_id, session_id),
  UNIQUE (session_id, endpoint_id, sequence),
  CHECK ((status = 'PENDING') = (next_at IS NOT NULL)),
  CHECK ((status = 'PENDING') = (ended_at IS NULL)),
  CHECK (status = 'PENDING' OR lease_token IS NULL)
) PARTITION BY RANGE (session_id);
CREATE INDEX delivery_due ON delivery (endpoint_id, next_at) WHERE status = 'PENDING';
CREATE INDEX delivery_under_way ON delivery (endpoint_id) WHERE lease_token IS NOT NULL;
CREATE INDEX delivery_of_endpoint ON delivery (endpoint_id, status, event_id);

-- One row for each delivery attempt, never changed. A verification has no delivery, hence no foreign key to one.
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
  -- True for a test event; null for an event of a session.
  is_test      boolean CHECK (is_test),
  PRIMARY KEY (event_id, id),
  CHECK ((status_code IS NULL) <> (no_answer IS NULL))
) PARTITION BY RANGE (event_id);
CREATE INDEX delivery_attempt_of_endpoint ON delivery_attempt (endpoint_id, id);
CREATE INDEX delivery_attempt_of_test ON delivery_attempt (endpoint_id, event_id) WHERE is_test;
CREATE TRIGGER unchanging BEFORE UPDATE OR DELETE ON delivery_attempt FOR EACH ROW EXECUTE FUNCTION app.refuse_change();

-- The claim of due deliveries takes 5 ms over 1000 endpoints, and 125 ms when the server compiles it first.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = off', current_database()); END $$;
