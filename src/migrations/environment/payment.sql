-- Payment sessions, their attempts, and the keys of idempotent requests, with every money rule that a constraint can hold. The
-- rules about changes are in payment-guards.sql. Foreign keys between sessions and attempts are in partitions.sql, for both
-- tables are cut by months.

CREATE TABLE payment_session (
  id                  uuid PRIMARY KEY,
  merchant_id         uuid NOT NULL,
  amount_minor        bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND 999999999999),
  currency            text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  order_ref           text NOT NULL CHECK (char_length(order_ref) BETWEEN 1 AND 255),
  customer_email      text CHECK (char_length(customer_email) BETWEEN 3 AND 254),
  -- The version of the key that the client secret is derived with; the secret itself is stored nowhere.
  secret_version      int NOT NULL,
  status              text NOT NULL DEFAULT 'CREATED' CHECK (status IN ('CREATED','SUCCEEDED','DECLINED','DEGRADED','EXPIRED')),
  -- DONE: the status is final and so is every attempt.
  phase               text NOT NULL DEFAULT 'IDLE' CHECK (phase IN ('IDLE','PROCESSING','DONE')),
  lease_epoch         int NOT NULL DEFAULT 0,
  lease_until         timestamptz,
  submit_deadline     timestamptz,
  vault_token         text,
  -- SHA-256 of the submitted token: distinguishes a repeat from another card after the token itself is deleted.
  token_hash          bytea,
  card_brand          text,
  card_last4          text CHECK (card_last4 ~ '^[0-9]{4}$'),
  rule_version        int,
  plan                jsonb,
  skipped             jsonb,
  winner_attempt_id   uuid,
  captured_attempt_id uuid GENERATED ALWAYS AS (CASE WHEN status = 'SUCCEEDED' THEN winner_attempt_id END) STORED,
  -- Lets the foreign keys payment_session_winner and payment_session_captured demand a true value on the other side.
  pinned              boolean NOT NULL DEFAULT true CHECK (pinned),
  captured_via        text,
  capture_confirmed   boolean,
  failover            boolean NOT NULL DEFAULT false,
  decline_code        text,
  -- When the merchant was notified that the outcome takes longer than the budget.
  pending_event_at    timestamptz,
  -- After a restore: from this time on the gateways are asked what they did for the session that is not in this database.
  -- Until they have answered, the session neither ends nor adopts a hold (restore-guards.sql). Null for all others.
  unrecorded_check_at timestamptz,
  -- The API requests that created and submitted the session: what a merchant's log and a customer's error page name. They are
  -- written by the statements that create and claim, and are found by their own times, so that they need no index.
  create_request_id   uuid,
  submit_request_id   uuid,
  created_at          timestamptz NOT NULL DEFAULT app.clock(),
  expires_at          timestamptz NOT NULL,
  submitted_at        timestamptz,
  settled_at          timestamptz,
  UNIQUE (id, amount_minor, currency),
  CONSTRAINT payment_session_check CHECK (expires_at > created_at),
  CONSTRAINT payment_session_check1 CHECK (status <> 'SUCCEEDED' OR winner_attempt_id IS NOT NULL),
  CONSTRAINT payment_session_check2 CHECK (status IN ('CREATED','SUCCEEDED') OR winner_attempt_id IS NULL),
  CONSTRAINT payment_session_check3 CHECK (phase <> 'DONE' OR status <> 'CREATED'),
  CONSTRAINT payment_session_check4 CHECK (phase <> 'IDLE' OR status = 'CREATED'),
  CONSTRAINT payment_session_check5 CHECK (phase <> 'IDLE' OR winner_attempt_id IS NULL),
  CONSTRAINT payment_session_check6 CHECK (phase <> 'PROCESSING' OR (lease_until IS NOT NULL AND submit_deadline IS NOT NULL)),
  CONSTRAINT payment_session_check7 CHECK ((status = 'EXPIRED') = (phase = 'DONE' AND lease_epoch = 0)),
  CONSTRAINT payment_session_check8 CHECK ((status = 'CREATED') = (settled_at IS NULL)),
  CONSTRAINT payment_session_check9 CHECK ((phase = 'IDLE' OR status = 'EXPIRED') = (submitted_at IS NULL)),
  CONSTRAINT payment_session_check10 CHECK (status <> 'SUCCEEDED' OR (captured_via IS NOT NULL AND capture_confirmed IS NOT NULL)),
  CONSTRAINT payment_session_check11 CHECK ((status IN ('DECLINED','DEGRADED')) = (decline_code IS NOT NULL)),
  -- The token lives no longer than the payment that may use it.
  CONSTRAINT payment_session_check12 CHECK (vault_token IS NULL OR (phase = 'PROCESSING' AND status = 'CREATED'))
) PARTITION BY RANGE (id);
CREATE INDEX payment_session_to_recover ON payment_session (lease_until) WHERE phase = 'PROCESSING';
CREATE INDEX payment_session_to_expire ON payment_session (expires_at) WHERE phase = 'IDLE';
CREATE INDEX payment_session_settled ON payment_session (settled_at) WHERE settled_at IS NOT NULL;
-- Captures that are not confirmed yet, and the few whose confirmation never came.
CREATE INDEX payment_session_unconfirmed ON payment_session (settled_at) WHERE NOT capture_confirmed;

-- What the dashboard finds payments by.
CREATE INDEX payment_session_of_merchant ON payment_session (merchant_id, id);
-- Equal references, and beginnings of references whatever the database's collation is.
CREATE INDEX payment_session_of_order ON payment_session (merchant_id, order_ref text_pattern_ops, id);
-- Rows come into both when a payment settles and not before, so that a payment's many changes until then do not write to
-- them. Sessions that are CREATED are the newest, where a walk by id begins anyway.
CREATE INDEX payment_session_of_status ON payment_session (merchant_id, status, id) WHERE status <> 'CREATED';
CREATE INDEX payment_session_failed_over ON payment_session (merchant_id, id) WHERE failover;

CREATE TABLE attempt (
  session_id            uuid NOT NULL,
  id                    uuid NOT NULL,
  sequence              int NOT NULL CHECK (sequence BETWEEN 1 AND 5),
  gateway               text NOT NULL,
  connection_id         uuid NOT NULL,
  credential_version    int NOT NULL,
  priority              int NOT NULL,
  because               text NOT NULL,
  amount_minor          bigint NOT NULL,
  currency              text NOT NULL,
  status                text NOT NULL DEFAULT 'AUTHORIZING'
    CHECK (status IN ('AUTHORIZING','AUTHORIZED','CAPTURED','DECLINED','FAILED','UNKNOWN','VOIDING','VOIDED')),
  failure_kind          text CHECK (failure_kind IN ('HARD_DECLINE','SOFT_DECLINE','FRAUD','TIMEOUT','GATEWAY_ERROR')),
  stop                  text CHECK (stop IN ('fraud','scheme_rule','same_card_fails','authentication_required','unclassified')),
  decline_code          text,
  gateway_code          text,
  gateway_reference     text,
  next_action           text CHECK (next_action IN ('failover','stop')),
  next_because          text,
  -- Committed before the first capture request is sent.
  capture_ordered_at    timestamptz,
  -- The gateway's definitive refusal of the capture.
  capture_refusal_code  text,
  void_kind             text CONSTRAINT attempt_void_kind CHECK (void_kind IN ('VOIDED','NEVER_EXISTED','GIVEN_UP')),
  -- When the attempt was looked up, after the plan had ended.
  looked_up_at          timestamptz,
  -- When it became VOIDING; only VOIDED or CAPTURED can follow.
  voiding_at            timestamptz,
  -- When the void was sent whose answer is recorded.
  void_asked_at         timestamptz,
  -- From here on the gateway can no longer execute the authorize.
  latest_execution_at   timestamptz NOT NULL,
  retries               int NOT NULL DEFAULT 0,
  next_retry_at         timestamptz,
  started_at            timestamptz NOT NULL DEFAULT app.clock(),
  changed_at            timestamptz NOT NULL DEFAULT app.clock(),
  -- When the gateway's first answer, or the lack of one, was recorded.
  answered_at           timestamptz,
  completed_at          timestamptz,
  holds                 boolean GENERATED ALWAYS AS (status IN ('AUTHORIZED','CAPTURED')) STORED,
  captured              boolean GENERATED ALWAYS AS (status = 'CAPTURED') STORED,
  -- A person's decision about an attempt that its gateway never ends (decision-guards.sql).
  decision              text,
  -- The gateway's reference of the captured payment.
  decision_reference    text,
  decision_reason       text,
  decided_by            text,
  decided_at            timestamptz,
  -- Another person has to confirm it before it takes effect.
  decision_takes_two    boolean,
  decision_confirmed_by text,
  decision_confirmed_at timestamptz,
  PRIMARY KEY (session_id, id),
  UNIQUE (session_id, sequence),
  UNIQUE (session_id, id, holds),
  UNIQUE (session_id, id, captured),
  CONSTRAINT attempt_check CHECK (
    (status = 'DECLINED') = (failure_kind IS NOT NULL AND failure_kind IN ('HARD_DECLINE','SOFT_DECLINE','FRAUD'))),
  CONSTRAINT attempt_check1 CHECK (failure_kind <> 'FRAUD' OR stop IS NOT NULL),
  CONSTRAINT attempt_check2 CHECK (status NOT IN ('AUTHORIZED','CAPTURED') OR gateway_reference IS NOT NULL),
  CONSTRAINT attempt_check3 CHECK (status <> 'CAPTURED' OR capture_ordered_at IS NOT NULL),
  CONSTRAINT attempt_check4 CHECK (capture_ordered_at IS NULL OR status IN ('AUTHORIZED','CAPTURED','VOIDING','VOIDED')),
  CONSTRAINT attempt_check5 CHECK ((status = 'VOIDED') = (void_kind IS NOT NULL)),
  CONSTRAINT attempt_check7 CHECK ((status IN ('CAPTURED','DECLINED','FAILED','VOIDED')) = (completed_at IS NOT NULL)),
  CONSTRAINT attempt_check8 CHECK ((next_action IS NULL) = (next_because IS NULL)),
  -- A capture that the gateway permanently refused takes no money, so its report that there never was a hold is believed.
  CONSTRAINT attempt_never_existed CHECK (
    void_kind IS DISTINCT FROM 'NEVER_EXISTED'
    OR (capture_ordered_at IS NULL OR capture_refusal_code IS NOT NULL) AND void_asked_at >= latest_execution_at),
  -- A comparison with null is neither true nor false, and a CHECK accepts that.
  CONSTRAINT attempt_never_existed_asked CHECK (void_kind IS DISTINCT FROM 'NEVER_EXISTED' OR void_asked_at IS NOT NULL),
  CONSTRAINT attempt_given_up CHECK (
    void_kind IS DISTINCT FROM 'GIVEN_UP'
    OR decision IS NOT DISTINCT FROM 'GIVEN_UP' AND decision_confirmed_at IS NOT NULL),
  CONSTRAINT attempt_decision CHECK (
    decision IN ('GIVEN_UP','CAPTURED')
    AND num_nulls(decision, decision_reason, decided_by, decided_at, decision_takes_two) IN (0, 5)),
  CONSTRAINT attempt_decision_texts CHECK (
    char_length(decision_reason) BETWEEN 1 AND 1000 AND char_length(decided_by) >= 1
    AND char_length(decision_reference) BETWEEN 1 AND 255),
  CONSTRAINT attempt_decision_reference CHECK (
    (decision IS NOT DISTINCT FROM 'CAPTURED') = (decision_reference IS NOT NULL)),
  CONSTRAINT attempt_decision_confirmed CHECK (
    num_nulls(decision_confirmed_by, decision_confirmed_at) IN (0, 2)
    AND (decision_confirmed_by IS NULL OR decision IS NOT NULL)),
  CONSTRAINT attempt_decision_takes_two CHECK (
    NOT decision_takes_two OR decision_confirmed_by <> decided_by)
) PARTITION BY RANGE (session_id);
CREATE UNIQUE INDEX attempt_one_authorizing ON attempt (session_id) WHERE status = 'AUTHORIZING';
-- The rule: at most one attempt of a session holds, or may turn out to hold, a capture.
CREATE UNIQUE INDEX attempt_one_capturable ON attempt (session_id)
  WHERE status IN ('AUTHORIZED','CAPTURED') OR (status = 'VOIDING' AND capture_ordered_at IS NOT NULL);
-- A notification names the attempt and knows no session, which every other key of an attempt begins with.
CREATE INDEX attempt_by_id ON attempt (id);
CREATE INDEX attempt_changed ON attempt (changed_at, id);
CREATE INDEX attempt_void_due ON attempt (next_retry_at) WHERE status = 'VOIDING';
-- Both hold the few rows that wait for a gateway, however many attempts there are.
CREATE INDEX attempt_being_voided ON attempt (voiding_at) WHERE status = 'VOIDING';
CREATE INDEX attempt_being_captured ON attempt (capture_ordered_at) WHERE status = 'AUTHORIZED';

CREATE FUNCTION app.stamp_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_at := app.clock();
  IF TG_OP = 'UPDATE' AND NEW.status = 'VOIDING' AND OLD.status <> 'VOIDING' THEN NEW.voiding_at := NEW.changed_at; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON attempt FOR EACH ROW EXECUTE FUNCTION app.stamp_attempt();

CREATE TABLE idempotency (
  merchant_id   uuid NOT NULL,
  key           text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
  request_hash  bytea NOT NULL CHECK (octet_length(request_hash) = 32),
  session_id    uuid NOT NULL,
  -- The vault object of the first answer; the rest of that answer is the session row and a derived secret.
  answer_sealed text,
  expires_at    timestamptz NOT NULL,
  PRIMARY KEY (merchant_id, key)
);
CREATE INDEX idempotency_to_expire ON idempotency (expires_at);

-- Which session of an external vault belongs to which of ours: a token counts in its own session only. No foreign key: the
-- vault is asked first, and a session that is then not created leaves a row that lapses.
CREATE TABLE vault_session (
  session_id    uuid        PRIMARY KEY,
  vault_session text        NOT NULL CHECK (char_length(vault_session) BETWEEN 1 AND 128),
  expires_at    timestamptz NOT NULL
);
CREATE INDEX vault_session_to_expire ON vault_session (expires_at);
