-- The rules of renewals: charges of an agreement without its customer. docs/subscriptions.md has them as S3 to S8.

ALTER TABLE payment_session
  -- The id from which the ids of its attempts derive, where that is not its own: a renewal's, which has the same names after a restore.
  ADD COLUMN named_by uuid;
ALTER TABLE replica_mark
  -- The restores that were declared.
  ADD COLUMN restores int NOT NULL DEFAULT 0;
ALTER TABLE agreement
  -- The payment that began it was the first of its instalments; a set-up is none.
  ADD COLUMN began_paid boolean NOT NULL DEFAULT false;

-- A UUIDv7 with the time of another one; the same values always have the same one (deriveId in src/core/record/open-attempt.ts).
CREATE FUNCTION app.derived_id(base uuid, name text) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT format('%s-7%s-%s%s-%s', left(base::text, 13), substr(h, 1, 3), to_hex(('x' || substr(h, 4, 1))::bit(4)::int & 3 | 8), substr(h, 5, 3), substr(h, 8, 12))::uuid
  FROM encode(sha256(convert_to(base || ' ' || name, 'UTF8')), 'hex') h $$;

-- S4: the id from which the attempts of a renewal's try have theirs, so that a restored database calls the same renewal by the same names.
-- Each declared restore begins others: gateways refuse those that were voided while they were looked for.
CREATE FUNCTION app.renewal_name(of_agreement uuid, of_renewal text, nth int, restores int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT app.derived_id(of_agreement, format('renewal %s %s %s', restores, nth, of_renewal)) $$;

CREATE FUNCTION app.attempt_name(base uuid, connection uuid, round int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT app.derived_id(base, format('at %s', connection) || CASE round WHEN 0 THEN '' ELSE format(' round %s', round) END) $$;

-- S4: whether a restore may have lost renewals of an agreement that was made then. Gateways keep their records of them for longer.
CREATE FUNCTION app.may_have_lost_renewals(made_at timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT FROM replica_mark WHERE restored_at > made_at AND restored_at > app.clock() - interval '45 days');
END $$;

-- S5: the networks' limits for the declined tries of a card at one merchant, for any amount. docs/subscriptions.md names the sources.
CREATE FUNCTION app.card_limits(brand text) RETURNS TABLE (tries int, within interval) LANGUAGE sql IMMUTABLE AS $$
  SELECT l.tries, l.within FROM (VALUES (true, 10, interval '24 hours'), (true, 35, interval '30 days'), (false, 15, interval '30 days')) l (is_mastercard, tries, within)
  WHERE l.is_mastercard = (brand = 'mastercard') $$;

-- S5: why a card is not tried without its customer, and from when it may be, where time helps; no row if it may. With the row of card_state
-- locked, the answer holds until the commit.
CREATE FUNCTION app.card_refusal(of_merchant uuid, card uuid, brand text) RETURNS TABLE (because text, not_before timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  s  record;
  at timestamptz := app.clock();
BEGIN
  SELECT c.stopped_at, c.not_before INTO s FROM card_state c WHERE c.merchant_id = of_merchant AND c.fingerprint = card;
  IF s.stopped_at IS NOT NULL THEN RETURN QUERY SELECT 'stopped', NULL::timestamptz; RETURN; END IF;
  RETURN QUERY
    SELECT w.because, w.not_before FROM (
      SELECT 'waits' AS because, s.not_before
      UNION ALL
      SELECT 'limit', l.within + (SELECT d.declined_at FROM card_decline d WHERE d.merchant_id = of_merchant AND d.fingerprint = card
                                  ORDER BY d.declined_at DESC OFFSET l.tries - 1 LIMIT 1)
      FROM app.card_limits(brand) l) w
    WHERE w.not_before > at ORDER BY w.not_before DESC LIMIT 1;
END $$;

-- S5: whether a charge is beyond what the customer has agreed to: another currency, more than the greatest amount, after the last day, or
-- after the last instalment. Renewals that are under way count as paid.
CREATE FUNCTION app.agreement_refusal(of_agreement uuid, of_renewal text, minor bigint, in_currency text, at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a agreement;
BEGIN
  SELECT * INTO a FROM agreement WHERE id = of_agreement;
  IF a.ends_on < (at AT TIME ZONE 'UTC')::date THEN RETURN 'over'; END IF;
  IF a.instalments <= (SELECT count(*) FROM renewal r WHERE r.agreement_id = of_agreement AND r.renewal_ref <> of_renewal
       AND (r.paid_session_id IS NOT NULL OR EXISTS (SELECT FROM payment_session s WHERE s.id = r.session_id AND s.status = 'CREATED')))
     + a.began_paid::int THEN RETURN 'over'; END IF;
  IF in_currency <> a.currency OR minor > a.max_amount_minor THEN RETURN 'amount'; END IF;
  RETURN NULL;
END $$;

-- Why an agreement cannot be charged for a renewal without its customer now, the session that the reason names, and from when it can be, where
-- time helps; no row if it can. With the rows of the agreement, the renewal and card_state locked, the answer holds until the commit.
CREATE FUNCTION app.renewal_refusal(of_agreement uuid, of_renewal text, minor bigint, in_currency text, tries_max int)
RETURNS TABLE (reason text, other uuid, until timestamptz) LANGUAGE plpgsql AS $$
DECLARE
  a agreement;
  r renewal;
BEGIN
  SELECT * INTO a FROM agreement g WHERE g.id = of_agreement;
  SELECT * INTO r FROM renewal w WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal;
  IF r.paid_session_id IS NOT NULL THEN RETURN QUERY SELECT 'paid', r.paid_session_id, NULL::timestamptz; RETURN; END IF;
  IF EXISTS (SELECT FROM payment_session s WHERE s.id = r.session_id AND s.status IN ('CREATED','SUCCEEDED')) THEN
    RETURN QUERY SELECT 'in_progress', r.session_id, NULL::timestamptz; RETURN; END IF;
  reason := CASE WHEN a.status <> 'ACTIVE' THEN lower(a.status) ELSE app.agreement_refusal(of_agreement, of_renewal, minor, in_currency, app.clock()) END;
  IF reason IS NULL AND r.only_by_link THEN reason := 'link'; END IF;
  IF reason IS NULL AND r.tries >= tries_max THEN reason := 'tries'; END IF;
  IF reason IS NOT NULL THEN RETURN NEXT; RETURN; END IF;
  RETURN QUERY SELECT c.because, NULL::uuid, c.not_before FROM payment_method m, app.card_refusal(m.merchant_id, m.fingerprint, m.brand) c WHERE m.id = a.method_id;
END $$;

-- The renewal of a session with the state of its agreement, as loadStored() reads it. What refuses it now is of interest once it has ended
-- unpaid.
CREATE FUNCTION app.describe_renewal(p stored_payment, tries_max int) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT json_build_object('type', a.type, 'tries', r.tries, 'refusal', CASE WHEN s.status IN ('DECLINED','DEGRADED','EXPIRED') THEN (
      SELECT to_json(x) FROM app.renewal_refusal(p.agreement_id, p.renewal_ref, p.amount_minor, p.currency, tries_max) x) END)
    FROM agreement a, renewal r, payment_session s
    WHERE a.id = p.agreement_id AND r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND s.id = p.session_id);
END $$;

CREATE FUNCTION app.note_first_payment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.began_paid := EXISTS (SELECT FROM payment_session WHERE id = NEW.session_id AND amount_minor > 0);
  RETURN NEW;
END $$;
CREATE TRIGGER note_first_payment BEFORE INSERT ON agreement FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION app.note_first_payment();

-- S3: one session at a time may pay a renewal, and one has. A final status never changes, so the snapshot may be newer than the statement.
CREATE FUNCTION app.guard_renewal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.session_id IS NOT NULL OR NEW.tries <> 0 THEN PERFORM app.refuse('a renewal begins without a try'); END IF;
    RETURN NEW;
  END IF;
  IF (NEW.agreement_id, NEW.renewal_ref, NEW.merchant_id, NEW.created_at) IS DISTINCT FROM (OLD.agreement_id, OLD.renewal_ref, OLD.merchant_id, OLD.created_at) THEN
    PERFORM app.refuse('a renewal stays its agreement''s'); END IF;
  IF OLD.paid_session_id IS NOT NULL AND NEW IS DISTINCT FROM OLD THEN PERFORM app.refuse('a paid renewal never changes'); END IF;
  IF NEW.session_id IS DISTINCT FROM OLD.session_id THEN
    IF NEW.session_id IS NULL OR EXISTS (SELECT FROM payment_session WHERE id = OLD.session_id AND status IN ('CREATED','SUCCEEDED')) THEN
      PERFORM app.refuse('a renewal passes to another session when its own has ended unpaid'); END IF;
    IF NEW.tries <> OLD.tries + 1 THEN PERFORM app.refuse('each try has its number'); END IF;
  ELSIF NEW.tries <> OLD.tries THEN PERFORM app.refuse('each try has its number'); END IF;
  IF NEW.paid_session_id IS NOT NULL AND NOT EXISTS (SELECT FROM payment_session WHERE id = NEW.paid_session_id AND status = 'SUCCEEDED') THEN
    PERFORM app.refuse('a paid renewal has its capture'); END IF;
  IF OLD.only_by_link AND NOT NEW.only_by_link THEN PERFORM app.refuse('a renewal that its customer has to pay stays so'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON renewal FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION app.guard_renewal();

-- S3: a captured renewal is paid, in the same commit, whichever way the capture was recorded.
CREATE FUNCTION app.pay_renewal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE renewal r SET paid_session_id = NEW.id FROM stored_payment p
  WHERE p.session_id = NEW.id AND p.role IN ('RENEWAL','RECOVERY') AND r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.session_id = NEW.id;
  -- Captures of one statement would wait for those of another, whose order is another one. Who has locked the card is using it now.
  UPDATE payment_method m SET last_used_at = app.clock() WHERE m.id = (
    SELECT o.id FROM stored_payment p JOIN payment_method o ON o.id = p.method_id WHERE p.session_id = NEW.id AND p.role = 'RENEWAL' FOR NO KEY UPDATE OF o SKIP LOCKED);
  RETURN NULL;
END $$;
CREATE FUNCTION app.check_renewal_paid() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM stored_payment p WHERE p.session_id = NEW.id AND p.role IN ('RENEWAL','RECOVERY') AND NOT EXISTS (
       SELECT FROM renewal r WHERE r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.paid_session_id = NEW.id)) THEN
    PERFORM app.refuse('a captured renewal is paid'); END IF;
  RETURN NULL;
END $$;

-- A row of a renewal: S4, its names and the doubt after a restore; S8, a chain that it can continue. Called by guard_stored_payment().
CREATE FUNCTION partitions.guard_new_renewal_rest(after record) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  s record;
  a agreement;
BEGIN
  SELECT named_by, unrecorded_check_at INTO s FROM partitions.payment_session_rest WHERE id = after.session_id;
  IF s.named_by IS DISTINCT FROM app.renewal_name(after.agreement_id, after.renewal_ref, after.try, (SELECT restores FROM replica_mark)) THEN
    PERFORM app.refuse('a renewal has the names of its try'); END IF;
  SELECT * INTO a FROM agreement WHERE id = after.agreement_id;
  IF s.unrecorded_check_at IS NULL AND app.may_have_lost_renewals(a.created_at) THEN
    PERFORM app.refuse('after a restore, gateways are asked about a renewal first'); END IF;
  IF (after.chain_version, after.network_transaction_id, after.link_id, after.own_connection_id, after.own_customer, after.own_method)
     IS DISTINCT FROM (a.chain_version, a.network_transaction_id, a.link_id, a.own_connection_id, a.own_customer, a.own_method) THEN
    PERFORM app.refuse('a renewal continues its agreement''s chain'); END IF;
END $$;

-- A new attempt of a payment with a stored card, whose session is locked: S3, its renewal is its own; S4, its name; S5, what the card's bank
-- and the customer allow; S8, the chain. It counts as unanswered from now on (S6), so that of many at once only as many are sent as the limit
-- allows. What was found after a restore is recorded anyway.
CREATE FUNCTION app.guard_stored_attempt(of_session uuid, of_attempt uuid, connection uuid, of_round int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  s record;
  p record;
  m record;
BEGIN
  SELECT o.named_by, o.unrecorded_check_at, o.created_at INTO s FROM payment_session o WHERE o.id = of_session;
  SELECT * INTO p FROM stored_payment o WHERE o.session_id = of_session;
  -- S12: a set-up is known by its row, and nothing is tried without one.
  IF NOT FOUND THEN PERFORM app.refuse('a payment with a stored card has a row that says what it does with it'); END IF;
  IF p.role IN ('RENEWAL','RECOVERY') AND NOT EXISTS (
       SELECT FROM renewal r WHERE r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.session_id = of_session AND r.paid_session_id IS NULL) THEN
    PERFORM app.refuse('the renewal is another session''s'); END IF;
  IF p.role IN ('RENEWAL','RECOVERY') AND s.unrecorded_check_at IS NULL AND of_attempt <> app.attempt_name(s.named_by, connection, of_round) THEN
    PERFORM app.refuse('an attempt of a renewal has its name'); END IF;
  IF p.role = 'RENEWAL' AND s.unrecorded_check_at IS NULL THEN
    SELECT o.merchant_id, o.fingerprint, o.brand INTO m FROM payment_method o WHERE o.id = p.method_id;
    IF p.own_connection_id IS DISTINCT FROM connection AND p.network_transaction_id IS NULL THEN
      PERFORM app.refuse('a gateway continues its own chain, or one with a network transaction id'); END IF;
    IF app.agreement_refusal(p.agreement_id, p.renewal_ref, p.amount_minor, p.currency, s.created_at) IS NOT NULL THEN
      PERFORM app.refuse('a renewal stays within its agreement'); END IF;
    IF EXISTS (SELECT FROM renewal r WHERE r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.only_by_link) THEN
      PERFORM app.refuse('only its customer pays this renewal'); END IF;
    INSERT INTO card_state (merchant_id, fingerprint) VALUES (m.merchant_id, m.fingerprint) ON CONFLICT DO NOTHING;
    PERFORM FROM card_state c WHERE c.merchant_id = m.merchant_id AND c.fingerprint = m.fingerprint FOR UPDATE;
    IF EXISTS (SELECT FROM app.card_refusal(m.merchant_id, m.fingerprint, m.brand)) THEN
      PERFORM app.refuse('no renewal of a card that is stopped, has to wait or was declined too often'); END IF;
    PERFORM app.count_card_decline(of_session, of_attempt);
  END IF;
END $$;

-- A renewal's try that holds, or that no gateway has processed, counts no longer.
CREATE FUNCTION app.uncount_try(of_session uuid, of_attempt uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM card_decline d USING stored_payment p JOIN payment_method m ON m.id = p.method_id
  WHERE p.session_id = of_session AND p.role = 'RENEWAL' AND d.merchant_id = m.merchant_id AND d.fingerprint = m.fingerprint AND d.attempt_id = of_attempt;
END $$;
