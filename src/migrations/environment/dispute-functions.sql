-- The changes of disputes, each by a function. The guards check them (dispute-guards.sql).

-- Records a dispute, or what it has become.
CREATE FUNCTION partitions.record_dispute_rest(
  of_session uuid, of_dispute uuid, of_attempt uuid, connection uuid, at_gateway text, reference text, as_stage text, as_status text, minor bigint,
  in_currency text, why text, network_code text, by_network text, until timestamptz, reported jsonb)
RETURNS SETOF dispute LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE partitions.dispute_rest d
  SET (stage, status, amount_minor, currency, reason, network_reason_code, network, respond_by, notices, updated_at)
    = (as_stage, as_status, minor, in_currency, why, network_code, by_network, until, reported, app.clock())
  WHERE d.session_id = of_session AND d.id = of_dispute;
  IF NOT FOUND THEN
    INSERT INTO partitions.dispute_rest (session_id, id, attempt_id, connection_id, gateway, gateway_reference, stage, status, amount_minor, currency,
      reason, network_reason_code, network, respond_by, notices)
    VALUES (of_session, of_dispute, of_attempt, connection, at_gateway, reference, as_stage, as_status, minor, in_currency, why, network_code, by_network,
      until, reported);
  END IF;
  UPDATE partitions.dispute_rest d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT d.* FROM partitions.dispute_rest d WHERE d.session_id = of_session AND d.id = of_dispute;
END $$;

CREATE FUNCTION partitions.insert_dispute_movement_rest(of_session uuid, of_dispute uuid, as_type text, minor bigint, in_currency text)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO partitions.dispute_movement_rest (session_id, dispute_id, ordinal, type, amount_minor, currency)
  SELECT of_session, of_dispute, 1 + coalesce((SELECT max(m.ordinal) FROM partitions.dispute_movement_rest m
    WHERE m.session_id = of_session AND m.dispute_id = of_dispute), 0), as_type, minor, in_currency $$;
