-- Every money rule of sessions and attempts that a constraint cannot express: legal transitions, values that never change again,
-- and values that change together. docs/safety.md has the rules and a diagram of the legal transitions.

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
       AND (status IN ('AUTHORIZED','CAPTURED') OR status = 'VOIDING' AND capture_ordered_at IS NOT NULL)) THEN
    PERFORM app.refuse('no end without a capture while one may still land'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE UPDATE ON payment_session FOR EACH ROW EXECUTE FUNCTION app.guard_session();

-- An attempt that was made before a restore gets its row back after the deadline, hence `unrecorded_check_at`.
CREATE FUNCTION app.guard_new_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE session payment_session;
BEGIN
  SELECT * INTO session FROM payment_session WHERE id = NEW.session_id FOR UPDATE;
  IF session.status <> 'CREATED' OR session.phase <> 'PROCESSING' THEN PERFORM app.refuse('an attempt needs a session in processing'); END IF;
  IF session.winner_attempt_id IS NOT NULL THEN PERFORM app.refuse('no attempt beside a winner'); END IF;
  IF app.clock() >= session.submit_deadline AND session.unrecorded_check_at IS NULL THEN PERFORM app.refuse('no attempt after the deadline'); END IF;
  IF NEW.status <> 'AUTHORIZING' OR NEW.capture_ordered_at IS NOT NULL THEN PERFORM app.refuse('an attempt begins AUTHORIZING'); END IF;
  IF EXISTS (SELECT 1 FROM attempt WHERE session_id = NEW.session_id AND failure_kind = 'FRAUD') THEN
    PERFORM app.refuse('a fraud-class decline is never retried'); END IF;
  IF EXISTS (SELECT 1 FROM attempt WHERE session_id = NEW.session_id AND stop IS NOT NULL) THEN
    PERFORM app.refuse('no attempt follows a stop'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_new BEFORE INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION app.guard_new_attempt();

-- A gateway may name a hold otherwise than the request that made it, hence the way from UNKNOWN to AUTHORIZED: PayPal calls an
-- order by one name and the money that it authorized by another, which only a look-up shows if the answer was lost.
CREATE FUNCTION app.guard_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE session payment_session;
BEGIN
  SELECT * INTO session FROM payment_session WHERE id = NEW.session_id FOR UPDATE;
  IF (NEW.session_id, NEW.id, NEW.sequence, NEW.connection_id, NEW.credential_version, NEW.started_at, NEW.latest_execution_at)
     IS DISTINCT FROM (OLD.session_id, OLD.id, OLD.sequence, OLD.connection_id, OLD.credential_version, OLD.started_at, OLD.latest_execution_at) THEN
    PERFORM app.refuse('what an attempt asked for never changes'); END IF;
  IF OLD.gateway_reference IS NOT NULL AND (OLD.status, NEW.status) <> ('UNKNOWN', 'AUTHORIZED') AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference THEN
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
  IF OLD.capture_ordered_at IS NOT NULL AND NEW.capture_ordered_at IS DISTINCT FROM OLD.capture_ordered_at THEN
    PERFORM app.refuse('an ordered capture stays ordered'); END IF;
  IF OLD.capture_ordered_at IS NULL AND NEW.capture_ordered_at IS NOT NULL
     AND NOT (OLD.status = 'AUTHORIZED' AND NEW.status = 'AUTHORIZED' AND session.winner_attempt_id = NEW.id AND session.status = 'CREATED') THEN
    PERFORM app.refuse('only the authorized winner is captured'); END IF;
  IF NEW.status = 'CAPTURED' AND OLD.status <> 'CAPTURED' AND session.status <> 'CREATED' THEN
    PERFORM app.refuse('no capture is kept once the session has ended'); END IF;
  IF OLD.status = 'AUTHORIZED' AND NEW.status = 'VOIDING' AND OLD.capture_ordered_at IS NOT NULL AND NEW.capture_refusal_code IS NULL
     AND (NEW.decision IS DISTINCT FROM 'GIVEN_UP' OR NEW.decision_confirmed_at IS NULL) THEN
    PERFORM app.refuse('an unanswered capture is never given up'); END IF;
  IF OLD.status = 'VOIDING' AND NEW.status = 'CAPTURED' AND OLD.capture_ordered_at IS NULL THEN
    PERFORM app.refuse('no capture was ever ordered'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE UPDATE ON attempt FOR EACH ROW EXECUTE FUNCTION app.guard_attempt();

-- Values that must change together are checked when the transaction commits.
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
-- Not for leases, cards shown and other columns that app.check_whole does not read.
CREATE CONSTRAINT TRIGGER whole AFTER UPDATE ON payment_session DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.status, OLD.phase, OLD.winner_attempt_id) IS DISTINCT FROM (NEW.status, NEW.phase, NEW.winner_attempt_id))
  EXECUTE FUNCTION app.check_whole_session();
CREATE CONSTRAINT TRIGGER whole_new AFTER INSERT ON attempt DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION app.check_whole_attempt();
CREATE CONSTRAINT TRIGGER whole AFTER UPDATE ON attempt DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.status, OLD.completed_at) IS DISTINCT FROM (NEW.status, NEW.completed_at))
  EXECUTE FUNCTION app.check_whole_attempt();

-- Pins what rules of the payment are decided by: a final attempt's answer, the terms of a submission, and where money was captured.
CREATE FUNCTION app.pin_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.gateway <> OLD.gateway THEN PERFORM app.refuse('an attempt stays at its gateway'); END IF;
  -- These decide whether another gateway may be called.
  IF OLD.completed_at IS NOT NULL AND (NEW.failure_kind, NEW.stop, NEW.completed_at)
     IS DISTINCT FROM (OLD.failure_kind, OLD.stop, OLD.completed_at) THEN
    PERFORM app.refuse('what ended an attempt never changes'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER pin BEFORE UPDATE ON attempt FOR EACH ROW EXECUTE FUNCTION app.pin_attempt();

CREATE FUNCTION app.pin_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.submitted_at IS NOT NULL AND (NEW.rule_version, NEW.token_hash) IS DISTINCT FROM (OLD.rule_version, OLD.token_hash) THEN
    PERFORM app.refuse('what was submitted never changes'); END IF;
  IF NEW.submit_deadline > OLD.submit_deadline THEN PERFORM app.refuse('a deadline never moves away'); END IF;
  IF NEW.status = 'SUCCEEDED' AND NEW.captured_via IS NOT NULL AND NEW.winner_attempt_id IS NOT NULL AND NOT EXISTS (
       SELECT FROM attempt WHERE session_id = NEW.id AND id = NEW.winner_attempt_id AND gateway = NEW.captured_via) THEN
    PERFORM app.refuse('the money was captured at the winner''s gateway'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER pin BEFORE UPDATE ON payment_session FOR EACH ROW EXECUTE FUNCTION app.pin_session();

-- Two attempts of one hold would be voided twice, or one of them while the other is captured. An index says so within
-- a month; this says it across months, for as long as a payment and what comes after it take.
CREATE FUNCTION app.guard_reference() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(NEW.connection_id || ' ' || NEW.gateway_reference, 0));
  IF EXISTS (SELECT FROM attempt WHERE connection_id = NEW.connection_id AND gateway_reference = NEW.gateway_reference
             AND session_id >= app.first_id_at(app.clock() - interval '45 days')
             AND (session_id, id) <> (NEW.session_id, NEW.id)) THEN
    RAISE EXCEPTION 'attempt_gateway_reference: a gateway reference is of one attempt' USING ERRCODE = 'unique_violation', CONSTRAINT = 'attempt_gateway_reference';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER reference_new BEFORE INSERT ON attempt FOR EACH ROW
  WHEN (NEW.gateway_reference IS NOT NULL) EXECUTE FUNCTION app.guard_reference();
CREATE TRIGGER reference BEFORE UPDATE ON attempt FOR EACH ROW
  WHEN (NEW.gateway_reference IS NOT NULL AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference)
  EXECUTE FUNCTION app.guard_reference();

CREATE FUNCTION app.guard_customer_email() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM app.refuse('a customer''s address is erased, never changed');
  RETURN NULL;
END $$;
CREATE TRIGGER guard_customer_email BEFORE UPDATE ON payment_session FOR EACH ROW
  WHEN (NEW.customer_email IS DISTINCT FROM OLD.customer_email AND NEW.customer_email IS NOT NULL)
  EXECUTE FUNCTION app.guard_customer_email();
