-- The whole schema as PostgreSQL 18 describes it, written by `npm run schema`.
-- Read it, and change it by migrations. `switchyard doctor` compares a database with it.

-- table approval
CREATE TABLE approval (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  method text NOT NULL,
  cell smallint NOT NULL,
  role text NOT NULL,
  sealed_request text,
  revision text NOT NULL,
  sentences text[] NOT NULL,
  requested_by uuid NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  expires_at timestamp with time zone DEFAULT (clock_timestamp() + '72:00:00'::interval) NOT NULL,
  status text DEFAULT 'PENDING'::text NOT NULL,
  decided_by uuid,
  decision text,
  ended_at timestamp with time zone,
  ran_at timestamp with time zone
);

-- table approval_policy
CREATE TABLE approval_policy (
  merchant_id uuid NOT NULL,
  routing boolean DEFAULT false NOT NULL,
  credentials boolean DEFAULT false NOT NULL,
  endpoints boolean DEFAULT false NOT NULL,
  refunds boolean DEFAULT false NOT NULL,
  refunds_above jsonb DEFAULT '{}'::jsonb NOT NULL
);

-- table audit_entry
CREATE TABLE audit_entry (
  id uuid NOT NULL,
  merchant_id uuid,
  member_id uuid,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  before jsonb,
  after jsonb,
  request_id text,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- table identity
CREATE TABLE identity (
  issuer text NOT NULL,
  subject text NOT NULL,
  member_id uuid NOT NULL,
  email text,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- table invitation
CREATE TABLE invitation (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  email text NOT NULL,
  role text NOT NULL,
  live_role text NOT NULL,
  token_hash bytea NOT NULL,
  invited_by text NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone
);

-- table logout_token
CREATE TABLE logout_token (
  issuer text NOT NULL,
  jti text NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table member
CREATE TABLE member (
  id uuid NOT NULL,
  email text NOT NULL,
  name text NOT NULL,
  password_hash text,
  proof_version integer DEFAULT 0 NOT NULL,
  totp_sealed text,
  totp_last_step bigint,
  totp_offered text,
  is_break_glass boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- table member_action
CREATE TABLE member_action (
  subject uuid NOT NULL,
  action text NOT NULL,
  calls integer NOT NULL,
  window_ends timestamp with time zone NOT NULL
);

-- table membership
CREATE TABLE membership (
  merchant_id uuid NOT NULL,
  member_id uuid NOT NULL,
  role text NOT NULL,
  live_role text NOT NULL,
  source text DEFAULT 'INVITATION'::text NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- table merchant
CREATE TABLE merchant (
  id uuid NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  test_cell smallint DEFAULT 1 NOT NULL,
  live_cell smallint DEFAULT 1 NOT NULL
);

-- table operator_token
CREATE TABLE operator_token (
  id uuid NOT NULL,
  label text NOT NULL,
  hash bytea NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  revoked_at timestamp with time zone
);

-- table passkey
CREATE TABLE passkey (
  id bytea NOT NULL,
  member_id uuid NOT NULL,
  public_key bytea NOT NULL,
  sign_count bigint NOT NULL,
  name text NOT NULL,
  transports text[] DEFAULT '{}'::text[] NOT NULL,
  is_synced boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  last_used_at timestamp with time zone
);

-- table passkey_challenge
CREATE TABLE passkey_challenge (
  hash bytea NOT NULL,
  purpose text NOT NULL,
  sign_in_id uuid,
  asker bytea NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table password_reset
CREATE TABLE password_reset (
  id uuid NOT NULL,
  member_id uuid NOT NULL,
  token_hash bytea NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone
);

-- table sign_in
CREATE TABLE sign_in (
  id uuid NOT NULL,
  member_id uuid NOT NULL,
  token_hash bytea NOT NULL,
  earlier_token_hash bytea,
  token_replaced_at timestamp with time zone,
  user_agent text NOT NULL,
  address text NOT NULL,
  created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  last_seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  second_factor text,
  provider_id text,
  issuer text,
  subject text,
  provider_session text,
  proved_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone
);

-- table sign_in_failures
CREATE TABLE sign_in_failures (
  subject bytea NOT NULL,
  failures integer NOT NULL,
  last_at timestamp with time zone NOT NULL
);

-- constraint approval.approval_by_another
ALTER TABLE approval ADD CONSTRAINT approval_by_another CHECK ((decided_by <> requested_by));

-- constraint approval.approval_cell_check
ALTER TABLE approval ADD CONSTRAINT approval_cell_check CHECK (((cell >= 1) AND (cell <= 61)));

-- constraint approval.approval_check
ALTER TABLE approval ADD CONSTRAINT approval_check CHECK ((expires_at <= (created_at + '72:00:01'::interval)));

-- constraint approval.approval_check1
ALTER TABLE approval ADD CONSTRAINT approval_check1 CHECK (((status = 'PENDING'::text) = (ended_at IS NULL)));

-- constraint approval.approval_check2
ALTER TABLE approval ADD CONSTRAINT approval_check2 CHECK (((status = ANY (ARRAY['APPROVED'::text, 'REJECTED'::text])) = (decided_by IS NOT NULL)));

-- constraint approval.approval_check3
ALTER TABLE approval ADD CONSTRAINT approval_check3 CHECK (((status = 'APPROVED'::text) = (decision IS NOT NULL)));

-- constraint approval.approval_check4
ALTER TABLE approval ADD CONSTRAINT approval_check4 CHECK (((ran_at IS NULL) OR (status = 'APPROVED'::text)));

-- constraint approval.approval_decided_by_fkey
ALTER TABLE approval ADD CONSTRAINT approval_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES member(id);

-- constraint approval.approval_decision_check
ALTER TABLE approval ADD CONSTRAINT approval_decision_check CHECK (((char_length(decision) >= 1) AND (char_length(decision) <= 100)));

-- constraint approval.approval_merchant_id_fkey
ALTER TABLE approval ADD CONSTRAINT approval_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(id);

-- constraint approval.approval_method_check
ALTER TABLE approval ADD CONSTRAINT approval_method_check CHECK (((char_length(method) >= 1) AND (char_length(method) <= 200)));

-- constraint approval.approval_pkey
ALTER TABLE approval ADD CONSTRAINT approval_pkey PRIMARY KEY (id);

-- constraint approval.approval_requested_by_fkey
ALTER TABLE approval ADD CONSTRAINT approval_requested_by_fkey FOREIGN KEY (requested_by) REFERENCES member(id);

-- constraint approval.approval_revision_check
ALTER TABLE approval ADD CONSTRAINT approval_revision_check CHECK (((char_length(revision) >= 1) AND (char_length(revision) <= 100)));

-- constraint approval.approval_role_check
ALTER TABLE approval ADD CONSTRAINT approval_role_check CHECK ((role = ANY (ARRAY['VIEWER'::text, 'SUPPORT'::text, 'DEVELOPER'::text, 'OWNER'::text])));

-- constraint approval.approval_sealed_while_pending
ALTER TABLE approval ADD CONSTRAINT approval_sealed_while_pending CHECK (((status = 'PENDING'::text) = (sealed_request IS NOT NULL)));

-- constraint approval.approval_sentences_check
ALTER TABLE approval ADD CONSTRAINT approval_sentences_check CHECK (((cardinality(sentences) >= 1) AND (cardinality(sentences) <= 1000)));

-- constraint approval.approval_status_check
ALTER TABLE approval ADD CONSTRAINT approval_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'APPROVED'::text, 'REJECTED'::text, 'WITHDRAWN'::text, 'EXPIRED'::text, 'OUTDATED'::text])));

-- constraint approval_policy.approval_policy_merchant_id_fkey
ALTER TABLE approval_policy ADD CONSTRAINT approval_policy_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(id);

-- constraint approval_policy.approval_policy_pkey
ALTER TABLE approval_policy ADD CONSTRAINT approval_policy_pkey PRIMARY KEY (merchant_id);

-- constraint approval_policy.approval_policy_refunds_above_check
ALTER TABLE approval_policy ADD CONSTRAINT approval_policy_refunds_above_check CHECK ((jsonb_typeof(refunds_above) = 'object'::text));

-- constraint audit_entry.audit_entry_member_id_fkey
ALTER TABLE audit_entry ADD CONSTRAINT audit_entry_member_id_fkey FOREIGN KEY (member_id) REFERENCES member(id);

-- constraint audit_entry.audit_entry_pkey
ALTER TABLE audit_entry ADD CONSTRAINT audit_entry_pkey PRIMARY KEY (id);

-- constraint identity.identity_email_check
ALTER TABLE identity ADD CONSTRAINT identity_email_check CHECK ((char_length(email) <= 254));

-- constraint identity.identity_issuer_check
ALTER TABLE identity ADD CONSTRAINT identity_issuer_check CHECK (((char_length(issuer) >= 1) AND (char_length(issuer) <= 500)));

-- constraint identity.identity_member_id_fkey
ALTER TABLE identity ADD CONSTRAINT identity_member_id_fkey FOREIGN KEY (member_id) REFERENCES member(id);

-- constraint identity.identity_member_id_issuer_key
ALTER TABLE identity ADD CONSTRAINT identity_member_id_issuer_key UNIQUE (member_id, issuer);

-- constraint identity.identity_pkey
ALTER TABLE identity ADD CONSTRAINT identity_pkey PRIMARY KEY (issuer, subject);

-- constraint identity.identity_subject_check
ALTER TABLE identity ADD CONSTRAINT identity_subject_check CHECK (((char_length(subject) >= 1) AND (char_length(subject) <= 255)));

-- constraint invitation.invitation_check
ALTER TABLE invitation ADD CONSTRAINT invitation_check CHECK (((role = 'OWNER'::text) = (live_role = 'OWNER'::text)));

-- constraint invitation.invitation_email_check
ALTER TABLE invitation ADD CONSTRAINT invitation_email_check CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254))));

-- constraint invitation.invitation_live_role_check
ALTER TABLE invitation ADD CONSTRAINT invitation_live_role_check CHECK ((live_role = ANY (ARRAY['NONE'::text, 'VIEWER'::text, 'SUPPORT'::text, 'DEVELOPER'::text, 'OWNER'::text])));

-- constraint invitation.invitation_merchant_id_fkey
ALTER TABLE invitation ADD CONSTRAINT invitation_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(id);

-- constraint invitation.invitation_pkey
ALTER TABLE invitation ADD CONSTRAINT invitation_pkey PRIMARY KEY (id);

-- constraint invitation.invitation_role_check
ALTER TABLE invitation ADD CONSTRAINT invitation_role_check CHECK ((role = ANY (ARRAY['VIEWER'::text, 'SUPPORT'::text, 'DEVELOPER'::text, 'OWNER'::text])));

-- constraint invitation.invitation_token_hash_check
ALTER TABLE invitation ADD CONSTRAINT invitation_token_hash_check CHECK ((octet_length(token_hash) = 32));

-- constraint invitation.invitation_token_hash_key
ALTER TABLE invitation ADD CONSTRAINT invitation_token_hash_key UNIQUE (token_hash);

-- constraint logout_token.logout_token_jti_check
ALTER TABLE logout_token ADD CONSTRAINT logout_token_jti_check CHECK ((char_length(jti) <= 500));

-- constraint logout_token.logout_token_pkey
ALTER TABLE logout_token ADD CONSTRAINT logout_token_pkey PRIMARY KEY (issuer, jti);

-- constraint member.member_check
ALTER TABLE member ADD CONSTRAINT member_check CHECK (((totp_sealed IS NULL) = (totp_last_step IS NULL)));

-- constraint member.member_email_check
ALTER TABLE member ADD CONSTRAINT member_email_check CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254))));

-- constraint member.member_email_key
ALTER TABLE member ADD CONSTRAINT member_email_key UNIQUE (email);

-- constraint member.member_name_check
ALTER TABLE member ADD CONSTRAINT member_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100)));

-- constraint member.member_password_hash_check
ALTER TABLE member ADD CONSTRAINT member_password_hash_check CHECK ((password_hash ~~ '$argon2id$%'::text));

-- constraint member.member_pkey
ALTER TABLE member ADD CONSTRAINT member_pkey PRIMARY KEY (id);

-- constraint member_action.member_action_calls_check
ALTER TABLE member_action ADD CONSTRAINT member_action_calls_check CHECK ((calls > 0));

-- constraint member_action.member_action_pkey
ALTER TABLE member_action ADD CONSTRAINT member_action_pkey PRIMARY KEY (subject, action);

-- constraint membership.membership_check
ALTER TABLE membership ADD CONSTRAINT membership_check CHECK (((role = 'OWNER'::text) = (live_role = 'OWNER'::text)));

-- constraint membership.membership_live_role_check
ALTER TABLE membership ADD CONSTRAINT membership_live_role_check CHECK ((live_role = ANY (ARRAY['NONE'::text, 'VIEWER'::text, 'SUPPORT'::text, 'DEVELOPER'::text, 'OWNER'::text])));

-- constraint membership.membership_member_id_fkey
ALTER TABLE membership ADD CONSTRAINT membership_member_id_fkey FOREIGN KEY (member_id) REFERENCES member(id);

-- constraint membership.membership_merchant_id_fkey
ALTER TABLE membership ADD CONSTRAINT membership_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(id);

-- constraint membership.membership_pkey
ALTER TABLE membership ADD CONSTRAINT membership_pkey PRIMARY KEY (merchant_id, member_id);

-- constraint membership.membership_role_check
ALTER TABLE membership ADD CONSTRAINT membership_role_check CHECK ((role = ANY (ARRAY['VIEWER'::text, 'SUPPORT'::text, 'DEVELOPER'::text, 'OWNER'::text])));

-- constraint membership.membership_source_check
ALTER TABLE membership ADD CONSTRAINT membership_source_check CHECK ((source ~ '^(INVITATION|[a-z0-9][a-z0-9-]{0,62})$'::text));

-- constraint merchant.merchant_live_cell_check
ALTER TABLE merchant ADD CONSTRAINT merchant_live_cell_check CHECK (((live_cell >= 1) AND (live_cell <= 61)));

-- constraint merchant.merchant_name_check
ALTER TABLE merchant ADD CONSTRAINT merchant_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100)));

-- constraint merchant.merchant_pkey
ALTER TABLE merchant ADD CONSTRAINT merchant_pkey PRIMARY KEY (id);

-- constraint merchant.merchant_test_cell_check
ALTER TABLE merchant ADD CONSTRAINT merchant_test_cell_check CHECK (((test_cell >= 1) AND (test_cell <= 61)));

-- constraint operator_token.operator_token_hash_check
ALTER TABLE operator_token ADD CONSTRAINT operator_token_hash_check CHECK ((octet_length(hash) = 32));

-- constraint operator_token.operator_token_hash_key
ALTER TABLE operator_token ADD CONSTRAINT operator_token_hash_key UNIQUE (hash);

-- constraint operator_token.operator_token_pkey
ALTER TABLE operator_token ADD CONSTRAINT operator_token_pkey PRIMARY KEY (id);

-- constraint passkey.passkey_id_check
ALTER TABLE passkey ADD CONSTRAINT passkey_id_check CHECK (((octet_length(id) >= 1) AND (octet_length(id) <= 1023)));

-- constraint passkey.passkey_member_id_fkey
ALTER TABLE passkey ADD CONSTRAINT passkey_member_id_fkey FOREIGN KEY (member_id) REFERENCES member(id);

-- constraint passkey.passkey_name_check
ALTER TABLE passkey ADD CONSTRAINT passkey_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100)));

-- constraint passkey.passkey_pkey
ALTER TABLE passkey ADD CONSTRAINT passkey_pkey PRIMARY KEY (id);

-- constraint passkey.passkey_transports_check
ALTER TABLE passkey ADD CONSTRAINT passkey_transports_check CHECK ((cardinality(transports) <= 10));

-- constraint passkey_challenge.passkey_challenge_asker_check
ALTER TABLE passkey_challenge ADD CONSTRAINT passkey_challenge_asker_check CHECK ((octet_length(asker) = 32));

-- constraint passkey_challenge.passkey_challenge_check
ALTER TABLE passkey_challenge ADD CONSTRAINT passkey_challenge_check CHECK (((sign_in_id IS NULL) = (purpose = 'SIGN_IN'::text)));

-- constraint passkey_challenge.passkey_challenge_hash_check
ALTER TABLE passkey_challenge ADD CONSTRAINT passkey_challenge_hash_check CHECK ((octet_length(hash) = 32));

-- constraint passkey_challenge.passkey_challenge_pkey
ALTER TABLE passkey_challenge ADD CONSTRAINT passkey_challenge_pkey PRIMARY KEY (hash);

-- constraint passkey_challenge.passkey_challenge_purpose_check
ALTER TABLE passkey_challenge ADD CONSTRAINT passkey_challenge_purpose_check CHECK ((purpose = ANY (ARRAY['REGISTER'::text, 'SIGN_IN'::text, 'PROVE'::text])));

-- constraint passkey_challenge.passkey_challenge_sign_in_id_fkey
ALTER TABLE passkey_challenge ADD CONSTRAINT passkey_challenge_sign_in_id_fkey FOREIGN KEY (sign_in_id) REFERENCES sign_in(id);

-- constraint password_reset.password_reset_member_id_fkey
ALTER TABLE password_reset ADD CONSTRAINT password_reset_member_id_fkey FOREIGN KEY (member_id) REFERENCES member(id);

-- constraint password_reset.password_reset_pkey
ALTER TABLE password_reset ADD CONSTRAINT password_reset_pkey PRIMARY KEY (id);

-- constraint password_reset.password_reset_token_hash_check
ALTER TABLE password_reset ADD CONSTRAINT password_reset_token_hash_check CHECK ((octet_length(token_hash) = 32));

-- constraint password_reset.password_reset_token_hash_key
ALTER TABLE password_reset ADD CONSTRAINT password_reset_token_hash_key UNIQUE (token_hash);

-- constraint sign_in.sign_in_address_check
ALTER TABLE sign_in ADD CONSTRAINT sign_in_address_check CHECK ((char_length(address) <= 64));

-- constraint sign_in.sign_in_check
ALTER TABLE sign_in ADD CONSTRAINT sign_in_check CHECK (((earlier_token_hash IS NULL) = (token_replaced_at IS NULL)));

-- constraint sign_in.sign_in_check1
ALTER TABLE sign_in ADD CONSTRAINT sign_in_check1 CHECK ((num_nonnulls(provider_id, issuer, subject) = ANY (ARRAY[0, 3])));

-- constraint sign_in.sign_in_check2
ALTER TABLE sign_in ADD CONSTRAINT sign_in_check2 CHECK (((provider_id IS NOT NULL) OR ((provider_session IS NULL) AND (second_factor IS DISTINCT FROM 'PROVIDER'::text))));

-- constraint sign_in.sign_in_earlier_token_hash_check
ALTER TABLE sign_in ADD CONSTRAINT sign_in_earlier_token_hash_check CHECK ((octet_length(earlier_token_hash) = 32));

-- constraint sign_in.sign_in_earlier_token_hash_key
ALTER TABLE sign_in ADD CONSTRAINT sign_in_earlier_token_hash_key UNIQUE (earlier_token_hash);

-- constraint sign_in.sign_in_member_id_fkey
ALTER TABLE sign_in ADD CONSTRAINT sign_in_member_id_fkey FOREIGN KEY (member_id) REFERENCES member(id);

-- constraint sign_in.sign_in_pkey
ALTER TABLE sign_in ADD CONSTRAINT sign_in_pkey PRIMARY KEY (id);

-- constraint sign_in.sign_in_provider_id_check
ALTER TABLE sign_in ADD CONSTRAINT sign_in_provider_id_check CHECK ((provider_id ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text));

-- constraint sign_in.sign_in_provider_session_check
ALTER TABLE sign_in ADD CONSTRAINT sign_in_provider_session_check CHECK ((char_length(provider_session) <= 500));

-- constraint sign_in.sign_in_second_factor_check
ALTER TABLE sign_in ADD CONSTRAINT sign_in_second_factor_check CHECK ((second_factor = ANY (ARRAY['PASSKEY'::text, 'CODE'::text, 'PROVIDER'::text])));

-- constraint sign_in.sign_in_token_hash_check
ALTER TABLE sign_in ADD CONSTRAINT sign_in_token_hash_check CHECK ((octet_length(token_hash) = 32));

-- constraint sign_in.sign_in_token_hash_key
ALTER TABLE sign_in ADD CONSTRAINT sign_in_token_hash_key UNIQUE (token_hash);

-- constraint sign_in.sign_in_user_agent_check
ALTER TABLE sign_in ADD CONSTRAINT sign_in_user_agent_check CHECK ((char_length(user_agent) <= 500));

-- constraint sign_in_failures.sign_in_failures_failures_check
ALTER TABLE sign_in_failures ADD CONSTRAINT sign_in_failures_failures_check CHECK ((failures >= 0));

-- constraint sign_in_failures.sign_in_failures_pkey
ALTER TABLE sign_in_failures ADD CONSTRAINT sign_in_failures_pkey PRIMARY KEY (subject);

-- constraint sign_in_failures.sign_in_failures_subject_check
ALTER TABLE sign_in_failures ADD CONSTRAINT sign_in_failures_subject_check CHECK ((octet_length(subject) = 32));

-- unique index open_invitation
CREATE UNIQUE INDEX open_invitation ON invitation USING btree (merchant_id, email) WHERE (ended_at IS NULL);

-- unique index open_password_reset
CREATE UNIQUE INDEX open_password_reset ON password_reset USING btree (member_id) WHERE (ended_at IS NULL);

-- index approval_of_merchant
CREATE INDEX approval_of_merchant ON approval USING btree (merchant_id, id);

-- index approval_pending
CREATE INDEX approval_pending ON approval USING btree (expires_at) WHERE (status = 'PENDING'::text);

-- index audit_entry_of_member
CREATE INDEX audit_entry_of_member ON audit_entry USING btree (member_id, id) WHERE (member_id IS NOT NULL);

-- index audit_entry_of_merchant
CREATE INDEX audit_entry_of_merchant ON audit_entry USING btree (merchant_id, id);

-- index logout_token_by_age
CREATE INDEX logout_token_by_age ON logout_token USING btree (expires_at);

-- index member_action_by_age
CREATE INDEX member_action_by_age ON member_action USING btree (window_ends);

-- index membership_of_member
CREATE INDEX membership_of_member ON membership USING btree (member_id);

-- index passkey_challenge_by_age
CREATE INDEX passkey_challenge_by_age ON passkey_challenge USING btree (expires_at);

-- index passkey_challenge_of_asker
CREATE INDEX passkey_challenge_of_asker ON passkey_challenge USING btree (asker);

-- index passkey_of_member
CREATE INDEX passkey_of_member ON passkey USING btree (member_id);

-- index sign_in_failures_by_age
CREATE INDEX sign_in_failures_by_age ON sign_in_failures USING btree (last_at);

-- index sign_in_of_identity
CREATE INDEX sign_in_of_identity ON sign_in USING btree (issuer, subject) WHERE (issuer IS NOT NULL);

-- index sign_in_of_member
CREATE INDEX sign_in_of_member ON sign_in USING btree (member_id, created_at);

-- function guard_approval()
CREATE OR REPLACE FUNCTION guard_approval()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function refuse_change()
CREATE OR REPLACE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit_entry' THEN
    IF OLD.created_at < clock_timestamp() - interval '1096 days' THEN RETURN OLD; END IF;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $function$;

-- function role_rank(role text)
CREATE OR REPLACE FUNCTION role_rank(role text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_position('{NONE,VIEWER,SUPPORT,DEVELOPER,OWNER}'::text[], role)
$function$;

-- trigger approval.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON approval FOR EACH ROW EXECUTE FUNCTION guard_approval();

-- trigger audit_entry.unchanging
CREATE TRIGGER unchanging BEFORE DELETE OR UPDATE ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- privileges approval to the runtime role
GRANT INSERT, SELECT, UPDATE ON approval TO the runtime role;

-- privileges approval_policy to the runtime role
GRANT INSERT, SELECT, UPDATE ON approval_policy TO the runtime role;

-- privileges audit_entry to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON audit_entry TO the runtime role;

-- privileges identity to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON identity TO the runtime role;

-- privileges invitation to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON invitation TO the runtime role;

-- privileges logout_token to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON logout_token TO the runtime role;

-- privileges member to the runtime role
GRANT INSERT, SELECT, UPDATE ON member TO the runtime role;

-- privileges member_action to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON member_action TO the runtime role;

-- privileges membership to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON membership TO the runtime role;

-- privileges merchant to the runtime role
GRANT INSERT, SELECT, UPDATE ON merchant TO the runtime role;

-- privileges new tables in public to the runtime role
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT, SELECT, UPDATE ON TABLES TO the runtime role;

-- privileges operator_token to the runtime role
GRANT INSERT, SELECT, UPDATE ON operator_token TO the runtime role;

-- privileges passkey to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON passkey TO the runtime role;

-- privileges passkey_challenge to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON passkey_challenge TO the runtime role;

-- privileges password_reset to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON password_reset TO the runtime role;

-- privileges sign_in to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON sign_in TO the runtime role;

-- privileges sign_in_failures to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON sign_in_failures TO the runtime role;
