-- Every money rule of sessions and attempts that no index and no foreign key holds: the values of a row, legal transitions, values
-- that never change again, and values that change together. docs/safety.md has the rules and a diagram of the legal transitions.
-- A comparison with null is neither true nor false, and IF takes it as false.

CREATE FUNCTION partitions.guard_session_rest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.lease_epoch < OLD.lease_epoch THEN PERFORM app.refuse('the lease epoch never goes back'); END IF;
    IF (OLD.id, OLD.merchant_id, OLD.amount_minor, OLD.currency, OLD.order_ref, OLD.created_at, OLD.named_by)
       IS DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.amount_minor, NEW.currency, NEW.order_ref, NEW.created_at, NEW.named_by) THEN
      PERFORM app.refuse('what was ordered never changes'); END IF;
    IF NEW.customer_email IS NOT NULL AND NEW.customer_email IS DISTINCT FROM OLD.customer_email THEN
      PERFORM app.refuse('a customer''s address is erased, never changed'); END IF;
    IF NEW.customer_ref IS NOT NULL AND NEW.customer_ref IS DISTINCT FROM OLD.customer_ref OR NEW.stored <> OLD.stored THEN
      PERFORM app.refuse('a customer''s reference is erased, never changed'); END IF;
    IF NEW.card_fingerprint IS NOT NULL AND NEW.card_fingerprint IS DISTINCT FROM OLD.card_fingerprint
       OR NEW.customer_network IS NOT NULL AND NEW.customer_network IS DISTINCT FROM OLD.customer_network THEN
      PERFORM app.refuse('where a submission came from is erased, never changed'); END IF;
    IF NEW.details IS DISTINCT FROM OLD.details AND NEW.details IS DISTINCT FROM nullif(OLD.details - '{customerName,billingAddress}'::text[], '{}') THEN
      PERFORM app.refuse('what describes an order never changes; a customer''s name and address are erased together'); END IF;
    IF OLD.status <> 'CREATED' AND (NEW.status <> OLD.status OR NEW.winner_attempt_id IS DISTINCT FROM OLD.winner_attempt_id) THEN
      PERFORM app.refuse('a final status never changes'); END IF;
    IF OLD.status <> 'CREATED' AND NEW.expired_because IS DISTINCT FROM OLD.expired_because THEN
      PERFORM app.refuse('the reason of an end never changes'); END IF;
    IF OLD.replaced_by IS NOT NULL AND NEW.replaced_by IS DISTINCT FROM OLD.replaced_by THEN
      PERFORM app.refuse('a session has one successor'); END IF;
    IF OLD.phase = 'DONE' AND NEW.phase <> 'DONE' OR OLD.phase = 'PROCESSING' AND NEW.phase = 'IDLE' THEN
      PERFORM app.refuse('the phase only moves forward'); END IF;
    IF OLD.winner_attempt_id IS NOT NULL AND NEW.winner_attempt_id IS NOT NULL AND NEW.winner_attempt_id <> OLD.winner_attempt_id THEN
      PERFORM app.refuse('a winner is named from null only'); END IF;
    IF OLD.submitted_at IS NOT NULL AND (NEW.rule_version, NEW.token_hash) IS DISTINCT FROM (OLD.rule_version, OLD.token_hash) THEN
      PERFORM app.refuse('what was submitted never changes'); END IF;
    IF NEW.authentications > 0 OR OLD.authentications > 0 OR NEW.awaiting_since IS NOT NULL OR NEW.browser_sealed IS NOT NULL THEN
      PERFORM partitions.guard_authenticated_session_rest(OLD, NEW); END IF;
    IF NEW.manual_capture IS DISTINCT FROM OLD.manual_capture OR NEW.capture_by IS DISTINCT FROM OLD.capture_by THEN
      PERFORM app.refuse('what was ordered never changes'); END IF;
    IF NEW.manual_capture THEN PERFORM partitions.guard_manual_session_rest(OLD, NEW); END IF;
    IF NEW.allow_repeated_order <> OLD.allow_repeated_order OR OLD.paying_session_id <> NEW.paying_session_id THEN
      PERFORM app.refuse('what was ordered, and who pays it, never changes'); END IF;
    IF OLD.winner_attempt_id IS NULL AND NEW.winner_attempt_id IS NOT NULL AND NOT NEW.allow_repeated_order THEN
      PERFORM app.require_order(NEW.id, NEW.merchant_id, NEW.order_ref); END IF;
    IF NEW.submit_deadline > OLD.submit_deadline AND OLD.awaiting_since IS NULL THEN PERFORM app.refuse('a deadline never moves away'); END IF;
    IF NEW.status IN ('DECLINED','DEGRADED') AND OLD.status = 'CREATED' AND EXISTS (
         SELECT 1 FROM partitions.attempt_rest WHERE session_id = NEW.id
         AND (status IN ('AUTHORIZED','CAPTURED') OR status = 'VOIDING' AND capture_ordered_at IS NOT NULL)) THEN
      PERFORM app.refuse('no end without a capture while one may still land'); END IF;
    IF NEW.status = 'SUCCEEDED' AND NEW.captured_via IS NOT NULL AND NEW.winner_attempt_id IS NOT NULL
       AND (NEW.captured_via, NEW.winner_attempt_id, OLD.status) IS DISTINCT FROM (OLD.captured_via, OLD.winner_attempt_id, NEW.status)
       AND NOT EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = NEW.id AND id = NEW.winner_attempt_id AND gateway = NEW.captured_via) THEN
      PERFORM app.refuse('the money was captured at the winner''s gateway'); END IF;
  END IF;

  IF num_nonnulls(NEW.wallet_credential, NEW.wallet, NEW.cryptogram_resend, CASE WHEN TG_OP = 'UPDATE' THEN OLD.wallet_credential END) > 0 THEN
    PERFORM app.guard_wallet_session(CASE WHEN TG_OP = 'UPDATE' THEN OLD END, NEW); END IF;
  IF NOT NEW.manual_capture AND num_nonnulls(NEW.capture_by, NEW.held_at, NEW.capture_asked_at) > 0 THEN
    PERFORM app.refuse('only a payment that is captured later is held'); END IF;
  IF (NEW.held_at IS NULL) <> (NEW.held_until IS NULL) OR NEW.held_at IS NULL AND num_nonnulls(NEW.capture_asked_at, NEW.capture_due_at) > 0
     OR NEW.held_until < NEW.held_at OR NEW.capture_due_at > NEW.held_until THEN
    PERFORM app.refuse('a hold has its beginning and its end, and its order between them'); END IF;
  IF NEW.named_by IS NOT NULL AND (NEW.authentications > 0 OR num_nonnulls(NEW.browser_sealed, NEW.awaiting_since) > 0 OR NEW.manual_capture)
     AND NOT EXISTS (SELECT FROM partitions.stored_payment_rest WHERE session_id = NEW.id AND role = 'RECOVERY' AND NOT NEW.manual_capture) THEN
    PERFORM app.refuse('a renewal has no customer to ask, and is captured at once'); END IF;
  IF NEW.capture_by <= NEW.expires_at THEN PERFORM app.refuse('a capture comes after the submission'); END IF;
  IF NEW.held_at IS NOT NULL AND (NEW.vault_token IS NOT NULL OR NEW.browser_sealed IS NOT NULL) THEN
    PERFORM app.refuse('a held payment needs neither card nor browser any more'); END IF;
  IF NEW.decline_code IN ('capture_cancelled','capture_expired') AND (NEW.status <> 'DECLINED' OR NEW.held_at IS NULL OR NEW.capture_asked_at IS NOT NULL) THEN
    PERFORM app.refuse('only a hold without an order is cancelled or lapses'); END IF;
  IF NEW.decline_code IN ('order_being_paid','order_already_paid') AND (NEW.status <> 'DECLINED' OR NEW.paying_session_id IS NULL) THEN
    PERFORM app.refuse('a payment that is declined for its order names the session that pays it'); END IF;
  IF NEW.paying_session_id = NEW.id OR NEW.paying_session_id IS NOT NULL AND NEW.status = 'SUCCEEDED' THEN
    PERFORM app.refuse('an order is paid by another session'); END IF;
  -- S12: 0 for a set-up alone, which has a row in stored_payment.
  IF NEW.amount_minor NOT BETWEEN (NOT NEW.stored)::int AND 999999999999 THEN PERFORM app.refuse('an amount is between 1 and 999999999999 minor units'); END IF;
  IF NEW.currency !~ '^[A-Z]{3}$' THEN PERFORM app.refuse('a currency is three capital letters'); END IF;
  IF char_length(NEW.order_ref) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('an order reference has 1 to 255 characters'); END IF;
  IF char_length(NEW.customer_email) NOT BETWEEN 3 AND 254 THEN PERFORM app.refuse('an email address has 3 to 254 characters'); END IF;
  IF char_length(NEW.customer_ref) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('a customer reference has 1 to 255 characters'); END IF;
  IF NEW.card_last4 !~ '^[0-9]{4}$' THEN PERFORM app.refuse('the end of a card number is four digits'); END IF;
  IF NEW.status NOT IN ('CREATED','SUCCEEDED','DECLINED','DEGRADED','EXPIRED') THEN PERFORM app.refuse('no session has such a status'); END IF;
  IF NEW.phase NOT IN ('IDLE','PROCESSING','DONE') THEN PERFORM app.refuse('no session has such a phase'); END IF;
  IF NOT NEW.pinned THEN PERFORM app.refuse('a session is pinned to its winner'); END IF;
  IF NEW.expires_at <= NEW.created_at THEN PERFORM app.refuse('a session expires after it was created'); END IF;
  IF NEW.status = 'SUCCEEDED' AND NEW.winner_attempt_id IS NULL THEN PERFORM app.refuse('SUCCEEDED needs a winner'); END IF;
  IF NEW.status NOT IN ('CREATED','SUCCEEDED') AND NEW.winner_attempt_id IS NOT NULL THEN
    PERFORM app.refuse('an end without a capture has no winner'); END IF;
  IF NEW.phase = 'DONE' AND NEW.status = 'CREATED' THEN PERFORM app.refuse('DONE needs a final status'); END IF;
  IF NEW.phase = 'IDLE' AND (NEW.status <> 'CREATED' OR NEW.winner_attempt_id IS NOT NULL) THEN
    PERFORM app.refuse('an IDLE session is CREATED, without a winner'); END IF;
  IF NEW.phase = 'PROCESSING' AND (NEW.lease_until IS NULL OR NEW.submit_deadline IS NULL) THEN
    PERFORM app.refuse('PROCESSING needs a lease and a deadline'); END IF;
  IF (NEW.status = 'EXPIRED') <> (NEW.phase = 'DONE' AND NEW.lease_epoch = 0) THEN
    PERFORM app.refuse('EXPIRED means DONE and never submitted'); END IF;
  IF NEW.expired_because IS NOT NULL AND (NEW.status <> 'EXPIRED' OR NEW.expired_because NOT IN ('CANCELLED','REPLACED')) THEN
    PERFORM app.refuse('a merchant cancels or replaces a session that was not submitted'); END IF;
  IF NEW.replaced_by IS NOT NULL AND NEW.status NOT IN ('DECLINED','DEGRADED','EXPIRED')
     OR NEW.replaced_by IS NULL AND NEW.expired_because = 'REPLACED' THEN
    PERFORM app.refuse('only a session that ended without a payment has a successor'); END IF;
  IF (NEW.status = 'CREATED') <> (NEW.settled_at IS NULL) THEN PERFORM app.refuse('a final status has its time'); END IF;
  IF (NEW.phase = 'IDLE' OR NEW.status = 'EXPIRED') <> (NEW.submitted_at IS NULL) THEN PERFORM app.refuse('a submission has its time'); END IF;
  IF NEW.status = 'SUCCEEDED' AND (NEW.captured_via IS NULL OR NEW.capture_confirmed IS NULL) THEN
    PERFORM app.refuse('SUCCEEDED names its gateway'); END IF;
  IF (NEW.status IN ('DECLINED','DEGRADED')) <> (NEW.decline_code IS NOT NULL) THEN
    PERFORM app.refuse('DECLINED and DEGRADED have a decline code'); END IF;
  IF NEW.vault_token IS NOT NULL AND (NEW.phase <> 'PROCESSING' OR NEW.status <> 'CREATED') THEN
    PERFORM app.refuse('the token lives no longer than the payment that may use it'); END IF;
  RETURN NEW;
END $$;

-- An attempt that was made before a restore gets its row back after the deadline, hence `unrecorded_check_at`, and whatever ended the
-- attempts that are known: a later try of the same renewal may hold money. A gateway may name a hold otherwise than the request that
-- made it, hence the way from UNKNOWN to AUTHORIZED: PayPal calls an order by one name and the money that it authorized by another,
-- which only a look-up shows if the answer was lost.
CREATE FUNCTION partitions.guard_attempt_rest() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  session record;
  earlier record;
BEGIN
  SELECT status, phase, winner_attempt_id, submit_deadline, unrecorded_check_at, authentications, paying_session_id, stored,
    wallet_credential, cryptogram_resend, held_at, manual_capture AND capture_asked_at IS NULL AS is_unasked INTO session
  FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
  IF TG_OP = 'INSERT' THEN
    IF session.status IS DISTINCT FROM 'CREATED' OR session.phase <> 'PROCESSING' THEN PERFORM app.refuse('an attempt needs a session in processing'); END IF;
    IF session.winner_attempt_id IS NOT NULL THEN PERFORM app.refuse('no attempt beside a winner'); END IF;
    IF session.paying_session_id IS NOT NULL THEN PERFORM app.refuse('no attempt for an order that another session pays'); END IF;
    IF session.held_at IS NOT NULL THEN PERFORM app.refuse('no attempt follows a hold that is captured later'); END IF;
    IF app.clock() >= session.submit_deadline AND session.unrecorded_check_at IS NULL THEN PERFORM app.refuse('no attempt after the deadline'); END IF;
    IF NEW.status <> 'AUTHORIZING' OR NEW.capture_ordered_at IS NOT NULL OR NEW.ordered_amount_minor IS NOT NULL THEN PERFORM app.refuse('an attempt begins AUTHORIZING'); END IF;
    IF session.wallet_credential = 'NETWORK_TOKEN' AND session.unrecorded_check_at IS NULL THEN
      PERFORM partitions.guard_token_attempt_rest(NEW, session.cryptogram_resend); END IF;
    IF session.authentications > 0 OR NEW.authentication_id IS NOT NULL THEN PERFORM partitions.guard_authenticated_attempt_rest(NEW); END IF;
    IF NEW.round <> 0 THEN PERFORM partitions.guard_repeat_rest(NEW); END IF;
    IF session.stored THEN PERFORM app.guard_stored_attempt(NEW.session_id, NEW.id, NEW.connection_id, NEW.round); END IF;
    SELECT bool_or(failure_kind = 'FRAUD' OR stop = 'fraud') AS had_fraud, bool_or(stop IS NOT NULL) AS had_stop INTO earlier
    FROM partitions.attempt_rest WHERE session_id = NEW.session_id;
    IF earlier.had_fraud THEN PERFORM app.refuse('a fraud-class decline is never retried'); END IF;
    IF earlier.had_stop AND session.unrecorded_check_at IS NULL AND partitions.is_stopped_rest(NEW) THEN PERFORM app.refuse('no attempt follows a stop'); END IF;
    IF num_nonnulls(NEW.decision, NEW.decision_reference, NEW.decision_amount_minor, NEW.decision_reason, NEW.decided_by, NEW.decided_at, NEW.decision_takes_two,
                    NEW.decision_confirmed_by, NEW.decision_confirmed_at) > 0 THEN
      PERFORM app.refuse('nothing is decided of an attempt before it is made'); END IF;
  ELSE
    IF (NEW.authentication_id, NEW.session_id, NEW.id, NEW.sequence, NEW.round, NEW.gateway, NEW.connection_id, NEW.credential_version, NEW.started_at)
       IS DISTINCT FROM (OLD.authentication_id, OLD.session_id, OLD.id, OLD.sequence, OLD.round, OLD.gateway, OLD.connection_id, OLD.credential_version, OLD.started_at) THEN
      PERFORM app.refuse('what an attempt asked for never changes'); END IF;
    IF OLD.status = 'AWAITING_CUSTOMER' OR NEW.latest_execution_at <> OLD.latest_execution_at THEN
      PERFORM partitions.guard_awaiting_attempt_rest(OLD, NEW); END IF;
    IF OLD.gateway_reference IS NOT NULL AND (OLD.status, NEW.status) NOT IN (('UNKNOWN','AUTHORIZED'), ('AUTHORIZING','AUTHORIZED'), ('AWAITING_CUSTOMER','AUTHORIZED')) AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference THEN
      PERFORM app.refuse('a gateway reference never changes'); END IF;
    -- These decide whether another gateway may be called.
    IF OLD.completed_at IS NOT NULL AND (NEW.failure_kind, NEW.stop, NEW.completed_at)
       IS DISTINCT FROM (OLD.failure_kind, OLD.stop, OLD.completed_at) THEN
      PERFORM app.refuse('what ended an attempt never changes'); END IF;
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
         ('AUTHORIZING','AUTHORIZED'), ('AUTHORIZING','DECLINED'), ('AUTHORIZING','FAILED'), ('AUTHORIZING','UNKNOWN'),
         ('AUTHORIZING','AWAITING_CUSTOMER'), ('AWAITING_CUSTOMER','AUTHORIZING'), ('AWAITING_CUSTOMER','AUTHORIZED'),
         ('AWAITING_CUSTOMER','DECLINED'), ('AWAITING_CUSTOMER','UNKNOWN'),
         ('UNKNOWN','AUTHORIZED'), ('UNKNOWN','DECLINED'), ('UNKNOWN','VOIDING'),
         ('AUTHORIZED','CAPTURED'), ('AUTHORIZED','VOIDING'), ('VOIDING','VOIDED'), ('VOIDING','CAPTURED')) THEN
      PERFORM app.refuse('illegal attempt transition ' || OLD.status || ' to ' || NEW.status); END IF;
    IF session.stored AND NEW.status <> OLD.status AND NEW.status IN ('DECLINED','UNKNOWN') THEN
      PERFORM app.count_card_decline(NEW.session_id, NEW.id); END IF;
    IF session.stored AND OLD.status = 'AUTHORIZING' AND NEW.status IN ('AUTHORIZED','FAILED') THEN
      PERFORM app.uncount_try(NEW.session_id, NEW.id); END IF;
    IF NEW.status = 'AUTHORIZED' AND (session.status <> 'CREATED' OR session.winner_attempt_id IS NOT NULL AND session.winner_attempt_id <> NEW.id) THEN
      PERFORM app.refuse('a hold is adopted only while CREATED and without a winner'); END IF;
    IF NEW.status = 'AUTHORIZED' AND OLD.status <> 'AUTHORIZED'
       AND EXISTS (SELECT 1 FROM partitions.attempt_rest WHERE session_id = NEW.session_id AND (failure_kind = 'FRAUD' OR stop IN ('fraud','authentication_failed'))) THEN
      IF EXISTS (SELECT 1 FROM partitions.attempt_rest WHERE session_id = NEW.session_id AND (failure_kind = 'FRAUD' OR stop = 'fraud')) THEN
        PERFORM app.refuse('no hold is adopted after a fraud decline');
      -- After a restore a capture that a gateway has made is adopted all the same: the money is taken.
      ELSIF session.unrecorded_check_at IS NULL THEN PERFORM app.refuse('no hold is adopted after a failed authentication'); END IF;
    END IF;
    IF NEW.status = 'AUTHORIZED' AND OLD.status <> 'AUTHORIZED' AND session.authentications > 0 AND session.unrecorded_check_at IS NULL
       AND partitions.is_refused_by_provider_rest(NEW.session_id) THEN
      PERFORM app.refuse('no hold is adopted after a refusal by the provider'); END IF;
    IF OLD.capture_ordered_at IS NOT NULL AND NEW.capture_ordered_at IS DISTINCT FROM OLD.capture_ordered_at THEN
      PERFORM app.refuse('an ordered capture stays ordered'); END IF;
    -- A person may have captured another amount at the gateway. Only the end of the attempt says so, with the ordered amount and a reason.
    IF (OLD.capture_ordered_at IS NOT NULL AND NEW.captured_amount_minor IS DISTINCT FROM OLD.captured_amount_minor
          OR NEW.ordered_amount_minor IS DISTINCT FROM OLD.ordered_amount_minor)
       AND (OLD.status = 'CAPTURED' OR NEW.status <> 'CAPTURED' OR NEW.next_because IS NULL
          OR NEW.ordered_amount_minor IS DISTINCT FROM OLD.captured_amount_minor) THEN
      PERFORM app.refuse('the amount of an ordered capture never changes'); END IF;
    IF NEW.decision_amount_minor <> coalesce(NEW.captured_amount_minor, NEW.amount_minor)
       AND (OLD.capture_ordered_at IS NULL AND NEW.capture_ordered_at IS NOT NULL
          OR OLD.status <> 'CAPTURED' AND NEW.status = 'CAPTURED' AND NEW.decision_confirmed_at IS NOT NULL) THEN
      PERFORM app.refuse('the amount that a person has seen captured is the one that is recorded'); END IF;
    IF OLD.capture_reference IS NOT NULL AND NEW.capture_reference IS DISTINCT FROM OLD.capture_reference THEN
      PERFORM app.refuse('a capture''s reference never changes'); END IF;
    IF OLD.capture_ordered_at IS NULL AND NEW.capture_ordered_at IS NOT NULL
       AND NOT (NEW.status = 'AUTHORIZED' AND session.winner_attempt_id IS NOT DISTINCT FROM NEW.id AND session.status = 'CREATED') THEN
      PERFORM app.refuse('only the authorized winner is captured'); END IF;
    IF OLD.capture_ordered_at IS NULL AND NEW.capture_ordered_at IS NOT NULL AND session.is_unasked THEN
      PERFORM app.refuse('a payment that is captured later is captured only on an order'); END IF;
    IF NEW.capture_ordered_at IS NOT NULL AND NEW.captured_amount_minor < NEW.amount_minor AND OLD.capture_ordered_at IS NULL
       AND NOT EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = NEW.session_id AND manual_capture) THEN
      PERFORM app.refuse('only a payment that is captured later is captured in part'); END IF;
    IF NEW.status = 'CAPTURED' AND OLD.status <> 'CAPTURED' AND session.status <> 'CREATED' THEN
      PERFORM app.refuse('no capture is kept once the session has ended'); END IF;
    IF OLD.status = 'AUTHORIZED' AND NEW.status = 'VOIDING' AND OLD.capture_ordered_at IS NOT NULL AND NEW.capture_refusal_code IS NULL
       AND (NEW.decision IS DISTINCT FROM 'GIVEN_UP' OR NEW.decision_confirmed_at IS NULL) THEN
      PERFORM app.refuse('an unanswered capture is never given up'); END IF;
    IF OLD.status = 'VOIDING' AND NEW.status = 'CAPTURED' AND OLD.capture_ordered_at IS NULL THEN
      PERFORM app.refuse('no capture was ever ordered'); END IF;
  END IF;

  IF NEW.sequence NOT BETWEEN 1 AND 5 THEN
    IF NEW.sequence < 1 OR NEW.sequence > 5 + (SELECT count(DISTINCT r.round) FROM (
         SELECT round FROM partitions.attempt_rest WHERE session_id = NEW.session_id UNION ALL SELECT NEW.round) r WHERE r.round <> 0) THEN
      PERFORM app.refuse('a session has at most five attempts, one repeat and one retry'); END IF;
  END IF;
  IF NEW.status NOT IN ('AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED','CAPTURED','DECLINED','FAILED','UNKNOWN','VOIDING','VOIDED') THEN
    PERFORM app.refuse('no attempt has such a status'); END IF;
  IF NEW.failure_kind NOT IN ('HARD_DECLINE','SOFT_DECLINE','FRAUD','TIMEOUT','GATEWAY_ERROR') THEN
    PERFORM app.refuse('no attempt fails in such a way'); END IF;
  IF NEW.stop NOT IN ('fraud','scheme_rule','same_card_fails','authentication_required','authentication_failed','unclassified','order_being_paid') THEN
    PERFORM app.refuse('no attempt stops a payment in such a way'); END IF;
  IF NEW.refusal NOT IN ('REQUEST','CREDENTIALS','NO_ANSWER') THEN PERFORM app.refuse('no gateway refuses in such a way'); END IF;
  IF NEW.next_action NOT IN ('failover','authenticate','retry','stop') THEN PERFORM app.refuse('an attempt is followed by failover, authentication, a retry or a stop'); END IF;
  IF NEW.void_kind NOT IN ('VOIDED','NEVER_EXISTED','GIVEN_UP') THEN PERFORM app.refuse('no void ends in such a way'); END IF;
  IF (NEW.status = 'DECLINED') <> (NEW.failure_kind IS NOT NULL AND NEW.failure_kind IN ('HARD_DECLINE','SOFT_DECLINE','FRAUD')) THEN
    PERFORM app.refuse('DECLINED means declined by the gateway'); END IF;
  IF NEW.failure_kind = 'FRAUD' AND NEW.stop IS NULL THEN PERFORM app.refuse('a fraud-class decline is a stop'); END IF;
  IF NEW.status IN ('AUTHORIZED','CAPTURED') AND NEW.gateway_reference IS NULL THEN
    PERFORM app.refuse('a hold has the gateway''s reference'); END IF;
  IF NEW.status = 'CAPTURED' AND NEW.capture_ordered_at IS NULL THEN PERFORM app.refuse('only an ordered capture is CAPTURED'); END IF;
  IF NEW.capture_ordered_at IS NOT NULL AND NEW.status NOT IN ('AUTHORIZED','CAPTURED','VOIDING','VOIDED') THEN
    PERFORM app.refuse('only a hold has its capture ordered'); END IF;
  IF NEW.capture_ordered_at IS NOT NULL AND NEW.captured_amount_minor IS NULL THEN NEW.captured_amount_minor := NEW.amount_minor; END IF;
  IF (NEW.captured_amount_minor IS NULL) <> (NEW.capture_ordered_at IS NULL) OR NEW.captured_amount_minor NOT BETWEEN least(NEW.amount_minor, 1) AND NEW.amount_minor THEN
    PERFORM app.refuse('an ordered capture has an amount, at most the held one'); END IF;
  IF NEW.capture_failed_at IS NOT NULL AND NEW.status <> 'CAPTURED' THEN PERFORM app.refuse('only a recorded capture fails afterwards'); END IF;
  IF (NEW.capture_failed_before_at IS NULL) <> (NEW.capture_stands_at IS NULL) OR NEW.capture_failed_before_at >= NEW.capture_stands_at THEN
    PERFORM app.refuse('a capture stands again after its failure'); END IF;
  -- The ledger of a past day never changes.
  IF TG_OP = 'UPDATE' AND OLD.capture_failed_at IS DISTINCT FROM NEW.capture_failed_at
     AND OLD.capture_failed_at < date_trunc('day', app.clock(), 'UTC') AND NEW.capture_failed_before_at IS DISTINCT FROM OLD.capture_failed_at THEN
    PERFORM app.refuse('the failure of a capture on a past day never changes'); END IF;
  IF TG_OP = 'UPDATE' AND OLD.capture_stands_at IS NOT NULL
     AND (OLD.capture_failed_before_at, OLD.capture_stands_at) IS DISTINCT FROM (NEW.capture_failed_before_at, NEW.capture_stands_at) THEN
    PERFORM app.refuse('a capture that stands again keeps its times'); END IF;
  IF NEW.capture_reference IS NOT NULL AND NEW.capture_ordered_at IS NULL THEN PERFORM app.refuse('only an ordered capture has a reference'); END IF;
  IF (NEW.status = 'VOIDED') <> (NEW.void_kind IS NOT NULL) THEN PERFORM app.refuse('VOIDED says how'); END IF;
  IF (NEW.status IN ('CAPTURED','DECLINED','FAILED','VOIDED')) <> (NEW.completed_at IS NOT NULL) THEN
    PERFORM app.refuse('a final attempt has its time'); END IF;
  IF (NEW.next_action IS NULL) <> (NEW.next_because IS NULL) THEN PERFORM app.refuse('what follows an attempt has its reason'); END IF;
  IF NEW.void_kind = 'NEVER_EXISTED' THEN
    -- A capture that the gateway permanently refused takes no money, so its report that there never was a hold is believed.
    IF NEW.capture_ordered_at IS NOT NULL AND NEW.capture_refusal_code IS NULL THEN
      PERFORM app.refuse('a hold whose capture may land did exist'); END IF;
    IF NEW.void_asked_at IS NULL OR NEW.void_asked_at < NEW.latest_execution_at THEN
      PERFORM app.refuse('a hold never existed only if none can follow'); END IF;
  END IF;
  IF NEW.void_kind = 'GIVEN_UP' AND (NEW.decision IS DISTINCT FROM 'GIVEN_UP' OR NEW.decision_confirmed_at IS NULL) THEN
    PERFORM app.refuse('only a confirmed decision gives a void up'); END IF;
  IF NEW.gateway_reference IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference) THEN
    PERFORM app.check_reference(NEW.session_id, NEW.id, NEW.connection_id, NEW.gateway_reference); END IF;
  NEW.changed_at := app.clock();
  IF TG_OP = 'UPDATE' AND NEW.status = 'VOIDING' AND OLD.status <> 'VOIDING' THEN NEW.voiding_at := NEW.changed_at; END IF;
  RETURN NEW;
END $$;

-- Values that must change together are checked when the transaction commits.
CREATE FUNCTION partitions.check_whole_rest(checked uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE one record;
BEGIN
  SELECT s.status, s.phase, s.winner_attempt_id, bool_or(a.holds AND a.id IS DISTINCT FROM s.winner_attempt_id) AS has_other_hold,
    bool_or(a.captured) AS has_capture, bool_or(a.status = 'UNKNOWN') AS has_unknown, bool_or(a.status IN ('AUTHORIZING','AWAITING_CUSTOMER')) AS has_authorizing,
    bool_or(a.completed_at IS NULL) AS has_open, s.manual_capture, s.held_at, s.capture_asked_at,
    bool_or(a.capture_ordered_at IS NOT NULL) AS has_order INTO one
  FROM partitions.payment_session_rest s JOIN partitions.attempt_rest a ON a.session_id = s.id WHERE s.id = checked AND a.session_id = checked
  GROUP BY s.id, s.status, s.phase, s.winner_attempt_id, s.manual_capture, s.held_at, s.capture_asked_at;
  IF one.has_other_hold THEN PERFORM app.refuse('an authorized attempt is the winner'); END IF;
  IF one.has_capture AND one.status <> 'SUCCEEDED' THEN PERFORM app.refuse('a captured attempt means SUCCEEDED'); END IF;
  IF one.has_unknown AND (one.winner_attempt_id IS NOT NULL OR one.status <> 'CREATED') THEN
    PERFORM app.refuse('unknown attempts go to VOIDING with the winner or the end'); END IF;
  IF one.has_authorizing AND one.status <> 'CREATED' THEN PERFORM app.refuse('no end while an attempt is AUTHORIZING'); END IF;
  IF one.has_open AND one.phase = 'DONE' THEN PERFORM app.refuse('DONE means that every attempt is final'); END IF;
  IF one.manual_capture THEN
    IF one.winner_attempt_id IS NOT NULL AND one.held_at IS NULL THEN PERFORM app.refuse('a winner that is captured later is held'); END IF;
    IF one.held_at IS NOT NULL AND one.capture_asked_at IS NULL AND one.winner_attempt_id IS NULL AND one.status = 'CREATED' THEN
      PERFORM app.refuse('a hold without an order ends with its session'); END IF;
    IF (one.capture_asked_at IS NOT NULL) <> one.has_order THEN PERFORM app.refuse('a capture has its order and the time of it together'); END IF;
  END IF;
END $$;
-- A lease, a card shown and other columns that the checks do not read need none.
CREATE FUNCTION partitions.check_whole_session_rest() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF (OLD.status, OLD.phase, OLD.winner_attempt_id, OLD.capture_asked_at)
     IS DISTINCT FROM (NEW.status, NEW.phase, NEW.winner_attempt_id, NEW.capture_asked_at) THEN
    PERFORM partitions.check_whole_rest(NEW.id); END IF;
  IF NEW.awaiting_since IS DISTINCT FROM OLD.awaiting_since THEN PERFORM partitions.check_awaiting_rest(NEW.id); END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION partitions.check_whole_attempt_rest() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' OR (OLD.status, OLD.completed_at) IS DISTINCT FROM (NEW.status, NEW.completed_at) THEN
    PERFORM partitions.check_whole_rest(NEW.session_id); END IF;
  -- A hold frees its order with the order to void it, unless a capture of it was ordered: that may land until it is voided.
  IF TG_OP = 'UPDATE' AND (OLD.capture_failed_at IS DISTINCT FROM NEW.capture_failed_at
     OR NEW.status <> OLD.status AND NEW.status = (CASE WHEN NEW.capture_ordered_at IS NULL THEN 'VOIDING' ELSE 'VOIDED' END)) THEN
    PERFORM app.update_order(NEW.session_id); END IF;
  IF TG_OP = 'UPDATE' AND OLD.status <> NEW.status AND 'AWAITING_CUSTOMER' IN (OLD.status, NEW.status) THEN
    PERFORM partitions.check_awaiting_rest(NEW.session_id); END IF;
  RETURN NULL;
END $$;

-- Two attempts of one hold would be voided twice, or one of them while the other is captured. An index says so within
-- a month; this says it across months, for as long as a payment and what comes after it take.
CREATE FUNCTION app.check_reference(of_session uuid, of_attempt uuid, connection uuid, reference text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  -- In a variable, so that PostgreSQL reads no partition before it.
  oldest uuid := app.first_id_at(app.clock() - interval '45 days');
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(connection || ' ' || reference, 0));
  IF EXISTS (SELECT FROM attempt WHERE connection_id = connection AND gateway_reference = reference
             AND session_id >= oldest AND (session_id, id) <> (of_session, of_attempt)) THEN
    RAISE EXCEPTION 'attempt_gateway_reference: a gateway reference is of one attempt' USING ERRCODE = 'unique_violation', CONSTRAINT = 'attempt_gateway_reference';
  END IF;
END $$;
