-- Payment sessions, their attempts, and the keys of idempotent requests, with every money rule that a unique index can hold.
-- The rules about the values of a row and about their changes are in payment-guards.sql: PostgreSQL parses every CHECK of a
-- table again for each statement, and a function once for each connection. Foreign keys between sessions and attempts are in
-- partitions.sql, for both tables are cut by months.

CREATE TABLE payment_session (
  id                  uuid PRIMARY KEY,
  merchant_id         uuid NOT NULL,
  amount_minor        bigint NOT NULL,
  currency            text NOT NULL,
  order_ref           text NOT NULL,
  customer_email      text,
  -- The optional description of the order (OrderDetails in src/core/rows/entities.ts); null for most.
  details             jsonb,
  -- The version of the key that the client secret is derived with; the secret itself is stored nowhere.
  secret_version      int NOT NULL,
  status              text NOT NULL DEFAULT 'CREATED',
  -- DONE: the status is final and so is every attempt.
  phase               text NOT NULL DEFAULT 'IDLE',
  lease_epoch         int NOT NULL DEFAULT 0,
  lease_until         timestamptz,
  submit_deadline     timestamptz,
  vault_token         text,
  -- SHA-256 of the submitted token: distinguishes a repeat from another card after the token itself is deleted.
  token_hash          bytea,
  card_brand          text,
  card_last4          text,
  rule_version        int,
  plan                jsonb,
  skipped             jsonb,
  -- What decided on the plan (RoutedBy in src/core/rows/entities.ts): the case, the arm of a split, and the card's brand, type and
  -- country, never its digits. Null for a rule without either.
  routed_by           jsonb,
  winner_attempt_id   uuid,
  captured_attempt_id uuid GENERATED ALWAYS AS (CASE WHEN status = 'SUCCEEDED' THEN winner_attempt_id END) STORED,
  -- Lets the foreign keys payment_session_winner and payment_session_captured demand a true value on the other side.
  pinned              boolean NOT NULL DEFAULT true,
  captured_via        text,
  capture_confirmed   boolean,
  failover            boolean NOT NULL DEFAULT false,
  decline_code        text,
  -- Why the session is EXPIRED, where its merchant ended it: CANCELLED or REPLACED. Null where its time was over.
  expired_because     text,
  -- The session that its merchant created in its place, at most one.
  replaced_by         uuid,
  -- When the merchant was notified that the outcome takes longer than the budget.
  pending_event_at    timestamptz,
  -- After a restore: from this time on the gateways are asked what they did for the session that is not in this database.
  -- Until they have answered, the session neither ends nor adopts a hold (restore-guards.sql). Null for all others.
  unrecorded_check_at timestamptz,
  -- When this database sent each attempt in doubt the first void that its gateway accepted and that no late authorization can
  -- follow, by the attempt's id. Only a void in here makes the report that a gateway found nothing believable.
  unrecorded_voids    jsonb,
  -- The API requests that created and submitted the session: what a merchant's log and a customer's error page name. They are
  -- written by the statements that create and claim, and are found by their own times, so that they need no index.
  create_request_id   uuid,
  submit_request_id   uuid,
  created_at          timestamptz NOT NULL DEFAULT app.clock(),
  expires_at          timestamptz NOT NULL,
  submitted_at        timestamptz,
  settled_at          timestamptz,
  -- A payment that its merchant captures later: since when and until when the amount is held, when the merchant is reminded, and
  -- when the capture was asked for (hold-guards.sql).
  manual_capture      boolean NOT NULL DEFAULT false,
  capture_by          timestamptz,
  held_at             timestamptz,
  held_until          timestamptz,
  capture_due_at      timestamptz,
  capture_asked_at    timestamptz,
  -- A second payment of its order is what the merchant wants (orders.sql).
  allow_repeated_order boolean NOT NULL DEFAULT false,
  -- The session that pays the same order, where this one is declined for it.
  paying_session_id   uuid,
  -- The submitted card's fingerprint by the vault's current key, and the customer's network: a /24, or of IPv6 a /48. Null where the vault made
  -- none, where the address is not a public one, and once the customer's data are erased.
  card_fingerprint    uuid,
  customer_network    cidr,
  -- What slowed the payment down against card testing (Brake in src/core/rows/entities.ts); null for none.
  brakes              text[] CHECK (brakes <@ ARRAY['NEW_CARD','KNOWN_CARD','NETWORK']),
  UNIQUE (id, amount_minor, currency)
) PARTITION BY RANGE (id);
CREATE INDEX payment_session_to_recover ON payment_session (lease_until) WHERE phase = 'PROCESSING';
CREATE INDEX payment_session_to_expire ON payment_session (expires_at) WHERE phase = 'IDLE';
CREATE INDEX payment_session_settled ON payment_session (settled_at) WHERE settled_at IS NOT NULL;
-- The holds that wait for their merchants, by the end of their time, and as the list has them. Each query names the condition of its
-- index alone, so that no plan depends on how many holds there are.
CREATE INDEX payment_session_hold_ends ON payment_session (held_until)
  WHERE held_at IS NOT NULL AND status = 'CREATED' AND capture_asked_at IS NULL;
CREATE INDEX payment_session_held ON payment_session (merchant_id, id) WHERE manual_capture AND held_at IS NOT NULL AND status = 'CREATED';
-- Captures that are not confirmed yet, and the few whose confirmation never came.
CREATE INDEX payment_session_unconfirmed ON payment_session (settled_at) WHERE NOT capture_confirmed;

-- What the dashboard finds payments by.
CREATE INDEX payment_session_of_merchant ON payment_session (merchant_id, id);
-- Equal references, and beginnings of references whatever the database's collation is.
CREATE INDEX payment_session_of_order ON payment_session (merchant_id, order_ref text_pattern_ops, id);
-- A customer's payments, and the beginnings of customers' names. Only sessions that have them are in the two, and neither changes while
-- a payment runs.
CREATE INDEX payment_session_of_email ON payment_session (merchant_id, lower(customer_email), id) WHERE customer_email IS NOT NULL;
CREATE INDEX payment_session_of_name ON payment_session (merchant_id, lower(details ->> 'customerName') text_pattern_ops, id)
  WHERE details ->> 'customerName' IS NOT NULL;
-- Rows come into the three when a payment settles and not before, so that a payment's many changes until then do not write to
-- them. Sessions that are CREATED are the newest, where a walk by id begins anyway.
CREATE INDEX payment_session_of_card ON payment_session (merchant_id, card_last4, id)
  WHERE card_last4 IS NOT NULL AND status <> 'CREATED';
CREATE INDEX payment_session_of_status ON payment_session (merchant_id, status, id) WHERE status <> 'CREATED';
-- The cards that a merchant has approved. A success changes the indexes above too, so this one costs it an entry; a hold changes none.
CREATE INDEX payment_session_of_approved_card ON payment_session (merchant_id, card_fingerprint)
  WHERE status = 'SUCCEEDED' AND card_fingerprint IS NOT NULL;
CREATE INDEX payment_session_failed_over ON payment_session (merchant_id, id) WHERE failover;

CREATE TABLE attempt (
  session_id            uuid NOT NULL,
  id                    uuid NOT NULL,
  sequence              int NOT NULL,
  gateway               text NOT NULL,
  connection_id         uuid NOT NULL,
  credential_version    int NOT NULL,
  priority              int NOT NULL,
  because               text NOT NULL,
  amount_minor          bigint NOT NULL,
  currency              text NOT NULL,
  status                text NOT NULL DEFAULT 'AUTHORIZING',
  failure_kind          text,
  stop                  text,
  decline_code          text,
  gateway_code          text,
  -- Why the gateway processed nothing: REQUEST or CREDENTIALS refused, or NO_ANSWER.
  refusal               text,
  gateway_reference     text,
  next_action           text,
  next_because          text,
  -- Committed before the first capture request is sent.
  capture_ordered_at    timestamptz,
  -- The amount of the ordered capture: the whole one, unless the order says less.
  captured_amount_minor bigint,
  -- What was ordered, where a person has captured another amount at the gateway.
  ordered_amount_minor  bigint,
  -- The capture's own reference at the gateway, and the card network's name for the payment, where the gateway gives them.
  capture_reference     text,
  network_transaction_id text,
  -- The gateway's definitive refusal of the capture.
  capture_refusal_code  text,
  void_kind             text,
  -- When the attempt was looked up, after the plan had ended.
  looked_up_at          timestamptz,
  -- When it became VOIDING; only VOIDED or CAPTURED can follow.
  voiding_at            timestamptz,
  -- When the void was sent whose answer is recorded.
  void_asked_at         timestamptz,
  -- From here on the gateway can no longer execute the authorize.
  latest_execution_at   timestamptz NOT NULL,
  retries               int NOT NULL DEFAULT 0,
  next_retry_at         timestamptz,
  started_at            timestamptz NOT NULL DEFAULT app.clock(),
  changed_at            timestamptz NOT NULL DEFAULT app.clock(),
  -- When the gateway's first answer, or the lack of one, was recorded.
  answered_at           timestamptz,
  completed_at          timestamptz,
  holds                 boolean GENERATED ALWAYS AS (status IN ('AUTHORIZED','CAPTURED')) STORED,
  captured              boolean GENERATED ALWAYS AS (status = 'CAPTURED') STORED,
  -- A person's decision about an attempt that its gateway never ends (decision-guards.sql).
  decision              text,
  -- The gateway's reference of the captured payment.
  decision_reference    text,
  -- The captured amount, where it is not the ordered one, or a restore has lost the order.
  decision_amount_minor bigint,
  decision_reason       text,
  decided_by            text,
  decided_at            timestamptz,
  -- Another person has to confirm it before it takes effect.
  decision_takes_two    boolean,
  decision_confirmed_by text,
  decision_confirmed_at timestamptz,
  PRIMARY KEY (session_id, id),
  UNIQUE (session_id, sequence),
  UNIQUE (session_id, id, holds),
  UNIQUE (session_id, id, captured)
) PARTITION BY RANGE (session_id);
CREATE UNIQUE INDEX attempt_one_authorizing ON attempt (session_id) WHERE status IN ('AUTHORIZING','AWAITING_CUSTOMER');
-- The rule: at most one attempt of a session holds, or may turn out to hold, a capture.
CREATE UNIQUE INDEX attempt_one_capturable ON attempt (session_id)
  WHERE status IN ('AUTHORIZED','CAPTURED') OR (status = 'VOIDING' AND capture_ordered_at IS NOT NULL);
-- A notification names the attempt and knows no session, which every other key of an attempt begins with.
CREATE INDEX attempt_by_id ON attempt (id);
CREATE INDEX attempt_changed ON attempt (changed_at, id);
CREATE INDEX attempt_void_due ON attempt (next_retry_at) WHERE status = 'VOIDING';
-- Both hold the few rows that wait for a gateway, however many attempts there are.
CREATE INDEX attempt_being_voided ON attempt (voiding_at) WHERE status = 'VOIDING';
CREATE INDEX attempt_being_captured ON attempt (capture_ordered_at) WHERE status = 'AUTHORIZED';
-- The voided holds of a day, for the ledger. An attempt comes into it when it is voided, and never changes there.
CREATE INDEX attempt_voided ON attempt (completed_at) WHERE void_kind = 'VOIDED';
-- The few attempts whose credentials were refused, for the alert about them.
CREATE INDEX attempt_credentials_refused ON attempt (connection_id, answered_at) WHERE refusal = 'CREDENTIALS';

CREATE TABLE idempotency (
  merchant_id   uuid NOT NULL,
  key           text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
  request_hash  bytea NOT NULL CHECK (octet_length(request_hash) = 32),
  session_id    uuid NOT NULL,
  -- The vault object of the first answer; the rest of that answer is the session row and a derived secret.
  answer_sealed text,
  expires_at    timestamptz NOT NULL,
  PRIMARY KEY (merchant_id, key)
);
CREATE INDEX idempotency_to_expire ON idempotency (expires_at);

-- Which session of an external vault belongs to which of ours: a token counts in its own session only. No foreign key: the
-- vault is asked first, and a session that is then not created leaves a row that lapses.
CREATE TABLE vault_session (
  session_id    uuid        PRIMARY KEY,
  vault_session text        NOT NULL CHECK (char_length(vault_session) BETWEEN 1 AND 128),
  expires_at    timestamptz NOT NULL
);
CREATE INDEX vault_session_to_expire ON vault_session (expires_at);
