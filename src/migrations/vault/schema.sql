-- The whole schema as PostgreSQL 18 describes it, written by `npm run schema`.
-- Read it, and change it by migrations. `switchyard doctor` compares a database with it.

-- table card
CREATE UNLOGGED TABLE card (
  token_hash bytea NOT NULL,
  environment text NOT NULL,
  session_id text NOT NULL,
  sealed text NOT NULL,
  uses_left integer NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table card_session
CREATE UNLOGGED TABLE card_session (
  environment text NOT NULL,
  session_id text NOT NULL,
  tokens_made integer NOT NULL,
  over boolean DEFAULT false NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table erased_card
CREATE UNLOGGED TABLE erased_card (
  handle_hash bytea NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table stored_card
CREATE TABLE stored_card (
  handle_hash bytea NOT NULL,
  environment text NOT NULL,
  merchant_id text NOT NULL,
  session_id text NOT NULL,
  sealed text NOT NULL,
  key_id text GENERATED ALWAYS AS (split_part(sealed, '.'::text, 1)) STORED NOT NULL
);

-- table vault_copy
CREATE UNLOGGED TABLE vault_copy (
  id uuid NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table wallet_key
CREATE TABLE wallet_key (
  id uuid NOT NULL,
  environment text NOT NULL,
  merchant_id text NOT NULL,
  wallet text NOT NULL,
  slot smallint NOT NULL,
  state text NOT NULL,
  recipient text NOT NULL,
  public_key bytea NOT NULL,
  signing_request text,
  certificate bytea,
  certificate_ends_at timestamp with time zone,
  sealed text,
  key_id text GENERATED ALWAYS AS (split_part(sealed, '.'::text, 1)) STORED,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  activated_at timestamp with time zone,
  retires_at timestamp with time zone
);

-- table wallet_root
CREATE TABLE wallet_root (
  environment text NOT NULL,
  body text NOT NULL,
  fetched_at timestamp with time zone NOT NULL
);

-- table wallet_seen
CREATE TABLE wallet_seen (
  environment text NOT NULL,
  id_hash bytea NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- constraint card.card_environment_check
ALTER TABLE card ADD CONSTRAINT card_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])));

-- constraint card.card_pkey
ALTER TABLE card ADD CONSTRAINT card_pkey PRIMARY KEY (token_hash);

-- constraint card.card_token_hash_check
ALTER TABLE card ADD CONSTRAINT card_token_hash_check CHECK ((octet_length(token_hash) = 32));

-- constraint card.card_uses_left_check
ALTER TABLE card ADD CONSTRAINT card_uses_left_check CHECK ((uses_left >= 0));

-- constraint card_session.card_session_environment_check
ALTER TABLE card_session ADD CONSTRAINT card_session_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])));

-- constraint card_session.card_session_pkey
ALTER TABLE card_session ADD CONSTRAINT card_session_pkey PRIMARY KEY (environment, session_id);

-- constraint erased_card.erased_card_handle_hash_check
ALTER TABLE erased_card ADD CONSTRAINT erased_card_handle_hash_check CHECK ((octet_length(handle_hash) = 32));

-- constraint erased_card.erased_card_pkey
ALTER TABLE erased_card ADD CONSTRAINT erased_card_pkey PRIMARY KEY (handle_hash);

-- constraint stored_card.stored_card_environment_check
ALTER TABLE stored_card ADD CONSTRAINT stored_card_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])));

-- constraint stored_card.stored_card_handle_hash_check
ALTER TABLE stored_card ADD CONSTRAINT stored_card_handle_hash_check CHECK ((octet_length(handle_hash) = 32));

-- constraint stored_card.stored_card_pkey
ALTER TABLE stored_card ADD CONSTRAINT stored_card_pkey PRIMARY KEY (handle_hash);

-- constraint vault_copy.vault_copy_pkey
ALTER TABLE vault_copy ADD CONSTRAINT vault_copy_pkey PRIMARY KEY (id);

-- constraint wallet_key.wallet_key_check
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_check CHECK (((signing_request IS NOT NULL) = (wallet = 'apple_pay'::text)));

-- constraint wallet_key.wallet_key_check1
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_check1 CHECK (((certificate IS NULL) OR (wallet = 'apple_pay'::text)));

-- constraint wallet_key.wallet_key_check2
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_check2 CHECK (((certificate_ends_at IS NULL) = (certificate IS NULL)));

-- constraint wallet_key.wallet_key_check3
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_check3 CHECK (((sealed IS NULL) = (state = 'DROPPED'::text)));

-- constraint wallet_key.wallet_key_check4
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_check4 CHECK (((activated_at IS NOT NULL) OR (state = ANY (ARRAY['STAGED'::text, 'DROPPED'::text]))));

-- constraint wallet_key.wallet_key_check5
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_check5 CHECK (((retires_at IS NOT NULL) OR (state <> 'RETIRING'::text)));

-- constraint wallet_key.wallet_key_check6
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_check6 CHECK (((wallet <> 'apple_pay'::text) OR (certificate IS NOT NULL) OR (state = ANY (ARRAY['STAGED'::text, 'DROPPED'::text]))));

-- constraint wallet_key.wallet_key_environment_check
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])));

-- constraint wallet_key.wallet_key_environment_merchant_id_wallet_slot_key
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_environment_merchant_id_wallet_slot_key UNIQUE (environment, merchant_id, wallet, slot);

-- constraint wallet_key.wallet_key_pkey
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_pkey PRIMARY KEY (id);

-- constraint wallet_key.wallet_key_slot_check
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_slot_check CHECK (((slot >= 1) AND (slot <= 3)));

-- constraint wallet_key.wallet_key_state_check
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_state_check CHECK ((state = ANY (ARRAY['STAGED'::text, 'ACTIVE'::text, 'RETIRING'::text, 'DROPPED'::text])));

-- constraint wallet_key.wallet_key_wallet_check
ALTER TABLE wallet_key ADD CONSTRAINT wallet_key_wallet_check CHECK ((wallet = ANY (ARRAY['apple_pay'::text, 'google_pay'::text])));

-- constraint wallet_root.wallet_root_environment_check
ALTER TABLE wallet_root ADD CONSTRAINT wallet_root_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])));

-- constraint wallet_root.wallet_root_pkey
ALTER TABLE wallet_root ADD CONSTRAINT wallet_root_pkey PRIMARY KEY (environment);

-- constraint wallet_seen.wallet_seen_environment_check
ALTER TABLE wallet_seen ADD CONSTRAINT wallet_seen_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])));

-- constraint wallet_seen.wallet_seen_id_hash_check
ALTER TABLE wallet_seen ADD CONSTRAINT wallet_seen_id_hash_check CHECK ((octet_length(id_hash) = 32));

-- constraint wallet_seen.wallet_seen_pkey
ALTER TABLE wallet_seen ADD CONSTRAINT wallet_seen_pkey PRIMARY KEY (environment, id_hash);

-- unique index wallet_key_one_active
CREATE UNIQUE INDEX wallet_key_one_active ON wallet_key USING btree (environment, merchant_id, wallet) WHERE (state = 'ACTIVE'::text);

-- index card_by_expiry
CREATE INDEX card_by_expiry ON card USING btree (expires_at);

-- index card_by_session
CREATE INDEX card_by_session ON card USING btree (environment, session_id);

-- index card_session_by_expiry
CREATE INDEX card_session_by_expiry ON card_session USING btree (expires_at);

-- index erased_card_by_expiry
CREATE INDEX erased_card_by_expiry ON erased_card USING btree (expires_at);

-- index stored_card_by_key
CREATE INDEX stored_card_by_key ON stored_card USING btree (environment, key_id, handle_hash);

-- index wallet_key_by_key
CREATE INDEX wallet_key_by_key ON wallet_key USING btree (environment, key_id) WHERE (key_id IS NOT NULL);

-- index wallet_key_retiring
CREATE INDEX wallet_key_retiring ON wallet_key USING btree (retires_at) WHERE (state = 'RETIRING'::text);

-- index wallet_seen_by_expiry
CREATE INDEX wallet_seen_by_expiry ON wallet_seen USING btree (expires_at);

-- function guard_wallet_key()
CREATE OR REPLACE FUNCTION guard_wallet_key()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF (NEW.id, NEW.environment, NEW.merchant_id, NEW.wallet, NEW.slot, NEW.recipient, NEW.public_key, NEW.signing_request, NEW.created_at)
    IS DISTINCT FROM (OLD.id, OLD.environment, OLD.merchant_id, OLD.wallet, OLD.slot, OLD.recipient, OLD.public_key, OLD.signing_request, OLD.created_at)
    OR NEW.state = OLD.state AND (NEW.activated_at, NEW.retires_at) IS DISTINCT FROM (OLD.activated_at, OLD.retires_at)
    OR NEW.state = OLD.state AND OLD.state <> 'ACTIVE'
      AND (NEW.certificate, NEW.certificate_ends_at) IS DISTINCT FROM (OLD.certificate, OLD.certificate_ends_at)
    OR NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN
      (('STAGED', 'ACTIVE'), ('ACTIVE', 'RETIRING'), ('STAGED', 'DROPPED'), ('ACTIVE', 'DROPPED'), ('RETIRING', 'DROPPED'))
  THEN
    RAISE EXCEPTION 'a wallet key does not change from % to % like this', OLD.state, NEW.state USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $function$;

-- function keep_card(of_session text, in_environment text, hash bytea, sealed_card text, life_ms integer, count_life_ms integer, cards_max integer, uses integer)
CREATE OR REPLACE FUNCTION keep_card(of_session text, in_environment text, hash bytea, sealed_card text, life_ms integer, count_life_ms integer, cards_max integer, uses integer)
 RETURNS SETOF timestamp with time zone
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
END $function$;

-- function stored_card_of_each_key(in_environment text)
CREATE OR REPLACE FUNCTION stored_card_of_each_key(in_environment text)
 RETURNS SETOF stored_card
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
  WITH RECURSIVE named AS (
    (SELECT key_id FROM stored_card WHERE environment = in_environment ORDER BY key_id LIMIT 1)
    UNION ALL
    SELECT (SELECT next.key_id FROM stored_card next
      WHERE next.environment = in_environment AND next.key_id > named.key_id ORDER BY next.key_id LIMIT 1)
    FROM named WHERE named.key_id IS NOT NULL)
  SELECT one.* FROM named CROSS JOIN LATERAL (
    SELECT * FROM stored_card WHERE environment = in_environment AND key_id = named.key_id ORDER BY handle_hash LIMIT 1) one
$function$;

-- function take_card(hash bytea, in_environment text, of_session text)
CREATE OR REPLACE FUNCTION take_card(hash bytea, in_environment text, of_session text)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  RETURN QUERY
    UPDATE card SET uses_left = uses_left - 1
    WHERE token_hash = hash AND environment = in_environment AND session_id = of_session AND uses_left > 0 AND expires_at > clock_timestamp()
    RETURNING card.sealed;
END $function$;

-- trigger wallet_key.guard_wallet_key
CREATE TRIGGER guard_wallet_key BEFORE UPDATE ON wallet_key FOR EACH ROW EXECUTE FUNCTION guard_wallet_key();

-- privileges card to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON card TO the runtime role;

-- privileges card_session to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON card_session TO the runtime role;

-- privileges erased_card to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON erased_card TO the runtime role;

-- privileges new tables in public to the runtime role
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT, SELECT, UPDATE ON TABLES TO the runtime role;

-- privileges stored_card to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON stored_card TO the runtime role;

-- privileges vault_copy to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON vault_copy TO the runtime role;

-- privileges wallet_key to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON wallet_key TO the runtime role;

-- privileges wallet_root to the runtime role
GRANT INSERT, SELECT, UPDATE ON wallet_root TO the runtime role;

-- privileges wallet_seen to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON wallet_seen TO the runtime role;
