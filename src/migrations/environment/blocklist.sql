-- The block list of each merchant: cards, e-mail addresses and networks of whose payments no gateway hears. `claim` looks into it
-- (payment-functions.sql).

CREATE TABLE blocklist_entry (
  id          uuid PRIMARY KEY,
  merchant_id uuid NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('CARD','EMAIL','NETWORK')),
  -- The card's fingerprint, the address's hash, or the network.
  value       text NOT NULL CHECK (value ~ CASE kind WHEN 'CARD' THEN '^[0-9a-f-]{36}$' WHEN 'EMAIL' THEN '^[0-9a-f]{64}$' ELSE '^[0-9a-f.:]+/[0-9]{2}$' END),
  -- The end of the card's number, for people.
  card_last4  text CHECK (card_last4 ~ '^[0-9]{4}$'),
  -- The payment whose card, address or network it is; null for what was typed.
  session_id  uuid,
  reason      text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 200),
  added_by    text NOT NULL,
  added_at    timestamptz NOT NULL DEFAULT app.clock(),
  -- From here on it blocks nothing; null for an entry without end.
  ends_at     timestamptz,
  UNIQUE (merchant_id, value)
);
CREATE INDEX blocklist_entry_to_sweep ON blocklist_entry (ends_at) WHERE ends_at IS NOT NULL;

CREATE FUNCTION app.blocked_email(merchant uuid, email text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(merchant || ' ' || lower(email), 'UTF8')), 'hex') $$;

-- The value of an entry for a card's fingerprint, an e-mail address or a network.
CREATE FUNCTION app.blocked_value(merchant uuid, kind text, given text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE kind WHEN 'CARD' THEN given::uuid::text WHEN 'EMAIL' THEN app.blocked_email(merchant, given) ELSE network(given::inet)::text END $$;

-- The networks of an address that can be blocked: an IPv4 address and its /24, or a /64 of IPv6 and its /48.
CREATE FUNCTION app.blockable_networks(address inet) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT CASE family(address) WHEN 4 THEN ARRAY[network(address), network(set_masklen(address, 24))]::text[]
    WHEN 6 THEN ARRAY[network(set_masklen(address, 64)), network(set_masklen(address, 48))]::text[] END $$;

-- LL004: an entry of the merchant's list stops the payment, which the detail has (src/core/card-testing/blocked.ts).
CREATE FUNCTION app.refuse_blocked(merchant uuid, card uuid[], email text, address inet, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE entry text;
BEGIN
  SELECT jsonb_build_object('id', b.id, 'kind', b.kind, 'reason', b.reason) INTO entry FROM blocklist_entry b
  WHERE b.merchant_id = merchant AND (b.ends_at IS NULL OR b.ends_at > at)
    AND b.value = ANY (card::text[] || app.blockable_networks(address) || app.blocked_email(merchant, email))
  -- A card first: its entry is renewed while its key is rotated (blocked.ts).
  ORDER BY b.kind <> 'CARD', b.added_at, b.id LIMIT 1;
  IF FOUND THEN RAISE EXCEPTION 'blocked' USING ERRCODE = 'LL004', DETAIL = entry; END IF;
END $$;
