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
