-- Stored cards: what a payment does with one, the cards, the agreements to charge them, and what limits their tries. The vault has the
-- sealed card, and these tables have its handle: neither is of use without the other. docs/safety.md has the rules as S1 to S12.

ALTER TABLE payment_session
  -- The merchant's name for the customer, until the customer's data are erased.
  ADD COLUMN customer_ref text,
  -- The session has a row in stored_payment. False: nothing of this file is read for it.
  ADD COLUMN stored boolean NOT NULL DEFAULT false;
-- A customer's payments. Only sessions with a reference are in it, and it never changes while a payment runs.
CREATE INDEX payment_session_of_customer ON payment_session (merchant_id, customer_ref, id) WHERE customer_ref IS NOT NULL;

CREATE TABLE stored_payment (
  session_id        uuid NOT NULL,
  merchant_id       uuid NOT NULL,
  -- The session's. With them a foreign key holds the amount to the role.
  amount_minor      bigint NOT NULL,
  currency          text NOT NULL,
  customer_ref      text,
  -- SAVE: its card is stored if its customer consents. CUSTOMER: its customer may pay with a stored card. RENEWAL: its merchant charges
  -- an agreement. RECOVERY: the customer pays such a charge by a link. SETUP: a card is stored without a payment.
  role              text NOT NULL CHECK (role IN ('SAVE','CUSTOMER','RENEWAL','RECOVERY','SETUP')),
  -- Whether the customer enters the security code of a stored card.
  security_code     text NOT NULL DEFAULT 'required' CHECK (security_code IN ('required','skip')),
  -- What the customer agrees to with the payment (AgreementTerms in src/core/stored-cards/stored-rows.ts). Null: only to store the card.
  terms             jsonb,
  -- Derived from the session where the payment begins the agreement.
  agreement_id      uuid,
  renewal_ref       text CHECK (char_length(renewal_ref) BETWEEN 1 AND 255),
  try               int,
  -- The stored card that pays, or that was stored.
  method_id         uuid,
  -- SHA-256 of the token as which the stored card was opened: a payment with another token does not use it.
  opened_token_hash bytea,
  -- Every token as which a stored card was opened for the session, until one is submitted, and the card of each.
  opened_hashes     bytea[] NOT NULL DEFAULT '{}',
  opened_methods    uuid[] NOT NULL DEFAULT '{}',
  -- The chain that the payment continues, as the agreement had it, or the one that it begins.
  chain_version          int,
  network                text,
  network_transaction_id text,
  network_date           date,
  link_id                text,
  ds_trans_id            text,
  own_connection_id      uuid,
  own_customer           text,
  own_method             text,
  -- The customer's consent at the submission: the sentence that was shown, by its template and language, or the text of the terms.
  consent_template   text CHECK (char_length(consent_template) BETWEEN 1 AND 100),
  consent_locale     text CHECK (char_length(consent_locale) BETWEEN 1 AND 35),
  consented_at       timestamptz,
  consent_address    inet,
  consent_user_agent text CHECK (char_length(consent_user_agent) <= 512),
  -- Null until the submission. DROPPED: the payment has no winner.
  saving            text CHECK (saving IN ('REQUESTED','KEPT','NOT_WANTED','DROPPED','FAILED')),
  -- The submitted token and the card's new handle, both sealed, while the card is being stored.
  token_sealed      text,
  handle_sealed     text,
  handle_hash       bytea CHECK (octet_length(handle_hash) = 32),
  -- When a worker goes on with it, and until when the vault may have the card.
  save_due_at       timestamptz,
  save_until        timestamptz,
  PRIMARY KEY (session_id),
  -- S12.
  CHECK ((role = 'SETUP') = (amount_minor = 0)),
  -- S7: a renewal has no customer.
  CHECK (role <> 'RENEWAL' OR num_nonnulls(terms, consented_at, opened_token_hash, saving) = 0),
  -- S1.
  CHECK (saving NOT IN ('REQUESTED','KEPT') OR consented_at IS NOT NULL),
  CHECK (num_nonnulls(consent_template, consent_locale, consented_at) IN (0, 3)),
  CHECK (terms IS NULL OR agreement_id IS NOT NULL),
  CHECK ((role IN ('RENEWAL','RECOVERY')) = (renewal_ref IS NOT NULL) AND (role IN ('RENEWAL','RECOVERY')) = (try IS NOT NULL)),
  CHECK (renewal_ref IS NULL OR agreement_id IS NOT NULL),
  CHECK (role <> 'RENEWAL' OR method_id IS NOT NULL AND chain_version IS NOT NULL),
  -- S8: a gateway's own chain is whole.
  CHECK (num_nonnulls(own_connection_id, own_customer, own_method) IN (0, 3)),
  CHECK (saving IS NOT DISTINCT FROM 'REQUESTED' OR num_nonnulls(token_sealed, handle_sealed, save_due_at) = 0),
  CHECK (saving <> 'REQUESTED' OR save_due_at IS NOT NULL AND (handle_sealed IS NOT NULL OR method_id IS NOT NULL)),
  CHECK ((handle_sealed IS NULL) = (token_sealed IS NULL)),
  CHECK (saving <> 'KEPT' OR method_id IS NOT NULL)
) PARTITION BY RANGE (session_id);
-- The few that are being stored.
CREATE INDEX stored_payment_due ON stored_payment (save_due_at) WHERE saving = 'REQUESTED';

-- A stored card of one customer of one merchant.
CREATE TABLE payment_method (
  id             uuid PRIMARY KEY,
  merchant_id    uuid NOT NULL,
  customer_ref   text CHECK (char_length(customer_ref) BETWEEN 1 AND 255),
  brand          text NOT NULL,
  last4          text NOT NULL CHECK (last4 ~ '^[0-9]{4}$'),
  exp_month      smallint NOT NULL CHECK (exp_month BETWEEN 1 AND 12),
  exp_year       smallint NOT NULL CHECK (exp_year BETWEEN 2000 AND 2199),
  -- Of the number for one merchant, by the vault's current key when it was stored.
  fingerprint    uuid NOT NULL,
  -- By which the vault opens the card. The hash stays, so that the vault can erase it.
  handle_sealed  text,
  handle_hash    bytea NOT NULL UNIQUE CHECK (octet_length(handle_hash) = 32),
  status         text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE','DELETED')),
  -- Such as card_lost, where the vault has the card no longer. What the card's bank has said is in card_state.
  stopped_because text,
  -- The payment with which it was stored last, and the names of a gateway that keeps the card of it too.
  session_id     uuid NOT NULL,
  own_connection_id uuid,
  own_customer      text,
  own_method        text,
  created_at     timestamptz NOT NULL DEFAULT app.clock(),
  stored_at      timestamptz NOT NULL DEFAULT app.clock(),
  last_used_at   timestamptz,
  deleted_at     timestamptz,
  UNIQUE (merchant_id, customer_ref, id),
  CHECK ((status = 'DELETED') = (handle_sealed IS NULL) AND (status = 'DELETED') = (deleted_at IS NOT NULL)),
  CHECK (customer_ref IS NOT NULL OR status = 'DELETED'),
  CHECK (num_nonnulls(own_connection_id, own_customer, own_method) IN (0, 3))
);
CREATE INDEX payment_method_at_gateway ON payment_method (own_connection_id, own_customer) WHERE own_customer IS NOT NULL;
-- One number of one customer is one method, until it is deleted.
CREATE UNIQUE INDEX payment_method_of_number ON payment_method (merchant_id, customer_ref, fingerprint) WHERE status = 'ACTIVE';
CREATE INDEX payment_method_of_merchant ON payment_method (merchant_id, id) WHERE status = 'ACTIVE';

-- Cards that the vault has to erase, or the gateway that keeps one too: of deleted methods, of methods whose card was replaced, and of
-- savings that failed. A row goes once it is acknowledged.
CREATE TABLE card_erasure (
  -- At a gateway: of its connection and its name of the card.
  handle_hash  bytea PRIMARY KEY CHECK (octet_length(handle_hash) = 32),
  merchant_id  uuid NOT NULL,
  -- From then on it has to be erased; and when the vault is asked next.
  wanted_at    timestamptz NOT NULL DEFAULT app.clock(),
  erase_due_at timestamptz NOT NULL,
  -- The gateway's names, and when it got the card. Null: the vault's.
  own_connection_id uuid,
  own_customer      text,
  own_method        text,
  begun_at          timestamptz,
  CHECK (num_nonnulls(own_connection_id, own_customer, own_method, begun_at) IN (0, 4))
);
CREATE INDEX card_erasure_due ON card_erasure (erase_due_at);

-- What a customer has agreed to: charges without the customer, with one card at a time.
CREATE TABLE agreement (
  id               uuid PRIMARY KEY,
  merchant_id      uuid NOT NULL,
  customer_ref     text CHECK (char_length(customer_ref) BETWEEN 1 AND 255),
  method_id        uuid,
  type             text NOT NULL CHECK (type IN ('RECURRING','UNSCHEDULED','INSTALMENT')),
  -- The sentence that the customer has read.
  text             text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 500),
  currency         text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  every_days       int CHECK (every_days BETWEEN 1 AND 3660),
  ends_on          date,
  instalments      int CHECK (instalments BETWEEN 2 AND 99),
  max_amount_minor bigint CHECK (max_amount_minor BETWEEN 1 AND 999999999999),
  status           text NOT NULL CHECK (status IN ('ACTIVE','NEEDS_CARD','CANCELLED','ENDED')),
  status_because   text,
  -- The payment with the customer's consent by which its chain began, which is renewed with each new card; and when it was given.
  session_id       uuid NOT NULL,
  consented_at     timestamptz NOT NULL,
  -- What the networks and gateways need to know about the payment that began it.
  chain_version          int NOT NULL DEFAULT 1 CHECK (chain_version >= 1),
  network                text,
  network_transaction_id text,
  network_date           date,
  link_id                text,
  ds_trans_id            text,
  own_connection_id      uuid,
  own_customer           text,
  own_method             text,
  created_at       timestamptz NOT NULL DEFAULT app.clock(),
  -- When it was cancelled or has ended.
  ended_at         timestamptz,
  UNIQUE (merchant_id, id),
  -- S11.
  FOREIGN KEY (merchant_id, customer_ref, method_id) REFERENCES payment_method (merchant_id, customer_ref, id),
  CHECK (type = 'UNSCHEDULED' OR every_days IS NOT NULL AND ends_on IS NOT NULL),
  CHECK ((type = 'INSTALMENT') = (instalments IS NOT NULL)),
  CHECK (status <> 'ACTIVE' OR method_id IS NOT NULL),
  CHECK (status <> 'NEEDS_CARD' OR status_because IS NOT NULL),
  CHECK ((status IN ('CANCELLED','ENDED')) = (ended_at IS NOT NULL)),
  CHECK (customer_ref IS NOT NULL OR status IN ('CANCELLED','ENDED')),
  CHECK (num_nonnulls(own_connection_id, own_customer, own_method) IN (0, 3))
);
CREATE INDEX agreement_of_customer ON agreement (merchant_id, customer_ref, id) WHERE customer_ref IS NOT NULL;
CREATE INDEX agreement_of_method ON agreement (method_id) WHERE method_id IS NOT NULL;
-- Those that end by themselves, until they have.
CREATE INDEX agreement_ending ON agreement (ends_on) WHERE status IN ('ACTIVE','NEEDS_CARD');
CREATE INDEX agreement_in_instalments ON agreement (id) WHERE instalments IS NOT NULL AND status IN ('ACTIVE','NEEDS_CARD');
CREATE INDEX agreement_at_gateway ON agreement (own_connection_id, own_customer) WHERE own_customer IS NOT NULL;

-- One charge of an agreement: the session that may pay it, and the one that has. At most one session has it at a time (S3).
CREATE TABLE renewal (
  agreement_id    uuid NOT NULL,
  renewal_ref     text NOT NULL CHECK (char_length(renewal_ref) BETWEEN 1 AND 255),
  merchant_id     uuid NOT NULL,
  -- Null for one that so far has only a link.
  session_id      uuid,
  paid_session_id uuid,
  tries           int NOT NULL DEFAULT 0,
  -- Whether only its customer may pay it, and why.
  only_by_link    boolean NOT NULL DEFAULT false,
  because         text,
  created_at      timestamptz NOT NULL DEFAULT app.clock(),
  PRIMARY KEY (agreement_id, renewal_ref),
  FOREIGN KEY (merchant_id, agreement_id) REFERENCES agreement (merchant_id, id),
  CHECK (paid_session_id = session_id),
  CHECK (paid_session_id IS NULL OR session_id IS NOT NULL)
);

-- Each request to charge an agreement, by the hash of its Idempotency-Key.
CREATE TABLE renewal_try (
  agreement_id uuid NOT NULL,
  key_hash     bytea NOT NULL CHECK (octet_length(key_hash) = 32),
  renewal_ref  text NOT NULL,
  try          int NOT NULL CHECK (try >= 1),
  request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),
  session_id   uuid NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT app.clock(),
  PRIMARY KEY (agreement_id, key_hash),
  UNIQUE (agreement_id, renewal_ref, try),
  FOREIGN KEY (agreement_id, renewal_ref) REFERENCES renewal (agreement_id, renewal_ref)
);

-- What a card's bank and network have said about further tries of it, for all customers of one merchant.
CREATE TABLE card_state (
  merchant_id     uuid NOT NULL,
  fingerprint     uuid NOT NULL,
  stopped_at      timestamptz,
  stopped_because text,
  not_before      timestamptz,
  PRIMARY KEY (merchant_id, fingerprint),
  CHECK ((stopped_at IS NULL) = (stopped_because IS NULL))
);

-- The tries of stored cards that were declined or not answered (S6), for 40 days.
CREATE TABLE card_decline (
  merchant_id uuid NOT NULL,
  fingerprint uuid NOT NULL,
  attempt_id  uuid NOT NULL,
  declined_at timestamptz NOT NULL,
  -- Of a payment that the customer made.
  by_customer boolean NOT NULL,
  PRIMARY KEY (merchant_id, fingerprint, attempt_id)
);
CREATE INDEX card_decline_of_card ON card_decline (merchant_id, fingerprint, declined_at);
CREATE INDEX card_decline_to_sweep ON card_decline (declined_at);
