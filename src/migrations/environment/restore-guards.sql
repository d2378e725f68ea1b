-- Holds payments back after a restore or a promotion: until a person has confirmed the timeline, and until the gateways have
-- reported what is lost.

CREATE FUNCTION app.guard_unrecorded_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Asked here and not in a WHEN, which PostgreSQL parses again for each statement.
  IF NEW.unrecorded_check_at IS NULL THEN RETURN NEW; END IF;
  -- It allows an attempt past its deadline, so the service itself cannot use it. Within a function that the service calls, the current
  -- user is the owner.
  IF OLD.unrecorded_check_at IS NULL
     AND NOT pg_has_role(session_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
    PERFORM app.refuse('only the owner of the database declares a restore'); END IF;
  IF NEW.status NOT IN ('CREATED','SUCCEEDED') THEN
    PERFORM app.refuse('no end without a capture before the gateways have reported what is lost'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_unrecorded_check BEFORE UPDATE ON payment_session FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp')
  EXECUTE FUNCTION app.guard_unrecorded_check();

CREATE FUNCTION app.guard_timeline() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
    PERFORM app.refuse('only the owner of the database confirms its timeline'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_timeline BEFORE UPDATE ON replica_mark FOR EACH ROW
  WHEN (NEW.timeline IS DISTINCT FROM OLD.timeline) EXECUTE FUNCTION app.guard_timeline();
CREATE TRIGGER guard_system_identifier BEFORE UPDATE ON replica_mark FOR EACH ROW
  WHEN (NEW.system_identifier IS DISTINCT FROM OLD.system_identifier) EXECUTE FUNCTION app.guard_timeline();

-- In the claim's own statement, so it costs no other one. 57P03, as from a server that is not ready: to callers the database
-- is unavailable for a while, and nothing was done. Changes by a restore are allowed.
CREATE FUNCTION app.refuse_other_timeline() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF app.is_timeline_confirmed() IS NOT TRUE THEN
    RAISE EXCEPTION 'the server was promoted, or is another cluster (timeline %): no session goes on until "switchyard restore confirm" or "restore declare"',
      app.timeline() USING ERRCODE = '57P03'; END IF;
END $$;
CREATE FUNCTION app.require_timeline() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM app.refuse_other_timeline();
  RETURN NEW;
END $$;
CREATE TRIGGER require_timeline BEFORE UPDATE OF lease_epoch, phase ON payment_session FOR EACH ROW
  WHEN ((NEW.lease_epoch > OLD.lease_epoch OR (OLD.phase = 'IDLE' AND NEW.phase <> 'IDLE'))
        AND NEW.unrecorded_check_at IS NOT DISTINCT FROM OLD.unrecorded_check_at
        AND (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp'))
  EXECUTE FUNCTION app.require_timeline();
