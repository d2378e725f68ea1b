-- Cards that outlive their payment. No row has a security code: what is sealed has no place for one.

-- LOGGED, unlike the cards being paid: a stored card is in the write-ahead log, in replicas and in backups.
CREATE TABLE stored_card (
  -- SHA-256 of the handle. The vault stores no handle, and no key of its own opens a card without it.
  handle_hash bytea PRIMARY KEY CHECK (octet_length(handle_hash) = 32),
  environment text NOT NULL CHECK (environment IN ('test', 'live')),
  merchant_id text NOT NULL,
  -- The session that stored the card, for the answer to a repeat.
  session_id  text NOT NULL,
  sealed      text NOT NULL,
  -- The key of the store ring that sealed it.
  key_id      text NOT NULL GENERATED ALWAYS AS (split_part(sealed, '.', 1)) STORED
);
CREATE INDEX stored_card_by_key ON stored_card (environment, key_id, handle_hash);

-- Cards that were erased lately: a KeepCard that its EraseCard has overtaken stores nothing. UNLOGGED as the cards being paid are: a crash
-- that empties this table leaves none that could still be stored.
CREATE UNLOGGED TABLE erased_card (
  handle_hash bytea PRIMARY KEY CHECK (octet_length(handle_hash) = 32),
  expires_at  timestamptz NOT NULL
);
CREATE INDEX erased_card_by_expiry ON erased_card (expires_at);

-- A stored card of each key that seals any, found by as many steps in the index as there are keys.
CREATE FUNCTION stored_card_of_each_key(in_environment text) RETURNS SETOF stored_card LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
  WITH RECURSIVE named AS (
    (SELECT key_id FROM stored_card WHERE environment = in_environment ORDER BY key_id LIMIT 1)
    UNION ALL
    SELECT (SELECT next.key_id FROM stored_card next
      WHERE next.environment = in_environment AND next.key_id > named.key_id ORDER BY next.key_id LIMIT 1)
    FROM named WHERE named.key_id IS NOT NULL)
  SELECT one.* FROM named CROSS JOIN LATERAL (
    SELECT * FROM stored_card WHERE environment = in_environment AND key_id = named.key_id ORDER BY handle_hash LIMIT 1) one
$$;
