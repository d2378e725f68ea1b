-- The changes of authentications, each by a function, with what their sessions count and how long they wait. The guards check what they
-- change (authentication-guards.sql). The session is locked.

-- Records that a gateway needs the customer, for as long as is left of the customer's time.
CREATE FUNCTION partitions.insert_authentication_rest(
  of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, only_when_asked boolean, life_ms int, action text, kept text,
  time_ms float8, browser text)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO partitions.authentication_rest (session_id, id, sequence, attempt_id, connection_id, because, holds_only_when_asked,
    action_life_ms, action_sealed, keep_sealed, deadline_at)
  SELECT of_session, of_authentication, count(*) + 1, of_attempt, connection, why, only_when_asked, life_ms, action, kept,
    app.clock() + time_ms * interval '1 ms' - coalesce(sum(coalesce(answered_at, completed_at) - started_at), interval '0')
  FROM partitions.authentication_rest WHERE session_id = of_session;
  UPDATE partitions.payment_session_rest
  SET awaiting_since = app.clock(), authentications = authentications + 1, browser_sealed = coalesce(browser_sealed, browser)
  WHERE id = of_session RETURNING * $$;

-- Records an authentication that a gateway ran without the customer.
CREATE FUNCTION partitions.insert_frictionless_rest(
  of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, end_status text,
  of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO partitions.authentication_rest (session_id, id, sequence, attempt_id, connection_id, because, flow, status,
    version, trans_status, eci, ds_transaction_id, liability, holds_only_when_asked, action_life_ms, started_at, deadline_at, completed_at)
  SELECT of_session, of_authentication, (SELECT count(*) + 1 FROM partitions.authentication_rest WHERE session_id = of_session), of_attempt, connection, why,
    'FRICTIONLESS', end_status, of_version, transaction_status, by_eci, ds_transaction, liable, true, 0, now, now, now
  FROM app.clock() AS now;
  UPDATE partitions.payment_session_rest SET authentications = authentications + 1 WHERE id = of_session RETURNING * $$;

-- Records that a provider is about to authenticate the customer, for as long as is left of the customer's time.
CREATE FUNCTION partitions.insert_provided_rest(
  of_session uuid, of_authentication uuid, connection uuid, why text, by_provider text, credential int, time_ms float8, browser text)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO partitions.authentication_rest (session_id, id, sequence, connection_id, because, flow, status, provider,
    credential_version, holds_only_when_asked, action_life_ms, deadline_at)
  SELECT of_session, of_authentication, count(*) + 1, connection, why, 'FRICTIONLESS', 'PREPARING', by_provider, credential, true, 0,
    app.clock() + time_ms * interval '1 ms' - coalesce(sum(coalesce(answered_at, completed_at) - started_at), interval '0')
  FROM partitions.authentication_rest WHERE session_id = of_session;
  UPDATE partitions.payment_session_rest SET authentications = authentications + 1, browser_sealed = coalesce(browser_sealed, browser)
  WHERE id = of_session RETURNING * $$;

CREATE FUNCTION partitions.begin_wait_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest SET awaiting_since = app.clock() WHERE id = of_session RETURNING * $$;

-- The budget, which stood still, goes on. After a restore the deadline stays where its declaration has set it.
CREATE FUNCTION partitions.end_wait_rest(of_session uuid) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.payment_session_rest
  SET awaiting_since = NULL,
      submit_deadline = CASE WHEN unrecorded_check_at IS NULL
        THEN greatest(submit_deadline + (app.clock() - awaiting_since), app.clock() + interval '20 s') ELSE submit_deadline END
  WHERE id = of_session AND awaiting_since IS NOT NULL RETURNING * $$;

CREATE FUNCTION partitions.begin_completion_rest(of_session uuid, of_authentication uuid) RETURNS SETOF authentication
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest
  SET status = 'CONFIRMING', completions_sent = completions_sent + 1, answered_at = app.clock(), ticket_hash = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' AND cancel_asked_at IS NULL RETURNING * $$;

CREATE FUNCTION partitions.count_completion_rest(of_session uuid, of_authentication uuid, sent int) RETURNS SETOF authentication
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET completions_sent = completions_sent + 1
  WHERE session_id = of_session AND id = of_authentication AND status = 'CONFIRMING' AND completions_sent = sent RETURNING * $$;

CREATE FUNCTION partitions.resume_action_rest(of_session uuid, of_authentication uuid) RETURNS SETOF authentication
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET status = 'AWAITING_CUSTOMER', answered_at = NULL, returned_sealed = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = 'CONFIRMING' RETURNING * $$;

-- Ends a gateway's authentication in the state in which it was read.
CREATE FUNCTION partitions.end_authentication_rest(
  of_session uuid, of_authentication uuid, from_status text, end_status text,
  of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
RETURNS SETOF authentication LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest
  SET status = end_status, completed_at = app.clock(), action_sealed = NULL, keep_sealed = NULL, returned_sealed = NULL, ticket_hash = NULL,
      answered_at = CASE WHEN end_status IN ('CANCELLED','ABANDONED') THEN answered_at ELSE coalesce(answered_at, app.clock()) END,
      version = of_version, trans_status = transaction_status, eci = by_eci, ds_transaction_id = ds_transaction, liability = liable
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $$;

CREATE FUNCTION partitions.begin_device_check_rest(of_session uuid, of_authentication uuid, action text, kept text, wait_ms float8)
RETURNS SETOF authentication LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest
  SET status = 'METHOD', action_sealed = action, keep_sealed = kept, next_look_at = least(deadline_at, app.clock() + wait_ms * interval '1 ms')
  WHERE session_id = of_session AND id = of_authentication AND status = 'PREPARING' RETURNING * $$;

CREATE FUNCTION partitions.begin_provider_request_rest(of_session uuid, of_authentication uuid, from_status text, kept text)
RETURNS SETOF authentication LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest
  SET status = 'REQUESTING', keep_sealed = kept, action_sealed = NULL, ticket_hash = NULL, shown_at = NULL, shown_count = 0, answered_at = NULL, next_look_at = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $$;

CREATE FUNCTION partitions.begin_challenge_rest(of_session uuid, of_authentication uuid, action text, kept text, look_ms float8, message text)
RETURNS SETOF authentication LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest
  SET status = 'AWAITING_CUSTOMER', flow = 'CHALLENGE', action_sealed = action, keep_sealed = kept, next_look_at = app.clock() + look_ms * interval '1 ms',
      message_sealed = message
  WHERE session_id = of_session AND id = of_authentication AND status = 'REQUESTING' RETURNING * $$;

-- Ends a provider's authentication in the state in which it was read. After the customer gave up, nothing the bank has said counts.
CREATE FUNCTION partitions.end_provided_rest(
  of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, reason text, by_eci text,
  ds_transaction text, liable text, proof text, message text)
RETURNS SETOF authentication LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest
  SET status = end_status, completed_at = app.clock(), action_sealed = NULL, keep_sealed = NULL, returned_sealed = NULL, ticket_hash = NULL, next_look_at = NULL,
      answered_at = CASE WHEN status = 'AWAITING_CUSTOMER' AND end_status NOT IN ('CANCELLED','ABANDONED') THEN app.clock() END,
      version = of_version, trans_status = transaction_status, trans_status_reason = reason, eci = by_eci, ds_transaction_id = ds_transaction, liability = liable,
      proof_sealed = proof,
      message_sealed = CASE WHEN end_status NOT IN ('CANCELLED','ABANDONED') THEN coalesce(message, message_sealed) END
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $$;

CREATE FUNCTION partitions.clear_proofs_rest(of_session uuid) RETURNS SETOF authentication
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET proof_sealed = NULL WHERE session_id = of_session AND proof_sealed IS NOT NULL RETURNING * $$;

-- A wake since the reading is kept: it reports something that the provider was not asked about yet.
CREATE FUNCTION partitions.postpone_provider_look_rest(of_session uuid, of_authentication uuid, read_at timestamptz, again_ms float8, look_ms float8)
RETURNS SETOF authentication LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET next_look_at = CASE
    WHEN next_look_at > read_at THEN greatest(next_look_at, app.clock() + again_ms * interval '1 ms')
    WHEN deadline_at > app.clock() THEN least(app.clock() + look_ms * interval '1 ms', deadline_at)
    ELSE app.clock() + look_ms * interval '1 ms' END
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' RETURNING * $$;

-- Sets the next look at a provider, and wakes the session for it unless a process looks at this moment.
CREATE FUNCTION partitions.look_at_provider_rest(of_session uuid, of_authentication uuid, look_at timestamptz, checked_at timestamptz, wakes boolean)
RETURNS SETOF payment_session LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET next_look_at = look_at, answered_at = coalesce(checked_at, answered_at)
  WHERE session_id = of_session AND id = of_authentication;
  UPDATE partitions.payment_session_rest SET lease_until = least(lease_until, look_at)
  WHERE id = of_session AND wakes AND phase = 'PROCESSING' AND awaiting_since IS NOT NULL RETURNING * $$;

-- Starts the clock of a bank's device check, because a page is there.
CREATE FUNCTION partitions.start_device_check_rest(of_session uuid, of_authentication uuid, check_ms float8) RETURNS SETOF payment_session
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET next_look_at = least(next_look_at, app.clock() + check_ms * interval '1 ms')
  WHERE session_id = of_session AND id = of_authentication AND status = 'METHOD';
  UPDATE partitions.payment_session_rest SET lease_until = least(lease_until, app.clock() + check_ms * interval '1 ms')
  WHERE id = of_session AND phase = 'PROCESSING' AND awaiting_since IS NOT NULL RETURNING * $$;

CREATE FUNCTION partitions.set_action_ticket_rest(of_session uuid, of_authentication uuid, hash bytea) RETURNS SETOF authentication
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET ticket_hash = hash
  WHERE session_id = of_session AND id = of_authentication AND status IN ('METHOD','AWAITING_CUSTOMER') AND cancel_asked_at IS NULL AND deadline_at > app.clock()
  RETURNING * $$;

CREATE FUNCTION partitions.use_action_ticket_rest(of_session uuid, of_authentication uuid, hash bytea, shown_max int) RETURNS SETOF authentication
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET ticket_hash = NULL, shown_count = shown_count + 1, shown_at = coalesce(shown_at, app.clock())
  WHERE session_id = of_session AND id = of_authentication AND ticket_hash = hash AND status IN ('METHOD','AWAITING_CUSTOMER')
    AND shown_count < CASE WHEN flow = 'CHALLENGE' THEN 1 ELSE shown_max END
  RETURNING * $$;

CREATE FUNCTION partitions.cancel_action_rest(of_session uuid, of_authentication uuid) RETURNS SETOF authentication
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET cancel_asked_at = app.clock()
  WHERE session_id = of_session AND id = of_authentication AND cancel_asked_at IS NULL
    AND (status = 'AWAITING_CUSTOMER' OR provider IS NOT NULL AND status IN ('METHOD','REQUESTING')) RETURNING * $$;

-- What a return brings. The last one before the completing request counts.
CREATE FUNCTION partitions.set_returned_rest(of_session uuid, of_authentication uuid, returned text) RETURNS SETOF authentication
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE partitions.authentication_rest SET returned_sealed = returned
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' AND cancel_asked_at IS NULL RETURNING * $$;

-- Deletes banks' messages of any month, by their keys, because the table has partitions. Returns a row for each.
CREATE FUNCTION app.remove_bank_messages(kept_ms float8, at_most int) RETURNS SETOF uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE authentication SET message_sealed = NULL WHERE (session_id, id) IN (
    SELECT session_id, id FROM authentication
    WHERE message_sealed IS NOT NULL AND completed_at < (SELECT app.clock()) - kept_ms * interval '1 ms'
    LIMIT at_most FOR UPDATE SKIP LOCKED)
  RETURNING id $$;
