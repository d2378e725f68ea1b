-- The rules of disputes that no index and no foreign key holds. docs/disputes.md has them as D1 to D9.

-- What of a captured payment no refund may touch. Counted under the session's lock.
CREATE FUNCTION partitions.held_by_disputes_rest(of_session uuid) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(sum(held_minor), 0) FROM partitions.dispute_rest WHERE session_id = of_session);
END $$;

CREATE FUNCTION partitions.guard_dispute_rest() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  session  record;
  paid     record;
  taken    record;
  returned bigint;
BEGIN
  -- A refund takes the same lock.
  SELECT status, captured_attempt_id, merchant_id INTO session FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
  SELECT connection_id, gateway, currency, captured_amount_minor INTO paid
  FROM partitions.attempt_rest WHERE session_id = NEW.session_id AND id = NEW.attempt_id;
  IF TG_OP = 'INSERT' THEN
    IF session.status IS DISTINCT FROM 'SUCCEEDED' OR session.captured_attempt_id IS DISTINCT FROM NEW.attempt_id THEN
      PERFORM app.refuse('a dispute is of a captured payment'); END IF;
    IF (paid.connection_id, paid.gateway) IS DISTINCT FROM (NEW.connection_id, NEW.gateway) THEN
      PERFORM app.refuse('a dispute comes from where the money was captured'); END IF;
    NEW.merchant_id := session.merchant_id;
    UPDATE partitions.payment_session_rest SET disputes = disputes + 1 WHERE id = NEW.session_id;
  ELSE
    IF (OLD.session_id, OLD.id, OLD.merchant_id, OLD.attempt_id, OLD.connection_id, OLD.gateway, OLD.gateway_reference, OLD.created_at,
        OLD.stage = 'FRAUD_WARNING')
       IS DISTINCT FROM (NEW.session_id, NEW.id, NEW.merchant_id, NEW.attempt_id, NEW.connection_id, NEW.gateway, NEW.gateway_reference, NEW.created_at,
        NEW.stage = 'FRAUD_WARNING') THEN
      PERFORM app.refuse('what a dispute is about never changes'); END IF;
    -- rule:dispute-asked
    IF NEW.asked_at IS DISTINCT FROM OLD.asked_at AND (NEW.asked_at > OLD.asked_at) IS NOT TRUE THEN PERFORM app.refuse('an older reading of a dispute changes nothing'); END IF;
    -- Another stage has its own.
    IF OLD.stage <> NEW.stage THEN NEW.due_soon_at := NULL; END IF;
    -- A deadline that is notified is not signed. One that is read counts.
    IF NEW.asked_at IS NULL AND OLD.stage = NEW.stage AND OLD.respond_by IS NOT NULL AND (NEW.respond_by <= OLD.respond_by) IS NOT TRUE THEN PERFORM app.refuse('a notification moves a deadline earlier only'); END IF;
    IF NOT NEW.notices @> OLD.notices THEN PERFORM app.refuse('what a gateway has reported stays'); END IF;
  END IF;
  IF NEW.stage NOT IN ('FRAUD_WARNING','INQUIRY','CHARGEBACK','PRE_ARBITRATION') THEN PERFORM app.refuse('no dispute has such a stage'); END IF;
  IF NEW.status NOT IN ('NEEDS_RESPONSE','UNDER_REVIEW','WON','LOST','ACCEPTED','CLOSED') THEN PERFORM app.refuse('no dispute has such a status'); END IF;
  IF NEW.stage = 'FRAUD_WARNING' AND NEW.status <> 'CLOSED' THEN PERFORM app.refuse('a fraud warning is closed at once'); END IF;
  IF NEW.reason NOT IN ('fraudulent','not_received','not_as_described','credit_not_processed','duplicate','wrong_amount','cancelled','processing_error','other') THEN
    PERFORM app.refuse('no dispute has such a reason'); END IF;
  IF NEW.amount_minor < 0 THEN PERFORM app.refuse('a disputed amount is not negative'); END IF;
  IF NOT NEW.captured THEN PERFORM app.refuse('a dispute is of a captured attempt'); END IF;
  -- rule:dispute-hold
  NEW.held_minor := CASE
    WHEN NOT (NEW.stage IN ('CHARGEBACK','PRE_ARBITRATION') AND NEW.status NOT IN ('WON','CLOSED') OR NEW.status IN ('LOST','ACCEPTED')
      -- Perhaps taken once more. What tells a second time from a repeat is not signed, so it raises what is held only.
      OR NEW.notices @> '[{"event":"charged","isRepeat":true}]' OR NEW.notices @> '[{"event":"chargedAgain","isRepeat":true}]') THEN 0
    WHEN NEW.currency <> paid.currency THEN paid.captured_amount_minor
    ELSE least(NEW.amount_minor, paid.captured_amount_minor) END;
  -- rule:dispute-taken
  -- What was taken and has not come back is held, whatever the status.
  SELECT coalesce(max(net) FILTER (WHERE currency = paid.currency), 0) AS net, coalesce(bool_or(net > 0 AND currency <> paid.currency), false) AS abroad INTO taken
  FROM (SELECT currency, sum(CASE type WHEN 'CHARGEBACK' THEN amount_minor ELSE -amount_minor END) AS net FROM partitions.dispute_movement_rest
    WHERE session_id = NEW.session_id AND dispute_id = NEW.id GROUP BY currency) sums;
  NEW.held_minor := CASE WHEN taken.abroad THEN paid.captured_amount_minor
    ELSE least(paid.captured_amount_minor, greatest(NEW.held_minor, taken.net)) END;
  -- A refund that was never sent has paid nothing back.
  SELECT coalesce(sum(amount_minor), 0) INTO returned FROM partitions.refund_rest
  WHERE session_id = NEW.session_id AND status <> 'FAILED' AND (status <> 'REQUESTED' OR sends > 0);
  SELECT returned + coalesce(sum(held_minor), 0) INTO returned FROM partitions.dispute_rest WHERE session_id = NEW.session_id AND id <> NEW.id;
  NEW.overlap_minor := least(NEW.held_minor, greatest(0, returned + NEW.held_minor - paid.captured_amount_minor));
  IF NEW.status IN ('NEEDS_RESPONSE','UNDER_REVIEW') THEN NEW.closed_at := NULL;
  ELSIF TG_OP = 'INSERT' OR OLD.status IS DISTINCT FROM NEW.status THEN NEW.closed_at := app.clock(); END IF;
  RETURN NEW;
END $$;

-- A refund that fails, or that the gateway reports, changes what a dispute has taken twice.
CREATE FUNCTION partitions.recount_disputes_rest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT disputes > 0 FROM partitions.payment_session_rest WHERE id = NEW.session_id) THEN
    UPDATE partitions.dispute_rest SET overlap_minor = 0 WHERE session_id = NEW.session_id; END IF;
  RETURN NULL;
END $$;

-- A movement changes what its dispute holds, and so what the others overlap.
CREATE FUNCTION partitions.recount_moved_dispute_rest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE partitions.dispute_rest SET overlap_minor = 0 WHERE session_id = NEW.session_id AND id = NEW.dispute_id;
  UPDATE partitions.dispute_rest SET overlap_minor = 0 WHERE session_id = NEW.session_id AND id <> NEW.dispute_id;
  RETURN NULL;
END $$;

-- Movements are numbered, and no more comes back than was taken.
CREATE FUNCTION partitions.guard_dispute_movement_rest() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  disputed record;
  before   record;
BEGIN
  IF TG_OP <> 'INSERT' THEN PERFORM app.refuse('movements of a dispute are never changed'); END IF;
  PERFORM FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
  SELECT merchant_id, gateway INTO disputed FROM partitions.dispute_rest WHERE session_id = NEW.session_id AND id = NEW.dispute_id;
  SELECT coalesce(sum(CASE WHEN currency <> NEW.currency THEN 0 WHEN type = 'CHARGEBACK' THEN amount_minor ELSE -amount_minor END), 0) AS taken,
    coalesce(max(ordinal), 0) AS ordinal INTO before
  FROM partitions.dispute_movement_rest WHERE session_id = NEW.session_id AND dispute_id = NEW.dispute_id;
  IF NEW.ordinal <> before.ordinal + 1 THEN PERFORM app.refuse('movements of a dispute are numbered'); END IF;
  IF NEW.type NOT IN ('CHARGEBACK','CHARGEBACK_REVERSED') THEN PERFORM app.refuse('no movement of a dispute has such a type'); END IF;
  IF NEW.amount_minor < 1 THEN PERFORM app.refuse('a movement of a dispute has an amount'); END IF;
  IF NEW.type = 'CHARGEBACK_REVERSED' AND NEW.amount_minor > before.taken THEN PERFORM app.refuse('no more comes back than was taken'); END IF;
  NEW.merchant_id := disputed.merchant_id;
  NEW.gateway := disputed.gateway;
  RETURN NEW;
END $$;
