/** Sessions, attempts and idempotency keys of one environment, with every money rule that the database itself can hold. */

export const name = "001-payment";

export const sql = `
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;

-- The only clock of the payment path: one time for every process, and one place for the simulation to replace.
CREATE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

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
  -- SHA-256 of the token that was submitted: tells a repeat from another card after the token itself is gone.
  token_hash          bytea,
  card_brand          text,
  card_last4          text CHECK (card_last4 ~ '^[0-9]{4}$'),
  rule_version        int,
  plan                jsonb,
  skipped             jsonb,
  winner_attempt_id   uuid,
  captured_attempt_id uuid GENERATED ALWAYS AS (CASE WHEN status = 'SUCCEEDED' THEN winner_attempt_id END) STORED,
  -- Lets the two foreign keys below demand a true value on the other side.
  pinned              boolean NOT NULL DEFAULT true CHECK (pinned),
  captured_via        text,
  capture_confirmed   boolean,
  failover            boolean NOT NULL DEFAULT false,
  decline_code        text,
  -- When the merchant was told that the outcome takes longer than the budget.
  pending_told_at     timestamptz,
  created_at          timestamptz NOT NULL DEFAULT app.clock(),
  expires_at          timestamptz NOT NULL,
  submitted_at        timestamptz,
  settled_at          timestamptz,
  UNIQUE (id, amount_minor, currency),
  CHECK (expires_at > created_at),
  CHECK (status <> 'SUCCEEDED' OR winner_attempt_id IS NOT NULL),
  CHECK (status IN ('CREATED','SUCCEEDED') OR winner_attempt_id IS NULL),
  CHECK (phase <> 'DONE' OR status <> 'CREATED'),
  CHECK (phase <> 'IDLE' OR status = 'CREATED'),
  CHECK (phase <> 'IDLE' OR winner_attempt_id IS NULL),
  CHECK (phase <> 'PROCESSING' OR (lease_until IS NOT NULL AND submit_deadline IS NOT NULL)),
  CHECK ((status = 'EXPIRED') = (phase = 'DONE' AND lease_epoch = 0)),
  CHECK ((status = 'CREATED') = (settled_at IS NULL)),
  CHECK ((phase = 'IDLE' OR status = 'EXPIRED') = (submitted_at IS NULL)),
  CHECK (status <> 'SUCCEEDED' OR (captured_via IS NOT NULL AND capture_confirmed IS NOT NULL)),
  CHECK ((status IN ('DECLINED','DEGRADED')) = (decline_code IS NOT NULL)),
  -- The token lives no longer than the payment that may use it.
  CHECK (vault_token IS NULL OR (phase = 'PROCESSING' AND status = 'CREATED'))
);
CREATE INDEX payment_session_of_merchant ON payment_session (merchant_id, id);
CREATE INDEX payment_session_of_order ON payment_session (merchant_id, order_ref, id);
CREATE INDEX payment_session_to_recover ON payment_session (lease_until) WHERE phase = 'PROCESSING';
CREATE INDEX payment_session_to_expire ON payment_session (expires_at) WHERE phase = 'IDLE';

CREATE TABLE attempt (
  session_id         uuid NOT NULL,
  id                 uuid NOT NULL,
  sequence           int NOT NULL CHECK (sequence BETWEEN 1 AND 5),
  gateway            text NOT NULL,
  connection_id      uuid NOT NULL,
  credential_version int NOT NULL,
  priority           int NOT NULL,
  because            text NOT NULL,
  amount_minor       bigint NOT NULL,
  currency           text NOT NULL,
  status             text NOT NULL DEFAULT 'AUTHORIZING'
    CHECK (status IN ('AUTHORIZING','AUTHORIZED','CAPTURED','DECLINED','FAILED','UNKNOWN','VOIDING','VOIDED')),
  failure_kind       text CHECK (failure_kind IN ('HARD_DECLINE','SOFT_DECLINE','FRAUD','TIMEOUT','GATEWAY_ERROR')),
  stop               text CHECK (stop IN ('fraud','scheme_rule','same_card_fails','authentication_required','unclassified')),
  decline_code       text,
  gateway_code       text,
  gateway_reference  text,
  next_action        text CHECK (next_action IN ('failover','stop')),
  next_because       text,
  -- Committed before the first capture request is sent.
  capture_started_at timestamptz,
  -- The gateway's definitive refusal of the capture.
  capture_refused    text,
  void_kind          text CHECK (void_kind IN ('VOIDED','NEVER_EXISTED')),
  -- When the gateway was asked, after the plan had ended, whether it holds the amount.
  looked_up_at       timestamptz,
  -- When the void was sent whose answer is recorded.
  void_asked_at      timestamptz,
  -- From here on the gateway can no longer execute the authorize.
  horizon_at         timestamptz NOT NULL,
  tries              int NOT NULL DEFAULT 0,
  next_try_at        timestamptz,
  started_at         timestamptz NOT NULL DEFAULT app.clock(),
  -- When the gateway's first answer, or the lack of one, was recorded.
  answered_at        timestamptz,
  completed_at       timestamptz,
  holds              boolean GENERATED ALWAYS AS (status IN ('AUTHORIZED','CAPTURED')) STORED,
  captured           boolean GENERATED ALWAYS AS (status = 'CAPTURED') STORED,
  PRIMARY KEY (session_id, id),
  UNIQUE (session_id, sequence),
  UNIQUE (session_id, id, holds),
  UNIQUE (session_id, id, captured),
  FOREIGN KEY (session_id, amount_minor, currency) REFERENCES payment_session (id, amount_minor, currency),
  CHECK ((status = 'DECLINED') = (failure_kind IS NOT NULL AND failure_kind IN ('HARD_DECLINE','SOFT_DECLINE','FRAUD'))),
  CHECK (failure_kind <> 'FRAUD' OR stop IS NOT NULL),
  CHECK (status NOT IN ('AUTHORIZED','CAPTURED') OR gateway_reference IS NOT NULL),
  CHECK (status <> 'CAPTURED' OR capture_started_at IS NOT NULL),
  CHECK (capture_started_at IS NULL OR status IN ('AUTHORIZED','CAPTURED','VOIDING','VOIDED')),
  CHECK ((status = 'VOIDED') = (void_kind IS NOT NULL)),
  CHECK (void_kind IS DISTINCT FROM 'NEVER_EXISTED' OR (capture_started_at IS NULL AND void_asked_at >= horizon_at)),
  CHECK ((status IN ('CAPTURED','DECLINED','FAILED','VOIDED')) = (completed_at IS NOT NULL)),
  CHECK ((next_action IS NULL) = (next_because IS NULL))
);
CREATE UNIQUE INDEX attempt_one_authorizing ON attempt (session_id) WHERE status = 'AUTHORIZING';
-- The rule: at most one attempt of a session holds, or may turn out to hold, a capture.
CREATE UNIQUE INDEX attempt_one_capturable ON attempt (session_id)
  WHERE status IN ('AUTHORIZED','CAPTURED') OR (status = 'VOIDING' AND capture_started_at IS NOT NULL);
CREATE UNIQUE INDEX attempt_gateway_reference ON attempt (connection_id, gateway_reference) WHERE gateway_reference IS NOT NULL;
CREATE INDEX attempt_void_due ON attempt (next_try_at) WHERE status = 'VOIDING';

-- The winner holds or is captured, SUCCEEDED names a captured attempt, and neither can leave that state again.
ALTER TABLE payment_session
  ADD CONSTRAINT payment_session_winner FOREIGN KEY (id, winner_attempt_id, pinned) REFERENCES attempt (session_id, id, holds),
  ADD CONSTRAINT payment_session_captured FOREIGN KEY (id, captured_attempt_id, pinned) REFERENCES attempt (session_id, id, captured);

CREATE FUNCTION app.refuse(reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'check_violation';
END $$;

CREATE FUNCTION app.guard_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.lease_epoch < OLD.lease_epoch THEN PERFORM app.refuse('the lease epoch never goes back'); END IF;
  IF (OLD.id, OLD.merchant_id, OLD.amount_minor, OLD.currency, OLD.order_ref, OLD.created_at)
     IS DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.amount_minor, NEW.currency, NEW.order_ref, NEW.created_at) THEN
    PERFORM app.refuse('what was ordered never changes'); END IF;
  IF OLD.status <> 'CREATED' AND (NEW.status <> OLD.status OR NEW.winner_attempt_id IS DISTINCT FROM OLD.winner_attempt_id) THEN
    PERFORM app.refuse('a final status never changes'); END IF;
  IF OLD.phase = 'DONE' AND NEW.phase <> 'DONE' OR OLD.phase = 'PROCESSING' AND NEW.phase = 'IDLE' THEN
    PERFORM app.refuse('the phase only moves forward'); END IF;
  IF OLD.winner_attempt_id IS NOT NULL AND NEW.winner_attempt_id IS NOT NULL AND NEW.winner_attempt_id <> OLD.winner_attempt_id THEN
    PERFORM app.refuse('a winner is named from null only'); END IF;
  IF NEW.status IN ('DECLINED','DEGRADED') AND OLD.status = 'CREATED' AND EXISTS (
       SELECT 1 FROM attempt WHERE session_id = NEW.id
       AND (status IN ('AUTHORIZED','CAPTURED') OR status = 'VOIDING' AND capture_started_at IS NOT NULL)) THEN
    PERFORM app.refuse('no end without a capture while one may still land'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE UPDATE ON payment_session FOR EACH ROW EXECUTE FUNCTION app.guard_session();

CREATE FUNCTION app.guard_new_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE session payment_session;
BEGIN
  SELECT * INTO session FROM payment_session WHERE id = NEW.session_id FOR UPDATE;
  IF session.status <> 'CREATED' OR session.phase <> 'PROCESSING' THEN PERFORM app.refuse('an attempt needs a session in processing'); END IF;
  IF session.winner_attempt_id IS NOT NULL THEN PERFORM app.refuse('no attempt beside a winner'); END IF;
  IF app.clock() >= session.submit_deadline THEN PERFORM app.refuse('no attempt after the deadline'); END IF;
  IF NEW.status <> 'AUTHORIZING' OR NEW.capture_started_at IS NOT NULL THEN PERFORM app.refuse('an attempt begins AUTHORIZING'); END IF;
  IF EXISTS (SELECT 1 FROM attempt WHERE session_id = NEW.session_id AND failure_kind = 'FRAUD') THEN
    PERFORM app.refuse('a fraud-class decline is never retried'); END IF;
  IF EXISTS (SELECT 1 FROM attempt WHERE session_id = NEW.session_id AND stop IS NOT NULL) THEN
    PERFORM app.refuse('no attempt follows a stop'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_new BEFORE INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION app.guard_new_attempt();

CREATE FUNCTION app.guard_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE session payment_session;
BEGIN
  SELECT * INTO session FROM payment_session WHERE id = NEW.session_id FOR UPDATE;
  IF (NEW.session_id, NEW.id, NEW.sequence, NEW.connection_id, NEW.credential_version, NEW.started_at, NEW.horizon_at)
     IS DISTINCT FROM (OLD.session_id, OLD.id, OLD.sequence, OLD.connection_id, OLD.credential_version, OLD.started_at, OLD.horizon_at) THEN
    PERFORM app.refuse('what an attempt asked for never changes'); END IF;
  IF OLD.gateway_reference IS NOT NULL AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference THEN
    PERFORM app.refuse('a gateway reference never changes'); END IF;
  IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
       ('AUTHORIZING','AUTHORIZED'), ('AUTHORIZING','DECLINED'), ('AUTHORIZING','FAILED'), ('AUTHORIZING','UNKNOWN'),
       ('UNKNOWN','AUTHORIZED'), ('UNKNOWN','DECLINED'), ('UNKNOWN','VOIDING'),
       ('AUTHORIZED','CAPTURED'), ('AUTHORIZED','VOIDING'), ('VOIDING','VOIDED'), ('VOIDING','CAPTURED')) THEN
    PERFORM app.refuse('illegal attempt transition ' || OLD.status || ' to ' || NEW.status); END IF;
  IF NEW.status = 'AUTHORIZED' AND (session.status <> 'CREATED' OR session.winner_attempt_id IS NOT NULL AND session.winner_attempt_id <> NEW.id) THEN
    PERFORM app.refuse('a hold is adopted only while CREATED and without a winner'); END IF;
  IF NEW.status = 'AUTHORIZED' AND OLD.status <> 'AUTHORIZED'
     AND EXISTS (SELECT 1 FROM attempt WHERE session_id = NEW.session_id AND failure_kind = 'FRAUD') THEN
    PERFORM app.refuse('no hold is adopted after a fraud decline'); END IF;
  IF OLD.capture_started_at IS NOT NULL AND NEW.capture_started_at IS DISTINCT FROM OLD.capture_started_at THEN
    PERFORM app.refuse('an ordered capture stays ordered'); END IF;
  IF OLD.capture_started_at IS NULL AND NEW.capture_started_at IS NOT NULL
     AND NOT (OLD.status = 'AUTHORIZED' AND NEW.status = 'AUTHORIZED' AND session.winner_attempt_id = NEW.id AND session.status = 'CREATED') THEN
    PERFORM app.refuse('only the authorized winner is captured'); END IF;
  IF NEW.status = 'CAPTURED' AND OLD.status <> 'CAPTURED' AND session.status <> 'CREATED' THEN
    PERFORM app.refuse('no capture is kept once the session has ended'); END IF;
  IF OLD.status = 'AUTHORIZED' AND NEW.status = 'VOIDING' AND OLD.capture_started_at IS NOT NULL AND NEW.capture_refused IS NULL THEN
    PERFORM app.refuse('an unanswered capture is never given up'); END IF;
  IF OLD.status = 'VOIDING' AND NEW.status = 'CAPTURED' AND OLD.capture_started_at IS NULL THEN
    PERFORM app.refuse('no capture was ever ordered'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE UPDATE ON attempt FOR EACH ROW EXECUTE FUNCTION app.guard_attempt();

-- What must change together is checked when the transaction commits.
CREATE FUNCTION app.check_whole(checked uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE session payment_session;
BEGIN
  SELECT * INTO session FROM payment_session WHERE id = checked;
  IF EXISTS (SELECT 1 FROM attempt WHERE session_id = checked AND holds AND id IS DISTINCT FROM session.winner_attempt_id) THEN
    PERFORM app.refuse('an authorized attempt is the winner'); END IF;
  IF session.status <> 'SUCCEEDED' AND EXISTS (SELECT 1 FROM attempt WHERE session_id = checked AND captured) THEN
    PERFORM app.refuse('a captured attempt means SUCCEEDED'); END IF;
  IF (session.winner_attempt_id IS NOT NULL OR session.status <> 'CREATED')
     AND EXISTS (SELECT 1 FROM attempt WHERE session_id = checked AND status = 'UNKNOWN') THEN
    PERFORM app.refuse('unknown attempts go to VOIDING with the winner or the end'); END IF;
  IF session.status <> 'CREATED' AND EXISTS (SELECT 1 FROM attempt WHERE session_id = checked AND status = 'AUTHORIZING') THEN
    PERFORM app.refuse('no end while an attempt is AUTHORIZING'); END IF;
  IF session.phase = 'DONE' AND EXISTS (SELECT 1 FROM attempt WHERE session_id = checked AND completed_at IS NULL) THEN
    PERFORM app.refuse('DONE means that every attempt is final'); END IF;
END $$;
CREATE FUNCTION app.check_whole_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM app.check_whole(NEW.id); RETURN NULL; END $$;
CREATE FUNCTION app.check_whole_attempt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM app.check_whole(NEW.session_id); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER whole AFTER UPDATE ON payment_session DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION app.check_whole_session();
CREATE CONSTRAINT TRIGGER whole AFTER INSERT OR UPDATE ON attempt DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION app.check_whole_attempt();

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
`;
