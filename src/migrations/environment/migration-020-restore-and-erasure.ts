/** What a restore to an earlier moment asks of payments, and the one change that a customer's address may see. */

export const name = "020-restore-and-erasure";

export const sql = `
-- After a restore: from this moment on the gateways are asked what they did for the session that is not in this database.
-- Until they have told, the session neither ends nor takes a hold for its own. Null for all others.
ALTER TABLE payment_session ADD COLUMN lost_check_at timestamptz;

CREATE FUNCTION app.guard_lost_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- It opens a way past the deadline below, so the service itself cannot take it.
  IF OLD.lost_check_at IS NULL AND NEW.lost_check_at IS NOT NULL
     AND NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
    PERFORM app.refuse('only the owner of the database declares a restore'); END IF;
  IF NEW.lost_check_at IS NOT NULL AND NEW.status NOT IN ('CREATED','SUCCEEDED') THEN
    PERFORM app.refuse('no end without a capture before the gateways have told what is lost'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_lost_check BEFORE UPDATE ON payment_session FOR EACH ROW
  WHEN (NEW.lost_check_at IS NOT NULL) EXECUTE FUNCTION app.guard_lost_check();

-- As before, but that an attempt which was made before the restore gets its row back after the deadline.
CREATE OR REPLACE FUNCTION app.guard_new_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE session payment_session;
BEGIN
  SELECT * INTO session FROM payment_session WHERE id = NEW.session_id FOR UPDATE;
  IF session.status <> 'CREATED' OR session.phase <> 'PROCESSING' THEN PERFORM app.refuse('an attempt needs a session in processing'); END IF;
  IF session.winner_attempt_id IS NOT NULL THEN PERFORM app.refuse('no attempt beside a winner'); END IF;
  IF app.clock() >= session.submit_deadline AND session.lost_check_at IS NULL THEN PERFORM app.refuse('no attempt after the deadline'); END IF;
  IF NEW.status <> 'AUTHORIZING' OR NEW.capture_started_at IS NOT NULL THEN PERFORM app.refuse('an attempt begins AUTHORIZING'); END IF;
  IF EXISTS (SELECT 1 FROM attempt WHERE session_id = NEW.session_id AND failure_kind = 'FRAUD') THEN
    PERFORM app.refuse('a fraud-class decline is never retried'); END IF;
  IF EXISTS (SELECT 1 FROM attempt WHERE session_id = NEW.session_id AND stop IS NOT NULL) THEN
    PERFORM app.refuse('no attempt follows a stop'); END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION app.guard_customer_email() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM app.refuse('a customer''s address is erased, never changed');
  RETURN NULL;
END $$;
CREATE TRIGGER guard_customer_email BEFORE UPDATE ON payment_session FOR EACH ROW
  WHEN (NEW.customer_email IS DISTINCT FROM OLD.customer_email AND NEW.customer_email IS NOT NULL)
  EXECUTE FUNCTION app.guard_customer_email();
`;
