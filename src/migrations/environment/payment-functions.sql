-- The commits of a payment, one function for each: the session, its claim, the hold with the order of its capture, and the capture with
-- the session's end and its event; and after a failure the next attempt. Each but the first locks the session by its lease, decides on
-- rows that it has locked, and refuses with the reasons of payment-guards.sql. The guards bind every other change; within these functions
-- they do not fire (partitions.sql). LL001: the rows have changed since the caller read them.
--
-- Times but the session's first are whole milliseconds, so that the caller knows the rows without reading them.

CREATE FUNCTION app.lost(reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'LL001';
END $$;

-- LL003: a brake against card testing, which the message names (src/core/card-testing/card-counts.ts).
CREATE FUNCTION app.brake(reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'LL003';
END $$;

-- The public form of a time (protobuf JSON): no fraction, or three digits.
CREATE FUNCTION app.public_time(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || CASE WHEN date_trunc('second', at) = at THEN '' ELSE to_char(at AT TIME ZONE 'UTC', '.MS') END || 'Z' $$;

-- Creates a session. Returns no row where the merchant has used the key within its time, or has moved to another cell.
CREATE FUNCTION partitions.create_session_rest(
  new_session uuid, merchant uuid, amount bigint, in_currency text, reference text, email text, secret int, life_ms bigint, request uuid,
  described jsonb, later boolean, later_by timestamptz, repeated boolean, customer text, storing jsonb, own_key text, hash bytea, answer text, key_life_ms bigint)
RETURNS SETOF payment_session LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, partitions, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  at timestamptz := app.clock();
BEGIN
  -- A set-up is of 0; its row of stored_payment holds it to that (S12).
  IF amount NOT BETWEEN (storing ->> 'role' IS DISTINCT FROM 'SETUP')::int AND 999999999999 THEN PERFORM app.refuse('an amount is between 1 and 999999999999 minor units'); END IF;
  IF in_currency !~ '^[A-Z]{3}$' THEN PERFORM app.refuse('a currency is three capital letters'); END IF;
  IF char_length(reference) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('an order reference has 1 to 255 characters'); END IF;
  IF char_length(email) NOT BETWEEN 3 AND 254 THEN PERFORM app.refuse('an email address has 3 to 254 characters'); END IF;
  IF life_ms <= 0 THEN PERFORM app.refuse('a session expires after it was created'); END IF;
  IF NOT later AND later_by IS NOT NULL THEN PERFORM app.refuse('only a payment that is captured later is held'); END IF;
  IF later_by <= at + life_ms * interval '1 ms' THEN PERFORM app.refuse('a capture comes after the submission'); END IF;
  IF char_length(customer) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('a customer reference has 1 to 255 characters'); END IF;
  IF own_key IS NOT NULL THEN
    -- The row of an expired key is overwritten, and its session stays as it is. A cell that the merchant has left creates nothing, and
    -- the other one answers keys of this one by reading them.
    INSERT INTO idempotency AS i (merchant_id, key, request_hash, session_id, answer_sealed, expires_at)
    SELECT merchant, own_key, hash, new_session, answer, at + key_life_ms * interval '1 ms'
    WHERE NOT EXISTS (SELECT FROM merchant_settings m WHERE m.merchant_id = merchant AND m.moved_to IS NOT NULL)
    ON CONFLICT (merchant_id, key) DO UPDATE
      SET request_hash = EXCLUDED.request_hash, session_id = EXCLUDED.session_id, answer_sealed = EXCLUDED.answer_sealed, expires_at = EXCLUDED.expires_at
      WHERE i.expires_at <= at;
    IF NOT FOUND THEN RETURN; END IF;
  END IF;
  RETURN QUERY
    INSERT INTO partitions.payment_session_rest AS s (id, merchant_id, amount_minor, currency, order_ref, customer_email, secret_version, created_at,
      expires_at, create_request_id, details, manual_capture, capture_by, allow_repeated_order, customer_ref, stored)
    VALUES (new_session, merchant, amount, in_currency, reference, email, secret, at, at + life_ms * interval '1 ms', request, described, later, later_by, repeated,
      customer, customer IS NOT NULL)
    RETURNING s.*;
  IF customer IS NOT NULL THEN
    INSERT INTO partitions.stored_payment_rest (session_id, merchant_id, amount_minor, currency, customer_ref, role, security_code, terms, agreement_id)
    VALUES (new_session, merchant, amount, in_currency, customer, storing ->> 'role', storing ->> 'securityCode', storing -> 'terms', (storing ->> 'agreementId')::uuid);
  END IF;
END $$;

-- Claims a session for its one submission, and opens its first attempt if one is named. `card` has the versions of the card's fingerprint,
-- the current one first and with spaces between them. A claim that is guarded is refused, and nothing is claimed: LL003 where the card has
-- been tried too often, or its network was declined too often, LL004 where the merchant's block list has the customer (blocklist.sql).
-- `by_wallet` has the credential of a wallet, the rule for its second use, and the wallet if it is known. Without network_max the network is recorded and not refused. `settings` are the publishable key and the origins, with spaces between
-- them, that allowed the customer's page, if the caller has read them before: where they have changed, or another session has the order
-- and the merchant refuses repeated ones, it has to read the session. A refused claim undoes none of those that share its statement: it returns a row without an id, whose decline_code has the reason and
-- whose skipped has the entry of the block list.
CREATE FUNCTION partitions.claim_rest(
  of_session uuid, lease_ms int, budget_ms int, token text, hash bytea, rule int, planned jsonb, skips jsonb, request uuid, routed jsonb,
  browser text, attempt uuid, at_gateway text, connection uuid, credential int, place int, why text, execution_ms int,
  card text, address inet, is_guarded boolean, is_counted boolean, submissions_max int, declines_max int,
  network cidr, network_max int, braked text, settings text DEFAULT NULL, by_wallet text DEFAULT NULL)
RETURNS SETOF payment_session LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, partitions, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  s  payment_session;
  c  record;
  at timestamptz := date_trunc('milliseconds', app.clock());
  versions uuid[] := string_to_array(card, ' ');
  added    int;
  entry    text;
  -- The credential, the rule for its second use, and the wallet if it is known.
  paid_by  text[] := string_to_array(by_wallet, ' ');
BEGIN
  PERFORM app.refuse_other_timeline();
  UPDATE partitions.payment_session_rest
  SET phase = 'PROCESSING', lease_epoch = lease_epoch + 1, lease_until = at + lease_ms * interval '1 ms', submit_deadline = at + budget_ms * interval '1 ms',
      submitted_at = at, vault_token = token, token_hash = hash, rule_version = rule, plan = planned, skipped = skips, submit_request_id = request,
      routed_by = routed, browser_sealed = browser, brakes = string_to_array(braked, ' '), card_fingerprint = versions[1],
      customer_network = network(set_masklen(address, CASE family(address) WHEN 6 THEN 48 ELSE 24 END)),
      wallet_credential = paid_by[1], cryptogram_resend = paid_by[2], wallet = paid_by[3]
  WHERE id = of_session AND phase = 'IDLE' AND expires_at > at
  RETURNING * INTO s;
  IF NOT FOUND THEN PERFORM app.lost('the session cannot be claimed'); END IF;
  IF (CASE left(token, 4) WHEN 'wnt_' THEN 'NETWORK_TOKEN' WHEN 'wpn_' THEN 'PAN' END) IS DISTINCT FROM paid_by[1] THEN
    PERFORM app.refuse('a wallet''s token is claimed as what it is'); END IF;
  IF by_wallet IS NOT NULL THEN PERFORM app.require_wallet(s); END IF;
  IF settings IS NOT NULL AND NOT EXISTS (
       SELECT FROM merchant_settings m WHERE m.merchant_id = s.merchant_id AND array_to_string(m.publishable_key || m.checkout_origins, ' ') = settings
         AND (s.allow_repeated_order OR m.repeated_orders <> 'REFUSE'
           OR NOT EXISTS (SELECT FROM app.order_winner w WHERE w.merchant_id = s.merchant_id AND w.order_ref = s.order_ref))) THEN
    PERFORM app.lost('the settings have changed'); END IF;
  IF is_guarded AND EXISTS (SELECT FROM blocklist_entry b WHERE b.merchant_id = s.merchant_id) THEN
    PERFORM app.refuse_blocked(s.merchant_id, versions, s.customer_email, address, at); END IF;
  IF is_guarded AND is_counted THEN
    -- The first submission of a card is one row. Another one at the same moment waits for it here.
    INSERT INTO card_submission (fingerprint, nth, session_id, submitted_at, merchant_id, network)
    SELECT one, 1, of_session, at, s.merchant_id, CASE WHEN one = versions[1] THEN network END FROM unnest(versions) one ORDER BY one ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
  END IF;
  IF added < cardinality(versions) THEN
    PERFORM FROM card_submission WHERE fingerprint = ANY (versions) AND nth = 1 ORDER BY fingerprint FOR UPDATE;
    SELECT coalesce(max(hour), 0) AS submissions, coalesce(max(declined + undecided), 0) AS tries INTO c FROM (
      SELECT count(*) FILTER (WHERE submitted_at > at - interval '1 hour') AS hour, coalesce(sum(declines), 0) AS declined,
        count(*) FILTER (WHERE declines IS NULL AND submitted_at > at - interval '1 hour') AS undecided
      FROM card_submission WHERE fingerprint = ANY (versions) AND submitted_at > at - interval '1 day' AND session_id <> of_session
      GROUP BY fingerprint) by_version;
    IF c.submissions >= submissions_max THEN PERFORM app.brake('submissions'); END IF;
    -- Only now it matters which of them may still be declined.
    IF c.tries >= declines_max THEN
      SELECT max(tries) AS tries INTO c FROM (
        SELECT sum(coalesce(p.declines, CASE WHEN p.submitted_at > at - interval '1 hour'
            AND (x.id IS NULL OR x.status = 'CREATED' AND x.winner_attempt_id IS NULL AND x.held_at IS NULL) THEN 1 ELSE 0 END)) AS tries
        FROM card_submission p LEFT JOIN partitions.payment_session_rest x ON x.id = p.session_id
        WHERE p.fingerprint = ANY (versions) AND p.submitted_at > at - interval '1 day' AND p.session_id <> of_session
        GROUP BY p.fingerprint) by_version;
      IF c.tries >= declines_max THEN PERFORM app.brake('declines'); END IF;
    END IF;
    INSERT INTO card_submission (fingerprint, nth, session_id, submitted_at, merchant_id, network)
    SELECT fingerprint, max(nth) + 1, of_session, at, s.merchant_id, CASE WHEN fingerprint = versions[1] THEN network END
    FROM card_submission WHERE fingerprint = ANY (versions)
    GROUP BY fingerprint HAVING bool_and(session_id <> of_session);
  END IF;
  -- Few networks have so many declined cards that their other cards are counted too.
  IF is_guarded AND is_counted AND network IS NOT NULL AND network_max IS NOT NULL THEN
    IF (SELECT count(*) >= network_max FROM (
          SELECT DISTINCT p.fingerprint FROM card_submission p WHERE p.merchant_id = s.merchant_id AND p.network = network AND p.declines IS NOT NULL
            AND p.submitted_at > at - interval '1 hour' LIMIT network_max) declined)
       AND (SELECT 2 * count(DISTINCT p.fingerprint) FILTER (WHERE p.declines IS NOT NULL) >= count(DISTINCT p.fingerprint) FROM card_submission p
            WHERE p.merchant_id = s.merchant_id AND p.network = network AND p.submitted_at > at - interval '1 hour' AND p.session_id <> of_session) THEN
      PERFORM app.brake('network'); END IF;
  END IF;
  IF attempt IS NOT NULL THEN
    INSERT INTO partitions.attempt_rest (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
      started_at, changed_at, latest_execution_at)
    VALUES (s.id, attempt, 1, at_gateway, connection, credential, place, why, s.amount_minor, s.currency, at, at, at + execution_ms * interval '1 ms');
    IF s.stored THEN PERFORM app.guard_stored_attempt(s.id, attempt, connection, 0); END IF;
  END IF;
  RETURN NEXT s;
EXCEPTION WHEN SQLSTATE 'LL001' OR SQLSTATE 'LL003' OR SQLSTATE 'LL004' THEN
  GET STACKED DIAGNOSTICS entry = PG_EXCEPTION_DETAIL;
  s := NULL;
  s.decline_code := SQLERRM;
  s.skipped := nullif(entry, '')::jsonb;
  RETURN NEXT s;
END $$;

-- Records the hold that an authorization has answered with, makes its attempt the winner, voids every unknown attempt and orders
-- the capture. Returns the time, and whether another attempt has changed since the caller read it.
CREATE FUNCTION partitions.held_rest(
  of_session uuid, epoch int, attempt uuid, read_at timestamptz, reference text, network text, lease_ms int, unused_ms int, brand text, last4 text)
RETURNS TABLE (recorded_at timestamptz, is_news boolean) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, partitions, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  s  record;
  a  record;
  at timestamptz := date_trunc('milliseconds', app.clock());
BEGIN
  UPDATE partitions.payment_session_rest AS o
  SET winner_attempt_id = attempt, card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4),
      lease_until = CASE WHEN lease_until > at + unused_ms * interval '1 ms' THEN lease_until ELSE at + lease_ms * interval '1 ms' END
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' AND winner_attempt_id IS NULL
  RETURNING status, manual_capture, held_at, unrecorded_check_at, authentications, stored, merchant_id, order_ref, NOT allow_repeated_order
    AND (SELECT m.repeated_orders = 'REFUSE' FROM merchant_settings m WHERE m.merchant_id = o.merchant_id) AS refuses_repeats INTO s;
  IF NOT FOUND THEN
    PERFORM app.lost(CASE WHEN lease_epoch = epoch AND phase = 'PROCESSING' THEN 'the session has a winner' ELSE 'the lease was taken over' END)
    FROM partitions.payment_session_rest WHERE id = of_session; END IF;
  IF s.status <> 'CREATED' THEN PERFORM app.refuse('a hold is adopted only while CREATED and without a winner'); END IF;
  IF s.manual_capture THEN PERFORM app.refuse('a payment that is captured later is captured only on an order'); END IF;
  IF last4 !~ '^[0-9]{4}$' THEN PERFORM app.refuse('the end of a card number is four digits'); END IF;
  IF reference IS NULL THEN PERFORM app.refuse('a hold has the gateway''s reference'); END IF;
  SELECT bool_or(failure_kind = 'FRAUD' OR stop = 'fraud') AS after_fraud, bool_or(stop = 'authentication_failed') AS after_refusal,
    bool_or(status IN ('AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED','CAPTURED')) AS beside_open, bool_or(status = 'UNKNOWN') AS has_unknown,
    coalesce(bool_or(changed_at > read_at), false) AS news INTO a
  FROM partitions.attempt_rest WHERE session_id = of_session AND id <> attempt;
  IF a.after_fraud THEN PERFORM app.refuse('no hold is adopted after a fraud decline'); END IF;
  IF a.after_refusal AND s.unrecorded_check_at IS NULL THEN PERFORM app.refuse('no hold is adopted after a failed authentication'); END IF;
  IF a.beside_open THEN PERFORM app.refuse('an authorized attempt is the winner'); END IF;
  IF s.authentications > 0 AND s.unrecorded_check_at IS NULL AND EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = of_session AND provider IS NOT NULL AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED')) THEN
    PERFORM app.refuse('no hold is adopted after a refusal by the provider'); END IF;
  is_news := a.news;
  IF a.has_unknown THEN
    UPDATE partitions.attempt_rest SET status = 'VOIDING', retries = 0, next_retry_at = NULL, voiding_at = at, changed_at = at
    WHERE session_id = of_session AND status = 'UNKNOWN'; END IF;
  UPDATE partitions.attempt_rest
  SET status = 'AUTHORIZED', gateway_reference = reference, network_transaction_id = coalesce(network, network_transaction_id),
      answered_at = coalesce(answered_at, at), capture_ordered_at = at, captured_amount_minor = amount_minor, changed_at = at
  WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZING'
  RETURNING connection_id INTO a;
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  PERFORM app.check_reference(of_session, attempt, a.connection_id, reference);
  IF s.stored THEN PERFORM app.uncount_try(of_session, attempt); END IF;
  IF s.refuses_repeats THEN PERFORM app.require_order(of_session, s.merchant_id, s.order_ref); END IF;
  recorded_at := at;
  RETURN NEXT;
END $$;

-- Records the failure of an attempt, and opens the next one of the plan. Returns the time. Returns null, and changes nothing, where more
-- than the plan decides what follows, the time is over, or another attempt has changed since the caller read it.
CREATE FUNCTION partitions.failed_rest(
  of_session uuid, epoch int, attempt uuid, read_at timestamptz, as_status text, kind text, declined_as text, own_code text, refused_as text, therefore text,
  brand text, last4 text, lease_ms int, unused_ms int, margin_ms int,
  next_attempt uuid, at_gateway text, connection uuid, credential int, place int, why text, execution_ms int)
RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, partitions, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  s  record;
  a  record;
  at timestamptz;
BEGIN
  SELECT status, winner_attempt_id, authentications, unrecorded_check_at, held_at, submit_deadline, amount_minor, currency, plan, stored, wallet_credential INTO s
  FROM partitions.payment_session_rest WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN PERFORM app.lost('the lease was taken over'); END IF;
  at := date_trunc('milliseconds', app.clock());
  SELECT count(*) AS made, count(*) FILTER (WHERE round = 0) AS of_plan, count(DISTINCT round) FILTER (WHERE round <> 0) AS repeats,
    bool_or(failure_kind = 'FRAUD' OR stop IS NOT NULL) AS after_stop,
    bool_or(id <> attempt AND (status IN ('AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED','CAPTURED') OR status = 'VOIDING' AND capture_ordered_at IS NOT NULL)) AS beside_open,
    bool_or(id <> attempt AND changed_at > read_at) AS is_news INTO a
  FROM partitions.attempt_rest WHERE session_id = of_session;
  IF s.status <> 'CREATED' OR s.winner_attempt_id IS NOT NULL OR s.held_at IS NOT NULL OR s.authentications > 0 OR s.unrecorded_check_at IS NOT NULL OR s.stored OR s.wallet_credential = 'NETWORK_TOKEN'
     OR at + margin_ms * interval '1 ms' >= s.submit_deadline OR a.after_stop OR a.beside_open OR a.is_news THEN
    RETURN NULL; END IF;
  IF as_status IS NULL OR kind IS NULL OR as_status NOT IN ('DECLINED','FAILED','UNKNOWN')
     OR kind NOT IN ('HARD_DECLINE','SOFT_DECLINE','TIMEOUT','GATEWAY_ERROR') OR (as_status = 'DECLINED') <> (kind IN ('HARD_DECLINE','SOFT_DECLINE')) THEN
    PERFORM app.refuse('what ends an attempt without a stop is a decline, an error or silence'); END IF;
  IF refused_as NOT IN ('REQUEST','CREDENTIALS','NO_ANSWER') THEN PERFORM app.refuse('no gateway refuses in such a way'); END IF;
  IF therefore IS NULL THEN PERFORM app.refuse('what follows an attempt has its reason'); END IF;
  IF last4 !~ '^[0-9]{4}$' THEN PERFORM app.refuse('the end of a card number is four digits'); END IF;
  IF a.made >= 5 + a.repeats THEN PERFORM app.refuse('a session has at most five attempts, one repeat and one retry'); END IF;
  IF s.plan -> a.of_plan::int ->> 'connectionId' IS DISTINCT FROM connection::text THEN PERFORM app.refuse('the next attempt is the plan''s next'); END IF;
  UPDATE partitions.payment_session_rest
  SET card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4),
      lease_until = CASE WHEN lease_until > at + unused_ms * interval '1 ms' THEN lease_until ELSE at + lease_ms * interval '1 ms' END
  WHERE id = of_session;
  UPDATE partitions.attempt_rest
  SET status = as_status, failure_kind = kind, decline_code = declined_as, gateway_code = own_code, refusal = refused_as, next_action = 'failover',
      next_because = therefore, answered_at = coalesce(answered_at, at), completed_at = CASE WHEN as_status = 'UNKNOWN' THEN NULL ELSE at END, changed_at = at
  WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZING';
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  INSERT INTO partitions.attempt_rest (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
    started_at, changed_at, latest_execution_at)
  VALUES (of_session, next_attempt, a.made + 1, at_gateway, connection, credential, place, why, s.amount_minor, s.currency, at, at, at + execution_ms * interval '1 ms');
  RETURN at;
END $$;

-- Records the capture of the winner and ends the session with its event, whose body has the event's id with ":time", ":settled" and
-- ":sequence" in place of what only this commit knows. Returns the time, and the event as it is stored. Returns no row, and changes
-- nothing, where the gateway has already reported on the capture, or another attempt has changed since the caller read it: then more
-- is to be recorded than this.
CREATE FUNCTION partitions.captured_rest(
  of_session uuid, epoch int, attempt uuid, read_at timestamptz, public_attempt text, via text, confirmed boolean, failed_over boolean, reference text, network text,
  lease_ms int, unused_ms int, event uuid, public_event text, event_body text, overdue_ms int)
RETURNS TABLE (ended_at timestamptz, event_sequence int, event_bytes bytea) LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, partitions, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  s    record;
  a    record;
  last xid8;
  at   timestamptz;
BEGIN
  SELECT id, merchant_id, amount_minor, status, winner_attempt_id, manual_capture, capture_asked_at, authentications, lease_until INTO s
  FROM partitions.payment_session_rest WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN PERFORM app.lost('the lease was taken over'); END IF;
  at := date_trunc('milliseconds', app.clock());
  SELECT connection_id, gateway, capture_ordered_at, captured_amount_minor, decision_amount_minor, decision_confirmed_at INTO a
  FROM partitions.attempt_rest WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZED';
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  IF EXISTS (SELECT FROM gateway_notification WHERE connection_id = a.connection_id AND attempt_reference = public_attempt
             AND kind IN ('captured','already_captured','capture_failed','voided'))
     OR EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = of_session AND id <> attempt AND changed_at > read_at) THEN
    RETURN; END IF;
  IF s.status <> 'CREATED' THEN PERFORM app.refuse('a final status never changes'); END IF;
  IF s.winner_attempt_id IS DISTINCT FROM attempt THEN PERFORM app.refuse('only the authorized winner is captured'); END IF;
  IF a.capture_ordered_at IS NULL OR s.manual_capture AND s.capture_asked_at IS NULL THEN PERFORM app.refuse('only an ordered capture is CAPTURED'); END IF;
  IF a.decision_confirmed_at IS NOT NULL AND a.decision_amount_minor <> a.captured_amount_minor THEN
    PERFORM app.refuse('the amount that a person has seen captured is the one that is recorded'); END IF;
  IF a.gateway <> via THEN PERFORM app.refuse('the money was captured at the winner''s gateway'); END IF;
  UPDATE partitions.attempt_rest
  SET status = 'CAPTURED', capture_reference = coalesce(capture_reference, reference), network_transaction_id = coalesce(network, network_transaction_id),
      completed_at = at, changed_at = at
  WHERE session_id = of_session AND id = attempt;
  SELECT bool_or(status IN ('UNKNOWN','AUTHORIZING','AWAITING_CUSTOMER')) AS has_undecided, bool_or(completed_at IS NULL) AS has_open INTO a
  FROM partitions.attempt_rest WHERE session_id = of_session AND id <> attempt;
  IF a.has_undecided THEN PERFORM app.refuse('unknown attempts go to VOIDING with the winner or the end'); END IF;
  IF s.authentications > 0 THEN
    IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = of_session AND completed_at IS NULL) THEN
      PERFORM app.refuse('no end while an authentication is open'); END IF;
    UPDATE partitions.authentication_rest SET proof_sealed = NULL WHERE session_id = of_session AND proof_sealed IS NOT NULL;
  END IF;
  UPDATE partitions.payment_session_rest
  SET status = 'SUCCEEDED', captured_via = via, capture_confirmed = confirmed, failover = failed_over, vault_token = NULL, browser_sealed = NULL,
      settled_at = at, phase = CASE WHEN a.has_open THEN 'PROCESSING' ELSE 'DONE' END,
      lease_until = CASE WHEN a.has_open AND lease_until <= at + unused_ms * interval '1 ms' THEN at + lease_ms * interval '1 ms' ELSE lease_until END
  WHERE id = of_session;
  ended_at := at;
  SELECT coalesce(max(sequence), 0) + 1, max(feed_position) INTO event_sequence, last FROM partitions.outbox_event_rest WHERE session_id = of_session;
  event_bytes := convert_to(replace(replace(replace(event_body,
    format('"%s:time"', public_event), to_json(to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text),
    format('"%s:settled"', public_event), to_json(app.public_time(at))::text), format('"%s:sequence"', public_event), event_sequence::text), 'UTF8');
  INSERT INTO partitions.outbox_event_rest (session_id, id, sequence, type, merchant_id, body, created_at, feed_position)
  VALUES (of_session, event, event_sequence, CASE s.amount_minor WHEN 0 THEN 'setup_session.succeeded' ELSE 'payment_session.succeeded' END, s.merchant_id, event_bytes, at, greatest(pg_current_xact_id(), last));
  INSERT INTO event_todo (session_id, sequence, created_at, due_at) VALUES (of_session, event_sequence, at, at + overdue_ms * interval '1 ms');
  RETURN NEXT;
END $$;
