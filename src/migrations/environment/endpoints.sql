-- Merchants' webhook endpoints.

CREATE TABLE endpoint (
  id                    uuid PRIMARY KEY,
  merchant_id           uuid NOT NULL,
  url                   text NOT NULL CHECK (char_length(url) BETWEEN 8 AND 2048),
  -- Counts the owner's changes, so that two people who look at the same endpoint cannot undo each other unseen.
  version               int NOT NULL DEFAULT 1,
  -- Only ENABLED ones are posted to; for the others deliveries are kept and wait. A REMOVED one is kept for its log: nothing
  -- is sent to it, and its owner no longer sees it.
  status                text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING','ENABLED','PAUSED','DISABLED','REMOVED')),
  -- Null: every type.
  event_types           text[] CHECK (cardinality(event_types) >= 1),
  secret_sealed         text NOT NULL,
  -- The secret before the last rotation, which still signs until the end of the overlap.
  previous_sealed       text,
  previous_until        timestamptz,
  created_at            timestamptz NOT NULL DEFAULT app.clock(),
  verified_at           timestamptz,
  disabled_at           timestamptz,
  disabled_reason      text CHECK (disabled_reason IN ('GONE','FAILING','OWNER')),
  -- How many deliveries may be in progress at once.
  in_flight_max         int NOT NULL DEFAULT 4 CHECK (in_flight_max BETWEEN 1 AND 64),
  failures_in_row       int NOT NULL DEFAULT 0 CHECK (failures_in_row >= 0),
  failing_since         timestamptz,
  -- While the breaker is open: when the next single delivery may probe.
  probe_at              timestamptz,
  CHECK ((failures_in_row = 0) = (failing_since IS NULL)),
  CHECK ((previous_sealed IS NULL) = (previous_until IS NULL)),
  -- A paused one whose URL has changed is paused and not verified.
  CONSTRAINT endpoint_enabled_verified CHECK (status <> 'ENABLED' OR verified_at IS NOT NULL),
  CONSTRAINT endpoint_check3 CHECK ((status = 'DISABLED') = (disabled_at IS NOT NULL)),
  CONSTRAINT endpoint_check4 CHECK ((status = 'DISABLED') = (disabled_reason IS NOT NULL))
);
CREATE INDEX endpoint_of_merchant ON endpoint (merchant_id);
CREATE INDEX endpoint_failing ON endpoint (failing_since) WHERE failing_since IS NOT NULL AND status = 'ENABLED';
