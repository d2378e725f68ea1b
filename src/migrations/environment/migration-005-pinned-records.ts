/** Pins what rules of the payment are decided by: a final attempt's answer, the terms of a submission, and where money was captured. */

export const name = "005-pinned-records";

export const sql = `
-- A comparison with an absent moment is neither true nor false, and a CHECK lets that pass.
ALTER TABLE attempt ADD CONSTRAINT attempt_never_existed_asked CHECK (
  void_kind IS DISTINCT FROM 'NEVER_EXISTED' OR void_asked_at IS NOT NULL);

CREATE FUNCTION app.pin_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.gateway <> OLD.gateway THEN PERFORM app.refuse('an attempt stays at its gateway'); END IF;
  -- By these it is decided whether another gateway may be asked.
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
`;
