-- Keys that decrypt what Apple Pay and Google Pay send, and the messages that were decrypted.

-- LOGGED, as stored cards are: a key that is lost takes its merchant's wallet out until another is registered.
CREATE TABLE wallet_key (
  id          uuid PRIMARY KEY,
  environment text NOT NULL CHECK (environment IN ('test', 'live')),
  merchant_id text NOT NULL,
  wallet      text NOT NULL CHECK (wallet IN ('apple_pay', 'google_pay')),
  -- A wallet has at most three rows; a new key takes the place of a dropped one.
  slot        smallint NOT NULL CHECK (slot BETWEEN 1 AND 3),
  state       text NOT NULL CHECK (state IN ('STAGED', 'ACTIVE', 'RETIRING', 'DROPPED')),
  -- Apple's merchant identifier, or Google's merchant id.
  recipient   text NOT NULL,
  -- DER of the public half (SubjectPublicKeyInfo): Apple's tokens name its hash.
  public_key  bytea NOT NULL,
  -- Apple's request for a certificate, in PEM.
  signing_request text CHECK ((signing_request IS NOT NULL) = (wallet = 'apple_pay')),
  -- Apple's certificate, in DER.
  certificate bytea CHECK (certificate IS NULL OR wallet = 'apple_pay'),
  certificate_ends_at timestamptz CHECK ((certificate_ends_at IS NULL) = (certificate IS NULL)),
  -- The private half under the wallet ring; a dropped key has none.
  sealed      text CHECK ((sealed IS NULL) = (state = 'DROPPED')),
  -- The key of the wallet ring that sealed it.
  key_id      text GENERATED ALWAYS AS (split_part(sealed, '.', 1)) STORED,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  activated_at timestamptz CHECK (activated_at IS NOT NULL OR state IN ('STAGED', 'DROPPED')),
  -- A retiring key decrypts until then.
  retires_at  timestamptz CHECK (retires_at IS NOT NULL OR state <> 'RETIRING'),
  CHECK (wallet <> 'apple_pay' OR certificate IS NOT NULL OR state IN ('STAGED', 'DROPPED')),
  UNIQUE (environment, merchant_id, wallet, slot)
);
CREATE UNIQUE INDEX wallet_key_one_active ON wallet_key (environment, merchant_id, wallet) WHERE state = 'ACTIVE';
CREATE INDEX wallet_key_by_key ON wallet_key (environment, key_id) WHERE key_id IS NOT NULL;
CREATE INDEX wallet_key_retiring ON wallet_key (retires_at) WHERE state = 'RETIRING';

-- A state is left for a later one only, and nothing of a key changes but what its states bring. Within a state it may be sealed
-- again, and the active one may get a renewed certificate.
CREATE FUNCTION guard_wallet_key() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
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
END $$;
CREATE TRIGGER guard_wallet_key BEFORE UPDATE ON wallet_key FOR EACH ROW EXECUTE FUNCTION guard_wallet_key();

-- One message of a wallet gives one token. LOGGED: after a crash no message counts again.
CREATE TABLE wallet_seen (
  environment text NOT NULL CHECK (environment IN ('test', 'live')),
  -- SHA-256 of the wallet and the message's own id.
  id_hash     bytea NOT NULL CHECK (octet_length(id_hash) = 32),
  -- From then on the message itself is too old.
  expires_at  timestamptz NOT NULL,
  PRIMARY KEY (environment, id_hash)
);
CREATE INDEX wallet_seen_by_expiry ON wallet_seen (expires_at);

-- The last good copy of Google's root keys, as Google has served it.
CREATE TABLE wallet_root (
  environment text PRIMARY KEY CHECK (environment IN ('test', 'live')),
  body        text NOT NULL,
  fetched_at  timestamptz NOT NULL
);
