-- The rules of settlement that no index and no CHECK holds. docs/settlement.md has them as S1 to S6.

CREATE FUNCTION app.guard_payout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.complete_at IS NOT NULL THEN PERFORM app.refuse('a payout is complete once its lines are known'); END IF;
    SELECT merchant_id, gateway INTO NEW.merchant_id, NEW.gateway FROM connection WHERE id = NEW.connection_id;
    RETURN NEW;
  END IF;
  IF (OLD.id, OLD.merchant_id, OLD.connection_id, OLD.gateway, OLD.gateway_reference, OLD.created_at)
     IS DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.connection_id, NEW.gateway, NEW.gateway_reference, NEW.created_at) THEN
    PERFORM app.refuse('what a payout is about never changes'); END IF;
  -- S4.
  IF OLD.complete_at IS NOT NULL THEN
    IF (OLD.amount_minor, OLD.currency, OLD.complete_at, OLD.remainder_minor)
       IS DISTINCT FROM (NEW.amount_minor, NEW.currency, NEW.complete_at, NEW.remainder_minor) THEN
      PERFORM app.refuse('the amounts of a complete payout never change'); END IF;
  ELSIF NEW.complete_at IS NOT NULL THEN
    NEW.complete_at := app.clock();
    NEW.remainder_minor := NEW.amount_minor - (
      SELECT coalesce(sum(net_minor), 0) FROM payout_line WHERE payout_id = NEW.id AND kind <> 'PAYOUT');
  ELSE
    NEW.remainder_minor := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON payout FOR EACH ROW EXECUTE FUNCTION app.guard_payout();

CREATE FUNCTION app.guard_payout_line() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE paid record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT merchant_id, gateway INTO NEW.merchant_id, NEW.gateway FROM connection WHERE id = NEW.connection_id;
  ELSE
    IF (OLD.connection_id, OLD.line_id, OLD.digest, OLD.merchant_id, OLD.gateway, OLD.kind, OLD.gross_minor, OLD.currency, OLD.settled_gross_minor,
        OLD.fee_minor, OLD.net_minor, OLD.settlement_currency, OLD.gateway_type, OLD.gateway_reference, OLD.names, OLD.recorded_at)
       IS DISTINCT FROM (NEW.connection_id, NEW.line_id, NEW.digest, NEW.merchant_id, NEW.gateway, NEW.kind, NEW.gross_minor, NEW.currency, NEW.settled_gross_minor,
        NEW.fee_minor, NEW.net_minor, NEW.settlement_currency, NEW.gateway_type, NEW.gateway_reference, NEW.names, NEW.recorded_at) THEN
      PERFORM app.refuse('what a gateway''s statement says never changes'); END IF;
    IF OLD.payout_id IS NOT NULL AND NEW.payout_id IS DISTINCT FROM OLD.payout_id THEN PERFORM app.refuse('a line stays in its payout'); END IF;
    IF OLD.status <> 'UNMATCHED' AND (OLD.status, OLD.session_id, OLD.entry_type, OLD.entry_id, OLD.entry_ordinal, OLD.entry_at)
       IS DISTINCT FROM (NEW.status, NEW.session_id, NEW.entry_type, NEW.entry_id, NEW.entry_ordinal, NEW.entry_at) THEN
      PERFORM app.refuse('a line that is matched stays so'); END IF;
  END IF;
  IF NEW.payout_id IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.payout_id IS NULL) THEN
    -- Waits for what completes the payout.
    SELECT complete_at, currency INTO paid FROM payout WHERE id = NEW.payout_id FOR SHARE;
    -- S4.
    IF paid.complete_at IS NOT NULL THEN PERFORM app.refuse('the lines of a complete payout are fixed'); END IF;
    IF NEW.settlement_currency <> paid.currency THEN PERFORM app.refuse('a line is in the currency of its payout'); END IF;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON payout_line FOR EACH ROW EXECUTE FUNCTION app.guard_payout_line();

-- Checks lines that are matched now: each names an entry of its account, of the exact amount and currency, and in its direction. Adds up what
-- their gateway keeps of them: with the match, or not at all. Each look-up is a scalar, so that no plan reads whole tables.
CREATE FUNCTION app.record_matches(lines payout_line[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- S3.
  IF EXISTS (
    SELECT FROM unnest(lines) l WHERE l.status = 'MATCHED' AND CASE l.kind
      WHEN 'CAPTURE' THEN (SELECT true FROM attempt a WHERE a.session_id = l.session_id AND a.id = l.entry_id AND a.captured
        AND a.connection_id = l.connection_id AND a.captured_amount_minor = l.gross_minor AND a.currency = l.currency LIMIT 1)
      WHEN 'REFUND' THEN (SELECT true FROM refund r WHERE r.session_id = l.session_id AND r.id = l.entry_id
        AND (r.status <> 'FAILED' OR r.succeeded_at IS NOT NULL OR r.origin = 'GATEWAY') AND r.connection_id = l.connection_id AND -r.amount_minor = l.gross_minor AND r.currency = l.currency LIMIT 1)
      WHEN 'REFUND_FAILED' THEN (SELECT true FROM refund r WHERE r.session_id = l.session_id AND r.id = l.entry_id AND r.status = 'FAILED'
        AND r.connection_id = l.connection_id AND r.amount_minor = l.gross_minor AND r.currency = l.currency LIMIT 1)
      ELSE (SELECT true FROM dispute_movement m JOIN dispute d ON d.session_id = m.session_id AND d.id = m.dispute_id
        WHERE m.session_id = l.session_id AND m.dispute_id = l.entry_id AND m.ordinal = l.entry_ordinal AND d.connection_id = l.connection_id
          AND m.type = l.entry_type AND m.currency = l.currency
          AND CASE m.type WHEN 'CHARGEBACK' THEN -m.amount_minor ELSE m.amount_minor END = l.gross_minor LIMIT 1) END IS NOT TRUE) THEN
    PERFORM app.refuse('a line pays an entry of the same account, amount and currency'); END IF;
  INSERT INTO analytics_cost AS c (merchant_id, month, gateway, type, card_brand, rule_version, case_name, arm, currency, settlement_currency,
    lines, settled_gross_minor, fee_minor)
  SELECT l.merchant_id, coalesce(s.month, date_trunc('month', l.recorded_at AT TIME ZONE 'UTC')::date), l.gateway, coalesce(l.entry_type, 'ACCOUNT'),
    coalesce(s.brand, ''), coalesce(s.version, 0), coalesce(s.case_name, ''), coalesce(s.arm, ''), l.currency, l.settlement_currency,
    count(*), sum(l.settled_gross_minor), sum(CASE WHEN l.status = 'ACCOUNT' THEN -l.net_minor ELSE l.fee_minor END)
  FROM unnest(lines) l LEFT JOIN LATERAL (
    SELECT date_trunc('month', p.settled_at AT TIME ZONE 'UTC')::date AS month, p.card_brand AS brand,
      CASE WHEN p.routed_by ? 'split' THEN p.rule_version END AS version,
      CASE WHEN p.routed_by ? 'split' THEN p.routed_by ->> 'case' END AS case_name, p.routed_by -> 'split' ->> 'arm' AS arm
    FROM payment_session p WHERE p.id = l.session_id LIMIT 1) s ON true
  WHERE l.status = 'MATCHED' OR l.kind = 'FEE' AND l.status = 'ACCOUNT'
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
  ON CONFLICT (merchant_id, month, gateway, type, card_brand, rule_version, case_name, arm, currency, settlement_currency) DO UPDATE
    SET lines = c.lines + EXCLUDED.lines, settled_gross_minor = c.settled_gross_minor + EXCLUDED.settled_gross_minor, fee_minor = c.fee_minor + EXCLUDED.fee_minor;
END $$;

CREATE FUNCTION app.record_new_lines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM app.record_matches(array_agg(ROW(n.*)::payout_line)) FROM now_lines n HAVING count(*) > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER matched AFTER INSERT ON payout_line REFERENCING NEW TABLE AS now_lines
  FOR EACH STATEMENT EXECUTE FUNCTION app.record_new_lines();

CREATE FUNCTION app.record_moved_lines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM app.record_matches(array_agg(ROW(n.*)::payout_line)) FROM now_lines n JOIN then_lines t USING (connection_id, line_id)
  WHERE t.status = 'UNMATCHED' AND n.status <> 'UNMATCHED' HAVING count(*) > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER matched_later AFTER UPDATE ON payout_line REFERENCING OLD TABLE AS then_lines NEW TABLE AS now_lines
  FOR EACH STATEMENT EXECUTE FUNCTION app.record_moved_lines();
