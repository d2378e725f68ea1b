-- The schema `app`, which holds functions and what only the owner writes: the clock, and the ways to refuse a change.
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;

-- The partitions of payments, and the guards of each (partitions.sql).
CREATE SCHEMA partitions;

-- The only clock of the payment path: one time for every process, and one place for the simulation to replace.
CREATE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- Refuses a change for a rule of the schema. The reason names the rule.
CREATE FUNCTION app.refuse(reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'check_violation';
END $$;

-- LL001 is the service's own code: the rows have changed since the caller read them (src/core/record/lease.ts).
CREATE FUNCTION app.require_one(changed bigint, otherwise text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF changed <> 1 THEN RAISE EXCEPTION '%', otherwise USING ERRCODE = 'LL001'; END IF;
END $$;

-- Refuses changes of other columns than these; jsonb_populate_record() would skip a name that it does not know.
CREATE FUNCTION app.require_columns(changes jsonb, stamps text[], movable text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE other text;
BEGIN
  SELECT given.name INTO other FROM (SELECT jsonb_object_keys(changes) UNION ALL SELECT unnest(stamps)) AS given (name)
  WHERE given.name = ANY (movable) IS NOT TRUE LIMIT 1;
  IF FOUND THEN PERFORM app.refuse('no such change: ' || coalesce(other, 'null')); END IF;
END $$;

-- Of rows that never change. Rows of the audit trail of more than three years may go; src/limits.ts has the period too.
CREATE FUNCTION app.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit_entry' THEN
    IF OLD.created_at < app.clock() - interval '1096 days' THEN RETURN OLD; END IF;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;
