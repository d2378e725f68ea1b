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
  -- By how much the submission counts as declined; null until it is.
  declines     int         CHECK (declines BETWEEN 1 AND 2),
  PRIMARY KEY (fingerprint, nth)
);
CREATE INDEX card_submission_of_session ON card_submission (session_id);
