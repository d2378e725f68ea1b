/** What a restore to an earlier moment asks of payments, the one change that a customer's address may see, and how old rows go. */

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

-- An attempt that was made before the restore gets its row back after the deadline.
-- allowed: dynamic-sql: the guard stays the one of migration 001, from which the simulation takes rules away one by one
DO $migration$
DECLARE
  before text := pg_get_functiondef('app.guard_new_attempt'::regproc);
  after  text := replace(before,
    $old$IF app.clock() >= session.submit_deadline THEN$old$,
    $new$IF app.clock() >= session.submit_deadline AND session.lost_check_at IS NULL THEN$new$);
BEGIN
  IF after = before THEN RAISE EXCEPTION 'app.guard_new_attempt is not as migration 001 made it'; END IF;
  EXECUTE after;
END $migration$;

CREATE FUNCTION app.guard_customer_email() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM app.refuse('a customer''s address is erased, never changed');
  RETURN NULL;
END $$;
CREATE TRIGGER guard_customer_email BEFORE UPDATE ON payment_session FOR EACH ROW
  WHEN (NEW.customer_email IS DISTINCT FROM OLD.customer_email AND NEW.customer_email IS NOT NULL)
  EXECUTE FUNCTION app.guard_customer_email();

-- As before, but that rows of the audit trail of more than three years may go; src/limits/retention.ts has the period too.
CREATE OR REPLACE FUNCTION app.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit_entry' THEN
    IF OLD.created_at < app.clock() - interval '1096 days' THEN RETURN OLD; END IF;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;

CREATE FUNCTION app.guard_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM app.refuse('what nobody has ended is not removed');
  RETURN NULL;
END $$;
CREATE TRIGGER guard_removal BEFORE DELETE ON stray_hold FOR EACH ROW WHEN (OLD.ended_at IS NULL)
  EXECUTE FUNCTION app.guard_removal();

-- By these old rows are found in the tables that grow with payments, whose rows lie in the order of their times.
-- allowed: index-not-concurrent: a BRIN index reads a million rows in a second, and gateways repeat what was not taken
CREATE INDEX gateway_notice_by_age ON gateway_notice USING brin (received_at);
CREATE INDEX analytics_payment_by_age ON analytics_payment USING brin (starts_at);
CREATE INDEX analytics_attempt_by_age ON analytics_attempt USING brin (starts_at);
CREATE INDEX analytics_decline_by_age ON analytics_decline USING brin (starts_at);
CREATE INDEX audit_entry_by_age ON audit_entry USING brin (created_at);
`;
