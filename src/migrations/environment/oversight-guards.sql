-- Refuses to change the subject of a row of the work queue, to record an orphaned authorization that an attempt may own,
-- and to delete an open one.

CREATE FUNCTION app.guard_work_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.id, OLD.kind, OLD.merchant_id, OLD.session_id, OLD.attempt_id, OLD.rule, OLD.opened_at)
     IS DISTINCT FROM (NEW.id, NEW.kind, NEW.merchant_id, NEW.session_id, NEW.attempt_id, NEW.rule, NEW.opened_at) THEN
    PERFORM app.refuse('what a work item is about never changes'); END IF;
  IF OLD.closed_at IS NOT NULL AND (OLD.closed_at, OLD.closed_by, OLD.close_note)
     IS DISTINCT FROM (NEW.closed_at, NEW.closed_by, NEW.close_note) THEN
    PERFORM app.refuse('a work item is closed once'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE UPDATE ON work_item FOR EACH ROW EXECUTE FUNCTION app.guard_work_item();

-- Whether a reference at a connection belongs, or may turn out to belong, to an attempt that is not final without a hold.
-- An attempt of the same session whose reference is not known yet counts: a gateway may give two attempts one reference.
CREATE FUNCTION app.is_reference_in_use(of_session uuid, of_attempt uuid, reference text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM attempt a JOIN attempt other ON other.connection_id = a.connection_id AND other.id <> a.id
    WHERE a.session_id = of_session AND a.id = of_attempt AND other.gateway_reference = reference
      AND other.status NOT IN ('VOIDED','DECLINED','FAILED'))
  OR EXISTS (
    SELECT FROM attempt a JOIN attempt other ON other.session_id = a.session_id AND other.connection_id = a.connection_id
    WHERE a.session_id = of_session AND a.id = of_attempt AND other.id <> a.id AND other.gateway_reference IS NULL
      AND other.status NOT IN ('VOIDED','DECLINED','FAILED'))
$$;

CREATE FUNCTION app.guard_orphaned_authorization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- An attempt whose row a restore has lost, or one that is final without a hold.
  IF EXISTS (SELECT FROM attempt WHERE session_id = NEW.session_id AND id = NEW.attempt_id
             AND status NOT IN ('VOIDED','DECLINED','FAILED'))
     OR NOT EXISTS (SELECT FROM attempt WHERE session_id = NEW.session_id AND id = NEW.attempt_id)
        AND NOT EXISTS (SELECT FROM payment_session WHERE id = NEW.session_id AND unrecorded_check_at IS NULL) THEN
    PERFORM app.refuse('an orphaned authorization is of an attempt that is final without a hold'); END IF;
  IF app.is_reference_in_use(NEW.session_id, NEW.attempt_id, NEW.gateway_reference) THEN
    PERFORM app.refuse('an orphaned authorization is of no other attempt'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT ON orphaned_authorization FOR EACH ROW EXECUTE FUNCTION app.guard_orphaned_authorization();

CREATE FUNCTION app.guard_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM app.refuse('what nobody has ended is not removed');
  RETURN NULL;
END $$;
CREATE TRIGGER guard_removal BEFORE DELETE ON orphaned_authorization FOR EACH ROW WHEN (OLD.ended_at IS NULL)
  EXECUTE FUNCTION app.guard_removal();
