-- Recovery links: the customer pays a renewal that is not paid, under the same key and the same guards as the merchant (S3). The address
-- of a link is derived, and stands in no row.

CREATE TABLE recovery_link (
  agreement_id uuid NOT NULL,
  renewal_ref  text NOT NULL,
  id           uuid NOT NULL UNIQUE,
  merchant_id  uuid NOT NULL,
  -- As the first call has named them.
  amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND 999999999999),
  currency     text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  order_ref    text NOT NULL CHECK (char_length(order_ref) BETWEEN 1 AND 255),
  -- The merchant's page to which the customer goes back.
  return_to    text CHECK (char_length(return_to) <= 2048),
  -- The address derives from it: one that has expired never works again.
  version      int NOT NULL DEFAULT 1 CHECK (version >= 1),
  expires_at   timestamptz NOT NULL,
  -- The session that is shown, and how many sessions have taken the renewal.
  session_id   uuid,
  tries        int NOT NULL DEFAULT 0,
  created_at   timestamptz NOT NULL DEFAULT app.clock(),
  PRIMARY KEY (agreement_id, renewal_ref),
  FOREIGN KEY (agreement_id, renewal_ref) REFERENCES renewal (agreement_id, renewal_ref)
);

CREATE FUNCTION app.guard_recovery_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.agreement_id, NEW.renewal_ref, NEW.id, NEW.merchant_id, NEW.amount_minor, NEW.currency, NEW.order_ref)
     IS DISTINCT FROM (OLD.agreement_id, OLD.renewal_ref, OLD.id, OLD.merchant_id, OLD.amount_minor, OLD.currency, OLD.order_ref) THEN
    PERFORM app.refuse('what a link asks for never changes'); END IF;
  IF NEW.version < OLD.version OR NEW.tries NOT IN (OLD.tries, OLD.tries + 1) THEN PERFORM app.refuse('a link counts its versions and tries'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE UPDATE ON recovery_link FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION app.guard_recovery_link();

-- S4: the id from which the attempts of a customer's try have theirs, so that a restored database finds them too.
CREATE FUNCTION app.recovery_name(of_agreement uuid, of_renewal text, nth int, restores int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT app.derived_id(of_agreement, format('recovery %s %s %s', restores, nth, of_renewal)) $$;

-- A row of a link's payment: it has its names, asks for what the link asks for, and its customer reads the text of the agreement. Called by
-- guard_stored_payment().
CREATE FUNCTION partitions.guard_new_recovery_rest(after record) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
       SELECT FROM partitions.payment_session_rest WHERE id = after.session_id
         AND named_by = app.recovery_name(after.agreement_id, after.renewal_ref, after.try, (SELECT restores FROM replica_mark))) THEN
    PERFORM app.refuse('a renewal has the names of its try'); END IF;
  IF NOT EXISTS (
       SELECT FROM recovery_link l JOIN agreement a ON a.id = l.agreement_id
       WHERE l.agreement_id = after.agreement_id AND l.renewal_ref = after.renewal_ref AND l.merchant_id = after.merchant_id
         AND (l.amount_minor, l.currency, a.customer_ref, a.text) = (after.amount_minor, after.currency, after.customer_ref, after.terms ->> 'text')) THEN
    PERFORM app.refuse('a link asks for its own amount, by the text of its agreement'); END IF;
END $$;

-- Whether no link to a renewal works any more. What was charged before the last day can be paid after it.
CREATE FUNCTION app.is_over_for_links(a agreement, r renewal) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT a.status = 'CANCELLED' OR a.status = 'ENDED' AND (a.status_because IS DISTINCT FROM 'last_day' OR r.agreement_id IS NULL) $$;

-- Why nothing can be paid by a link now, and the session that the reason names; no row if something can. With the rows of the agreement, the
-- link and the renewal locked, the answer holds until the commit. After a restore the gateways have to be asked about the renewal first (S4),
-- and a charge by the merchant asks them, or ask_for_link() where the agreement cannot be charged.
CREATE FUNCTION app.link_refusal(l recovery_link, tries_max int) RETURNS TABLE (reason text, other uuid) LANGUAGE plpgsql AS $$
DECLARE
  a agreement;
  r renewal;
BEGIN
  SELECT * INTO a FROM agreement g WHERE g.id = l.agreement_id;
  SELECT * INTO r FROM renewal w WHERE w.agreement_id = l.agreement_id AND w.renewal_ref = l.renewal_ref;
  IF r.paid_session_id IS NOT NULL THEN RETURN QUERY SELECT 'paid', r.paid_session_id; RETURN; END IF;
  IF EXISTS (SELECT FROM payment_session s WHERE s.id = r.session_id AND s.status IN ('CREATED','SUCCEEDED')) THEN
    RETURN QUERY SELECT 'in_progress', r.session_id; RETURN; END IF;
  reason := CASE
    WHEN app.is_over_for_links(a, r) THEN lower(a.status)
    WHEN a.instalments <= a.began_paid::int + (SELECT count(*) FROM renewal w LEFT JOIN payment_session s ON s.id = w.session_id
      WHERE w.agreement_id = l.agreement_id AND w.renewal_ref <> l.renewal_ref AND (w.paid_session_id IS NOT NULL OR s.status IN ('CREATED','SUCCEEDED'))) THEN 'ended'
    WHEN l.expires_at <= app.clock() THEN 'link_expired'
    WHEN l.tries >= tries_max THEN 'link_tries'
    WHEN app.may_have_lost_renewals(a.created_at) AND NOT EXISTS (
      SELECT FROM payment_session s, replica_mark k WHERE s.id = r.session_id AND s.created_at > k.restored_at AND s.unrecorded_check_at IS NULL) THEN 'doubt' END;
  IF reason IS NOT NULL THEN RETURN NEXT; END IF;
END $$;

-- Makes the link of a renewal, or returns the one that it has: with a new address if the last one has expired. Raises LL007.
CREATE FUNCTION app.make_link(
  new_link uuid, of_merchant uuid, of_agreement uuid, of_renewal text, minor bigint, in_currency text, reference text, back_to text, life_ms bigint)
RETURNS SETOF recovery_link LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  a  agreement;
  r  renewal;
  at timestamptz := date_trunc('milliseconds', app.clock());
BEGIN
  PERFORM app.require_home(of_merchant);
  SELECT * INTO a FROM agreement g WHERE g.id = of_agreement AND g.merchant_id = of_merchant FOR NO KEY UPDATE;
  IF NOT FOUND THEN PERFORM app.refuse_renewal('not_found'); END IF;
  SELECT * INTO r FROM renewal w WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal;
  IF r.paid_session_id IS NOT NULL THEN PERFORM app.refuse_renewal('paid', r.paid_session_id); END IF;
  IF app.is_over_for_links(a, r) THEN PERFORM app.refuse_renewal(lower(a.status)); END IF;
  IF in_currency <> a.currency OR minor > a.max_amount_minor THEN PERFORM app.refuse_renewal('amount'); END IF;
  INSERT INTO renewal (agreement_id, renewal_ref, merchant_id) VALUES (of_agreement, of_renewal, of_merchant) ON CONFLICT DO NOTHING;
  RETURN QUERY
    INSERT INTO recovery_link AS l (agreement_id, renewal_ref, id, merchant_id, amount_minor, currency, order_ref, return_to, expires_at)
    VALUES (of_agreement, of_renewal, new_link, of_merchant, minor, in_currency, reference, back_to, at + life_ms * interval '1 ms')
    ON CONFLICT (agreement_id, renewal_ref) DO UPDATE
      SET version = l.version + (l.expires_at <= at)::int, expires_at = greatest(l.expires_at, EXCLUDED.expires_at), return_to = EXCLUDED.return_to
      WHERE (l.amount_minor, l.currency, l.order_ref) = (minor, in_currency, reference)
    RETURNING l.*;
  IF NOT FOUND THEN PERFORM app.refuse_renewal('link_fixed'); END IF;
END $$;

-- What the customer of an agreement has agreed to (AgreementTerms in src/core/stored-cards/stored-rows.ts).
CREATE FUNCTION app.terms_of(a agreement) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_strip_nulls(jsonb_build_object('type', a.type, 'text', a.text, 'everyDays', a.every_days, 'endsOn', a.ends_on, 'instalments', a.instalments,
    'maxAmountMinor', a.max_amount_minor)) $$;

-- Returns the session by which a link is paid: the one that is open, or on its way; otherwise another one, with this id. It takes nothing.
-- Returns no row where nothing can be paid.
CREATE FUNCTION partitions.open_link_rest(new_session uuid, of_link uuid, secret int, request uuid, tries_max int)
RETURNS SETOF payment_session LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  l     recovery_link;
  a     agreement;
  s     payment_session;
  m     merchant_settings;
  c     record;
  named uuid;
  at    timestamptz := date_trunc('milliseconds', app.clock());
BEGIN
  PERFORM app.require_home(k.merchant_id) FROM recovery_link k WHERE k.id = of_link;
  SELECT * INTO l FROM recovery_link k WHERE k.id = of_link FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO c FROM app.link_refusal(l, tries_max);
  IF c.reason IS NOT NULL AND (c.reason <> 'in_progress' OR c.other IS DISTINCT FROM l.session_id) THEN RETURN; END IF;
  SELECT * INTO s FROM payment_session o WHERE o.id = l.session_id;
  named := app.recovery_name(l.agreement_id, l.renewal_ref, l.tries + 1, (SELECT k.restores FROM replica_mark k));
  IF c.reason IS NOT NULL OR s.phase = 'IDLE' AND s.named_by = named AND s.expires_at > at + interval '1 min' THEN
    RETURN NEXT s;
    RETURN;
  END IF;
  SELECT * INTO a FROM agreement g WHERE g.id = l.agreement_id;
  SELECT * INTO m FROM merchant_settings o WHERE o.merchant_id = l.merchant_id;
  RETURN QUERY
    INSERT INTO partitions.payment_session_rest AS o (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at,
      create_request_id, details, customer_ref, stored, named_by)
    VALUES (new_session, l.merchant_id, l.amount_minor, l.currency, l.order_ref, secret, at, least(at + m.session_lifetime_ms * interval '1 ms', l.expires_at),
      request, CASE WHEN m.statement_descriptor IS NOT NULL THEN jsonb_build_object('statementDescriptor', m.statement_descriptor) END, a.customer_ref, true, named)
    RETURNING o.*;
  INSERT INTO partitions.stored_payment_rest (session_id, merchant_id, amount_minor, currency, customer_ref, role, terms, agreement_id, renewal_ref, try)
  VALUES (new_session, l.merchant_id, l.amount_minor, l.currency, a.customer_ref, 'RECOVERY', app.terms_of(a), l.agreement_id, l.renewal_ref, l.tries + 1);
  UPDATE recovery_link k SET session_id = new_session WHERE k.id = of_link;
END $$;

-- S4: asks the gateways about the renewal of a link that is in doubt, where its merchant cannot: without a card, the agreement cannot be
-- charged. A session of its own takes the renewal, finds what is lost, and ends without an attempt of its own. Returns it, or no row where
-- the link is not in doubt or the merchant can charge.
CREATE FUNCTION partitions.ask_for_link_rest(new_session uuid, of_link uuid, secret int, tries_max int)
RETURNS SETOF payment_session LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  l  recovery_link;
  a  agreement;
  at timestamptz := date_trunc('milliseconds', app.clock());
BEGIN
  SELECT * INTO l FROM recovery_link k WHERE k.id = of_link;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM app.require_home(l.merchant_id);
  -- In the order of take_renewal().
  SELECT * INTO a FROM agreement g WHERE g.id = l.agreement_id FOR NO KEY UPDATE;
  PERFORM FROM renewal w WHERE w.agreement_id = l.agreement_id AND w.renewal_ref = l.renewal_ref FOR UPDATE;
  SELECT * INTO l FROM recovery_link k WHERE k.id = of_link FOR UPDATE;
  IF NOT EXISTS (SELECT FROM app.link_refusal(l, tries_max) c WHERE c.reason = 'doubt')
     OR NOT EXISTS (SELECT FROM app.renewal_refusal(l.agreement_id, l.renewal_ref, l.amount_minor, l.currency, tries_max)) THEN RETURN; END IF;
  RETURN QUERY
    INSERT INTO partitions.payment_session_rest AS o (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at, customer_ref,
      stored, named_by, phase, lease_epoch, lease_until, submit_deadline, submitted_at, rule_version, plan, skipped, unrecorded_check_at)
    SELECT new_session, l.merchant_id, l.amount_minor, l.currency, l.order_ref, secret, at, at + interval '1 min', a.customer_ref,
      true, app.recovery_name(l.agreement_id, l.renewal_ref, l.tries + 1, k.restores), 'PROCESSING', 1, at, at, at,
      (SELECT max(u.version) FROM routing_rule u WHERE u.merchant_id = l.merchant_id), '[]', '[]', greatest(at, k.restored_at + interval '1 min')
    FROM replica_mark k
    RETURNING o.*;
  UPDATE renewal w SET session_id = new_session, tries = w.tries + 1 WHERE w.agreement_id = l.agreement_id AND w.renewal_ref = l.renewal_ref;
  INSERT INTO partitions.stored_payment_rest (session_id, merchant_id, amount_minor, currency, customer_ref, role, terms, agreement_id, renewal_ref, try)
  VALUES (new_session, l.merchant_id, l.amount_minor, l.currency, a.customer_ref, 'RECOVERY', app.terms_of(a), l.agreement_id, l.renewal_ref, l.tries + 1);
END $$;

-- S3: gives the renewal to the session of its link that is about to be claimed, in the same transaction. Raises LL007.
CREATE FUNCTION app.take_recovery(of_session uuid, tries_max int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  p stored_payment;
  l recovery_link;
BEGIN
  SELECT * INTO p FROM stored_payment o WHERE o.session_id = of_session AND o.role = 'RECOVERY';
  -- A merchant that is about to move takes its renewals along.
  PERFORM app.require_home(p.merchant_id);
  -- In the order of take_renewal().
  PERFORM FROM agreement g WHERE g.id = p.agreement_id FOR NO KEY UPDATE;
  PERFORM FROM renewal w WHERE w.agreement_id = p.agreement_id AND w.renewal_ref = p.renewal_ref FOR UPDATE;
  SELECT * INTO l FROM recovery_link k WHERE k.agreement_id = p.agreement_id AND k.renewal_ref = p.renewal_ref FOR UPDATE;
  PERFORM app.refuse_renewal(c.reason, c.other) FROM app.link_refusal(l, tries_max) c;
  -- Another one is shown since, or a restore was declared.
  IF l.session_id IS DISTINCT FROM of_session OR NOT EXISTS (
       SELECT FROM payment_session s, replica_mark m
       WHERE s.id = of_session AND s.named_by = app.recovery_name(p.agreement_id, p.renewal_ref, l.tries + 1, m.restores)) THEN
    PERFORM app.refuse_renewal('changed'); END IF;
  UPDATE renewal w SET session_id = of_session, tries = w.tries + 1 WHERE w.agreement_id = p.agreement_id AND w.renewal_ref = p.renewal_ref;
  UPDATE recovery_link k SET tries = k.tries + 1 WHERE k.id = l.id;
END $$;
