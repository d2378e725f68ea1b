-- What is counted against card testing.

-- The submissions of a card in its last day: a row for each version of its fingerprint, written by the claim. Unlogged: a crash of the
-- server forgets the counts, and none of them is in a backup.
CREATE UNLOGGED TABLE card_submission (
  -- Of the card's number for one merchant, by a key of the vault: 16 bytes.
  fingerprint  uuid        NOT NULL,
  -- The first one stays as long as any other: who claims the card again locks it.
  nth          int         NOT NULL,
  session_id   uuid        NOT NULL,
  submitted_at timestamptz NOT NULL,
  merchant_id  uuid        NOT NULL,
  -- The customer's, where it counts: a /24 of IPv4 or a /48 of IPv6. In the row of the current version only.
  network      cidr,
  -- By how much the submission counts as declined; null until it is.
  declines     int         CHECK (declines BETWEEN 1 AND 2),
  PRIMARY KEY (fingerprint, nth)
);
CREATE INDEX card_submission_of_session ON card_submission (session_id);
CREATE INDEX card_submission_of_network ON card_submission (merchant_id, network, submitted_at) WHERE network IS NOT NULL;
CREATE INDEX card_submission_declined_of_network ON card_submission (merchant_id, network, submitted_at)
  WHERE network IS NOT NULL AND declines IS NOT NULL;

-- Payments that were declined in a way of card testers, or because their card was declined too often. Unlogged as the counts are.
CREATE UNLOGGED TABLE tested_payment (
  session_id  uuid        PRIMARY KEY,
  merchant_id uuid        NOT NULL,
  -- The current version.
  fingerprint uuid        NOT NULL,
  tested_at   timestamptz NOT NULL,
  -- Its card was declined too often before, so no gateway was called.
  refused     boolean     NOT NULL DEFAULT false
);
CREATE INDEX tested_payment_by_time ON tested_payment (tested_at) INCLUDE (merchant_id, fingerprint, session_id, refused);

-- The cards of a merchant that were declined in testers' ways in ten minutes, from which the same hour of later days is predicted.
CREATE TABLE tested_cards (
  merchant_id uuid        NOT NULL,
  starts_at   timestamptz NOT NULL,
  cards       int         NOT NULL CHECK (cards > 0),
  PRIMARY KEY (merchant_id, starts_at)
);

-- The times in which a merchant brakes, or braked (src/core/card-testing/brake-merchants.ts).
CREATE TABLE braking (
  merchant_id uuid        NOT NULL,
  began_at    timestamptz NOT NULL DEFAULT date_trunc('milliseconds', app.clock()),
  -- It begins above this number of cards, and ends after ten minutes below half of it.
  threshold   int         NOT NULL,
  -- The most cards of ten minutes.
  cards       int         NOT NULL,
  -- Since when there are fewer than half of the threshold.
  calm_since  timestamptz,
  ended_at    timestamptz,
  -- The person who held it on, as the audit trail names them; null where the cards did.
  begun_by    text,
  PRIMARY KEY (merchant_id, began_at)
);
CREATE UNIQUE INDEX braking_open ON braking (merchant_id) WHERE ended_at IS NULL;

-- A person's word: until then the merchant brakes, or does not, whatever the cards say.
CREATE TABLE braking_hold (
  merchant_id uuid        PRIMARY KEY,
  is_on       boolean     NOT NULL,
  until       timestamptz NOT NULL,
  held_by     text        NOT NULL
);
