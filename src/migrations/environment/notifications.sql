-- Signed gateway notifications.

-- Signed gateway notifications, stored as they were interpreted; a repeat is the same row.
CREATE TABLE gateway_notification (
  connection_id     uuid NOT NULL REFERENCES connection (id),
  notification_id         text NOT NULL,
  kind              text NOT NULL,
  attempt_reference text NOT NULL,
  gateway_reference text NOT NULL,
  amount_minor      bigint,
  currency          text,
  declined          jsonb,
  -- The capture or void that it is about: of two captures of one authorization one may fail, and the other stand. Null of a
  -- message about the authorization itself.
  modification_reference text,
  -- Our refund id, if a refund's notification names it.
  refund_reference  text,
  -- What a dispute's notification says beyond the other columns (DisputeNotice in src/gateways/connector.ts).
  dispute           jsonb,
  -- The network's names for a payment that is held (StoredAnswer in src/gateways/stored-cards.ts).
  stored            jsonb,
  -- The credentials that it was signed with, so that a test message verifies those and no others.
  credential_version int,
  received_at       timestamptz NOT NULL DEFAULT app.clock(),
  -- When it is processed, or processed again.
  next_try_at       timestamptz NOT NULL DEFAULT app.clock(),
  processed_at      timestamptz,
  PRIMARY KEY (connection_id, notification_id),
  FOREIGN KEY (connection_id, credential_version) REFERENCES connection_credential (connection_id, version)
);
CREATE INDEX gateway_notification_of_attempt ON gateway_notification (connection_id, attempt_reference);
CREATE INDEX gateway_notification_to_process ON gateway_notification (next_try_at) WHERE processed_at IS NULL;
-- Finds old rows, which lie in the order of their times.
CREATE INDEX gateway_notification_by_age ON gateway_notification USING brin (received_at);

-- What is read of an account besides its payments, page by page. A row is made when an account is read first.
CREATE TABLE gateway_feed (
  connection_id      uuid NOT NULL REFERENCES connection (id),
  kind               text NOT NULL CHECK (kind IN ('disputes','settlement')),
  -- When the next page is read: also the end of a worker's lease.
  next_read_at       timestamptz NOT NULL,
  lease_token        uuid,
  -- The reading that is under way: when it began, what it goes back to, the page where it goes on, and whether a part of it could not be
  -- recorded.
  begun_at           timestamptz,
  since              timestamptz,
  page               text,
  is_partial         boolean NOT NULL DEFAULT false,
  -- The beginnings of the last reading that came to its end, and of the last one that went back as far as possible.
  read_at            timestamptz,
  read_whole_at      timestamptz,
  -- The 95th percentile of the time from a movement of money to its line, over 90 days; null before 20 lines are known.
  usual_delay_ms     bigint,
  -- Captures that are in no statement although the usual time has passed, after the last reading.
  overdue            int NOT NULL DEFAULT 0,
  -- Disputes of payments that were not made here, in the last reading of all.
  not_ours           int NOT NULL DEFAULT 0,
  -- Why the gateway refuses the reading, since when, and the credentials that it refuses.
  blocked_reason     text,
  blocked_at         timestamptz,
  credential_version int,
  PRIMARY KEY (connection_id, kind),
  CHECK ((blocked_reason IS NULL) = (blocked_at IS NULL))
);
