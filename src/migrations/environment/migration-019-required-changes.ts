/**
 * Fewer waits for a payment: a change that has to meet one row says so itself, so that its transaction goes on, and commits,
 * before anybody has read its answer; and what a commit checks is checked after changes that it can depend on.
 */

export const name = "019-required-changes";

export const sql = `
-- LL001 is the service's own: the rows are no longer what whoever changes them has seen (src/core/lease.ts).
CREATE FUNCTION app.require_one(changed bigint, otherwise text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF changed <> 1 THEN RAISE EXCEPTION '%', otherwise USING ERRCODE = 'LL001'; END IF;
END $$;

-- As before, but not for leases, cards shown and other columns that app.check_whole does not read.
DROP TRIGGER whole ON payment_session;
DROP TRIGGER whole ON attempt;
CREATE CONSTRAINT TRIGGER whole AFTER UPDATE ON payment_session DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.status, OLD.phase, OLD.winner_attempt_id) IS DISTINCT FROM (NEW.status, NEW.phase, NEW.winner_attempt_id))
  EXECUTE FUNCTION app.check_whole_session();
CREATE CONSTRAINT TRIGGER whole_new AFTER INSERT ON attempt DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION app.check_whole_attempt();
CREATE CONSTRAINT TRIGGER whole AFTER UPDATE ON attempt DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.status, OLD.completed_at) IS DISTINCT FROM (NEW.status, NEW.completed_at))
  EXECUTE FUNCTION app.check_whole_attempt();
`;
