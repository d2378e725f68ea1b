-- The rules of disputes that no index and no foreign key holds. docs/disputes.md has them as D1 to D10.

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
    IF NEW.decision IS DISTINCT FROM OLD.decision AND NEW.decision IS NOT NULL AND (OLD.closed_at IS NOT NULL OR NEW.decision ->> 'status' NOT IN ('WON','LOST')
        OR NEW.decision ->> 'before' IS DISTINCT FROM OLD.status OR num_nulls(NEW.decision ->> 'status', NEW.decision ->> 'by', NEW.decision ->> 'reason') > 0) THEN
      PERFORM app.refuse('a person records that an open dispute was won or lost, and why'); END IF;
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
      OR NEW.notices @> '[{"event":"charged","isRepeat":true}]' OR NEW.notices @> '[{"event":"chargedAgain","isRepeat":true}]'
      -- rule:dispute-accepted
      -- What we give up is given up once it is committed.
      OR NEW.status NOT IN ('WON','CLOSED') AND EXISTS (SELECT FROM partitions.dispute_response_rest r
        WHERE r.session_id = NEW.session_id AND r.dispute_id = NEW.id AND r.type = 'ACCEPT' AND r.status <> 'REFUSED')) THEN 0
    WHEN NEW.currency <> paid.currency THEN paid.captured_amount_minor
    ELSE least(NEW.amount_minor, paid.captured_amount_minor) END;
  -- rule:dispute-taken
  -- What was taken and has not come back is held, whatever the status.
  SELECT coalesce(max(net) FILTER (WHERE currency = paid.currency), 0) AS net, coalesce(bool_or(net > 0 AND currency <> paid.currency), false) AS abroad INTO taken
  FROM (SELECT currency, sum(CASE type WHEN 'CHARGEBACK' THEN amount_minor ELSE -amount_minor END) AS net FROM partitions.dispute_movement_rest
    WHERE session_id = NEW.session_id AND dispute_id = NEW.id GROUP BY currency) sums;
  NEW.held_minor := CASE WHEN taken.abroad THEN paid.captured_amount_minor
    ELSE least(paid.captured_amount_minor, greatest(NEW.held_minor, taken.net)) END;
  -- What the gateway settled by a refund of its own counts as the refund.
  NEW.held_minor := greatest(0, NEW.held_minor - coalesce((SELECT sum(r.amount_minor) FROM partitions.refund_rest r
    WHERE r.session_id = NEW.session_id AND r.dispute_id = NEW.id AND r.status <> 'FAILED'), 0));
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
    -- What came back by a linked refund is taken again where that refund fails.
    IF TG_OP = 'UPDATE' AND NEW.status = 'FAILED' AND OLD.status <> 'FAILED' AND NEW.dispute_id IS NOT NULL THEN
      INSERT INTO partitions.dispute_movement_rest (session_id, dispute_id, ordinal, type, amount_minor, currency)
      SELECT NEW.session_id, NEW.dispute_id, max(m.ordinal) + 1, 'CHARGEBACK',
        least(NEW.amount_minor, sum(m.amount_minor) FILTER (WHERE m.type = 'CHARGEBACK_REVERSED' AND m.currency = NEW.currency)), NEW.currency
      FROM partitions.dispute_movement_rest m WHERE m.session_id = NEW.session_id AND m.dispute_id = NEW.dispute_id
      HAVING bool_or(m.type = 'CHARGEBACK_REVERSED' AND m.currency = NEW.currency); END IF;
    UPDATE partitions.dispute_rest SET overlap_minor = 0 WHERE session_id = NEW.session_id AND id = NEW.dispute_id;
    UPDATE partitions.dispute_rest SET overlap_minor = 0 WHERE session_id = NEW.session_id; END IF;
  RETURN NULL;
END $$;

-- A movement, or a response, changes what its dispute holds, and so what the others overlap.
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

CREATE FUNCTION partitions.guard_dispute_response_rest() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  disputed record;
  paid     record;
BEGIN
  IF TG_OP = 'DELETE' THEN PERFORM app.refuse('responses to a dispute stay'); END IF;
  -- As for refunds.
  IF (TG_OP = 'INSERT' OR NEW.sends > OLD.sends) AND app.is_timeline_confirmed() IS NOT TRUE THEN
    RAISE EXCEPTION 'the server was promoted, or is another cluster: no dispute is answered until "switchyard restore confirm" or "restore declare"'
      USING ERRCODE = '57P03'; END IF;
  IF TG_OP = 'INSERT' THEN
    -- Refunds and disputes take the same lock.
    PERFORM FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
    SELECT merchant_id, attempt_id, stage, status, amount_minor, currency INTO disputed
    FROM partitions.dispute_rest WHERE session_id = NEW.session_id AND id = NEW.dispute_id;
    IF disputed.status IS DISTINCT FROM 'NEEDS_RESPONSE' THEN PERFORM app.refuse('only a dispute that needs a response is answered'); END IF;
    IF NEW.status <> 'REQUESTED' OR NEW.sends > 0 OR num_nonnulls(NEW.first_sent_at, NEW.failure_code, NEW.answered_at) > 0 THEN
      PERFORM app.refuse('a response is committed before a byte leaves'); END IF;
    NEW.merchant_id := disputed.merchant_id;
    NEW.stage := disputed.stage;
    IF NEW.type NOT IN ('ACCEPT','EVIDENCE') THEN PERFORM app.refuse('no response has such a type'); END IF;
    IF NEW.type = 'ACCEPT' THEN
      SELECT currency, captured_amount_minor INTO paid FROM partitions.attempt_rest WHERE session_id = NEW.session_id AND id = disputed.attempt_id;
      NEW.currency := paid.currency;
      NEW.amount_minor := CASE WHEN disputed.currency <> paid.currency THEN paid.captured_amount_minor ELSE least(disputed.amount_minor, paid.captured_amount_minor) END;
      -- rule:dispute-accept
      IF NEW.amount_minor + coalesce((SELECT sum(r.amount_minor) FROM partitions.refund_rest r WHERE r.session_id = NEW.session_id AND r.status <> 'FAILED'), 0)
          + coalesce((SELECT sum(d.held_minor) FROM partitions.dispute_rest d WHERE d.session_id = NEW.session_id AND d.id <> NEW.dispute_id), 0) > paid.captured_amount_minor THEN
        PERFORM app.refuse('what refunds have paid back is not given up again'); END IF;
    END IF;
  ELSE
    IF (OLD.session_id, OLD.id, OLD.dispute_id, OLD.merchant_id, OLD.stage, OLD.type, OLD.amount_minor, OLD.currency, OLD.made_by, OLD.request_hash, OLD.defense, OLD.documents, OLD.created_at)
       IS DISTINCT FROM (NEW.session_id, NEW.id, NEW.dispute_id, NEW.merchant_id, NEW.stage, NEW.type, NEW.amount_minor, NEW.currency, NEW.made_by, NEW.request_hash, NEW.defense, NEW.documents, NEW.created_at)
       OR NEW.content_sealed IS DISTINCT FROM OLD.content_sealed AND NEW.content_sealed IS NOT NULL AND OLD.content_sealed IS NULL THEN
      PERFORM app.refuse('what a response says never changes'); END IF;
    -- rule:dispute-response
    IF NEW.status <> OLD.status AND (OLD.status <> 'REQUESTED' OR NEW.status NOT IN ('TAKEN','REFUSED')) THEN
      PERFORM app.refuse('illegal transition of a response ' || OLD.status || ' to ' || NEW.status); END IF;
    IF NEW.sends < OLD.sends OR NEW.sends > OLD.sends AND NEW.status <> 'REQUESTED' THEN PERFORM app.refuse('only a response that is requested is sent'); END IF;
  END IF;
  IF (NEW.sends > 0) <> (NEW.first_sent_at IS NOT NULL) THEN PERFORM app.refuse('a request has its time'); END IF;
  IF (NEW.status = 'REFUSED') <> (NEW.failure_code IS NOT NULL) OR (NEW.status = 'REQUESTED') <> (NEW.answered_at IS NULL) THEN
    PERFORM app.refuse('a response that is answered says how'); END IF;
  RETURN NEW;
END $$;
