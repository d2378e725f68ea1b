-- Customer authentication (3-D Secure), by the gateway that asks for it or by a provider outside of the gateways. A payment without one has no row here and is
-- read without looking for any.

ALTER TABLE payment_session
  -- Since when the customer is asked to act; null while no action is open. The budget stands still meanwhile.
  ADD COLUMN awaiting_since timestamptz,
  ADD COLUMN authentications smallint NOT NULL DEFAULT 0,
  -- The browser's data, for the gateways of later attempts. Kept from the first action to the session's end.
  ADD COLUMN browser_sealed text;

-- 1: the one repeat at the same connection, with authentication.
ALTER TABLE attempt ADD COLUMN round smallint NOT NULL DEFAULT 0;
-- The provider's authentication whose proof the gateway gets.
ALTER TABLE attempt ADD COLUMN authentication_id uuid;

-- One run of 3-D Secure: inside an attempt at the gateway that runs it, or before any at a provider.
CREATE TABLE authentication (
  session_id            uuid NOT NULL,
  id                    uuid NOT NULL,
  sequence              smallint NOT NULL,
  -- Null for that of a provider.
  attempt_id            uuid,
  connection_id         uuid NOT NULL,
  because               text NOT NULL,
  -- FRICTIONLESS: the customer was never asked. REDIRECT and CHALLENGE: a challenge was offered, by a gateway or by a
  -- provider.
  flow                  text NOT NULL DEFAULT 'REDIRECT',
  status                text NOT NULL DEFAULT 'AWAITING_CUSTOMER',
  -- As the connector said when the action was opened: false where a hold may appear without a further request of ours,
  -- for as long after the action as action_life_ms.
  holds_only_when_asked boolean NOT NULL,
  action_life_ms        int NOT NULL,
  -- When it is given up.
  deadline_at           timestamptz NOT NULL,
  -- What the page shows, what the connector needs to complete, and what the customer's return brought: gone with the end.
  action_sealed         text,
  keep_sealed           text,
  returned_sealed       text,
  -- SHA-256 of the ticket with which one page shows the action; a later one replaces it.
  ticket_hash           bytea,
  shown_count           smallint NOT NULL DEFAULT 0,
  shown_at              timestamptz,
  -- When the customer gave up: nothing is completed from here on.
  cancel_asked_at       timestamptz,
  answered_at           timestamptz,
  -- Completing requests that were sent. Raised and committed before each.
  completions_sent      smallint NOT NULL DEFAULT 0,
  -- What the gateway says about it.
  version               text,
  trans_status          text,
  eci                   text,
  ds_transaction_id     text,
  liability             text,
  trans_status_reason   text,
  -- Of a provider's: its name, the version of its credentials, and when the provider is looked at next.
  provider              text,
  credential_version    int,
  next_look_at          timestamptz,
  -- What gateways import; gone when the session settles.
  proof_sealed          text,
  -- The bank's message to the customer. The page shows it with the challenge and with the payment's end; a day after the
  -- authentication's end it is deleted.
  message_sealed        text,
  started_at            timestamptz NOT NULL DEFAULT app.clock(),
  completed_at          timestamptz,
  PRIMARY KEY (session_id, id),
  UNIQUE (session_id, sequence),
  UNIQUE (session_id, attempt_id)
) PARTITION BY RANGE (session_id);
CREATE UNIQUE INDEX authentication_one_open ON authentication (session_id) WHERE completed_at IS NULL;
-- Two challenges at one gateway are never offered.
CREATE UNIQUE INDEX authentication_one_challenge ON authentication (session_id, connection_id) WHERE flow <> 'FRICTIONLESS';
-- Messages of banks, for their deletion.
CREATE INDEX authentication_message ON authentication (completed_at) WHERE message_sealed IS NOT NULL;
-- Open authentications, for alarms and metrics.
CREATE INDEX authentication_open ON authentication (deadline_at) WHERE completed_at IS NULL;
