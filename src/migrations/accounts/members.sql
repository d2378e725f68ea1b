-- The dashboard's people: members, their roles at merchants, how often they recently did what is limited, and calls that wait
-- for a second one of them.

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

-- The second person in live: which calls of members wait for one, and the calls that wait or have waited.

-- Without a row, no call waits. A call of a class that is on is stored until another member approves it.
CREATE TABLE approval_policy (
  merchant_id   uuid PRIMARY KEY REFERENCES merchant,
  routing       boolean NOT NULL DEFAULT false,
  credentials   boolean NOT NULL DEFAULT false,
  endpoints     boolean NOT NULL DEFAULT false,
  refunds       boolean NOT NULL DEFAULT false,
  -- In minor units by currency: what refunds of a payment may come to without a second person. 0 for a currency that is
  -- left out.
  refunds_above jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(refunds_above) = 'object')
);

CREATE TABLE approval (
  id             uuid PRIMARY KEY,
  merchant_id    uuid NOT NULL REFERENCES merchant,
  -- The rpc, such as dashboard.v1.RoutingRuleService/SetRoutingRule, and the cell in which it runs.
  method         text NOT NULL CHECK (char_length(method) BETWEEN 1 AND 200),
  cell           smallint NOT NULL CHECK (cell BETWEEN 1 AND 61),
  -- The role that both members need in live.
  role           text NOT NULL CHECK (role IN ('VIEWER', 'SUPPORT', 'DEVELOPER', 'OWNER')),
  -- The bytes of the request. They go when the call is closed (A4).
  sealed_request text,
  -- What the request is about was in this state; another one closes the call (A3).
  revision       text NOT NULL CHECK (char_length(revision) BETWEEN 1 AND 100),
  -- As the requester saw it. The approver sees sentences that are made again from the bytes.
  sentences      text[] NOT NULL CHECK (cardinality(sentences) BETWEEN 1 AND 1000),
  requested_by   uuid NOT NULL REFERENCES member,
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at     timestamptz NOT NULL DEFAULT clock_timestamp() + interval '72 hours',
  status         text NOT NULL DEFAULT 'PENDING'
    CHECK (status IN ('PENDING', 'APPROVED', 'REJECTED', 'WITHDRAWN', 'EXPIRED', 'OUTDATED')),
  decided_by     uuid REFERENCES member,
  -- The request that approved it, which alone may run the call.
  decision       text CHECK (char_length(decision) BETWEEN 1 AND 100),
  ended_at       timestamptz,
  -- When the approved call has ended; without it, the outcome is not known.
  ran_at         timestamptz,
  CONSTRAINT approval_by_another CHECK (decided_by <> requested_by),
  CONSTRAINT approval_sealed_while_pending CHECK ((status = 'PENDING') = (sealed_request IS NOT NULL)),
  CHECK (expires_at <= created_at + interval '72 hours 1 second'),
  CHECK ((status = 'PENDING') = (ended_at IS NULL)),
  CHECK ((status IN ('APPROVED', 'REJECTED')) = (decided_by IS NOT NULL)),
  CHECK ((status = 'APPROVED') = (decision IS NOT NULL)),
  CHECK (ran_at IS NULL OR status = 'APPROVED')
);
CREATE INDEX approval_of_merchant ON approval (merchant_id, id);
CREATE INDEX approval_pending ON approval (expires_at) WHERE status = 'PENDING';

CREATE FUNCTION role_rank(role text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT array_position('{NONE,VIEWER,SUPPORT,DEVELOPER,OWNER}'::text[], role)
$$;

-- Every state but PENDING is final. A call is approved in time only, and by two members who hold its role at that moment:
-- both memberships are locked until the transaction ends (A1, A2).
CREATE FUNCTION guard_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.status <> 'PENDING' THEN
      RAISE EXCEPTION 'an approval begins as PENDING' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
  END IF;
  IF (OLD.id, OLD.merchant_id, OLD.method, OLD.cell, OLD.role, OLD.revision, OLD.sentences, OLD.requested_by, OLD.created_at,
      OLD.expires_at)
     IS DISTINCT FROM
     (NEW.id, NEW.merchant_id, NEW.method, NEW.cell, NEW.role, NEW.revision, NEW.sentences, NEW.requested_by, NEW.created_at,
      NEW.expires_at) THEN
    RAISE EXCEPTION 'the call of an approval never changes' USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.status <> 'PENDING' AND
     (OLD.status, OLD.decided_by, OLD.decision, OLD.ended_at, coalesce(OLD.ran_at, NEW.ran_at))
     IS DISTINCT FROM (NEW.status, NEW.decided_by, NEW.decision, NEW.ended_at, NEW.ran_at) THEN
    RAISE EXCEPTION 'a closed approval never changes' USING ERRCODE = 'check_violation';
  END IF;
  IF OLD.status <> 'PENDING' OR NEW.status <> 'APPROVED' THEN RETURN NEW; END IF;
  IF OLD.expires_at <= clock_timestamp() THEN
    RAISE EXCEPTION 'the approval has expired' USING ERRCODE = 'check_violation';
  END IF;
  PERFORM 1 FROM membership
    WHERE merchant_id = NEW.merchant_id AND member_id IN (NEW.requested_by, NEW.decided_by)
    ORDER BY member_id FOR NO KEY UPDATE;
  IF (SELECT count(*) FROM membership
      WHERE merchant_id = NEW.merchant_id AND member_id IN (NEW.requested_by, NEW.decided_by)
        AND role_rank(live_role) >= role_rank(NEW.role)) <> 2 THEN
    RAISE EXCEPTION 'an approval needs two members with its role' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON approval FOR EACH ROW EXECUTE FUNCTION guard_approval();
