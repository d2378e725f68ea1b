/** Sign-ins made right: what a proof was of, tokens that are replaced, whom a row of the trail is about, resets and passkeys. */

export const name = "003-sign-in-proofs";

export const sql = `
-- Goes up with every new password and authenticator app: a sign-in is begun only by a proof of how it is now.
ALTER TABLE member ADD COLUMN proof_version integer NOT NULL DEFAULT 0;

-- The token before the last proof: calls that were under way with it are still answered for a moment, and are not fresh.
ALTER TABLE sign_in
  ADD COLUMN earlier_token_hash bytea UNIQUE CHECK (octet_length(earlier_token_hash) = 32),
  ADD COLUMN token_replaced_at  timestamptz,
  ADD CHECK ((earlier_token_hash IS NULL) = (token_replaced_at IS NULL));

-- Whose account a row is about, where the member is to read it. Owners read rows of their own merchants.
ALTER TABLE audit_entry ADD COLUMN member_id uuid REFERENCES member;
CREATE INDEX audit_entry_of_member ON audit_entry (member_id, id) WHERE member_id IS NOT NULL;

-- They were kept by hashes that a list of addresses undoes; they count for a day at most.
DELETE FROM sign_in_failures;

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

-- How the browser reaches the authenticator, and whether it keeps copies elsewhere.
ALTER TABLE passkey
  ADD COLUMN transports text[] NOT NULL DEFAULT '{}' CHECK (cardinality(transports) <= 10),
  ADD COLUMN is_synced  boolean NOT NULL DEFAULT false;

-- What a passkey is asked to sign, once and within minutes. Kept as a hash.
CREATE TABLE passkey_challenge (
  hash        bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  purpose     text NOT NULL CHECK (purpose IN ('REGISTER', 'SIGN_IN', 'PROVE')),
  -- By whom: of one who is not signed in, an address in a hash with a key.
  sign_in_id  uuid REFERENCES sign_in,
  asker       bytea NOT NULL CHECK (octet_length(asker) = 32),
  expires_at  timestamptz NOT NULL,
  CHECK ((sign_in_id IS NULL) = (purpose = 'SIGN_IN'))
);
CREATE INDEX passkey_challenge_of_asker ON passkey_challenge (asker);
CREATE INDEX passkey_challenge_by_age ON passkey_challenge (expires_at);
`;
