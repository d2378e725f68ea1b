-- How members sign in: passkeys, browsers that are signed in, failures, and links to choose a new password.

CREATE TABLE passkey (
  -- The authenticator's own id.
  id            bytea PRIMARY KEY CHECK (octet_length(id) BETWEEN 1 AND 1023),
  member_id     uuid NOT NULL REFERENCES member,
  public_key    bytea NOT NULL,
  sign_count    bigint NOT NULL,
  name          text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  -- How the browser reaches the authenticator, and whether it keeps copies elsewhere.
  transports    text[] NOT NULL DEFAULT '{}' CHECK (cardinality(transports) <= 10),
  is_synced     boolean NOT NULL DEFAULT false,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_used_at  timestamptz
);
CREATE INDEX passkey_of_member ON passkey (member_id);

-- A browser that is signed in. Its token is kept as a hash.
CREATE TABLE sign_in (
  id                 uuid PRIMARY KEY,
  member_id          uuid NOT NULL REFERENCES member,
  token_hash         bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  -- The token before the last proof: calls that were under way with it are still answered for a moment, and are not fresh.
  earlier_token_hash bytea UNIQUE CHECK (octet_length(earlier_token_hash) = 32),
  token_replaced_at  timestamptz,
  user_agent         text NOT NULL CHECK (char_length(user_agent) <= 500),
  address            text NOT NULL CHECK (char_length(address) <= 64),
  created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- What proved a second factor in this sign-in. Live requires one.
  second_factor      text CHECK (second_factor IN ('PASSKEY', 'CODE', 'PROVIDER')),
  -- The identity provider that it began with, the account there, and the provider's session, which a logout may name.
  provider_id        text CHECK (provider_id ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  issuer             text,
  subject            text,
  provider_session   text CHECK (char_length(provider_session) <= 500),
  -- When its member last proved who they are; dangerous actions require a recent proof.
  proved_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at         timestamptz NOT NULL,
  ended_at           timestamptz,
  CHECK ((earlier_token_hash IS NULL) = (token_replaced_at IS NULL)),
  CHECK (num_nonnulls(provider_id, issuer, subject) IN (0, 3)),
  CHECK (provider_id IS NOT NULL OR (provider_session IS NULL AND second_factor IS DISTINCT FROM 'PROVIDER'))
);
CREATE INDEX sign_in_of_member ON sign_in (member_id, created_at);
CREATE INDEX sign_in_of_identity ON sign_in (issuer, subject) WHERE issuer IS NOT NULL;

-- A member's account at an identity provider. Its e-mail address is shown, and never finds a member.
CREATE TABLE identity (
  issuer      text NOT NULL CHECK (char_length(issuer) BETWEEN 1 AND 500),
  -- `sub`, at most 255 characters (OpenID Connect Core, 2).
  subject     text NOT NULL CHECK (char_length(subject) BETWEEN 1 AND 255),
  member_id   uuid NOT NULL REFERENCES member,
  email       text CHECK (char_length(email) <= 254),
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (issuer, subject),
  UNIQUE (member_id, issuer)
);

-- Logout tokens that were used: each counts once.
CREATE TABLE logout_token (
  issuer      text NOT NULL,
  jti         text NOT NULL CHECK (char_length(jti) <= 500),
  expires_at  timestamptz NOT NULL,
  PRIMARY KEY (issuer, jti)
);
CREATE INDEX logout_token_by_age ON logout_token (expires_at);

-- Failures of one account or one address, by a hash of either, so that there is no list of people.
CREATE TABLE sign_in_failures (
  subject     bytea PRIMARY KEY CHECK (octet_length(subject) = 32),
  failures    integer NOT NULL CHECK (failures >= 0),
  last_at     timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);

-- A link by which a member chooses a new password, made by an operator. Its token is kept as a hash.
CREATE TABLE password_reset (
  id          uuid PRIMARY KEY,
  member_id   uuid NOT NULL REFERENCES member,
  token_hash  bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at  timestamptz NOT NULL,
  -- Used, or replaced by a newer one.
  ended_at    timestamptz
);
CREATE UNIQUE INDEX open_password_reset ON password_reset (member_id) WHERE ended_at IS NULL;

-- The challenge that a passkey has to sign, once and within minutes. Stored as a hash.
CREATE TABLE passkey_challenge (
  hash        bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  purpose     text NOT NULL CHECK (purpose IN ('REGISTER', 'SIGN_IN', 'PROVE')),
  -- The requester; for a person who is not signed in, the keyed hash of an address.
  sign_in_id  uuid REFERENCES sign_in,
  asker       bytea NOT NULL CHECK (octet_length(asker) = 32),
  expires_at  timestamptz NOT NULL,
  CHECK ((sign_in_id IS NULL) = (purpose = 'SIGN_IN'))
);
CREATE INDEX passkey_challenge_of_asker ON passkey_challenge (asker);
CREATE INDEX passkey_challenge_by_age ON passkey_challenge (expires_at);
