-- The changes of disputes, each by a function. The guards check them (dispute-guards.sql).

-- Records a dispute, or what it has become.
CREATE FUNCTION partitions.record_dispute_rest(
  of_session uuid, of_dispute uuid, of_attempt uuid, connection uuid, at_gateway text, reference text, as_stage text, as_status text, minor bigint,
  in_currency text, why text, network_code text, by_network text, until timestamptz, reported jsonb, asked timestamptz, opened timestamptz)
RETURNS SETOF dispute LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE partitions.dispute_rest d
  SET (stage, status, amount_minor, currency, reason, network_reason_code, network, respond_by, notices, asked_at, opened_at, updated_at)
    = (as_stage, as_status, minor, in_currency, why, network_code, by_network, until, reported, asked, coalesce(opened, d.opened_at),
      CASE WHEN (d.stage, d.status, d.amount_minor, d.currency, d.reason, d.respond_by, d.notices)
          IS DISTINCT FROM (as_stage, as_status, minor, in_currency, why, until, reported) THEN app.clock() ELSE d.updated_at END)
  WHERE d.session_id = of_session AND d.id = of_dispute;
  IF NOT FOUND THEN
    INSERT INTO partitions.dispute_rest (session_id, id, attempt_id, connection_id, gateway, gateway_reference, stage, status, amount_minor, currency,
      reason, network_reason_code, network, respond_by, notices, asked_at, opened_at)
    VALUES (of_session, of_dispute, of_attempt, connection, at_gateway, reference, as_stage, as_status, minor, in_currency, why, network_code, by_network,
      until, reported, asked, opened);
  END IF;
  UPDATE partitions.dispute_rest d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT d.* FROM partitions.dispute_rest d WHERE d.session_id = of_session AND d.id = of_dispute;
END $$;

CREATE FUNCTION partitions.insert_dispute_movement_rest(of_session uuid, of_dispute uuid, as_type text, minor bigint, in_currency text)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO partitions.dispute_movement_rest (session_id, dispute_id, ordinal, type, amount_minor, currency)
  SELECT of_session, of_dispute, 1 + coalesce((SELECT max(m.ordinal) FROM partitions.dispute_movement_rest m
    WHERE m.session_id = of_session AND m.dispute_id = of_dispute), 0), as_type, minor, in_currency $$;

-- Marks that the merchant is notified of a deadline; returns nothing if that was done before.
CREATE FUNCTION partitions.mark_dispute_due_rest(of_session uuid, of_dispute uuid)
RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.dispute_rest d SET due_soon_at = app.clock()
  WHERE d.session_id = of_session AND d.id = of_dispute AND d.due_soon_at IS NULL AND d.status = 'NEEDS_RESPONSE' RETURNING d.id $$;

-- Records an owner's word about a dispute that is open; returns nothing if it is not. What was taken and has not come back came back where it was won.
CREATE FUNCTION partitions.decide_dispute_rest(of_session uuid, of_dispute uuid, word jsonb)
RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE partitions.dispute_rest d SET decision = word || jsonb_build_object('before', d.status), status = word ->> 'status', updated_at = app.clock()
  WHERE d.session_id = of_session AND d.id = of_dispute AND d.closed_at IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  IF word ->> 'status' = 'WON' THEN
    INSERT INTO partitions.dispute_movement_rest (session_id, dispute_id, ordinal, type, amount_minor, currency)
    SELECT of_session, of_dispute, (SELECT max(o.ordinal) FROM partitions.dispute_movement_rest o WHERE o.session_id = of_session AND o.dispute_id = of_dispute) + row_number() OVER (ORDER BY m.currency), 'CHARGEBACK_REVERSED',
      sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END), m.currency
    FROM partitions.dispute_movement_rest m WHERE m.session_id = of_session AND m.dispute_id = of_dispute
    GROUP BY m.currency HAVING sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) > 0;
  END IF;
  UPDATE partitions.dispute_rest d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT of_dispute;
END $$;

-- Records an owner's word that the gateway settled a dispute by a refund of its own; returns nothing if another one is recorded. What was
-- taken comes back in the ledger, where the refund is already.
CREATE FUNCTION partitions.link_dispute_refund_rest(of_session uuid, of_dispute uuid, of_refund uuid, person text, why text)
RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE partitions.refund_rest r SET (dispute_id, dispute_by, dispute_reason) = (of_dispute, person, why)
  WHERE r.session_id = of_session AND r.id = of_refund AND r.dispute_id IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO partitions.dispute_movement_rest (session_id, dispute_id, ordinal, type, amount_minor, currency)
  SELECT of_session, of_dispute, max(m.ordinal) + 1, 'CHARGEBACK_REVERSED',
    least(min(r.amount_minor), sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) FILTER (WHERE m.currency = r.currency)), min(r.currency)
  FROM partitions.dispute_movement_rest m, partitions.refund_rest r
  WHERE m.session_id = of_session AND m.dispute_id = of_dispute AND r.session_id = of_session AND r.id = of_refund
  HAVING sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) FILTER (WHERE m.currency = r.currency) > 0;
  UPDATE partitions.dispute_rest d SET updated_at = app.clock() WHERE d.session_id = of_session AND d.id = of_dispute;
  UPDATE partitions.dispute_rest d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT of_dispute;
END $$;

CREATE FUNCTION partitions.insert_dispute_response_rest(
  of_session uuid, of_response uuid, of_dispute uuid, as_type text, person text, hash bytea, as_defense text, of_documents jsonb, content text, lease_ms float8)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO partitions.dispute_response_rest (session_id, id, dispute_id, type, made_by, request_hash, defense, documents, content_sealed, next_try_at)
  SELECT of_session, of_response, of_dispute, as_type, person, hash, as_defense, of_documents, content, app.clock() + lease_ms * interval '1 ms' $$;

-- Counts a request that is about to be sent; returns nothing if the response is not to be sent any more.
CREATE FUNCTION partitions.send_dispute_response_rest(of_session uuid, of_response uuid, lease_ms float8)
RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.dispute_response_rest r
  SET sends = r.sends + 1, first_sent_at = coalesce(r.first_sent_at, app.clock()), next_try_at = app.clock() + lease_ms * interval '1 ms'
  WHERE r.session_id = of_session AND r.id = of_response AND r.status = 'REQUESTED' RETURNING r.id $$;

-- Ends a response, or has it taken up again. Returns nothing if it had ended before.
CREATE FUNCTION partitions.move_dispute_response_rest(of_session uuid, of_response uuid, as_status text, failure text, due_ms float8)
RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.dispute_response_rest r
  SET status = as_status, failure_code = failure, answered_at = CASE WHEN as_status <> 'REQUESTED' THEN app.clock() END,
    next_try_at = app.clock() + due_ms * interval '1 ms'
  WHERE r.session_id = of_session AND r.id = of_response AND r.status = 'REQUESTED' RETURNING r.id $$;

-- Of any month.
CREATE FUNCTION app.take_due_response(lease_ms float8) RETURNS SETOF dispute_response
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE dispute_response SET next_try_at = app.clock() + lease_ms * interval '1 ms'
  WHERE (session_id, id) = (
    SELECT session_id, id FROM dispute_response WHERE next_try_at <= (SELECT app.clock()) ORDER BY next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING * $$;

CREATE FUNCTION app.is_dispute_content_old(one dispute, after_ms float8) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(one.closed_at < app.clock() - after_ms * interval '1 ms' OR one.closed_at IS NOT NULL AND one.erase_at_end, false) $$;

-- Removes files, and what is sealed of responses, of disputes that ended so long ago; of those whose customer was erased, at once. Returns the disputes.
CREATE FUNCTION app.remove_dispute_content(after_ms float8, at_most int) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  RETURN QUERY WITH ended AS (
      SELECT f.session_id, f.dispute_id FROM dispute_file f
      WHERE NOT EXISTS (SELECT FROM dispute d WHERE d.session_id = f.session_id AND d.id = f.dispute_id AND NOT app.is_dispute_content_old(d, after_ms))
      UNION
      SELECT r.session_id, r.dispute_id FROM dispute_response r JOIN dispute d ON d.session_id = r.session_id AND d.id = r.dispute_id
      WHERE r.content_sealed IS NOT NULL AND r.status <> 'REQUESTED' AND app.is_dispute_content_old(d, after_ms)
      LIMIT at_most),
    emptied AS (UPDATE dispute_response r SET content_sealed = NULL FROM ended e
      WHERE r.session_id = e.session_id AND r.dispute_id = e.dispute_id AND r.content_sealed IS NOT NULL AND r.status <> 'REQUESTED'),
    removed AS (DELETE FROM dispute_file f USING ended e WHERE f.dispute_id = e.dispute_id)
    SELECT e.dispute_id FROM ended e;
END $$;

-- Has what is sealed of these sessions' disputes erased: at once where they have ended. Returns those that are open.
CREATE FUNCTION app.erase_dispute_content(of_sessions uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE dispute d SET erase_at_end = true WHERE d.session_id = ANY (of_sessions) AND NOT d.erase_at_end;
  PERFORM app.remove_dispute_content(1e14, 1000);
  RETURN QUERY SELECT d.id FROM dispute d WHERE d.session_id = ANY (of_sessions) AND d.closed_at IS NULL;
END $$;
