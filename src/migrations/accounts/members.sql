-- The dashboard's people: members, their roles at merchants, and how often they recently did what is limited.

-- Addresses are stored and compared in lower case.
CREATE TABLE member (
  id                uuid PRIMARY KEY,
  email             text NOT NULL UNIQUE CHECK (email = lower(email) AND char_length(email) BETWEEN 3 AND 254),
  name              text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  -- A PHC string of argon2id.
  -- Absent for a member who only signs in by an identity provider or a passkey.
  password_hash     text CHECK (password_hash LIKE '$argon2id$%'),
  -- Increases with every new password and authenticator app: only a proof of the current ones begins a sign-in.
  proof_version     integer NOT NULL DEFAULT 0,
  -- Set together, once a first code was right. The step is the last one whose code was used: none works twice.
  totp_sealed       text,
  totp_last_step    bigint,
  -- Offered, and not confirmed by a code yet.
  totp_offered      text,
  -- An owner who may sign in by password or passkey although a provider is to be used alone. Marked by an operator.
  is_break_glass    boolean NOT NULL DEFAULT false,
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((totp_sealed IS NULL) = (totp_last_step IS NULL))
);

CREATE TABLE membership (
  merchant_id uuid NOT NULL REFERENCES merchant,
  member_id   uuid NOT NULL REFERENCES member,
  -- In test, and for what test and live share.
  role        text NOT NULL CHECK (role IN ('VIEWER', 'SUPPORT', 'DEVELOPER', 'OWNER')),
  live_role   text NOT NULL CHECK (live_role IN ('NONE', 'VIEWER', 'SUPPORT', 'DEVELOPER', 'OWNER')),
  -- The only writer of the roles: people of the dashboard, or the identity provider of this id by its rules.
  source      text NOT NULL DEFAULT 'INVITATION' CHECK (source ~ '^(INVITATION|[a-z0-9][a-z0-9-]{0,62})$'),
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (merchant_id, member_id),
  -- An owner manages the team of both.
  CHECK ((role = 'OWNER') = (live_role = 'OWNER'))
);
CREATE INDEX membership_of_member ON membership (member_id);

CREATE TABLE invitation (
  id           uuid PRIMARY KEY,
  merchant_id  uuid NOT NULL REFERENCES merchant,
  email        text NOT NULL CHECK (email = lower(email) AND char_length(email) BETWEEN 3 AND 254),
  role         text NOT NULL CHECK (role IN ('VIEWER', 'SUPPORT', 'DEVELOPER', 'OWNER')),
  live_role    text NOT NULL CHECK (live_role IN ('NONE', 'VIEWER', 'SUPPORT', 'DEVELOPER', 'OWNER')),
  token_hash   bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  invited_by   text NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at   timestamptz NOT NULL,
  -- Accepted or withdrawn.
  ended_at     timestamptz,
  CHECK ((role = 'OWNER') = (live_role = 'OWNER'))
);
CREATE UNIQUE INDEX open_invitation ON invitation (merchant_id, email) WHERE ended_at IS NULL;

CREATE TABLE member_action (
  -- A member, a sign-in for matters of its own member's account, a merchant, or a mailbox by a part of its hash.
  subject     uuid NOT NULL,
  action      text NOT NULL,
  calls       integer NOT NULL CHECK (calls > 0),
  window_ends timestamptz NOT NULL,
  PRIMARY KEY (subject, action)
);
CREATE INDEX member_action_by_age ON member_action (window_ends);
