-- The changes of refunds, each by a function. The guard checks what they change (refund-guards.sql).

CREATE FUNCTION partitions.insert_refund_rest(
  of_session uuid, of_refund uuid, of_attempt uuid, connection uuid, at_gateway text, minor bigint, in_currency text, as_status text, made_at text, why text,
  named text, person text, hash bytea, reference text, failure text, due_ms float8, is_taken boolean)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO partitions.refund_rest (session_id, id, attempt_id, connection_id, gateway, amount_minor, currency, status, origin, reason,
    refund_ref, made_by, request_hash, gateway_reference, failure_code, next_try_at, retries, completed_at)
  SELECT of_session, of_refund, of_attempt, connection, at_gateway, minor, in_currency, as_status, made_at, why, named, person, hash, reference, failure,
    app.clock() + due_ms * interval '1 ms', CASE WHEN is_taken THEN 1 ELSE 0 END, CASE WHEN as_status IN ('SUCCEEDED','FAILED') THEN app.clock() END;
  UPDATE partitions.payment_session_rest SET refunds = refunds + 1 WHERE id = of_session RETURNING * $$;

-- Changes a refund that is in exactly this status, by the values that are given. `stamps` are columns that get the time, `is_due` sets
-- that of its next step. Every column that may change so is named here.
CREATE FUNCTION partitions.move_refund_rest(
  of_session uuid, of_refund uuid, from_status text, changes jsonb, stamps text[], is_due boolean, due_ms float8)
RETURNS SETOF refund LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT app.require_columns(changes, stamps, '{
    status,gateway_reference,failure_code,sends,keys,unanswered,key_until,first_sent_at,sent_at,look_up_first,absent_at,
    retries,pending_event_at,cleared_at,decision,decision_reference,decided_by,decision_reason,completed_at}');
  UPDATE partitions.refund_rest r
  SET (status, gateway_reference, failure_code, sends, keys, unanswered, key_until, first_sent_at, sent_at, look_up_first, absent_at, retries,
       pending_event_at, cleared_at, decision, decision_reference, decided_by, decision_reason, completed_at, next_try_at)
    = (SELECT n.status, n.gateway_reference, n.failure_code, n.sends, n.keys, n.unanswered, n.key_until, n.first_sent_at, n.sent_at, n.look_up_first, n.absent_at,
       n.retries, n.pending_event_at, n.cleared_at, n.decision, n.decision_reference, n.decided_by, n.decision_reason, n.completed_at,
       CASE WHEN is_due THEN app.clock() + due_ms * interval '1 ms' ELSE r.next_try_at END
       FROM jsonb_populate_record(r, changes || coalesce((SELECT jsonb_object_agg(one, app.clock()) FROM unnest(stamps) one), '{}')) n)
  WHERE r.session_id = of_session AND r.id = of_refund AND r.status = from_status
  RETURNING r.* $$;

-- Of any month. A subselect bounds the index; the volatile function itself would be evaluated for each row.
CREATE FUNCTION app.take_due_refund(lease_ms float8, without_connections uuid[], without_gateways text[]) RETURNS SETOF refund
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE refund SET retries = retries + 1, next_try_at = app.clock() + lease_ms * interval '1 ms'
  WHERE (session_id, id) = (
    SELECT session_id, id FROM refund
    WHERE next_try_at <= (SELECT app.clock()) AND connection_id <> ALL (without_connections) AND gateway <> ALL (without_gateways)
    ORDER BY next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING * $$;
