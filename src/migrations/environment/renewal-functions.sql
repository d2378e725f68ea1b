-- The changes of renewals, each by a function.

CREATE TRIGGER pay_renewal AFTER UPDATE ON partitions.payment_session_rest FOR EACH ROW
  WHEN (NEW.stored AND NEW.status = 'SUCCEEDED' AND OLD.status <> 'SUCCEEDED') EXECUTE FUNCTION app.pay_renewal();
CREATE CONSTRAINT TRIGGER renewal_paid AFTER UPDATE ON partitions.payment_session_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.stored AND NEW.status = 'SUCCEEDED' AND OLD.status <> 'SUCCEEDED') EXECUTE FUNCTION app.check_renewal_paid();

-- LL007: a renewal is refused, for a reason that the message names (src/core/stored-cards/renewals/take-renewal.ts).
CREATE FUNCTION app.refuse_renewal(reason text, other uuid DEFAULT NULL, until timestamptz DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'LL007', DETAIL = json_build_object('other', other, 'until', until)::text;
END $$;

-- Charges an agreement: takes the renewal, creates and claims its session, and opens its first attempt, if one is named. After a restore that
-- may have lost renewals of the agreement, the session begins in doubt and without an attempt: gateways are asked first, for which it has
-- doubt_ms. `card` has the versions of its fingerprint, with spaces between them. Where it is guarded, nothing is done for a customer whom the
-- merchant has blocked. Returns the session's attempt and whether it is in doubt, or why nothing was done, the session that the reason names,
-- from when time helps, and the entry of the block list.
CREATE FUNCTION partitions.take_renewal_rest(
  new_session uuid, of_merchant uuid, of_agreement uuid, of_renewal text, own_key bytea, hash bytea, minor bigint, in_currency text, reference text, described jsonb,
  secret int, life_ms bigint, request uuid, lease_ms int, budget_ms int, doubt_ms int, tries_max int,
  of_method uuid, token text, token_digest bytea, rule int, planned jsonb, skips jsonb, routed jsonb,
  at_gateway text, connection uuid, credential int, place int, why text, execution_ms int, card text DEFAULT NULL, is_guarded boolean DEFAULT true)
RETURNS TABLE (refused text, other uuid, until timestamptz, attempt uuid, in_doubt boolean, entry jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  a      agreement;
  r      renewal;
  m      payment_method;
  known  record;
  at     timestamptz := date_trunc('milliseconds', app.clock());
  named  uuid;
  detail text;
BEGIN
  PERFORM app.refuse_other_timeline();
  -- A merchant that is about to move takes its renewals along.
  PERFORM FROM merchant_settings w WHERE w.merchant_id = of_merchant FOR SHARE NOWAIT;
  PERFORM app.require_home(of_merchant);
  -- Renewals of one agreement take turns, before any lock of a card.
  SELECT * INTO a FROM agreement g WHERE g.id = of_agreement AND g.merchant_id = of_merchant FOR NO KEY UPDATE;
  IF NOT FOUND THEN PERFORM app.refuse_renewal('not_found'); END IF;
  SELECT t.session_id, t.request_hash = hash AS is_same INTO known FROM renewal_try t WHERE t.agreement_id = of_agreement AND t.key_hash = own_key;
  IF FOUND THEN PERFORM app.refuse_renewal(CASE WHEN known.is_same THEN 'known' ELSE 'idempotency_key_reused' END, known.session_id); END IF;
  INSERT INTO renewal (agreement_id, renewal_ref, merchant_id) VALUES (of_agreement, of_renewal, of_merchant) ON CONFLICT DO NOTHING;
  SELECT * INTO r FROM renewal w WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal FOR UPDATE;
  SELECT * INTO m FROM payment_method p WHERE p.id = of_method;
  INSERT INTO card_state (merchant_id, fingerprint) VALUES (of_merchant, m.fingerprint) ON CONFLICT DO NOTHING;
  PERFORM FROM card_state s WHERE s.merchant_id = of_merchant AND s.fingerprint = m.fingerprint FOR UPDATE;
  PERFORM app.refuse_renewal(c.reason, c.other, c.until) FROM app.renewal_refusal(of_agreement, of_renewal, minor, in_currency, tries_max) c;
  -- Another card since this one was opened.
  IF a.method_id <> of_method THEN PERFORM app.refuse_renewal('changed'); END IF;
  -- The customer is known by the payment in which the agreement was made.
  IF is_guarded AND EXISTS (SELECT FROM blocklist_entry b WHERE b.merchant_id = of_merchant) THEN
    PERFORM app.refuse_blocked(of_merchant, m.fingerprint || string_to_array(card, ' ')::uuid[],
      (SELECT s.customer_email FROM payment_session s WHERE s.id = a.session_id), (SELECT c.consent_address FROM stored_payment c WHERE c.session_id = a.session_id), at); END IF;

  in_doubt := app.may_have_lost_renewals(a.created_at);
  named := app.renewal_name(of_agreement, of_renewal, r.tries + 1, (SELECT k.restores FROM replica_mark k));
  INSERT INTO partitions.payment_session_rest (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at, create_request_id,
    submit_request_id, details, customer_ref, stored, named_by, phase, lease_epoch, lease_until, submit_deadline, submitted_at, vault_token, token_hash,
    card_brand, card_last4, rule_version, plan, skipped, routed_by, unrecorded_check_at)
  SELECT new_session, of_merchant, minor, in_currency, reference, secret, at, at + life_ms * interval '1 ms', request,
    request, described, a.customer_ref, true, named, 'PROCESSING', 1, at + lease_ms * interval '1 ms',
    at + (CASE WHEN in_doubt THEN doubt_ms ELSE budget_ms END) * interval '1 ms', at, token, token_digest,
    m.brand, m.last4, rule, planned, skips, routed, CASE WHEN in_doubt THEN greatest(at, k.restored_at + interval '1 min') END
  FROM replica_mark k;
  UPDATE renewal w SET session_id = new_session, tries = r.tries + 1 WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal;
  INSERT INTO partitions.stored_payment_rest (session_id, merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, try, method_id,
    chain_version, network, network_transaction_id, network_date, link_id, ds_trans_id, own_connection_id, own_customer, own_method)
  VALUES (new_session, of_merchant, minor, in_currency, a.customer_ref, 'RENEWAL', of_agreement, of_renewal, r.tries + 1, of_method,
    a.chain_version, a.network, a.network_transaction_id, a.network_date, a.link_id, a.ds_trans_id, a.own_connection_id, a.own_customer, a.own_method);
  INSERT INTO renewal_try (agreement_id, key_hash, renewal_ref, try, request_hash, session_id)
  VALUES (of_agreement, own_key, of_renewal, r.tries + 1, hash, new_session);
  IF connection IS NOT NULL AND NOT in_doubt THEN
    attempt := app.attempt_name(named, connection, 0);
    INSERT INTO partitions.attempt_rest (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
      started_at, latest_execution_at)
    VALUES (new_session, attempt, 1, at_gateway, connection, credential, place, why, minor, in_currency, at, at + execution_ms * interval '1 ms');
  END IF;
  RETURN NEXT;
EXCEPTION WHEN SQLSTATE 'LL004' OR SQLSTATE 'LL007' THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  refused := SQLERRM;
  other := (detail::json ->> 'other')::uuid;
  until := (detail::json ->> 'until')::timestamptz;
  entry := CASE WHEN SQLSTATE = 'LL004' THEN detail::jsonb END;
  attempt := NULL;
  RETURN NEXT;
END $$;

-- What a decline of a stored card says about further tries (docs/subscriptions.md, "After a decline"): stops the card, lets it wait, ends agreements, or
-- leaves the renewal to its customer. Of a customer's own payment only the stop counts. Returns the agreements whose status it has changed.
CREATE FUNCTION app.act_on_decline(
  of_session uuid, stopped text, wait_ms bigint, agreement_status text, of_all boolean, by_link boolean, why text)
RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  p  record;
  at timestamptz := app.clock();
BEGIN
  SELECT o.role, o.agreement_id, o.renewal_ref, m.id AS method_id, m.merchant_id, m.fingerprint INTO p
  FROM stored_payment o JOIN payment_method m ON m.id = o.method_id WHERE o.session_id = of_session;
  IF NOT FOUND THEN RETURN; END IF;
  IF p.role = 'RENEWAL' AND agreement_status IS NOT NULL THEN
    -- In the order in which renewals lock them: agreements before cards.
    PERFORM FROM agreement g WHERE g.id = p.agreement_id OR of_all AND g.method_id IN (
      SELECT m.id FROM payment_method m WHERE m.merchant_id = p.merchant_id AND m.fingerprint = p.fingerprint) ORDER BY g.id FOR NO KEY UPDATE;
    RETURN QUERY
      UPDATE agreement g SET status = agreement_status, status_because = why, ended_at = CASE agreement_status WHEN 'CANCELLED' THEN at END
      WHERE g.status IN ('ACTIVE', CASE agreement_status WHEN 'CANCELLED' THEN 'NEEDS_CARD' END) AND (g.id = p.agreement_id OR of_all AND g.method_id IN (
        SELECT m.id FROM payment_method m WHERE m.merchant_id = p.merchant_id AND m.fingerprint = p.fingerprint))
      RETURNING g.id;
  END IF;
  IF p.role = 'RENEWAL' AND by_link THEN
    UPDATE renewal r SET only_by_link = true, because = why WHERE r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref; END IF;
  IF stopped IS NOT NULL OR p.role = 'RENEWAL' AND wait_ms IS NOT NULL THEN
    INSERT INTO card_state AS s (merchant_id, fingerprint, stopped_at, stopped_because, not_before)
    VALUES (p.merchant_id, p.fingerprint, CASE WHEN stopped IS NOT NULL THEN at END, stopped,
      CASE WHEN p.role = 'RENEWAL' THEN at + wait_ms * interval '1 ms' END)
    ON CONFLICT (merchant_id, fingerprint) DO UPDATE SET stopped_at = coalesce(s.stopped_at, EXCLUDED.stopped_at),
      stopped_because = coalesce(s.stopped_because, EXCLUDED.stopped_because), not_before = greatest(s.not_before, EXCLUDED.not_before);
  END IF;
END $$;
