-- The changes of attempts and of orphaned authorizations that are rarer than those of payment-functions.sql, each by a function. The
-- guards check what they change.

CREATE FUNCTION partitions.open_attempt_rest(
  of_session uuid, of_attempt uuid, at_gateway text, connection uuid, credential int, place int, why text, minor bigint, in_currency text,
  execution_ms float8, of_round int, authenticated_by uuid)
RETURNS SETOF attempt LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO partitions.attempt_rest (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
    started_at, latest_execution_at, round, authentication_id)
  SELECT of_session, of_attempt, (SELECT count(*) + 1 FROM partitions.attempt_rest WHERE session_id = of_session), at_gateway, connection, credential, place,
    why, minor, in_currency, now, now + execution_ms * interval '1 ms', of_round, authenticated_by
  FROM app.clock() AS now
  RETURNING * $$;

-- Changes an attempt that is in exactly this status, by the values that are given. `stamps` are columns that get the time. Every column
-- that may change so is named here.
CREATE FUNCTION partitions.move_attempt_rest(of_session uuid, of_attempt uuid, from_status text, changes jsonb, stamps text[])
RETURNS SETOF attempt LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT app.require_columns(changes, stamps, '{
    status,failure_kind,stop,decline_code,gateway_code,refusal,gateway_reference,network_transaction_id,next_action,
    next_because,capture_ordered_at,captured_amount_minor,ordered_amount_minor,capture_reference,capture_refusal_code,
    void_kind,void_asked_at,looked_up_at,latest_execution_at,retries,next_retry_at,answered_at,completed_at}');
  UPDATE partitions.attempt_rest a
  SET (status, failure_kind, stop, decline_code, gateway_code, refusal, gateway_reference, network_transaction_id, next_action, next_because,
       capture_ordered_at, captured_amount_minor, ordered_amount_minor, capture_reference, capture_refusal_code, void_kind, void_asked_at, looked_up_at,
       latest_execution_at, retries, next_retry_at, answered_at, completed_at)
    = (SELECT n.status, n.failure_kind, n.stop, n.decline_code, n.gateway_code, n.refusal, n.gateway_reference, n.network_transaction_id, n.next_action, n.next_because,
       n.capture_ordered_at, n.captured_amount_minor, n.ordered_amount_minor, n.capture_reference, n.capture_refusal_code, n.void_kind, n.void_asked_at, n.looked_up_at,
       n.latest_execution_at, n.retries, n.next_retry_at, n.answered_at, n.completed_at
       FROM jsonb_populate_record(a, changes || coalesce((SELECT jsonb_object_agg(one, app.clock()) FROM unnest(stamps) one), '{}')) n)
  WHERE a.session_id = of_session AND a.id = of_attempt AND a.status = from_status
  RETURNING a.* $$;

CREATE FUNCTION partitions.void_unknown_attempts_rest(of_session uuid) RETURNS SETOF attempt
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest SET status = 'VOIDING', retries = 0, next_retry_at = NULL WHERE session_id = of_session AND status = 'UNKNOWN' RETURNING * $$;

CREATE FUNCTION partitions.look_at_hold_later_rest(of_session uuid, of_attempt uuid, after_ms float8) RETURNS SETOF attempt
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest SET next_retry_at = app.clock() + after_ms * interval '1 ms'
  WHERE session_id = of_session AND id = of_attempt AND status = 'AUTHORIZED' RETURNING * $$;

-- A gateway that is being asked about its customer at this moment may not know the answer yet.
CREATE FUNCTION partitions.look_again_rest(of_session uuid) RETURNS SETOF attempt
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest SET next_retry_at = app.clock()
  WHERE session_id = of_session AND status = 'AWAITING_CUSTOMER' AND next_retry_at <= app.clock() RETURNING * $$;

-- Whoever knows the address may return a thousand times a second; the merchant's account at the gateway is not asked so often. A session
-- that is not parked is being looked at.
CREATE FUNCTION partitions.look_soon_rest(of_session uuid, apart_ms float8) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  WITH soon AS (
    UPDATE partitions.attempt_rest SET next_retry_at = least(next_retry_at, app.clock() + apart_ms * interval '1 ms')
    WHERE session_id = of_session AND status = 'AWAITING_CUSTOMER' AND retries > 0 AND next_retry_at > app.clock()
      AND changed_at > app.clock() - apart_ms * interval '1 ms'
    RETURNING next_retry_at)
  UPDATE partitions.payment_session_rest s SET lease_until = least(s.lease_until, soon.next_retry_at) FROM soon WHERE s.id = of_session RETURNING s.* $$;

-- A wake since the reading is kept: it reports something that the gateway was not asked about yet.
CREATE FUNCTION partitions.postpone_look_rest(of_session uuid, of_attempt uuid, read_at timestamptz, again_ms float8, look_ms float8) RETURNS SETOF attempt
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest a SET retries = retries + 1, next_retry_at = CASE
    WHEN next_retry_at > read_at THEN greatest(next_retry_at, app.clock() + again_ms * interval '1 ms')
    ELSE least(app.clock() + look_ms * interval '1 ms', (
      SELECT deadline_at FROM partitions.authentication_rest
      WHERE session_id = of_session AND attempt_id = a.id AND deadline_at > app.clock())) END
  WHERE session_id = of_session AND id = of_attempt AND status = 'AWAITING_CUSTOMER'
  RETURNING a.* $$;

CREATE FUNCTION partitions.set_capture_failed_rest(of_session uuid, of_attempt uuid) RETURNS SETOF attempt
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest SET capture_failed_at = app.clock()
  WHERE session_id = of_session AND id = of_attempt AND capture_failed_at IS NULL RETURNING * $$;

-- A capture that stands is reported after the failure of another one. The ledger of a past day keeps what it had, and has the capture
-- again on the day of the report.
CREATE FUNCTION partitions.unset_capture_failed_rest(of_session uuid, of_attempt uuid) RETURNS SETOF attempt
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest a
  SET capture_failed_at = NULL,
      capture_failed_before_at = CASE WHEN a.capture_failed_at < today THEN a.capture_failed_at ELSE a.capture_failed_before_at END,
      capture_stands_at = CASE WHEN a.capture_failed_at < today THEN app.clock() ELSE a.capture_stands_at END
  FROM date_trunc('day', app.clock(), 'UTC') AS today
  WHERE a.session_id = of_session AND a.id = of_attempt AND (a.capture_failed_at >= today OR a.capture_failed_at < today AND a.capture_stands_at IS NULL)
  RETURNING a.* $$;

-- What a person decides of an attempt (decision-guards.sql). It takes effect at once unless it takes two.
CREATE FUNCTION partitions.set_decision_rest(
  of_session uuid, of_attempt uuid, decided text, reference text, reason text, person text, takes_two boolean, minor bigint)
RETURNS SETOF attempt LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest
  SET decision = decided, decision_reference = reference, decision_reason = reason, decided_by = person, decided_at = app.clock(),
      decision_takes_two = takes_two, decision_confirmed_by = CASE WHEN NOT takes_two THEN person END,
      decision_confirmed_at = CASE WHEN NOT takes_two THEN app.clock() END, decision_amount_minor = minor
  WHERE session_id = of_session AND id = of_attempt RETURNING * $$;

CREATE FUNCTION partitions.confirm_decision_rest(of_session uuid, of_attempt uuid, person text) RETURNS SETOF attempt
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest SET decision_confirmed_by = person, decision_confirmed_at = app.clock()
  WHERE session_id = of_session AND id = of_attempt RETURNING * $$;

CREATE FUNCTION partitions.withdraw_decision_rest(of_session uuid, of_attempt uuid) RETURNS SETOF attempt
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.attempt_rest
  SET decision = NULL, decision_reference = NULL, decision_amount_minor = NULL, decision_reason = NULL, decided_by = NULL, decided_at = NULL,
      decision_takes_two = NULL, decision_confirmed_by = NULL, decision_confirmed_at = NULL
  WHERE session_id = of_session AND id = of_attempt RETURNING * $$;

-- Only a read can show that a voided hold exists again; a notification may be old. `retries` goes on: it makes the key of the next void a
-- new one, for the gateway may repeat its answer to an old key, and tells answers to older requests apart.
CREATE FUNCTION app.record_orphan(of_session uuid, of_attempt uuid, reference text, finder text) RETURNS SETOF orphaned_authorization
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO orphaned_authorization AS o (session_id, attempt_id, gateway_reference, found_by, next_retry_at)
  VALUES (of_session, of_attempt, reference, finder, app.clock())
  ON CONFLICT (session_id, attempt_id, gateway_reference)
    DO UPDATE SET ended_at = NULL, outcome = NULL, next_retry_at = app.clock()
    WHERE o.ended_at IS NOT NULL AND o.outcome <> 'CAPTURED' AND excluded.found_by = 'reconciliation'
  RETURNING o.* $$;

-- An attempt whose row is lost has no account here; such ones share an empty name.
CREATE FUNCTION app.take_due_orphan(lease_ms float8, without_connections text[], without_gateways text[]) RETURNS SETOF orphaned_authorization
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE orphaned_authorization o SET retries = o.retries + 1, next_retry_at = app.clock() + lease_ms * interval '1 ms'
  FROM (
    SELECT d.session_id, d.attempt_id, d.gateway_reference
    FROM orphaned_authorization d LEFT JOIN attempt a ON a.session_id = d.session_id AND a.id = d.attempt_id
    WHERE d.ended_at IS NULL AND d.next_retry_at <= (SELECT app.clock())
      AND coalesce(a.connection_id::text, '') <> ALL (without_connections) AND coalesce(a.gateway, '') <> ALL (without_gateways)
    ORDER BY d.next_retry_at, d.attempt_id LIMIT 1 FOR UPDATE OF d SKIP LOCKED) due
  WHERE (o.session_id, o.attempt_id, o.gateway_reference) = (due.session_id, due.attempt_id, due.gateway_reference)
  RETURNING o.* $$;

CREATE FUNCTION app.hurry_orphan(of_session uuid, of_attempt uuid) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE orphaned_authorization SET next_retry_at = app.clock()
  WHERE session_id = of_session AND attempt_id = of_attempt AND ended_at IS NULL AND next_retry_at > app.clock() $$;

-- Matched by the number of the request, so an answer to an older one changes nothing.
CREATE FUNCTION app.repeat_orphan(of_session uuid, of_attempt uuid, reference text, request int, again_at timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE orphaned_authorization SET next_retry_at = again_at
  WHERE session_id = of_session AND attempt_id = of_attempt AND gateway_reference = reference AND retries = request AND ended_at IS NULL $$;

CREATE FUNCTION app.end_orphan(of_session uuid, of_attempt uuid, reference text, request int, as_outcome text) RETURNS SETOF orphaned_authorization
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE orphaned_authorization SET ended_at = app.clock(), next_retry_at = NULL, outcome = as_outcome
  WHERE session_id = of_session AND attempt_id = of_attempt AND gateway_reference = reference AND retries = request AND ended_at IS NULL RETURNING * $$;

-- Returns a row for each that it removed. Those that nobody has ended stay.
CREATE FUNCTION app.remove_old_orphans(kept_ms float8, at_most int) RETURNS SETOF uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DELETE FROM orphaned_authorization WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM orphaned_authorization WHERE ended_at < (SELECT app.clock()) - kept_ms * interval '1 ms' LIMIT at_most FOR UPDATE SKIP LOCKED))
  RETURNING attempt_id $$;
