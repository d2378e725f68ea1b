-- The rules of stored cards that no CHECK and no foreign key holds. docs/safety.md has them as S1 to S12.

-- S1: whether a customer has consented in a payment that has a winner. A set-up is one too.
CREATE FUNCTION app.is_stored_with_consent(of_session uuid, of_merchant uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM stored_payment p JOIN payment_session s ON s.id = p.session_id
    WHERE p.session_id = of_session AND p.merchant_id = of_merchant AND p.role IN ('SAVE','RECOVERY','SETUP') AND p.consented_at IS NOT NULL
      AND s.winner_attempt_id IS NOT NULL);
END $$;

CREATE FUNCTION partitions.guard_stored_payment_rest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- S11. No foreign key: a merchant's cards move to another cell, and its payments stay.
  IF NEW.method_id IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.method_id IS DISTINCT FROM OLD.method_id)
     AND NOT EXISTS (SELECT FROM payment_method m WHERE m.id = NEW.method_id AND m.merchant_id = NEW.merchant_id AND m.customer_ref = NEW.customer_ref) THEN
    PERFORM app.refuse('a stored card pays for its own customer'); END IF;
  IF TG_OP = 'INSERT' THEN
    IF num_nonnulls(NEW.consented_at, NEW.saving) > 0 THEN PERFORM app.refuse('a customer consents with the submission'); END IF;
    IF NEW.role = 'RENEWAL' THEN PERFORM partitions.guard_new_renewal_rest(NEW); END IF;
    IF NEW.role = 'RECOVERY' THEN PERFORM partitions.guard_new_recovery_rest(NEW); END IF;
    RETURN NEW;
  END IF;
  IF (OLD.session_id, OLD.merchant_id, OLD.role, OLD.security_code, OLD.terms, OLD.agreement_id, OLD.renewal_ref, OLD.try)
     IS DISTINCT FROM (NEW.session_id, NEW.merchant_id, NEW.role, NEW.security_code, NEW.terms, NEW.agreement_id, NEW.renewal_ref, NEW.try) THEN
    PERFORM app.refuse('what a payment does with a stored card never changes'); END IF;
  IF NEW.customer_ref IS NOT NULL AND NEW.customer_ref IS DISTINCT FROM OLD.customer_ref THEN
    PERFORM app.refuse('a customer''s reference is erased, never changed'); END IF;
  IF OLD.consented_at IS NOT NULL AND (NEW.consented_at, NEW.consent_template, NEW.consent_locale)
     IS DISTINCT FROM (OLD.consented_at, OLD.consent_template, OLD.consent_locale) THEN
    PERFORM app.refuse('a consent is recorded once'); END IF;
  IF NEW.consented_at IS NOT NULL AND OLD.consented_at IS NULL AND EXISTS (
       SELECT FROM partitions.payment_session_rest WHERE id = NEW.session_id AND winner_attempt_id IS NOT NULL) THEN
    PERFORM app.refuse('a consent comes before the payment'); END IF;
  IF NEW.saving IS DISTINCT FROM OLD.saving AND (coalesce(OLD.saving, ''), coalesce(NEW.saving, '')) NOT IN (
       ('','REQUESTED'), ('','NOT_WANTED'), ('REQUESTED','KEPT'), ('REQUESTED','DROPPED'), ('REQUESTED','FAILED')) THEN
    PERFORM app.refuse('illegal transition of a saving from ' || coalesce(OLD.saving, 'none') || ' to ' || coalesce(NEW.saving, 'none')); END IF;
  IF NEW.saving = 'KEPT' AND OLD.saving <> 'KEPT' AND NOT EXISTS (
       SELECT FROM partitions.payment_session_rest WHERE id = NEW.session_id AND winner_attempt_id IS NOT NULL) THEN
    PERFORM app.refuse('a card is stored after its payment was approved'); END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION app.guard_payment_method() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF (OLD.id, OLD.merchant_id, OLD.created_at) IS DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.created_at)
       OR NEW.customer_ref IS NOT NULL AND NEW.customer_ref IS DISTINCT FROM OLD.customer_ref THEN
      PERFORM app.refuse('a stored card stays its customer''s'); END IF;
    -- S10.
    IF OLD.status = 'DELETED' AND (NEW.status, NEW.handle_sealed, NEW.handle_hash, NEW.session_id)
       IS DISTINCT FROM (OLD.status, OLD.handle_sealed, OLD.handle_hash, OLD.session_id) THEN
      PERFORM app.refuse('a deleted card stays deleted'); END IF;
    IF NEW.status = 'DELETED' AND OLD.status <> 'DELETED' THEN
      IF EXISTS (SELECT FROM agreement WHERE method_id = NEW.id AND status NOT IN ('CANCELLED','ENDED')) THEN
        PERFORM app.refuse('no agreement goes on with a deleted card'); END IF;
    END IF;
    IF (NEW.status = 'DELETED' AND OLD.status <> 'DELETED' OR NEW.handle_hash <> OLD.handle_hash)
       AND NOT EXISTS (SELECT FROM card_erasure WHERE handle_hash = OLD.handle_hash) THEN
      PERFORM app.refuse('a card that is deleted or replaced is erased'); END IF;
  END IF;
  -- S1.
  IF (TG_OP = 'INSERT' OR NEW.handle_hash <> OLD.handle_hash OR NEW.session_id <> OLD.session_id)
     AND NOT app.is_stored_with_consent(NEW.session_id, NEW.merchant_id) THEN
    PERFORM app.refuse('a card is stored with a customer''s consent and an approved payment'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON payment_method FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION app.guard_payment_method();

CREATE FUNCTION app.guard_agreement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF (OLD.id, OLD.merchant_id, OLD.type, OLD.text, OLD.currency, OLD.every_days, OLD.ends_on, OLD.instalments, OLD.max_amount_minor, OLD.created_at)
       IS DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.type, NEW.text, NEW.currency, NEW.every_days, NEW.ends_on, NEW.instalments, NEW.max_amount_minor, NEW.created_at)
       OR NEW.customer_ref IS NOT NULL AND NEW.customer_ref IS DISTINCT FROM OLD.customer_ref THEN
      PERFORM app.refuse('what a customer has agreed to never changes'); END IF;
    IF OLD.status IN ('CANCELLED','ENDED') AND (NEW.status, NEW.ended_at, NEW.chain_version, NEW.session_id)
       IS DISTINCT FROM (OLD.status, OLD.ended_at, OLD.chain_version, OLD.session_id) THEN
      PERFORM app.refuse('an agreement that has ended stays so'); END IF;
    -- S9.
    IF (NEW.network, NEW.network_transaction_id, NEW.network_date, NEW.link_id, NEW.ds_trans_id, NEW.own_connection_id, NEW.own_customer, NEW.own_method,
        NEW.session_id, NEW.consented_at)
       IS DISTINCT FROM (OLD.network, OLD.network_transaction_id, OLD.network_date, OLD.link_id, OLD.ds_trans_id, OLD.own_connection_id, OLD.own_customer,
        OLD.own_method, OLD.session_id, OLD.consented_at)
       AND (NEW.chain_version <> OLD.chain_version + 1 OR NEW.session_id = OLD.session_id) THEN
      PERFORM app.refuse('a chain begins anew with a customer''s payment'); END IF;
    IF NEW.chain_version <> OLD.chain_version AND NEW.session_id = OLD.session_id THEN
      PERFORM app.refuse('a chain begins anew with a customer''s payment'); END IF;
    IF NEW.method_id IS DISTINCT FROM OLD.method_id AND NEW.method_id IS NOT NULL AND NEW.session_id = OLD.session_id THEN
      PERFORM app.refuse('an agreement gets another card with a customer''s payment'); END IF;
  END IF;
  IF (TG_OP = 'INSERT' OR NEW.session_id <> OLD.session_id) AND NOT app.is_stored_with_consent(NEW.session_id, NEW.merchant_id) THEN
    PERFORM app.refuse('an agreement has a customer''s consent and an approved payment'); END IF;
  IF NEW.method_id IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.method_id IS DISTINCT FROM OLD.method_id)
     AND NOT EXISTS (SELECT FROM payment_method WHERE id = NEW.method_id AND status = 'ACTIVE') THEN
    PERFORM app.refuse('an agreement has a card that is not deleted'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON agreement FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION app.guard_agreement();
