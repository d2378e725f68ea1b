/** What watches over payments: the work list, comparisons with the gateways' records, stray holds, and the audit of every rule. */

export const name = "004-recovery";

export const sql = `
-- A capture that the gateway refused for good takes no money, so its word that there never was a hold may be believed too.
ALTER TABLE attempt DROP CONSTRAINT attempt_check6;
ALTER TABLE attempt ADD CONSTRAINT attempt_never_existed CHECK (
  void_kind IS DISTINCT FROM 'NEVER_EXISTED'
  OR (capture_started_at IS NULL OR capture_refused IS NOT NULL) AND void_asked_at >= horizon_at);

ALTER TABLE attempt
  ADD COLUMN changed_at timestamptz NOT NULL DEFAULT app.clock(),
  -- When it went through the one-way door to being given back.
  ADD COLUMN voiding_at timestamptz;
-- Rows of before get the best guess. Their guards would stand in the way of the statements below, by what they defer.
ALTER TABLE attempt DISABLE TRIGGER USER;
UPDATE attempt SET changed_at = coalesce(completed_at, answered_at, started_at),
  voiding_at = CASE WHEN status = 'VOIDING' THEN coalesce(answered_at, started_at) END;
ALTER TABLE attempt ENABLE TRIGGER USER;

CREATE FUNCTION app.stamp_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_at := app.clock();
  IF TG_OP = 'UPDATE' AND NEW.status = 'VOIDING' AND OLD.status <> 'VOIDING' THEN NEW.voiding_at := NEW.changed_at; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON attempt FOR EACH ROW EXECUTE FUNCTION app.stamp_attempt();

CREATE INDEX attempt_changed ON attempt (changed_at, id);
-- Both hold the few rows that wait for a gateway, however many attempts there are.
CREATE INDEX attempt_being_voided ON attempt (voiding_at) WHERE status = 'VOIDING';
CREATE INDEX attempt_being_captured ON attempt (capture_started_at) WHERE status = 'AUTHORIZED';
CREATE INDEX payment_session_settled ON payment_session (settled_at) WHERE settled_at IS NOT NULL;

-- What a person has to look at. No foreign key: writing a row must wait for no payment, and no session is ever deleted.
CREATE TABLE work_item (
  id          uuid PRIMARY KEY,
  kind        text NOT NULL CHECK (kind IN ('VOID_UNANSWERED','CAPTURE_UNANSWERED','STRAY_HOLD','RECORD_MISMATCH',
                                            'CAPTURE_FAILED','INVARIANT_VIOLATED')),
  merchant_id uuid NOT NULL,
  session_id  uuid NOT NULL,
  -- Null where it is about the session as a whole.
  attempt_id  uuid,
  -- Which invariant, where it is about one.
  rule        text,
  detail      text NOT NULL CHECK (char_length(detail) BETWEEN 1 AND 500),
  opened_at   timestamptz NOT NULL DEFAULT app.clock(),
  -- The gateway has answered after all, or the rule holds again. The row stays open.
  resolved_at timestamptz,
  -- Only a person closes it.
  closed_at   timestamptz,
  closed_by   text CHECK (char_length(closed_by) >= 1),
  close_note  text CHECK (char_length(close_note) BETWEEN 1 AND 1000),
  UNIQUE NULLS NOT DISTINCT (session_id, attempt_id, kind, rule),
  CHECK ((kind = 'INVARIANT_VIOLATED') = (rule IS NOT NULL)),
  CHECK ((closed_at IS NULL) = (closed_by IS NULL)),
  CHECK ((closed_at IS NULL) = (close_note IS NULL))
);
CREATE INDEX work_item_open ON work_item (id) WHERE closed_at IS NULL;
CREATE INDEX work_item_unresolved ON work_item (kind) WHERE resolved_at IS NULL;

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

-- A hold at a gateway of an attempt that is final without one. It is given back beside the attempt, whose record stays.
CREATE TABLE stray_hold (
  session_id        uuid NOT NULL,
  attempt_id        uuid NOT NULL,
  -- Of exactly the authorization to be voided.
  gateway_reference text NOT NULL,
  found_by          text NOT NULL CHECK (found_by IN ('comparison','notice')),
  found_at          timestamptz NOT NULL DEFAULT app.clock(),
  tries             int NOT NULL DEFAULT 0,
  -- When a void may be sent; whoever sends one pushes it ahead first, so it is the lease too.
  next_try_at       timestamptz,
  ended_at          timestamptz,
  -- GONE: the gateway has no such hold any more. CAPTURED: it was captured meanwhile, so it is a person's matter.
  outcome           text CHECK (outcome IN ('VOIDED','GONE','CAPTURED')),
  PRIMARY KEY (session_id, attempt_id, gateway_reference),
  CHECK ((ended_at IS NULL) = (next_try_at IS NOT NULL)),
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
CREATE INDEX stray_hold_by_reference ON stray_hold (gateway_reference);
CREATE INDEX stray_hold_due ON stray_hold (next_try_at) WHERE ended_at IS NULL;

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

CREATE FUNCTION app.guard_stray_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM attempt WHERE session_id = NEW.session_id AND id = NEW.attempt_id
                 AND status IN ('VOIDED','DECLINED','FAILED')) THEN
    PERFORM app.refuse('a stray hold is of an attempt that is final without a hold'); END IF;
  IF app.is_reference_in_use(NEW.session_id, NEW.attempt_id, NEW.gateway_reference) THEN
    PERFORM app.refuse('a stray hold is of no other attempt'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT ON stray_hold FOR EACH ROW EXECUTE FUNCTION app.guard_stray_hold();

-- One pass over the attempts of the last day, shared by all workers. The counts say what the pass could see.
CREATE TABLE comparison_run (
  id              uuid PRIMARY KEY,
  started_at      timestamptz NOT NULL DEFAULT app.clock(),
  window_from     timestamptz NOT NULL,
  window_to       timestamptz NOT NULL,
  -- The last attempt that was cut into a slice.
  cut_changed_at  timestamptz,
  cut_attempt_id  uuid,
  -- Nothing is left to be cut.
  all_cut         boolean NOT NULL DEFAULT false,
  finished_at     timestamptz,
  attempts        int NOT NULL DEFAULT 0,
  read            int NOT NULL DEFAULT 0,
  by_notices      int NOT NULL DEFAULT 0,
  could_not_tell  int NOT NULL DEFAULT 0,
  mismatches      int NOT NULL DEFAULT 0,
  strays          int NOT NULL DEFAULT 0,
  CHECK (window_from < window_to),
  CHECK ((cut_changed_at IS NULL) = (cut_attempt_id IS NULL)),
  CHECK (finished_at IS NULL OR all_cut),
  CHECK (attempts = read + by_notices + could_not_tell)
);
CREATE UNIQUE INDEX comparison_run_one_at_a_time ON comparison_run ((true)) WHERE finished_at IS NULL;
CREATE INDEX comparison_run_by_start ON comparison_run (started_at);

-- A share of a run in one worker's hands; gone once it is counted. One whose worker died is taken again.
CREATE TABLE comparison_slice (
  run_id          uuid NOT NULL REFERENCES comparison_run (id),
  id              uuid NOT NULL,
  from_changed_at timestamptz NOT NULL,
  from_attempt_id uuid NOT NULL,
  to_changed_at   timestamptz NOT NULL,
  to_attempt_id   uuid NOT NULL,
  lease_token     uuid NOT NULL,
  lease_until     timestamptz NOT NULL,
  PRIMARY KEY (run_id, id)
);

-- Where the walk over all sessions stands.
CREATE TABLE audit_walk (
  only_one   boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  session_id uuid NOT NULL,
  audited_at timestamptz
);
INSERT INTO audit_walk (session_id) VALUES ('00000000-0000-0000-0000-000000000000');

-- One row for each rule that one of these sessions breaks; none, as long as the guards and the flow do what they must.
-- It repeats what constraints and triggers refuse, so that it also sees what happened while one of them was missing.
-- Each part reads the tables by session id, so the cost grows with the sessions that are asked about and no faster.
CREATE FUNCTION app.audit(checked uuid[]) RETURNS TABLE (rule text, session_id uuid, attempt_id uuid) LANGUAGE sql STABLE AS $$
  SELECT 'succeeded_without_capture', s.id, NULL::uuid FROM payment_session s
  WHERE s.id = ANY (checked) AND s.status = 'SUCCEEDED' AND NOT EXISTS (
    SELECT FROM attempt a WHERE a.session_id = s.id AND a.id = s.winner_attempt_id AND a.status = 'CAPTURED')
  UNION ALL
  SELECT 'captured_outside_succeeded', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND a.status = 'CAPTURED'
    AND (s.status <> 'SUCCEEDED' OR s.winner_attempt_id IS DISTINCT FROM a.id)
  UNION ALL
  SELECT 'two_capturable', a.session_id, NULL FROM attempt a
  WHERE a.session_id = ANY (checked)
    AND (a.status IN ('AUTHORIZED','CAPTURED') OR a.status = 'VOIDING' AND a.capture_started_at IS NOT NULL)
  GROUP BY a.session_id HAVING count(*) > 1
  UNION ALL
  SELECT 'winner_without_hold', s.id, s.winner_attempt_id FROM payment_session s
  WHERE s.id = ANY (checked) AND s.winner_attempt_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM attempt a
    WHERE a.session_id = s.id AND a.id = s.winner_attempt_id AND a.status IN ('AUTHORIZED','CAPTURED'))
  UNION ALL
  SELECT 'open_after_end', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND s.status <> 'CREATED' AND a.status IN ('UNKNOWN','AUTHORIZING','AUTHORIZED')
  UNION ALL
  SELECT 'done_with_open_attempt', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND s.phase = 'DONE' AND a.status NOT IN ('CAPTURED','DECLINED','FAILED','VOIDED')
  UNION ALL
  SELECT 'amount_differs', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND (a.amount_minor, a.currency) IS DISTINCT FROM (s.amount_minor, s.currency)
  UNION ALL
  SELECT 'attempt_after_stop', later.session_id, later.id FROM attempt later
  WHERE later.session_id = ANY (checked) AND EXISTS (
    SELECT FROM attempt earlier WHERE earlier.session_id = later.session_id AND earlier.sequence < later.sequence
    AND (earlier.stop IS NOT NULL OR earlier.failure_kind = 'FRAUD') AND earlier.completed_at < later.started_at)
  UNION ALL
  SELECT 'hold_after_fraud', a.session_id, a.id FROM attempt a
  WHERE a.session_id = ANY (checked) AND a.status IN ('AUTHORIZED','CAPTURED') AND EXISTS (
    SELECT FROM attempt fraud WHERE fraud.session_id = a.session_id AND fraud.failure_kind = 'FRAUD')
  UNION ALL
  SELECT 'never_existed_too_early', a.session_id, a.id FROM attempt a
  WHERE a.session_id = ANY (checked) AND a.void_kind = 'NEVER_EXISTED'
    AND (a.void_asked_at IS NULL OR a.void_asked_at < a.horizon_at)
  UNION ALL
  SELECT 'attempt_sequence_gap', a.session_id, NULL FROM attempt a
  WHERE a.session_id = ANY (checked)
  GROUP BY a.session_id HAVING min(a.sequence) <> 1 OR max(a.sequence) <> count(*)
  UNION ALL
  SELECT 'final_event', s.id, NULL FROM payment_session s
  WHERE s.id = ANY (checked)
    AND (SELECT array_agg(e.type) FROM outbox_event e WHERE e.session_id = s.id AND e.type IN (
           'payment_session.succeeded','payment_session.declined','payment_session.degraded','payment_session.expired'))
      IS DISTINCT FROM CASE WHEN s.status <> 'CREATED' THEN ARRAY['payment_session.' || lower(s.status)] END
  UNION ALL
  SELECT 'event_sequence_gap', e.session_id, NULL FROM outbox_event e
  WHERE e.session_id = ANY (checked)
  GROUP BY e.session_id HAVING min(e.sequence) <> 1 OR max(e.sequence) <> count(*)
  UNION ALL
  SELECT 'card_kept_after_end', s.id, NULL FROM payment_session s
  WHERE s.id = ANY (checked) AND s.vault_token IS NOT NULL AND s.status <> 'CREATED'
$$;

-- The same over every session there is: for a person, and for small databases.
CREATE FUNCTION app.audit() RETURNS TABLE (rule text, session_id uuid, attempt_id uuid) LANGUAGE sql STABLE AS $$
  SELECT * FROM app.audit(ARRAY(SELECT id FROM payment_session))
$$;
`;
