-- The rules of refunds that no index and no foreign key holds. docs/refunds.md has them as R1 to R8.

CREATE FUNCTION partitions.guard_refund_rest() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  session record;
  paid record;
BEGIN
  -- As for payments: until a person has confirmed it, the database may have lost refunds. app.require_timeline() says why.
  IF NEW.origin = 'MERCHANT' AND (TG_OP = 'INSERT' OR NEW.sends > OLD.sends) AND app.is_timeline_confirmed() IS NOT TRUE THEN
    RAISE EXCEPTION 'the server was promoted, or is another cluster: nothing is refunded until "switchyard restore confirm" or "restore declare"'
      USING ERRCODE = '57P03'; END IF;
  IF TG_OP = 'INSERT' THEN
    -- The sum is counted under the session's lock. An update never raises it.
    SELECT status, captured_attempt_id, merchant_id, disputes INTO session FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
    IF session.status IS DISTINCT FROM 'SUCCEEDED' OR session.captured_attempt_id IS DISTINCT FROM NEW.attempt_id THEN
      PERFORM app.refuse('a refund is of a captured payment'); END IF;
    NEW.merchant_id := session.merchant_id;
    SELECT connection_id, gateway, currency, captured_amount_minor, capture_failed_at,
      captured_amount_minor - coalesce((SELECT sum(r.amount_minor) FROM partitions.refund_rest r
        WHERE r.session_id = NEW.session_id AND r.status <> 'FAILED'), 0) AS refundable INTO paid
    FROM partitions.attempt_rest WHERE session_id = NEW.session_id AND id = NEW.attempt_id;
    IF (paid.connection_id, paid.gateway, paid.currency) IS DISTINCT FROM (NEW.connection_id, NEW.gateway, NEW.currency) THEN
      PERFORM app.refuse('a refund goes where the money was captured'); END IF;
    IF NEW.origin = 'MERCHANT' THEN
      IF NEW.status <> 'REQUESTED' OR NEW.sends > 0 OR NEW.unanswered <> 0 OR num_nonnulls(NEW.gateway_reference, NEW.failure_code, NEW.key_until, NEW.absent_at) > 0 THEN
        PERFORM app.refuse('a refund is committed before a byte leaves'); END IF;
      IF paid.capture_failed_at IS NOT NULL THEN PERFORM app.refuse('nothing is refunded of a capture that failed'); END IF;
      IF NEW.amount_minor > paid.refundable THEN PERFORM app.refuse('no more is refunded than was captured'); END IF;
      -- rule:dispute-sum
      IF session.disputes > 0 AND NEW.amount_minor > paid.refundable - partitions.held_by_disputes_rest(NEW.session_id) THEN
        PERFORM app.refuse('what a dispute holds is not refunded'); END IF;
    END IF;
  ELSE
    IF NEW.sends > OLD.sends THEN
      SELECT disputes INTO session FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
      -- rule:dispute-send
      IF session.disputes > 0 AND (SELECT a.captured_amount_minor - partitions.held_by_disputes_rest(NEW.session_id) - (
            SELECT sum(r.amount_minor) FROM partitions.refund_rest r WHERE r.session_id = NEW.session_id AND r.status <> 'FAILED')
          FROM partitions.attempt_rest a WHERE a.session_id = NEW.session_id AND a.id = NEW.attempt_id) < 0 THEN
        PERFORM app.refuse('nothing is sent of what a dispute holds'); END IF;
    END IF;
    IF (OLD.session_id, OLD.id, OLD.merchant_id, OLD.attempt_id, OLD.connection_id, OLD.gateway, OLD.amount_minor, OLD.currency, OLD.origin, OLD.reason, OLD.refund_ref,
        OLD.request_hash, OLD.created_at, OLD.made_by)
       IS DISTINCT FROM (NEW.session_id, NEW.id, NEW.merchant_id, NEW.attempt_id, NEW.connection_id, NEW.gateway, NEW.amount_minor, NEW.currency, NEW.origin, NEW.reason, NEW.refund_ref,
        NEW.request_hash, NEW.created_at, NEW.made_by) THEN
      PERFORM app.refuse('what a refund asked for never changes'); END IF;
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
         ('REQUESTED','PENDING'), ('REQUESTED','SUCCEEDED'), ('REQUESTED','FAILED'),
         ('PENDING','SUCCEEDED'), ('PENDING','FAILED'), ('SUCCEEDED','FAILED')) THEN
      PERFORM app.refuse('illegal refund transition ' || OLD.status || ' to ' || NEW.status); END IF;
    IF OLD.gateway_reference IS NOT NULL AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference THEN
      PERFORM app.refuse('a refund''s reference never changes'); END IF;
    IF NEW.sends < OLD.sends OR NEW.keys < OLD.keys OR NEW.sends > OLD.sends AND (NEW.status <> 'REQUESTED' OR OLD.status <> 'REQUESTED') THEN
      PERFORM app.refuse('only a refund that is requested is sent'); END IF;
    IF NEW.sends > OLD.sends AND OLD.sends > 0 AND NEW.keys = OLD.keys AND (OLD.look_up_first OR app.clock() >= OLD.key_until) THEN
      PERFORM app.refuse('a refund is repeated only while the gateway remembers its key'); END IF;
    IF NEW.sends > OLD.sends AND NEW.unanswered <> (CASE WHEN NEW.keys > OLD.keys THEN 0 ELSE OLD.unanswered END) + 1
       OR NEW.sends = OLD.sends AND NEW.unanswered NOT BETWEEN OLD.unanswered - 1 AND OLD.unanswered OR NEW.unanswered < 0 THEN
      PERFORM app.refuse('a request is unanswered until an answer rules out that it made the refund'); END IF;
    IF NEW.keys > OLD.keys AND OLD.keys > 0 AND OLD.absent_at IS NULL THEN
      PERFORM app.refuse('a second key follows a look-up that found nothing'); END IF;
    IF NEW.keys > OLD.keys AND NEW.keys <> OLD.keys + 1 THEN PERFORM app.refuse('keys are used one after the other'); END IF;
    IF NEW.sends > OLD.sends AND NEW.absent_at IS NOT NULL THEN PERFORM app.refuse('what is sent now was not looked up'); END IF;
  END IF;
  -- The ledger of a past day never changes, so neither do its times.
  IF NEW.status = 'SUCCEEDED' AND (TG_OP = 'INSERT' OR OLD.status <> 'SUCCEEDED') THEN NEW.succeeded_at := NEW.completed_at;
  ELSIF NEW.succeeded_at IS DISTINCT FROM (CASE TG_OP WHEN 'UPDATE' THEN OLD.succeeded_at END) THEN
    PERFORM app.refuse('when a refund succeeded never changes'); END IF;
  IF TG_OP = 'UPDATE' AND OLD.status = 'FAILED' AND NEW.completed_at IS DISTINCT FROM OLD.completed_at THEN
    PERFORM app.refuse('when a refund failed never changes'); END IF;
  IF NEW.amount_minor NOT BETWEEN 1 AND 999999999999 THEN PERFORM app.refuse('an amount is between 1 and 999999999999 minor units'); END IF;
  IF NEW.status NOT IN ('REQUESTED','PENDING','SUCCEEDED','FAILED') THEN PERFORM app.refuse('no refund has such a status'); END IF;
  IF NEW.origin NOT IN ('MERCHANT','GATEWAY') THEN PERFORM app.refuse('no refund has such an origin'); END IF;
  IF NEW.reason NOT IN ('requested_by_customer','duplicate','fraudulent') THEN PERFORM app.refuse('no refund has such a reason'); END IF;
  IF char_length(NEW.refund_ref) NOT BETWEEN 1 AND 80 THEN PERFORM app.refuse('a refund reference has 1 to 80 characters'); END IF;
  IF NEW.keys > 2 THEN PERFORM app.refuse('a refund has at most two keys'); END IF;
  IF (NEW.keys > 0) <> (NEW.sends > 0) OR (NEW.sends > 0) <> (NEW.key_until IS NOT NULL AND NEW.first_sent_at IS NOT NULL) THEN
    PERFORM app.refuse('a request has its key'); END IF;
  IF NOT NEW.captured THEN PERFORM app.refuse('a refund is of a captured attempt'); END IF;
  IF NEW.status IN ('PENDING','SUCCEEDED') AND NEW.gateway_reference IS NULL THEN PERFORM app.refuse('a refund that was taken on has the gateway''s reference'); END IF;
  IF NEW.origin = 'GATEWAY' AND (NEW.gateway_reference IS NULL OR NEW.sends > 0 OR NEW.status = 'REQUESTED') THEN
    PERFORM app.refuse('a refund made at the gateway has its reference, and is never sent'); END IF;
  IF (NEW.origin = 'MERCHANT') <> (NEW.request_hash IS NOT NULL) THEN PERFORM app.refuse('a refund that was asked for knows its fields'); END IF;
  IF (NEW.status = 'FAILED') <> (NEW.failure_code IS NOT NULL) THEN PERFORM app.refuse('a failed refund says why'); END IF;
  IF (NEW.status IN ('SUCCEEDED','FAILED')) <> (NEW.completed_at IS NOT NULL) THEN PERFORM app.refuse('a completed refund has its time'); END IF;
  IF NEW.decision NOT IN ('SUCCEEDED','FAILED') OR (NEW.decision = 'SUCCEEDED') <> (NEW.decision_reference IS NOT NULL) OR NEW.decision IS NOT NULL AND NEW.decided_by IS NULL THEN
    PERFORM app.refuse('a person records that a refund was made, with its reference, or never made'); END IF;
  IF TG_OP = 'UPDATE' AND OLD.decision IS NOT NULL AND (NEW.decision, NEW.decision_reference, NEW.decided_by, NEW.decision_reason)
     IS DISTINCT FROM (OLD.decision, OLD.decision_reference, OLD.decided_by, OLD.decision_reason) THEN
    PERFORM app.refuse('a decision about a refund is made once'); END IF;
  IF (NEW.dispute_id, NEW.dispute_by, NEW.dispute_reason) IS DISTINCT FROM (CASE TG_OP WHEN 'UPDATE' THEN OLD.dispute_id END,
      CASE TG_OP WHEN 'UPDATE' THEN OLD.dispute_by END, CASE TG_OP WHEN 'UPDATE' THEN OLD.dispute_reason END) THEN
    -- What the dispute holds falls.
    PERFORM FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
    IF TG_OP = 'INSERT' OR OLD.dispute_id IS NOT NULL OR num_nulls(NEW.dispute_id, NEW.dispute_by, NEW.dispute_reason) > 0
       OR NEW.origin <> 'GATEWAY' OR NEW.status = 'FAILED'
       OR NOT EXISTS (SELECT FROM partitions.dispute_rest d WHERE d.session_id = NEW.session_id AND d.id = NEW.dispute_id AND d.status IN ('LOST','ACCEPTED')
         AND (d.amount_minor, d.currency) = (NEW.amount_minor, NEW.currency))
       OR EXISTS (SELECT FROM partitions.refund_rest r WHERE r.session_id = NEW.session_id AND r.dispute_id = NEW.dispute_id AND r.status <> 'FAILED') THEN
      PERFORM app.refuse('an owner records once, and why, that a refund made at the gateway settled a lost dispute of its amount'); END IF;
  END IF;
  IF (NEW.decided_by IS NULL) <> (NEW.decision_reason IS NULL) THEN PERFORM app.refuse('a decision has its reason'); END IF;
  RETURN NEW;
END $$;
