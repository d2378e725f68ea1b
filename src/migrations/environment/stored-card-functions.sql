-- The changes of stored cards and agreements, each by a function: the service's role may not write their tables. The guards check what
-- they change.

-- Whether a customer may pay with a card: its bank has not stopped it, and it is not hidden. Five declines within a day hide it for a day
-- after the last of them, so that nobody finds its security code by trying.
CREATE FUNCTION app.is_card_usable(of_merchant uuid, card uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT EXISTS (SELECT FROM card_state WHERE merchant_id = of_merchant AND fingerprint = card AND stopped_at IS NOT NULL)
    AND NOT EXISTS (
      SELECT FROM (
        SELECT declined_at FROM card_decline
        WHERE merchant_id = of_merchant AND fingerprint = card AND by_customer AND declined_at > app.clock() - interval '2 days'
        ORDER BY declined_at DESC LIMIT 5) lately
      HAVING count(*) = 5 AND max(declined_at) > app.clock() - interval '1 day' AND max(declined_at) - min(declined_at) <= interval '1 day') $$;

-- The customer pays with a stored card, opened as this token. Returns no row where the session takes no card any more, or the card is
-- not an ACTIVE one of its customer (S11).
CREATE FUNCTION partitions.use_stored_card_rest(of_session uuid, method uuid, token_hash bytea) RETURNS SETOF stored_payment
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  -- A submission at this moment comes first or later, and never between.
  PERFORM FROM partitions.payment_session_rest WHERE id = of_session AND phase = 'IDLE' AND expires_at > app.clock() FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY UPDATE partitions.stored_payment_rest p SET method_id = method, opened_token_hash = token_hash,
      opened_hashes = p.opened_hashes || token_hash, opened_methods = p.opened_methods || method
    WHERE p.session_id = of_session AND p.saving IS NULL AND p.role IN ('SAVE','CUSTOMER','RECOVERY')
      -- Whoever has a link pays with the card of its agreement, or with another one that they know.
      AND (p.role <> 'RECOVERY' OR EXISTS (SELECT FROM agreement a WHERE a.id = p.agreement_id AND a.method_id = method))
      AND EXISTS (SELECT FROM payment_method m WHERE m.id = method AND m.merchant_id = p.merchant_id AND m.customer_ref = p.customer_ref AND m.status = 'ACTIVE')
    RETURNING p.*;
END $$;

-- Records, in the transaction of the claim, with which card the session is paid, and whether its customer has consented to store it.
CREATE FUNCTION partitions.claim_stored_rest(
  of_session uuid, token text, handle text, hash bytea, template text, locale text, address inet, agent text, due_ms float8, life_ms float8)
RETURNS SETOF stored_payment LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  s record;
  p stored_payment;
  is_opened boolean;
BEGIN
  SELECT s1.token_hash, s1.submitted_at INTO s FROM partitions.payment_session_rest s1 WHERE s1.id = of_session AND s1.phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO p FROM partitions.stored_payment_rest p1 WHERE p1.session_id = of_session FOR UPDATE;
  -- The token may be of a card that was chosen before another one.
  p.method_id := p.opened_methods[array_position(p.opened_hashes, s.token_hash)];
  is_opened := p.method_id IS NOT NULL;
  p.opened_token_hash := CASE WHEN is_opened THEN s.token_hash END;
  -- LL006: deleted, stopped or hidden since it was opened (src/core/stored-cards/claim-stored.ts).
  IF is_opened AND NOT EXISTS (SELECT FROM payment_method m WHERE m.id = p.method_id AND m.status = 'ACTIVE' AND m.stopped_because IS NULL
                    AND app.is_card_usable(m.merchant_id, m.fingerprint)) THEN
    RAISE EXCEPTION 'the stored card cannot be used any more' USING ERRCODE = 'LL006';
  END IF;
  IF p.role IN ('SAVE','RECOVERY','SETUP') THEN
    IF p.terms IS NOT NULL AND template IS NULL THEN PERFORM app.refuse('an agreement needs the customer''s consent'); END IF;
    IF p.role = 'SETUP' AND template IS NULL THEN PERFORM app.refuse('a set-up needs the customer''s consent'); END IF;
    -- A card that is stored already is not stored again; its agreement is made.
    p.saving := CASE WHEN template IS NULL OR is_opened AND p.terms IS NULL THEN 'NOT_WANTED' ELSE 'REQUESTED' END;
    IF template IS NOT NULL THEN
      p.consent_template := template; p.consent_locale := locale; p.consented_at := s.submitted_at;
      p.consent_address := address; p.consent_user_agent := agent;
    END IF;
    IF p.saving = 'REQUESTED' THEN
      p.save_due_at := s.submitted_at + due_ms * interval '1 ms'; p.save_until := s.submitted_at + life_ms * interval '1 ms';
      IF NOT is_opened THEN p.token_sealed := token; p.handle_sealed := handle; p.handle_hash := hash; END IF;
    END IF;
  END IF;
  RETURN QUERY UPDATE partitions.stored_payment_rest o
    SET (method_id, opened_token_hash, saving, consent_template, consent_locale, consented_at, consent_address, consent_user_agent, save_due_at, save_until,
         token_sealed, handle_sealed, handle_hash, opened_hashes, opened_methods)
      = (p.method_id, p.opened_token_hash, p.saving, p.consent_template, p.consent_locale, p.consented_at, p.consent_address, p.consent_user_agent,
         p.save_due_at, p.save_until, p.token_sealed, p.handle_sealed, p.handle_hash, '{}', '{}')
    WHERE o.session_id = of_session RETURNING o.*;
END $$;

-- Records that a payment was approved with a stored card, and what its hold has answered about the chain that it begins. A renewal keeps
-- the chain that it continues (S9).
CREATE FUNCTION partitions.begin_chain_rest(
  of_session uuid, at_network text, network_id text, link text, connection uuid, customer text, method text)
RETURNS SETOF stored_payment LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE payment_method m SET last_used_at = app.clock() FROM partitions.stored_payment_rest p WHERE p.session_id = of_session AND m.id = p.method_id;
  UPDATE partitions.stored_payment_rest
  SET network = at_network, network_transaction_id = network_id, network_date = CASE WHEN network_id IS NOT NULL THEN (app.clock() AT TIME ZONE 'UTC')::date END,
      link_id = link, own_connection_id = connection, own_customer = customer, own_method = method
  WHERE session_id = of_session AND role <> 'RENEWAL'
  RETURNING * $$;

-- Makes the agreement that a payment begins, with its card or without.
CREATE FUNCTION app.make_agreement(p stored_payment, method uuid) RETURNS void LANGUAGE sql AS $$
  INSERT INTO agreement (id, merchant_id, customer_ref, method_id, type, text, currency, every_days, ends_on, instalments, max_amount_minor, status, status_because,
    session_id, consented_at, network, network_transaction_id, network_date, link_id, ds_trans_id, own_connection_id, own_customer, own_method)
  SELECT p.agreement_id, p.merchant_id, p.customer_ref, method, p.terms ->> 'type', p.terms ->> 'text', p.currency, (p.terms ->> 'everyDays')::int,
    (p.terms ->> 'endsOn')::date, (p.terms ->> 'instalments')::int, (p.terms ->> 'maxAmountMinor')::bigint,
    CASE WHEN method IS NULL THEN 'NEEDS_CARD' ELSE 'ACTIVE' END, CASE WHEN method IS NULL THEN 'card_not_stored' END,
    p.session_id, p.consented_at, p.network, p.network_transaction_id, p.network_date, p.link_id, p.ds_trans_id, p.own_connection_id, p.own_customer, p.own_method
  WHERE p.terms IS NOT NULL AND p.role <> 'RECOVERY'
  ON CONFLICT (id) DO NOTHING $$;

-- Has a gateway erase the card that it keeps of a payment.
CREATE FUNCTION app.erase_at_gateway(of_merchant uuid, connection uuid, customer text, method text, begun timestamptz, due timestamptz) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO card_erasure (handle_hash, merchant_id, wanted_at, erase_due_at, own_connection_id, own_customer, own_method, begun_at)
  SELECT sha256(convert_to(connection || ' ' || method, 'UTF8')), of_merchant, due, due, connection, customer, method, begun WHERE method IS NOT NULL
  ON CONFLICT DO NOTHING $$;

-- The same a quarter of an hour later, so that a renewal that is under way ends as it began, and only where no card and no agreement goes on
-- with it.
CREATE FUNCTION app.erase_unused(of_merchant uuid, connection uuid, customer text, method text, begun timestamptz) RETURNS void LANGUAGE sql AS $$
  SELECT app.erase_at_gateway(of_merchant, connection, customer, method, begun, app.clock() + interval '15 minutes')
  WHERE NOT EXISTS (SELECT FROM payment_method m WHERE m.own_connection_id = connection AND m.own_method = method AND m.status = 'ACTIVE')
    AND NOT EXISTS (SELECT FROM agreement a WHERE a.own_connection_id = connection AND a.own_method = method AND a.method_id IS NOT NULL) $$;

-- S9: an agreement goes on with the card of a set-up, or of a payment by a link, and its chain begins anew. The gateway erases the card of
-- the chain that nothing goes on with.
CREATE FUNCTION app.renew_agreement(p stored_payment, method uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE a agreement;
BEGIN
  IF p.role NOT IN ('SETUP','RECOVERY') THEN RETURN; END IF;
  SELECT * INTO a FROM agreement g WHERE g.id = p.agreement_id FOR UPDATE;
  UPDATE agreement g
  SET method_id = method, status = 'ACTIVE', status_because = NULL, session_id = p.session_id, consented_at = p.consented_at, chain_version = g.chain_version + 1,
    network = p.network, network_transaction_id = p.network_transaction_id, network_date = p.network_date, link_id = p.link_id, ds_trans_id = p.ds_trans_id,
    own_connection_id = p.own_connection_id, own_customer = p.own_customer, own_method = p.own_method
  WHERE g.id = p.agreement_id AND g.merchant_id = p.merchant_id AND g.customer_ref = p.customer_ref AND g.session_id <> p.session_id
    AND g.status IN ('ACTIVE','NEEDS_CARD');
  IF FOUND THEN
    PERFORM app.erase_unused(a.merchant_id, a.own_connection_id, a.own_customer, a.own_method, a.consented_at);
  ELSIF a.session_id IS DISTINCT FROM p.session_id THEN
    PERFORM app.erase_unused(p.merchant_id, p.own_connection_id, p.own_customer, p.own_method, p.consented_at);
  END IF;
END $$;

-- Ends the saving of a payment without a winner (DROPPED), or of a card that could not be stored in time (FAILED): then the agreement is
-- made without a card. Returns the row, and none where the saving has ended already.
CREATE FUNCTION partitions.drop_card_rest(of_session uuid, as_saving text) RETURNS SETOF stored_payment
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  s record;
  p stored_payment;
BEGIN
  SELECT status, winner_attempt_id, held_at INTO s FROM partitions.payment_session_rest WHERE id = of_session FOR UPDATE;
  SELECT * INTO p FROM partitions.stored_payment_rest WHERE session_id = of_session AND saving = 'REQUESTED' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF as_saving = 'DROPPED' AND p.customer_ref IS NOT NULL AND (s.status = 'CREATED' OR s.winner_attempt_id IS NOT NULL) THEN
    PERFORM app.refuse('only a payment without a winner drops its card'); END IF;
  -- The vault may have stored it: an answer that was lost says nothing.
  IF p.handle_hash IS NOT NULL AND (as_saving = 'FAILED' OR s.held_at IS NOT NULL OR p.customer_ref IS NULL) THEN
    INSERT INTO card_erasure (handle_hash, merchant_id, erase_due_at) VALUES (p.handle_hash, p.merchant_id, app.clock()) ON CONFLICT DO NOTHING; END IF;
  PERFORM app.erase_at_gateway(p.merchant_id, p.own_connection_id, p.own_customer, p.own_method, app.clock(), app.clock());
  IF as_saving = 'FAILED' AND p.customer_ref IS NOT NULL THEN PERFORM app.make_agreement(p, NULL); END IF;
  RETURN QUERY UPDATE partitions.stored_payment_rest SET saving = as_saving, token_sealed = NULL, handle_sealed = NULL, save_due_at = NULL
    WHERE session_id = of_session RETURNING *;
END $$;

-- Records a card that the vault has stored under the payment's handle: its method, the agreement, and the end of the saving. The same
-- number of the same customer is one method, whose earlier card is erased later. `versions` are the number's fingerprints, the current
-- one first. A card that pays as a stored one already needs only its agreement. Returns no row where the saving has ended otherwise.
CREATE FUNCTION partitions.keep_card_rest(
  of_session uuid, new_method uuid, its_brand text, digits text, month int, year int, versions uuid[], replaced_ms float8)
RETURNS SETOF stored_payment LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  p stored_payment;
  m payment_method;
  waits_until timestamptz;
BEGIN
  PERFORM FROM partitions.payment_session_rest WHERE id = of_session FOR UPDATE;
  SELECT * INTO p FROM partitions.stored_payment_rest WHERE session_id = of_session AND saving = 'REQUESTED' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  -- The customer's data were erased meanwhile.
  IF p.customer_ref IS NULL THEN
    PERFORM FROM app.drop_card(of_session, 'DROPPED');
    RETURN;
  END IF;
  -- In the order in which renewals lock them: an agreement before its card.
  PERFORM FROM agreement a WHERE a.id = p.agreement_id FOR UPDATE;
  IF p.method_id IS NOT NULL THEN
    SELECT * INTO m FROM payment_method o WHERE o.id = p.method_id FOR UPDATE;
    IF m.status <> 'ACTIVE' THEN
      PERFORM FROM app.drop_card(of_session, 'FAILED');
      RETURN;
    END IF;
  ELSE
    -- Another payment may store the same number at this moment.
    PERFORM pg_advisory_xact_lock(hashtextextended('payment_method ' || p.merchant_id || ' ' || p.customer_ref, 0));
    SELECT * INTO m FROM payment_method o
    WHERE o.merchant_id = p.merchant_id AND o.customer_ref = p.customer_ref AND o.fingerprint = ANY (versions) AND o.status = 'ACTIVE'
    ORDER BY o.id LIMIT 1 FOR UPDATE;
    IF FOUND THEN
      INSERT INTO card_erasure (handle_hash, merchant_id, wanted_at, erase_due_at)
      SELECT m.handle_hash, m.merchant_id, at, at FROM (SELECT app.clock() + replaced_ms * interval '1 ms' AS at) later ON CONFLICT DO NOTHING;
      PERFORM app.erase_at_gateway(m.merchant_id, m.own_connection_id, m.own_customer, m.own_method, m.stored_at, app.clock() + replaced_ms * interval '1 ms')
      WHERE m.own_method IS DISTINCT FROM p.own_method
        AND NOT EXISTS (SELECT FROM agreement a WHERE a.own_connection_id = m.own_connection_id AND a.own_customer = m.own_customer AND a.own_method = m.own_method);
      UPDATE payment_method o
      SET brand = its_brand, exp_month = month, exp_year = year, fingerprint = versions[1], handle_sealed = p.handle_sealed, handle_hash = p.handle_hash,
          stopped_because = NULL, session_id = of_session, stored_at = app.clock(),
          own_connection_id = p.own_connection_id, own_customer = p.own_customer, own_method = p.own_method
      WHERE o.id = m.id;
      UPDATE card_decline d SET fingerprint = versions[1] WHERE d.merchant_id = p.merchant_id AND d.fingerprint = m.fingerprint AND m.fingerprint <> versions[1];
    ELSE
      INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id,
        own_connection_id, own_customer, own_method)
      VALUES (new_method, p.merchant_id, p.customer_ref, its_brand, digits, month, year, versions[1], p.handle_sealed, p.handle_hash, of_session,
        p.own_connection_id, p.own_customer, p.own_method)
      RETURNING * INTO m;
    END IF;
    -- A stop ends when the number is stored again. How long it has to wait, and what counts against it, stay with the number.
    SELECT max(c.not_before) INTO waits_until FROM (
      SELECT s.not_before FROM card_state s WHERE s.merchant_id = p.merchant_id AND s.fingerprint = ANY (versions || m.fingerprint)
      ORDER BY s.fingerprint FOR UPDATE) c;
    UPDATE card_state c SET stopped_at = NULL, stopped_because = NULL, not_before = waits_until
    WHERE c.merchant_id = p.merchant_id AND c.fingerprint = ANY (versions || m.fingerprint);
    IF waits_until IS NOT NULL THEN
      INSERT INTO card_state (merchant_id, fingerprint, not_before) VALUES (p.merchant_id, versions[1], waits_until) ON CONFLICT DO NOTHING; END IF;
  END IF;
  UPDATE payment_method o SET last_used_at = app.clock() WHERE o.id = m.id;
  PERFORM app.make_agreement(p, m.id);
  PERFORM app.renew_agreement(p, m.id);
  RETURN QUERY UPDATE partitions.stored_payment_rest o SET saving = 'KEPT', method_id = m.id, token_sealed = NULL, handle_sealed = NULL, save_due_at = NULL
    WHERE o.session_id = of_session RETURNING o.*;
END $$;

-- Savings of any month that are due, each to one caller for a while.
CREATE FUNCTION app.take_due_savings(at_most int, lease_ms float8) RETURNS SETOF stored_payment
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE stored_payment SET save_due_at = app.clock() + lease_ms * interval '1 ms'
  WHERE session_id IN (
    SELECT session_id FROM stored_payment WHERE saving = 'REQUESTED' AND save_due_at <= (SELECT app.clock())
    ORDER BY save_due_at LIMIT at_most FOR UPDATE SKIP LOCKED)
  RETURNING * $$;

-- S6: counts a try of a stored card that was declined or not answered, once.
CREATE FUNCTION app.count_card_decline(of_session uuid, of_attempt uuid) RETURNS void LANGUAGE sql AS $$
  INSERT INTO card_decline (merchant_id, fingerprint, attempt_id, declined_at, by_customer)
  SELECT p.merchant_id, m.fingerprint, of_attempt, app.clock(), p.role <> 'RENEWAL'
  FROM stored_payment p JOIN payment_method m ON m.id = p.method_id
  WHERE p.session_id = of_session AND (p.role = 'RENEWAL' OR p.opened_token_hash IS NOT NULL)
  ON CONFLICT DO NOTHING $$;

-- What a merchant changes about its cards, it changes in the cell of its new sessions: this waits for a move that is under way.
CREATE FUNCTION app.require_home(of_merchant uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE next_cell smallint;
BEGIN
  SELECT moved_to INTO next_cell FROM merchant_settings WHERE merchant_id = of_merchant FOR SHARE;
  IF next_cell IS NOT NULL THEN RAISE EXCEPTION 'the merchant has moved to another cell' USING ERRCODE = 'LL002'; END IF;
END $$;

-- S10: deletes a card in one transaction, and for ever. Returns the agreements that need another card now, or one row without an agreement;
-- no row where the merchant has no such card, and has deleted none such.
CREATE FUNCTION app.delete_method(of_merchant uuid, method uuid) RETURNS TABLE (agreement_id uuid, session_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE m record;
BEGIN
  PERFORM app.require_home(of_merchant);
  SELECT * INTO m FROM payment_method WHERE id = method AND merchant_id = of_merchant FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF m.status = 'DELETED' THEN
    RETURN QUERY SELECT NULL::uuid, NULL::uuid;
    RETURN;
  END IF;
  -- Later: a renewal that is under way ends as it began.
  PERFORM app.erase_at_gateway(of_merchant, own_connection_id, own_customer, own_method, begun, app.clock() + interval '15 minutes') FROM (
    SELECT m.own_connection_id, m.own_customer, m.own_method, m.stored_at AS begun
    UNION ALL SELECT own_connection_id, own_customer, own_method, consented_at FROM agreement WHERE method_id = method) kept;
  RETURN QUERY UPDATE agreement SET method_id = NULL, status = 'NEEDS_CARD', status_because = 'card_deleted'
    WHERE method_id = method AND status NOT IN ('CANCELLED','ENDED') RETURNING id, agreement.session_id;
  IF NOT FOUND THEN
    RETURN QUERY SELECT NULL::uuid, NULL::uuid; END IF;
  INSERT INTO card_erasure (handle_hash, merchant_id, erase_due_at) VALUES (m.handle_hash, of_merchant, app.clock())
  ON CONFLICT (handle_hash) DO UPDATE SET erase_due_at = EXCLUDED.erase_due_at;
  UPDATE payment_method SET status = 'DELETED', handle_sealed = NULL, deleted_at = app.clock() WHERE id = method;
END $$;

-- Ends agreements whose last day is over, and those whose instalments are all paid: so many of each.
CREATE FUNCTION app.end_agreements(at_most int) RETURNS SETOF agreement
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE agreement SET status = 'ENDED', ended_at = app.clock(),
    status_because = CASE WHEN ends_on < (app.clock() AT TIME ZONE 'UTC')::date THEN 'last_day' ELSE 'instalments_paid' END
  WHERE id = ANY (ARRAY(
    SELECT a.id FROM agreement a
    WHERE a.status IN ('ACTIVE','NEEDS_CARD') AND a.ends_on < (SELECT (app.clock() AT TIME ZONE 'UTC')::date)
    LIMIT at_most FOR NO KEY UPDATE SKIP LOCKED) || ARRAY(
    SELECT a.id FROM agreement a
    WHERE a.status IN ('ACTIVE','NEEDS_CARD') AND a.instalments IS NOT NULL
      AND a.instalments <= a.began_paid::int + (SELECT count(*) FROM renewal r WHERE r.agreement_id = a.id AND r.paid_session_id IS NOT NULL)
    LIMIT at_most FOR NO KEY UPDATE SKIP LOCKED))
  RETURNING * $$;

-- Cancels an agreement for ever. Returns no row where it has ended before, or the merchant has none such.
CREATE FUNCTION app.cancel_agreement(of_merchant uuid, of_agreement uuid, reason text) RETURNS SETOF agreement
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT app.require_home(of_merchant);
  UPDATE agreement SET status = 'CANCELLED', status_because = reason, ended_at = app.clock()
  WHERE id = of_agreement AND merchant_id = of_merchant AND status IN ('ACTIVE','NEEDS_CARD') RETURNING * $$;

-- Cards to erase, each to one caller for a while.
CREATE FUNCTION app.take_due_erasures(at_most int, lease_ms float8, gateway_lease_ms float8) RETURNS SETOF card_erasure
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE card_erasure SET erase_due_at = app.clock() + CASE WHEN own_method IS NULL THEN lease_ms ELSE gateway_lease_ms END * interval '1 ms'
  WHERE handle_hash IN (
    SELECT handle_hash FROM card_erasure WHERE erase_due_at <= (SELECT app.clock()) ORDER BY erase_due_at LIMIT at_most FOR UPDATE SKIP LOCKED)
  RETURNING * $$;

-- Until then a gateway may give its customer to another payment (customerOf in src/gateways/stripe/stored-cards.ts), so that the customer stays.
CREATE FUNCTION app.customer_settled_at(e card_erasure) RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT e.begun_at + interval '2 days' $$;

-- Whether a gateway's customer has no other card there that is in use, and gets none.
CREATE FUNCTION app.is_last_at_gateway(e card_erasure) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT app.customer_settled_at(e) <= app.clock()
    AND NOT EXISTS (SELECT FROM payment_method m WHERE m.own_connection_id = e.own_connection_id AND m.own_customer = e.own_customer
      AND m.own_method <> e.own_method AND m.status = 'ACTIVE')
    AND NOT EXISTS (SELECT FROM agreement a WHERE a.own_connection_id = e.own_connection_id AND a.own_customer = e.own_customer
      AND a.own_method <> e.own_method AND a.method_id IS NOT NULL) $$;

-- A card is erased. One at a gateway is taken up once more when its customer may be erased with it.
CREATE FUNCTION app.end_erasure(of_handle bytea) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DELETE FROM card_erasure e WHERE e.handle_hash = of_handle AND (e.own_method IS NULL OR app.customer_settled_at(e) <= app.clock());
  UPDATE card_erasure e SET wanted_at = app.customer_settled_at(e), erase_due_at = app.customer_settled_at(e) WHERE e.handle_hash = of_handle $$;

-- Younger ones are never removed: the networks' limits count them for 35 days.
CREATE FUNCTION app.remove_old_card_declines(kept_ms float8, at_most int) RETURNS SETOF uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DELETE FROM card_decline WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM card_decline WHERE declined_at < (SELECT app.clock()) - greatest(kept_ms, 40 * 86400000.0) * interval '1 ms'
    LIMIT at_most FOR UPDATE SKIP LOCKED)) RETURNING attempt_id $$;

-- Forgets a customer of a merchant: agreements are cancelled, cards deleted, and the references, the origins of consents and what the
-- sessions have of the customer removed. Returns the sessions.
CREATE FUNCTION app.erase_stored_customer(of_merchant uuid, customer text) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE agreement SET status = 'CANCELLED', status_because = 'customer_erased', ended_at = app.clock()
  WHERE merchant_id = of_merchant AND customer_ref = customer AND status IN ('ACTIVE','NEEDS_CARD');
  PERFORM app.delete_method(of_merchant, m.id) FROM payment_method m
  WHERE m.merchant_id = of_merchant AND m.customer_ref = customer AND m.status = 'ACTIVE';
  UPDATE stored_payment SET customer_ref = NULL, consent_address = NULL, consent_user_agent = NULL
  WHERE session_id IN (SELECT id FROM payment_session WHERE merchant_id = of_merchant AND customer_ref = customer);
  UPDATE agreement SET customer_ref = NULL WHERE merchant_id = of_merchant AND customer_ref = customer;
  UPDATE payment_method SET customer_ref = NULL WHERE merchant_id = of_merchant AND customer_ref = customer;
  RETURN QUERY UPDATE payment_session
    SET customer_email = NULL, details = nullif(details - '{customerName,billingAddress}'::text[], '{}'), card_fingerprint = NULL, customer_network = NULL, customer_ref = NULL
    WHERE merchant_id = of_merchant AND customer_ref = customer
    RETURNING id;
END $$;

-- The vault has a card no longer: the core was restored behind it, or it has lost its cards. Its agreements need another one.
CREATE FUNCTION app.lose_card(method uuid, hash bytea) RETURNS TABLE (agreement_id uuid, session_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
  UPDATE payment_method SET stopped_because = 'card_lost' WHERE id = method AND handle_hash = hash AND status = 'ACTIVE';
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY UPDATE agreement SET method_id = NULL, status = 'NEEDS_CARD', status_because = 'card_lost'
    WHERE method_id = method AND status NOT IN ('CANCELLED','ENDED') RETURNING id, agreement.session_id;
END $$;

-- The tables of a merchant's cards, those first on which others depend.
CREATE FUNCTION app.card_tables() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['payment_method','card_erasure','agreement','renewal','renewal_try','recovery_link','card_state','card_decline'] $$;

-- The rows of a merchant's cards, for the cell that it moves to.
CREATE FUNCTION app.read_stored_cards(of_merchant uuid) RETURNS jsonb LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  one   text;
  found jsonb;
  cards jsonb := '{}';
BEGIN
  -- S4: the other cell knows of no restore, and would ask no gateway about a renewal that this one has lost.
  IF EXISTS (SELECT FROM agreement a WHERE a.merchant_id = of_merchant AND app.may_have_lost_renewals(a.created_at)) THEN
    PERFORM app.refuse('a merchant with agreements moves 45 days after a restore at the earliest'); END IF;
  FOREACH one IN ARRAY app.card_tables() LOOP
    EXECUTE format('SELECT coalesce(jsonb_agg(to_jsonb(t)), ''[]'') FROM %I t WHERE %s', one, app.of_merchant(one)) INTO found USING of_merchant;
    cards := cards || jsonb_build_object(one, found);
  END LOOP;
  RETURN cards;
END $$;

CREATE FUNCTION app.of_merchant(card_table text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE card_table WHEN 'renewal_try' THEN 'agreement_id IN (SELECT id FROM agreement WHERE merchant_id = $1)' ELSE 'merchant_id = $1' END $$;

-- Removes the cards of a merchant that has moved to another cell.
CREATE FUNCTION app.remove_stored_cards(of_merchant uuid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE one text;
BEGIN
  IF NOT EXISTS (SELECT FROM merchant_settings WHERE merchant_id = of_merchant AND moved_to IS NOT NULL) THEN
    PERFORM app.refuse('only the cards of a merchant that has moved are removed'); END IF;
  FOREACH one IN ARRAY ARRAY['card_decline','card_state','recovery_link','renewal_try','renewal','agreement','card_erasure','payment_method'] LOOP
    EXECUTE format('DELETE FROM %I WHERE %s', one, app.of_merchant(one)) USING of_merchant;
  END LOOP;
END $$;

-- Writes a merchant's cards into the cell that it moves to. What an interrupted move has left there is replaced. The payments that began
-- them are in the other cell, whose guards have seen them.
CREATE FUNCTION app.write_stored_cards(of_merchant uuid, cards jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, partitions, pg_temp AS $$
DECLARE one text;
BEGIN
  IF EXISTS (SELECT FROM jsonb_each(cards) t, jsonb_array_elements(t.value) r WHERE t.key <> 'renewal_try' AND (r ->> 'merchant_id')::uuid IS DISTINCT FROM of_merchant)
     OR EXISTS (SELECT FROM jsonb_array_elements(cards -> 'renewal_try') r
                WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(cards -> 'agreement') a WHERE a ->> 'id' = r ->> 'agreement_id')) THEN
    PERFORM app.refuse('a merchant''s cards move with their merchant alone'); END IF;
  FOREACH one IN ARRAY ARRAY['card_decline','card_state','recovery_link','renewal_try','renewal','agreement','card_erasure','payment_method'] LOOP
    EXECUTE format('DELETE FROM %I WHERE %s', one, app.of_merchant(one)) USING of_merchant;
  END LOOP;
  FOREACH one IN ARRAY app.card_tables() LOOP
    EXECUTE format('INSERT INTO %1$I SELECT * FROM jsonb_populate_recordset(NULL::%1$I, $1)', one) USING cards -> one;
  END LOOP;
END $$;
