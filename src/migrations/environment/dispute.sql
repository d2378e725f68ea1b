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
  -- An owner's word about one of which nothing is heard any more, with the status before it. A later report outweighs it.
  decision            jsonb,
  -- What is sealed of it is erased at its end: its customer was erased before.
  erase_at_end        boolean NOT NULL DEFAULT false,
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

-- What we answer to a dispute: an acceptance, or evidence. Committed before a byte leaves, and one in effect for each stage.
CREATE TABLE dispute_response (
  session_id     uuid NOT NULL,
  -- The gateway's key.
  id             uuid NOT NULL,
  dispute_id     uuid NOT NULL,
  -- Those of the dispute, set by the guard.
  merchant_id    uuid NOT NULL,
  stage          text NOT NULL,
  -- ACCEPT or EVIDENCE.
  type           text NOT NULL,
  -- REQUESTED, then TAKEN by the gateway, or REFUSED: then it has no effect, and another one may follow.
  status         text NOT NULL DEFAULT 'REQUESTED',
  -- What an acceptance gives up, in the payment's currency, set by the guard: it counts as a refund of its day.
  amount_minor   bigint,
  currency       text,
  -- The member, the restricted key or the service; null for a secret key.
  made_by        text,
  -- SHA-256 of the request's fields: the same ones again are a repeat.
  request_hash   bytea NOT NULL,
  defense        text,
  -- The file, type, name, size and hash of each document.
  documents      jsonb NOT NULL DEFAULT '[]',
  -- The explanation and the shipping; null without them, and once they are erased.
  content_sealed text,
  -- Raised and committed before each request.
  sends          int NOT NULL DEFAULT 0,
  first_sent_at  timestamptz,
  failure_code   text,
  -- When a worker takes it up again, which moves it ahead first; null when nothing is left to do.
  next_try_at    timestamptz,
  created_at     timestamptz NOT NULL DEFAULT app.clock(),
  -- When it became TAKEN or REFUSED.
  answered_at    timestamptz,
  PRIMARY KEY (session_id, id)
) PARTITION BY RANGE (session_id);
CREATE UNIQUE INDEX dispute_response_in_effect ON dispute_response (session_id, dispute_id, stage) WHERE status <> 'REFUSED';
CREATE INDEX dispute_response_due ON dispute_response (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX dispute_response_of_merchant ON dispute_response (merchant_id, created_at);

-- Files for evidence, and the facts as they were sent. Removed 90 days after the dispute's end; name, size and hash stay with the response.
CREATE TABLE dispute_file (
  id             uuid PRIMARY KEY,
  session_id     uuid NOT NULL,
  dispute_id     uuid NOT NULL,
  merchant_id    uuid NOT NULL,
  name           text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  content_type   text NOT NULL CHECK (content_type IN ('application/pdf','image/jpeg')),
  size_bytes     int NOT NULL CHECK (size_bytes BETWEEN 1 AND 2097152),
  sha256         bytea NOT NULL,
  content_sealed text NOT NULL,
  -- Ours, made when evidence is submitted.
  is_facts       boolean NOT NULL DEFAULT false,
  created_at     timestamptz NOT NULL DEFAULT app.clock()
);
CREATE INDEX dispute_file_of_dispute ON dispute_file (dispute_id);
