/** The dashboard's people: members, what they may do for which merchant, how they sign in, and what they changed. */

export const name = "002-members";

export const sql = `
-- An address is compared as it is kept: in lower case.
CREATE TABLE member (
  id                uuid PRIMARY KEY,
  email             text NOT NULL UNIQUE CHECK (email = lower(email) AND char_length(email) BETWEEN 3 AND 254),
  name              text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  -- A PHC string of argon2id.
  password_hash     text NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
  -- Set together, once a first code was right. The step is the last one whose code was used: none works twice.
  totp_sealed       text,
  totp_last_step    bigint,
  -- Offered, and not confirmed by a code yet.
  totp_offered      text,
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((totp_sealed IS NULL) = (totp_last_step IS NULL))
);

CREATE TABLE membership (
  merchant_id uuid NOT NULL REFERENCES merchant,
  member_id   uuid NOT NULL REFERENCES member,
  role        text NOT NULL CHECK (role IN ('VIEWER', 'DEVELOPER', 'OWNER')),
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (merchant_id, member_id)
);
CREATE INDEX membership_of_member ON membership (member_id);

CREATE TABLE passkey (
  -- The authenticator's own id.
  id            bytea PRIMARY KEY CHECK (octet_length(id) BETWEEN 1 AND 1023),
  member_id     uuid NOT NULL REFERENCES member,
  public_key    bytea NOT NULL,
  sign_count    bigint NOT NULL,
  name          text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_used_at  timestamptz
);
CREATE INDEX passkey_of_member ON passkey (member_id);

-- A browser that is signed in. Its token is kept as a hash.
CREATE TABLE sign_in (
  id            uuid PRIMARY KEY,
  member_id     uuid NOT NULL REFERENCES member,
  token_hash    bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  user_agent    text NOT NULL CHECK (char_length(user_agent) <= 500),
  address       text NOT NULL CHECK (char_length(address) <= 64),
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When its member last proved who they are; what is dangerous asks for a recent proof.
  proved_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at    timestamptz NOT NULL,
  ended_at      timestamptz
);
CREATE INDEX sign_in_of_member ON sign_in (member_id, created_at);

-- Failures of one account or one address, by a hash of either: no list of who tried.
CREATE TABLE sign_in_failures (
  subject     bytea PRIMARY KEY CHECK (octet_length(subject) = 32),
  failures    integer NOT NULL CHECK (failures >= 0),
  last_at     timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_by_age ON sign_in_failures (last_at);

CREATE TABLE invitation (
  id           uuid PRIMARY KEY,
  merchant_id  uuid NOT NULL REFERENCES merchant,
  email        text NOT NULL CHECK (email = lower(email) AND char_length(email) BETWEEN 3 AND 254),
  role         text NOT NULL CHECK (role IN ('VIEWER', 'DEVELOPER', 'OWNER')),
  token_hash   bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  invited_by   text NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at   timestamptz NOT NULL,
  -- Accepted or taken back.
  ended_at     timestamptz
);
CREATE UNIQUE INDEX open_invitation ON invitation (merchant_id, email) WHERE ended_at IS NULL;

-- As in each environment: what concerns both sides. Rows never change.
CREATE TABLE audit_entry (
  id          uuid PRIMARY KEY,
  merchant_id uuid,
  actor       text NOT NULL,
  action      text NOT NULL,
  subject     text NOT NULL,
  before      jsonb,
  after       jsonb,
  request_id  text,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX audit_entry_of_merchant ON audit_entry (merchant_id, id);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER unchanging BEFORE UPDATE OR DELETE ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change();
`;
