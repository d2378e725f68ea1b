-- The changes of a session that are rarer than those of payment-functions.sql, each by a function: the service's role may not write the
-- tables. The guards check what they change. A function returns the row as it has changed it, and none where its condition did not hold.

CREATE FUNCTION partitions.lock_session_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT * FROM partitions.payment_session_rest WHERE id = of_session FOR UPDATE $$;

-- The same for a merchant's request: no session of another merchant, and none where the merchant is null.
CREATE FUNCTION partitions.lock_session_of_rest(of_session uuid, of_merchant uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT * FROM partitions.payment_session_rest WHERE id = of_session AND merchant_id = of_merchant FOR UPDATE $$;

CREATE FUNCTION partitions.lock_leased_rest(of_session uuid, epoch int) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT * FROM partitions.payment_session_rest WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE $$;

-- A lease with most of its time left is not changed: an update that changes no indexed column writes no index (HOT).
CREATE FUNCTION partitions.renew_lease_rest(of_session uuid, epoch int, lease_ms float8, unused_ms float8, brand text, last4 text)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest
  SET lease_until = CASE WHEN lease_until > app.clock() + unused_ms * interval '1 ms' THEN lease_until ELSE app.clock() + lease_ms * interval '1 ms' END,
      card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4)
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $$;

-- Lets a lease lapse at a time, or as soon as an attempt but these is due.
CREATE FUNCTION partitions.park_session_rest(of_session uuid, epoch int, until timestamptz, but uuid[]) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest
  SET lease_until = least(until, (
    SELECT min(next_retry_at) FROM partitions.attempt_rest WHERE session_id = of_session AND completed_at IS NULL AND id <> ALL (but)))
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $$;

-- The same, or as soon as a customer of a provider has returned or cancelled since the session was read.
CREATE FUNCTION partitions.park_session_at_provider_rest(of_session uuid, epoch int, until timestamptz, read_at timestamptz)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest
  SET lease_until = least(until, (
    SELECT CASE WHEN cancel_asked_at IS NOT NULL THEN app.clock() WHEN next_look_at > read_at THEN next_look_at END
    FROM partitions.authentication_rest WHERE session_id = of_session AND completed_at IS NULL))
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $$;

-- Of any month. A subselect bounds the index; with the volatile function itself, every session in processing would be read.
CREATE FUNCTION app.take_over_next(lease_ms float8) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE payment_session SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = (
    SELECT id FROM payment_session WHERE phase = 'PROCESSING' AND lease_until < (SELECT app.clock())
    ORDER BY lease_until LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING * $$;

CREATE FUNCTION partitions.take_over_rest(of_session uuid, lease_ms float8) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND phase = 'PROCESSING' AND lease_until <= app.clock()
  RETURNING * $$;

CREATE FUNCTION partitions.name_winner_rest(of_session uuid, of_attempt uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET winner_attempt_id = of_attempt WHERE id = of_session AND winner_attempt_id IS NULL RETURNING * $$;

CREATE FUNCTION partitions.clear_winner_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET winner_attempt_id = NULL WHERE id = of_session RETURNING * $$;

-- Makes a session that waits for a gateway due at once, unless a process is in the middle of an authorization.
CREATE FUNCTION partitions.wake_session_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  RETURN QUERY UPDATE partitions.payment_session_rest SET lease_until = app.clock()
    WHERE id = of_session AND phase = 'PROCESSING' AND lease_until > app.clock()
      AND EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = of_session AND next_retry_at > app.clock())
      AND NOT EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = of_session AND status = 'AUTHORIZING')
    RETURNING *;
  IF FOUND THEN
    UPDATE partitions.attempt_rest SET next_retry_at = app.clock() WHERE session_id = of_session AND next_retry_at > app.clock(); END IF;
END $$;

CREATE FUNCTION partitions.settle_session_rest(of_session uuid, end_status text, via text, confirmed boolean, failed_over boolean, declined_as text)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest
  SET status = end_status, captured_via = via, capture_confirmed = confirmed, failover = failed_over, decline_code = declined_as, vault_token = NULL,
      browser_sealed = NULL, settled_at = app.clock(),
      phase = CASE WHEN EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = of_session AND completed_at IS NULL) THEN 'PROCESSING' ELSE 'DONE' END
  WHERE id = of_session AND status = 'CREATED'
  RETURNING * $$;

CREATE FUNCTION partitions.close_session_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET phase = 'DONE' WHERE id = of_session AND phase = 'PROCESSING' AND status <> 'CREATED' RETURNING * $$;

CREATE FUNCTION partitions.record_pending_event_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET pending_event_at = app.clock() WHERE id = of_session AND pending_event_at IS NULL RETURNING * $$;

CREATE FUNCTION partitions.expire_session_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET status = 'EXPIRED', phase = 'DONE', settled_at = app.clock()
  WHERE id = of_session AND phase = 'IDLE' AND expires_at <= app.clock()
  RETURNING * $$;

CREATE FUNCTION partitions.end_unsubmitted_rest(of_session uuid, of_merchant uuid, reason text, successor uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET status = 'EXPIRED', phase = 'DONE', settled_at = app.clock(), expired_because = reason, replaced_by = successor
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'IDLE'
  RETURNING * $$;

-- Of any month: a merchant who moves to another cell leaves none open.
CREATE FUNCTION app.expire_unsubmitted_of(of_merchant uuid) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE payment_session SET expires_at = app.clock() WHERE merchant_id = of_merchant AND phase = 'IDLE' AND expires_at > app.clock() $$;

CREATE FUNCTION partitions.name_successor_rest(of_session uuid, successor uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET replaced_by = successor WHERE id = of_session RETURNING * $$;

CREATE FUNCTION partitions.set_paying_session_rest(of_session uuid, payer uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET paying_session_id = payer WHERE id = of_session RETURNING * $$;

CREATE FUNCTION partitions.confirm_capture_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET capture_confirmed = true WHERE id = of_session RETURNING * $$;

-- Sets when the gateways are asked next what a restore has lost, and the voids that were sent meanwhile; null ends the doubt. Only the
-- owner of the database begins one (restore-guards.sql).
CREATE FUNCTION partitions.set_unrecorded_check_rest(of_session uuid, check_at timestamptz, voids jsonb) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET unrecorded_check_at = check_at, unrecorded_voids = voids
  WHERE id = of_session RETURNING * $$;

-- A merchant's order about a hold takes the lease, so that a process which was looking at the hold gets no row any more.
CREATE FUNCTION partitions.take_hold_to_capture_rest(of_session uuid, of_merchant uuid, lease_ms float8, capture_minor bigint)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest
  SET capture_asked_at = app.clock(), capture_due_at = NULL, lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'PROCESSING' AND status = 'CREATED' AND held_at IS NOT NULL AND unrecorded_check_at IS NULL
    AND capture_asked_at IS NULL AND held_until > app.clock() AND amount_minor >= coalesce(capture_minor, amount_minor)
  RETURNING * $$;

CREATE FUNCTION partitions.take_hold_to_cancel_rest(of_session uuid, of_merchant uuid, lease_ms float8) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'PROCESSING' AND status = 'CREATED' AND held_at IS NOT NULL AND unrecorded_check_at IS NULL
    AND capture_asked_at IS NULL
  RETURNING * $$;

-- A hold ends at the merchant's time, or with a margin before the gateway's; half of what is left of a short one.
CREATE FUNCTION partitions.begin_hold_rest(of_session uuid, gone_at timestamptz, margin_ms float8, due_ms float8) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest s
  SET held_at = h.now, held_until = h.until, vault_token = NULL, browser_sealed = NULL,
      capture_due_at = CASE WHEN h.until > h.now + due_ms * interval '1 ms' THEN h.until - due_ms * interval '1 ms' END
  FROM (
    SELECT o.id, n.now, greatest(n.now, least(o.capture_by, gone_at - least(margin_ms * interval '1 ms', (gone_at - n.now) / 2))) AS until
    FROM partitions.payment_session_rest o, LATERAL (SELECT app.clock() AS now) n WHERE o.id = of_session) h
  WHERE s.id = of_session AND h.id = s.id AND s.held_at IS NULL
  RETURNING s.* $$;

CREATE FUNCTION partitions.ask_for_capture_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET capture_asked_at = app.clock(), capture_due_at = NULL
  WHERE id = of_session AND capture_asked_at IS NULL RETURNING * $$;

CREATE FUNCTION partitions.record_capture_due_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET capture_due_at = NULL WHERE id = of_session AND capture_due_at IS NOT NULL RETURNING * $$;

-- Forgets the customer of a session: address, name, reference, network, the card's fingerprint, and where a consent came from.
CREATE FUNCTION partitions.erase_customer_rest(of_merchant uuid, of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.stored_payment_rest SET customer_ref = NULL, consent_address = NULL, consent_user_agent = NULL
  WHERE merchant_id = of_merchant AND session_id = of_session;
  UPDATE partitions.payment_session_rest
  SET customer_email = NULL, details = nullif(details - '{customerName,billingAddress}'::text[], '{}'), card_fingerprint = NULL, customer_network = NULL, customer_ref = NULL
  WHERE merchant_id = of_merchant AND id = of_session
  RETURNING * $$;

-- The same for the sessions of a merchant that have this address, of any month.
CREATE FUNCTION app.erase_customers(of_merchant uuid, those uuid[], email text) RETURNS SETOF uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE stored_payment SET customer_ref = NULL, consent_address = NULL, consent_user_agent = NULL
  WHERE session_id IN (
    SELECT id FROM payment_session WHERE merchant_id = of_merchant AND id = ANY (those) AND lower(customer_email) = lower(email) AND stored);
  UPDATE payment_session
  SET customer_email = NULL, details = nullif(details - '{customerName,billingAddress}'::text[], '{}'), card_fingerprint = NULL, customer_network = NULL, customer_ref = NULL
  WHERE merchant_id = of_merchant AND id = ANY (those) AND lower(customer_email) = lower(email)
  RETURNING id $$;
