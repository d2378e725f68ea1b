-- A person's decision about an attempt that its gateway never ends: given up, or captured under a reference. It opens two
-- ways that are closed otherwise, and only while it is confirmed: an unanswered capture ends without the gateway's refusal,
-- and a void ends without the gateway's answer. An attempt is captured as always: once, the winner, and only when ordered.
-- A person may have captured another amount at the gateway than the ordered one: the decision then names it.
-- A restore may have lost the order of a held payment's capture: the decision then names the amount, and the flow records
-- order and capture together, so that nothing is sent if the gateway contradicts it.
--
-- A decision that takes two people is confirmed in a later statement than the one that makes it. A confirmed decision that an
-- attempt was captured may be withdrawn while the attempt is open, because its gateway has refused the capture.

CREATE FUNCTION app.guard_decision() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  session record;
  is_held boolean;
BEGIN
  IF (NEW.decision, NEW.decision_reference, NEW.decision_amount_minor, NEW.decision_reason, NEW.decided_by, NEW.decided_at, NEW.decision_takes_two,
      NEW.decision_confirmed_by, NEW.decision_confirmed_at)
     IS NOT DISTINCT FROM (OLD.decision, OLD.decision_reference, OLD.decision_amount_minor, OLD.decision_reason, OLD.decided_by, OLD.decided_at, OLD.decision_takes_two,
      OLD.decision_confirmed_by, OLD.decision_confirmed_at) THEN
    RETURN NEW; END IF;
  IF NEW.decision NOT IN ('GIVEN_UP','CAPTURED')
     OR num_nulls(NEW.decision, NEW.decision_reason, NEW.decided_by, NEW.decided_at, NEW.decision_takes_two) NOT IN (0, 5) THEN
    PERFORM app.refuse('a decision has its reason, its person, its time and how many it takes'); END IF;
  IF char_length(NEW.decision_reason) NOT BETWEEN 1 AND 1000 OR char_length(NEW.decided_by) < 1
     OR char_length(NEW.decision_reference) NOT BETWEEN 1 AND 255 THEN
    PERFORM app.refuse('a decision has a reason of 1 to 1000 characters and a reference of 1 to 255'); END IF;
  IF (NEW.decision IS NOT DISTINCT FROM 'CAPTURED') <> (NEW.decision_reference IS NOT NULL) THEN
    PERFORM app.refuse('a decision has a reference if it says CAPTURED'); END IF;
  IF NEW.decision_amount_minor IS NOT NULL AND (NEW.decision IS DISTINCT FROM 'CAPTURED'
     OR NEW.decision_amount_minor NOT BETWEEN 1 AND NEW.amount_minor) THEN
    PERFORM app.refuse('a decided amount is of a capture, and at most the held one'); END IF;
  IF num_nulls(NEW.decision_confirmed_by, NEW.decision_confirmed_at) NOT IN (0, 2)
     OR NEW.decision_confirmed_by IS NOT NULL AND NEW.decision IS NULL THEN
    PERFORM app.refuse('a confirmation has its decision, its person and its time'); END IF;
  IF NEW.decision_takes_two AND NEW.decision_confirmed_by = NEW.decided_by THEN
    PERFORM app.refuse('another person confirms a decision that takes two'); END IF;
  SELECT status, submit_deadline, held_at, held_until, capture_asked_at, winner_attempt_id INTO session FROM payment_session WHERE id = NEW.session_id FOR UPDATE;
  -- The flow withdraws it completely if the gateway has refused the capture.
  IF OLD.decision_confirmed_at IS NOT NULL AND (OLD.decision <> 'CAPTURED' OR NEW.decision IS NOT NULL) THEN
    PERFORM app.refuse('a confirmed decision never changes'); END IF;
  IF OLD.completed_at IS NOT NULL THEN PERFORM app.refuse('nothing is decided of an attempt that is over'); END IF;
  is_held := NEW.status = 'AUTHORIZED' AND session.held_at IS NOT NULL AND session.capture_asked_at IS NULL AND session.winner_attempt_id = NEW.id;
  IF NEW.decision = 'CAPTURED' AND (NEW.capture_refusal_code IS NOT NULL OR session.status <> 'CREATED'
     OR NEW.capture_ordered_at IS NULL AND NOT (is_held AND NEW.decision_amount_minor IS NOT NULL)) THEN
    PERFORM app.refuse('only an ordered capture of a session without an end can have landed, or one of a hold whose order is lost'); END IF;
  IF NEW.decision = 'GIVEN_UP' AND NEW.status <> 'VOIDING' AND NOT (
       NEW.status = 'AUTHORIZED' AND NEW.capture_ordered_at IS NOT NULL AND session.submit_deadline <= app.clock()
       OR is_held AND session.held_until <= app.clock()) THEN
    PERFORM app.refuse('only a void, a hold past its end, or a capture that is unanswered past the deadline, is given up'); END IF;
  IF OLD.decision IS NULL AND NEW.decision_takes_two AND NEW.decision_confirmed_at IS NOT NULL THEN
    PERFORM app.refuse('a decision that takes two is confirmed after it was made'); END IF;
  -- A confirmed decision never changes.
  IF NEW.decision_confirmed_at IS NOT NULL AND OLD.decision IS NOT NULL
     AND (NEW.decision, NEW.decision_reference, NEW.decision_amount_minor, NEW.decision_reason, NEW.decided_by, NEW.decided_at, NEW.decision_takes_two)
     IS DISTINCT FROM (OLD.decision, OLD.decision_reference, OLD.decision_amount_minor, OLD.decision_reason, OLD.decided_by, OLD.decided_at, OLD.decision_takes_two) THEN
    PERFORM app.refuse('what is confirmed is what was decided'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_decision BEFORE UPDATE ON attempt FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp')
  EXECUTE FUNCTION app.guard_decision();
