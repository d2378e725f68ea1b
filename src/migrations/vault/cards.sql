-- Cards being paid, sealed, and what stops card testing. Nothing here outlives its payment by long.

-- UNLOGGED: the rows are in no write-ahead log, so in no replica and in no backup. A server crash empties the tables,
-- and sessions that were being paid settle by look-up.
CREATE UNLOGGED TABLE card (
  -- SHA-256 of the token. The token itself is stored nowhere: it is half of the key that opens the row.
  token_hash  bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  environment text NOT NULL CHECK (environment IN ('test', 'live')),
  session_id  text NOT NULL,
  sealed      text NOT NULL,
  uses_left   int NOT NULL CHECK (uses_left >= 0),
  expires_at  timestamptz NOT NULL
);
CREATE INDEX card_by_session ON card (environment, session_id);
CREATE INDEX card_by_expiry ON card (expires_at);

-- How many cards a session has entered, and whether it is over and accepts no more.
CREATE UNLOGGED TABLE card_session (
  environment text NOT NULL CHECK (environment IN ('test', 'live')),
  session_id  text NOT NULL,
  tokens_made int NOT NULL,
  over        boolean NOT NULL DEFAULT false,
  expires_at  timestamptz NOT NULL,
  PRIMARY KEY (environment, session_id)
);
CREATE INDEX card_session_by_expiry ON card_session (expires_at);

-- The copies of the vault that run: each counts tokenize calls in its memory, against its share of the limits.
CREATE UNLOGGED TABLE vault_copy (
  id         uuid PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
