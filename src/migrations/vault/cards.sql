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

-- Counts a card of a session and keeps it. Returns no row where the session is over or has entered too many. The session's row is
-- written first, so that a concurrent Forget either waits for this card or refuses it.
CREATE FUNCTION keep_card(of_session text, in_environment text, hash bytea, sealed_card text, life_ms int, count_life_ms int, cards_max int, uses int)
RETURNS SETOF timestamptz LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE at timestamptz := clock_timestamp();
BEGIN
  INSERT INTO card_session AS known (environment, session_id, tokens_made, expires_at)
  VALUES (in_environment, of_session, 1, at + count_life_ms * interval '1 ms')
  ON CONFLICT (environment, session_id) DO UPDATE SET tokens_made = known.tokens_made + 1
  WHERE known.tokens_made < cards_max AND NOT known.over;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY
    INSERT INTO card (environment, session_id, token_hash, sealed, uses_left, expires_at)
    VALUES (in_environment, of_session, hash, sealed_card, uses, at + life_ms * interval '1 ms') RETURNING card.expires_at;
END $$;

-- Takes one use of a card. Returns no row where there is none.
CREATE FUNCTION take_card(hash bytea, in_environment text, of_session text) RETURNS SETOF text LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  RETURN QUERY
    UPDATE card SET uses_left = uses_left - 1
    WHERE token_hash = hash AND environment = in_environment AND session_id = of_session AND uses_left > 0 AND expires_at > clock_timestamp()
    RETURNING card.sealed;
END $$;
