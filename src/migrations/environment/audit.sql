-- The audit of every rule of a payment, and the position of its walk over all sessions.

-- The position of the walk over all sessions.
CREATE TABLE audit_walk (
  only_one   boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  session_id uuid NOT NULL,
  audited_at timestamptz
);
INSERT INTO audit_walk (session_id) VALUES ('00000000-0000-0000-0000-000000000000');

-- Returns one row for each rule that one of these sessions breaks; none while the guards and the flow are correct.
-- It repeats what constraints and triggers refuse, so that it also sees what happened while one of them was missing.
-- Each part reads the tables by session id, so the cost grows only with the number of sessions that are checked.
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
    AND (a.status IN ('AUTHORIZED','CAPTURED') OR a.status = 'VOIDING' AND a.capture_ordered_at IS NOT NULL)
  GROUP BY a.session_id HAVING count(*) > 1
  UNION ALL
  SELECT 'winner_without_hold', s.id, s.winner_attempt_id FROM payment_session s
  WHERE s.id = ANY (checked) AND s.winner_attempt_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM attempt a
    WHERE a.session_id = s.id AND a.id = s.winner_attempt_id AND a.status IN ('AUTHORIZED','CAPTURED'))
  UNION ALL
  SELECT 'open_after_end', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND s.status <> 'CREATED' AND a.status IN ('UNKNOWN','AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED')
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
    AND (earlier.stop IS NOT NULL OR earlier.failure_kind = 'FRAUD') AND earlier.completed_at <= later.started_at
    -- One that begins after the deadline was found after a restore, which may have lost the repeat with authentication.
    AND NOT (earlier.stop = 'authentication_required' AND earlier.round = 0 AND (EXISTS (
      SELECT FROM attempt again WHERE again.session_id = later.session_id AND again.connection_id = earlier.connection_id AND again.round = 1)
      OR EXISTS (SELECT FROM payment_session s WHERE s.id = later.session_id AND s.submit_deadline <= later.started_at))))
  UNION ALL
  SELECT 'hold_after_fraud', a.session_id, a.id FROM attempt a
  WHERE a.session_id = ANY (checked) AND a.status IN ('AUTHORIZED','CAPTURED') AND EXISTS (
    SELECT FROM attempt fraud WHERE fraud.session_id = a.session_id AND (fraud.failure_kind = 'FRAUD' OR fraud.stop = 'fraud' AND fraud.id <> a.id))
  UNION ALL
  SELECT 'never_existed_too_early', a.session_id, a.id FROM attempt a
  WHERE a.session_id = ANY (checked) AND a.void_kind = 'NEVER_EXISTED'
    AND (a.void_asked_at IS NULL OR a.void_asked_at < a.latest_execution_at)
  UNION ALL
  SELECT 'attempt_sequence_gap', a.session_id, NULL FROM attempt a
  WHERE a.session_id = ANY (checked)
  GROUP BY a.session_id HAVING min(a.sequence) <> 1 OR max(a.sequence) <> count(*)
  UNION ALL
  SELECT 'final_event', s.id, NULL FROM payment_session s
  WHERE s.id = ANY (checked)
    AND (SELECT array_agg(e.type) FROM outbox_event e WHERE e.session_id = s.id AND e.type IN (
           'payment_session.succeeded','payment_session.declined','payment_session.degraded','payment_session.expired',
           'setup_session.succeeded','setup_session.failed','setup_session.expired'))
      IS DISTINCT FROM CASE WHEN s.status <> 'CREATED' THEN ARRAY[CASE WHEN s.amount_minor > 0 THEN 'payment_session.' || lower(s.status)
        ELSE 'setup_session.' || CASE WHEN s.status IN ('DECLINED','DEGRADED') THEN 'failed' ELSE lower(s.status) END END] END
  UNION ALL
  SELECT 'event_sequence_gap', e.session_id, NULL FROM outbox_event e
  WHERE e.session_id = ANY (checked)
  GROUP BY e.session_id HAVING min(e.sequence) <> 1 OR max(e.sequence) <> count(*)
  UNION ALL
  SELECT 'captured_without_order', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND s.manual_capture AND a.capture_ordered_at IS NOT NULL AND s.capture_asked_at IS NULL
  UNION ALL
  SELECT 'card_kept_after_end', s.id, NULL FROM payment_session s
  WHERE s.id = ANY (checked) AND (s.status <> 'CREATED' OR s.held_at IS NOT NULL) AND (s.vault_token IS NOT NULL OR s.browser_sealed IS NOT NULL
    OR s.authentications > 0 AND EXISTS (SELECT FROM authentication t WHERE t.session_id = s.id AND t.proof_sealed IS NOT NULL))
  UNION ALL
  SELECT 'authentication_open_after_end', t.session_id, t.attempt_id FROM authentication t JOIN payment_session s ON s.id = t.session_id
  WHERE t.session_id = ANY (checked) AND t.completed_at IS NULL AND s.status <> 'CREATED'
  UNION ALL
  SELECT 'success_after_failed_authentication', t.session_id, t.attempt_id FROM authentication t JOIN payment_session s ON s.id = t.session_id
  WHERE t.session_id = ANY (checked) AND t.status IN ('FAILED','REJECTED','CANCELLED') AND s.status = 'SUCCEEDED'
  UNION ALL
  SELECT 'order_of_another', k.session_id, NULL FROM app.kept_money k JOIN merchant_settings m ON m.merchant_id = k.merchant_id
  WHERE k.session_id = ANY (checked) AND m.repeated_orders = 'REFUSE' AND k.submitted_at > m.repeated_orders_at
    AND NOT EXISTS (SELECT FROM app.order_winner w WHERE w.merchant_id = k.merchant_id AND w.order_ref = k.order_ref AND w.session_id = k.session_id)
    AND NOT EXISTS (SELECT FROM work_item w WHERE w.session_id = k.session_id AND w.kind = 'PAID_MORE_THAN_ONCE')
  UNION ALL
  SELECT 'order_of_no_money', w.session_id, NULL FROM app.order_winner w
  WHERE w.session_id = ANY (checked) AND NOT EXISTS (SELECT FROM app.kept_money k WHERE k.session_id = w.session_id)
  UNION ALL
  SELECT 'saving_without_end', p.session_id, NULL FROM stored_payment p
  WHERE p.session_id = ANY (checked) AND p.saving = 'REQUESTED' AND p.save_until < (SELECT app.clock()) - interval '1 hour'
    AND EXISTS (SELECT FROM payment_session s WHERE s.id = p.session_id AND (s.status <> 'CREATED' OR s.held_at IS NOT NULL))
  UNION ALL
  SELECT 'card_stored_without_consent', p.session_id, NULL FROM stored_payment p
  WHERE p.session_id = ANY (checked) AND p.saving = 'KEPT' AND p.consented_at IS NULL
$$;

-- The same over all sessions: for a person, and for small databases.
CREATE FUNCTION app.audit() RETURNS TABLE (rule text, session_id uuid, attempt_id uuid) LANGUAGE sql STABLE AS $$
  SELECT * FROM app.audit(ARRAY(SELECT id FROM payment_session))
$$;
