-- Disputes: money that a cardholder's bank takes back, or may take, of a captured payment. A payment without one is read without
-- looking for any.

ALTER TABLE payment_session
  -- The disputes of the session, whatever became of them. The guards look for none while it is 0.
  ADD COLUMN disputes smallint NOT NULL DEFAULT 0;

CREATE TABLE dispute (
  session_id          uuid NOT NULL,
  -- Derived from the session and the gateway's reference.
  id                  uuid NOT NULL,
  -- The session's, set by the guard: for the list of a merchant's disputes.
  merchant_id         uuid NOT NULL,
  -- The captured attempt; `captured` lets a foreign key demand that it stays captured.
  attempt_id          uuid NOT NULL,
  captured            boolean NOT NULL DEFAULT true,
  connection_id       uuid NOT NULL,
  gateway             text NOT NULL,
  gateway_reference   text NOT NULL,
  -- A network's report of fraud, which may bear the reference of the dispute that follows it.
  is_warning          boolean GENERATED ALWAYS AS (stage = 'FRAUD_WARNING') STORED,
  stage               text NOT NULL,
  status              text NOT NULL,
  amount_minor        bigint NOT NULL,
  currency            text NOT NULL,
  -- What no refund may touch, and how much of it refunds had paid back already. The guard computes both.
  held_minor          bigint NOT NULL DEFAULT 0,
  overlap_minor       bigint NOT NULL DEFAULT 0,
  reason              text NOT NULL,
  network_reason_code text,
  network             text,
  respond_by          timestamptz,
  -- What the gateway has reported, each once: its event code, amount and currency, and when it arrived.
  notices             jsonb NOT NULL,
  -- Of a dispute that is read: when the gateway was asked for what stands here, and when it opened the dispute by its own clock.
  asked_at            timestamptz,
  opened_at           timestamptz,
  -- When the merchant was notified that the deadline of this stage is near.
  due_soon_at         timestamptz,
  created_at          timestamptz NOT NULL DEFAULT app.clock(),
  updated_at          timestamptz NOT NULL DEFAULT app.clock(),
  -- When it got a status that needs nobody any more; null again if the status turns.
  closed_at           timestamptz,
  PRIMARY KEY (session_id, id)
) PARTITION BY RANGE (session_id);
-- A notification names the dispute and knows no session.
CREATE INDEX dispute_by_reference ON dispute (connection_id, gateway_reference);
CREATE INDEX dispute_by_id ON dispute (id);
-- The list of a merchant's disputes.
CREATE INDEX dispute_of_merchant ON dispute (merchant_id, created_at, id);

-- The few that are not over, for their deadlines.
CREATE INDEX dispute_open ON dispute (respond_by) WHERE closed_at IS NULL;

-- What was taken from the merchant for a dispute, and returned. Append-only.
CREATE TABLE dispute_movement (
  session_id   uuid NOT NULL,
  dispute_id   uuid NOT NULL,
  ordinal      smallint NOT NULL,
  -- Those of the dispute, set by the guard.
  merchant_id  uuid NOT NULL,
  gateway      text NOT NULL,
  type         text NOT NULL,
  amount_minor bigint NOT NULL,
  currency     text NOT NULL,
  recorded_at  timestamptz NOT NULL DEFAULT app.clock(),
  PRIMARY KEY (session_id, dispute_id, ordinal)
) PARTITION BY RANGE (session_id);
-- What a merchant's ledger of a day reads.
CREATE INDEX dispute_movement_recorded ON dispute_movement (merchant_id, recorded_at);
