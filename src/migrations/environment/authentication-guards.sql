-- The rules of customer authentication. docs/safety.md has them as A1 to A12. The guards of sessions and attempts
-- (payment-guards.sql) call these functions for payments with authentication only.

CREATE FUNCTION partitions.guard_authentication_rest() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE session record;
BEGIN
  IF NEW.provider IS NOT NULL THEN
    PERFORM partitions.guard_provided_rest(CASE WHEN TG_OP = 'UPDATE' THEN OLD END, NEW);
    RETURN NEW;
  END IF;
  IF NEW.attempt_id IS NULL OR num_nonnulls(NEW.proof_sealed, NEW.message_sealed, NEW.credential_version, NEW.next_look_at) > 0 THEN
    PERFORM app.refuse('an authentication is a gateway''s or a provider''s'); END IF;
  SELECT status, phase, authentications, unrecorded_check_at INTO session FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
  IF TG_OP = 'INSERT' THEN
    IF session.status IS DISTINCT FROM 'CREATED' OR session.phase <> 'PROCESSING' THEN
      PERFORM app.refuse('an authentication needs a session in processing'); END IF;
    IF NEW.completions_sent <> 0 OR NEW.shown_count <> 0 OR num_nonnulls(NEW.cancel_asked_at, NEW.shown_at, NEW.answered_at) > 0
       OR NEW.flow = 'REDIRECT' AND NEW.status <> 'AWAITING_CUSTOMER' THEN
      PERFORM app.refuse('an authentication begins with its action'); END IF;
    IF NEW.flow = 'FRICTIONLESS' AND NOT NEW.status IN ('AUTHENTICATED','ATTEMPTED','UNAVAILABLE','FAILED') THEN
      PERFORM app.refuse('an authentication without the customer begins with its end'); END IF;
    IF NEW.flow NOT IN ('REDIRECT','FRICTIONLESS') THEN PERFORM app.refuse('no authentication of a gateway has such a flow'); END IF;
    IF NEW.flow = 'REDIRECT' AND (SELECT count(*) FROM partitions.authentication_rest WHERE session_id = NEW.session_id AND flow <> 'FRICTIONLESS') >= 2 THEN
      PERFORM app.refuse('a session offers at most two challenges'); END IF;
    IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = NEW.session_id AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED')) THEN
      PERFORM app.refuse('nothing follows a failed authentication'); END IF;
  ELSE
    IF OLD.completed_at IS NOT NULL AND NEW IS DISTINCT FROM OLD THEN PERFORM app.refuse('an authentication that has ended never changes'); END IF;
    IF (NEW.session_id, NEW.id, NEW.sequence, NEW.attempt_id, NEW.connection_id, NEW.flow, NEW.holds_only_when_asked, NEW.action_life_ms, NEW.started_at, NEW.deadline_at)
       IS DISTINCT FROM (OLD.session_id, OLD.id, OLD.sequence, OLD.attempt_id, OLD.connection_id, OLD.flow, OLD.holds_only_when_asked, OLD.action_life_ms, OLD.started_at, OLD.deadline_at) THEN
      PERFORM app.refuse('what was asked of a customer never changes'); END IF;
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
         ('AWAITING_CUSTOMER','CONFIRMING'), ('AWAITING_CUSTOMER','AUTHENTICATED'), ('AWAITING_CUSTOMER','UNAVAILABLE'),
         ('AWAITING_CUSTOMER','FAILED'), ('AWAITING_CUSTOMER','CANCELLED'), ('AWAITING_CUSTOMER','ABANDONED'),
         ('CONFIRMING','AWAITING_CUSTOMER'), ('CONFIRMING','AUTHENTICATED'), ('CONFIRMING','ATTEMPTED'), ('CONFIRMING','FAILED'), ('CONFIRMING','UNAVAILABLE')) THEN
      PERFORM app.refuse('illegal authentication transition ' || OLD.status || ' to ' || NEW.status); END IF;
    IF NEW.cancel_asked_at IS DISTINCT FROM OLD.cancel_asked_at AND (OLD.cancel_asked_at IS NOT NULL OR OLD.status <> 'AWAITING_CUSTOMER') THEN
      PERFORM app.refuse('only a customer who is asked gives up, once'); END IF;
    IF NEW.status IN ('CONFIRMING','AUTHENTICATED','UNAVAILABLE') AND OLD.status = 'AWAITING_CUSTOMER' AND NEW.cancel_asked_at IS NOT NULL THEN
      PERFORM app.refuse('nothing is completed after a customer gave up'); END IF;
    IF NEW.completions_sent > OLD.completions_sent AND session.unrecorded_check_at IS NOT NULL THEN
      PERFORM app.refuse('nothing is completed while the session is in doubt'); END IF;
    IF NEW.completions_sent < OLD.completions_sent OR NEW.completions_sent > OLD.completions_sent AND NEW.status <> 'CONFIRMING' THEN
      PERFORM app.refuse('only a running completion is counted'); END IF;
  END IF;
  IF NEW.status NOT IN ('AWAITING_CUSTOMER','CONFIRMING','AUTHENTICATED','ATTEMPTED','UNAVAILABLE','FAILED','CANCELLED','ABANDONED') THEN
    PERFORM app.refuse('no authentication has such a status'); END IF;
  IF NEW.status = 'CONFIRMING' AND NEW.completions_sent = 0 THEN
    PERFORM app.refuse('a completion is counted before it is sent'); END IF;
  IF NEW.completions_sent > 2 THEN PERFORM app.refuse('a completion is sent at most twice'); END IF;
  IF NEW.shown_count > 3 THEN PERFORM app.refuse('an action is shown at most three times'); END IF;
  IF NEW.liability NOT IN ('ISSUER','MERCHANT','UNKNOWN') THEN PERFORM app.refuse('no liability is of such a kind'); END IF;
  IF (NEW.status IN ('AWAITING_CUSTOMER','CONFIRMING')) <> (NEW.completed_at IS NULL) THEN
    PERFORM app.refuse('a final authentication has its time'); END IF;
  IF NEW.completed_at IS NOT NULL AND num_nonnulls(NEW.action_sealed, NEW.keep_sealed, NEW.returned_sealed, NEW.ticket_hash) > 0 THEN
    PERFORM app.refuse('an action lives no longer than its authentication'); END IF;
  RETURN NEW;
END $$;

-- The authentication of a provider: it runs while no attempt does, and its proof is for this session alone.
CREATE FUNCTION partitions.guard_provided_rest(before record, after record) RETURNS void LANGUAGE plpgsql AS $$
DECLARE session record;
BEGIN
  SELECT status, phase, winner_attempt_id, unrecorded_check_at INTO session FROM partitions.payment_session_rest WHERE id = after.session_id FOR UPDATE;
  IF session.unrecorded_check_at IS NOT NULL AND (before IS NULL OR after.status NOT IN (before.status, 'ABANDONED')) THEN
    PERFORM app.refuse('nothing is authenticated while the session is in doubt'); END IF;
  IF before IS NULL THEN
    IF session.status IS DISTINCT FROM 'CREATED' OR session.phase <> 'PROCESSING' OR session.winner_attempt_id IS NOT NULL THEN
      PERFORM app.refuse('an authentication needs a session in processing'); END IF;
    IF after.status <> 'PREPARING' OR after.flow <> 'FRICTIONLESS' OR after.attempt_id IS NOT NULL OR after.credential_version IS NULL
       OR after.completions_sent <> 0 OR after.shown_count <> 0
       OR num_nonnulls(after.action_sealed, after.keep_sealed, after.proof_sealed, after.cancel_asked_at, after.answered_at, after.shown_at) > 0 THEN
      PERFORM app.refuse('a provider is asked for its preparation first'); END IF;
    IF EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = after.session_id AND status IN ('AUTHORIZING','AWAITING_CUSTOMER')) THEN
      PERFORM app.refuse('one thing at a time: no authentication beside an attempt'); END IF;
    IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND
               (provider IS NOT NULL OR status IN ('FAILED','REJECTED','CANCELLED','ABANDONED'))) THEN
      PERFORM app.refuse('a provider authenticates once, and nothing follows a failed authentication'); END IF;
  ELSE
    IF (after.session_id, after.id, after.sequence, after.attempt_id, after.connection_id, after.provider, after.credential_version, after.started_at, after.deadline_at)
       IS DISTINCT FROM (before.session_id, before.id, before.sequence, before.attempt_id, before.connection_id, before.provider, before.credential_version, before.started_at, before.deadline_at) THEN
      PERFORM app.refuse('what was asked of a customer never changes'); END IF;
    IF after.status <> before.status AND (before.status, after.status) NOT IN (
         ('PREPARING','METHOD'), ('PREPARING','REQUESTING'), ('PREPARING','UNAVAILABLE'), ('PREPARING','ABANDONED'),
         ('METHOD','REQUESTING'), ('METHOD','CANCELLED'), ('METHOD','ABANDONED'),
         ('REQUESTING','AWAITING_CUSTOMER'), ('REQUESTING','AUTHENTICATED'), ('REQUESTING','ATTEMPTED'), ('REQUESTING','EXEMPTED'),
         ('REQUESTING','UNAVAILABLE'), ('REQUESTING','FAILED'), ('REQUESTING','REJECTED'), ('REQUESTING','CANCELLED'), ('REQUESTING','ABANDONED'),
         ('AWAITING_CUSTOMER','AUTHENTICATED'), ('AWAITING_CUSTOMER','ATTEMPTED'), ('AWAITING_CUSTOMER','UNAVAILABLE'),
         ('AWAITING_CUSTOMER','FAILED'), ('AWAITING_CUSTOMER','REJECTED'), ('AWAITING_CUSTOMER','CANCELLED'), ('AWAITING_CUSTOMER','ABANDONED')) THEN
      PERFORM app.refuse('illegal authentication transition ' || before.status || ' to ' || after.status); END IF;
    IF after.cancel_asked_at IS DISTINCT FROM before.cancel_asked_at
       AND (before.cancel_asked_at IS NOT NULL OR before.status NOT IN ('METHOD','REQUESTING','AWAITING_CUSTOMER')) THEN
      PERFORM app.refuse('only a customer who is asked gives up, once'); END IF;
    IF after.cancel_asked_at IS NOT NULL AND after.status <> before.status AND after.status <> 'CANCELLED' AND after.status <> 'ABANDONED' THEN
      PERFORM app.refuse('nothing is authenticated after a customer gave up'); END IF;
    IF after.flow <> before.flow AND (before.status, after.status, after.flow) <> ('REQUESTING','AWAITING_CUSTOMER','CHALLENGE') THEN
      PERFORM app.refuse('a challenge is offered once'); END IF;
    IF after.status = 'AWAITING_CUSTOMER' AND before.status <> after.status
       AND (SELECT count(*) FROM partitions.authentication_rest WHERE session_id = after.session_id AND flow <> 'FRICTIONLESS') >= 2 THEN
      PERFORM app.refuse('a session offers at most two challenges'); END IF;
    -- The proof is deleted with the session's end, the bank's message a day later.
    IF before.completed_at IS NOT NULL AND (
       to_jsonb(after) - '{proof_sealed,message_sealed}'::text[] <> to_jsonb(before) - '{proof_sealed,message_sealed}'::text[]
       OR after.proof_sealed IS NOT NULL AND after.proof_sealed IS DISTINCT FROM before.proof_sealed
       OR after.message_sealed IS NOT NULL AND after.message_sealed IS DISTINCT FROM before.message_sealed) THEN
      PERFORM app.refuse('a final authentication never changes'); END IF;
  END IF;
  IF after.status = 'AWAITING_CUSTOMER' AND after.flow <> 'CHALLENGE' THEN PERFORM app.refuse('a challenge is counted'); END IF;
  IF after.liability NOT IN ('ISSUER','MERCHANT','UNKNOWN') THEN PERFORM app.refuse('no liability is of such a kind'); END IF;
  IF (after.status IN ('PREPARING','METHOD','REQUESTING','AWAITING_CUSTOMER')) <> (after.completed_at IS NULL) THEN
    PERFORM app.refuse('a final authentication has its time'); END IF;
  IF after.completed_at IS NOT NULL AND num_nonnulls(after.action_sealed, after.keep_sealed, after.returned_sealed, after.ticket_hash, after.next_look_at) > 0 THEN
    PERFORM app.refuse('an action lives no longer than its authentication'); END IF;
  IF after.action_sealed IS NOT NULL AND after.status NOT IN ('METHOD','AWAITING_CUSTOMER') THEN
    PERFORM app.refuse('an action is shown while the customer is asked'); END IF;
  IF after.message_sealed IS NOT NULL AND after.status IN ('PREPARING','METHOD','REQUESTING','CANCELLED','ABANDONED') THEN
    PERFORM app.refuse('a bank''s message comes with its answer'); END IF;
  IF after.proof_sealed IS NOT NULL AND (after.status NOT IN ('AUTHENTICATED','ATTEMPTED') OR session.status <> 'CREATED') THEN
    PERFORM app.refuse('a proof is of an authenticated customer, and lives no longer than the payment'); END IF;
END $$;

-- A new attempt of a payment with authentication. The session is locked.
CREATE FUNCTION partitions.guard_authenticated_attempt_rest(after record) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND provider IS NOT NULL AND completed_at IS NULL) THEN
    PERFORM app.refuse('one thing at a time: no attempt beside an authentication'); END IF;
  IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND provider IS NOT NULL
             AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED'))
     AND NOT EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = after.session_id AND unrecorded_check_at IS NOT NULL) THEN
    PERFORM app.refuse('no attempt follows a refusal by the provider'); END IF;
  IF after.authentication_id IS NOT NULL AND NOT EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND id = after.authentication_id
       AND provider IS NOT NULL AND status IN ('AUTHENTICATED','ATTEMPTED') AND proof_sealed IS NOT NULL) THEN
    PERFORM app.refuse('a gateway gets the proof of this session'); END IF;
END $$;

-- Whether a provider's authentication has failed, after which no hold is adopted.
CREATE FUNCTION partitions.is_refused_by_provider_rest(checked uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = checked AND provider IS NOT NULL
                 AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED'));
END $$;

CREATE FUNCTION partitions.guard_awaiting_attempt_rest(before record, after record) RETURNS void LANGUAGE plpgsql AS $$
DECLARE own record;
BEGIN
  SELECT * INTO own FROM partitions.authentication_rest WHERE session_id = after.session_id AND attempt_id = after.id;
  IF after.latest_execution_at <> before.latest_execution_at THEN
    -- A completing request may hold, also its repeat, and so may a customer after we gave up.
    IF after.latest_execution_at < before.latest_execution_at OR NOT (
         before.status = 'AWAITING_CUSTOMER' AND after.status IN ('AUTHORIZING','UNKNOWN')
         OR before.status = 'AUTHORIZING' AND after.status = 'AUTHORIZING' AND own.status IS NOT DISTINCT FROM 'CONFIRMING') THEN
      PERFORM app.refuse('what an attempt asked for never changes'); END IF;
  END IF;
  IF before.status = 'AWAITING_CUSTOMER' AND after.status = 'DECLINED' THEN
    IF own.holds_only_when_asked IS NOT TRUE THEN
      PERFORM app.refuse('a hold that may appear without a request is not ruled out by giving up'); END IF;
    IF own.completions_sent > 0 THEN PERFORM app.refuse('a hold that a completing request may have made is not ruled out by giving up'); END IF;
    IF EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = after.session_id AND unrecorded_check_at IS NOT NULL) THEN
      PERFORM app.refuse('an attempt in doubt is not declined by giving up'); END IF;
  END IF;
  IF before.status = 'AWAITING_CUSTOMER' AND after.status IN ('UNKNOWN','AUTHORIZING')
     AND after.latest_execution_at < app.clock() + (own.action_life_ms - 1000) * interval '1 ms' THEN
    PERFORM app.refuse('a customer may finish for as long as the action lives'); END IF;
END $$;

CREATE FUNCTION partitions.guard_repeat_rest(after record) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- The session is locked, so no other repeat is under way.
  IF after.round = 2 THEN PERFORM partitions.guard_retry_rest(after); RETURN; END IF;
  IF after.round <> 1 OR EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = after.session_id AND round = 1) THEN
    PERFORM app.refuse('a session has one repeat'); END IF;
  IF NOT EXISTS (
       SELECT FROM partitions.attempt_rest WHERE session_id = after.session_id AND connection_id = after.connection_id AND round = 0 AND stop = 'authentication_required')
     AND NOT EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = after.session_id AND unrecorded_check_at IS NOT NULL) THEN
    PERFORM app.refuse('only a decline that asks for authentication is repeated'); END IF;
  IF after.authentication_id IS NULL AND EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND proof_sealed IS NOT NULL)
     AND EXISTS (SELECT FROM partitions.payment_session_rest s, jsonb_array_elements(s.plan) step
                 WHERE s.id = after.session_id AND s.unrecorded_check_at IS NULL
                   AND step ->> 'connectionId' = after.connection_id::text AND step ? 'provider') THEN
    PERFORM app.refuse('a repeat names the authentication that it follows'); END IF;
END $$;

-- A gateway may get a payment once more that it has declined, where its rule says so. The decline is certain and without a stop, and
-- is the session's last attempt. After a restore, the rows between may be lost.
CREATE FUNCTION partitions.guard_retry_rest(after record) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = after.session_id AND round = 2) THEN
    PERFORM app.refuse('a session has one retry'); END IF;
  IF NOT EXISTS (
       SELECT FROM partitions.attempt_rest a JOIN partitions.payment_session_rest s ON s.id = a.session_id
       JOIN routing_rule r ON r.merchant_id = s.merchant_id AND r.version = s.rule_version
       WHERE a.session_id = after.session_id AND a.connection_id = after.connection_id AND a.round = 0 AND a.sequence = after.sequence - 1
         AND a.status = 'DECLINED' AND a.stop IS NULL AND a.next_action = 'retry' AND r.retries_same_gateway)
     AND NOT EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = after.session_id AND unrecorded_check_at IS NOT NULL) THEN
    PERFORM app.refuse('only a certain decline is retried, where the rule says so'); END IF;
END $$;

-- Whether a stop forbids a new attempt. A decline that asks for authentication is repeated once at its connection, and then
-- stops nothing.
CREATE FUNCTION partitions.is_stopped_rest(opened record) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM partitions.attempt_rest a
    WHERE a.session_id = opened.session_id AND a.stop IS NOT NULL AND NOT (a.stop = 'authentication_required' AND a.round = 0 AND (
      opened.round = 1 AND opened.connection_id = a.connection_id OR EXISTS (
        SELECT FROM partitions.attempt_rest r
        WHERE r.session_id = opened.session_id AND r.connection_id = a.connection_id AND r.round = 1))));
END $$;

CREATE FUNCTION partitions.guard_authenticated_session_rest(before record, after record) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF after.authentications < before.authentications THEN PERFORM app.refuse('authentications are never fewer'); END IF;
  IF after.browser_sealed IS NOT NULL AND (after.status <> 'CREATED' OR after.phase <> 'PROCESSING') THEN
    PERFORM app.refuse('browser data lives no longer than the payment that may use it'); END IF;
  IF after.awaiting_since IS NOT NULL AND (after.status <> 'CREATED' OR after.phase <> 'PROCESSING') THEN
    PERFORM app.refuse('no end while an action is open'); END IF;
  IF after.awaiting_since IS NOT NULL AND before.awaiting_since IS NOT NULL AND after.awaiting_since <> before.awaiting_since THEN
    PERFORM app.refuse('a wait begins once'); END IF;
  IF before.status = 'CREATED' AND after.status <> 'CREATED' AND EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = after.id AND completed_at IS NULL) THEN
    PERFORM app.refuse('no end while an authentication is open'); END IF;
  IF before.status = 'CREATED' AND after.status <> 'CREATED' AND EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = after.id AND proof_sealed IS NOT NULL) THEN
    PERFORM app.refuse('a proof lives no longer than the payment that may use it'); END IF;
  -- The budget gets the time waited, and at least 20 s after the customer acted.
  IF after.submit_deadline > before.submit_deadline AND (after.awaiting_since IS NOT NULL OR before.awaiting_since IS NULL
       OR after.submit_deadline > greatest(before.submit_deadline + (app.clock() - before.awaiting_since), app.clock() + interval '20 s')) THEN
    PERFORM app.refuse('a deadline moves by the time that the customer took'); END IF;
END $$;

-- An attempt, its authentication and its session change together; checked when the transaction commits.
CREATE FUNCTION partitions.check_awaiting_rest(checked uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE one record;
BEGIN
  SELECT s.awaiting_since IS NOT NULL AS waits, s.authentications,
    (SELECT count(*) FROM partitions.authentication_rest t WHERE t.session_id = checked) AS counted,
    (SELECT count(*) FROM partitions.authentication_rest t WHERE t.session_id = checked AND t.status IN ('METHOD','AWAITING_CUSTOMER')) AS open,
    (SELECT count(*) FROM partitions.authentication_rest t WHERE t.session_id = checked AND t.provider IS NULL AND t.status = 'AWAITING_CUSTOMER') AS within,
    (SELECT count(*) FROM partitions.attempt_rest a WHERE a.session_id = checked AND a.status = 'AWAITING_CUSTOMER') AS awaiting,
    (SELECT count(*) FROM partitions.authentication_rest t JOIN partitions.attempt_rest a ON a.session_id = t.session_id AND a.id = t.attempt_id
     WHERE t.session_id = checked AND a.session_id = checked AND (
       (t.status = 'AWAITING_CUSTOMER') <> (a.status = 'AWAITING_CUSTOMER') OR (t.status = 'CONFIRMING') <> (a.status = 'AUTHORIZING'))) AS apart
  INTO one FROM partitions.payment_session_rest s WHERE s.id = checked;
  IF one.apart > 0 OR one.within <> one.awaiting THEN PERFORM app.refuse('an attempt and its authentication change together'); END IF;
  IF one.waits <> (one.open > 0) THEN PERFORM app.refuse('a session waits exactly while an action is open'); END IF;
  IF one.authentications <> one.counted THEN PERFORM app.refuse('a session counts its authentications'); END IF;
END $$;
CREATE FUNCTION partitions.check_awaiting_row_rest() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM partitions.check_awaiting_rest(NEW.session_id);
  RETURN NULL;
END $$;
