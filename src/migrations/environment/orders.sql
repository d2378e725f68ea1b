-- One order, one payment. Where a merchant refuses repeated orders, at most one session has an order: the one that holds or has captured
-- its money. docs/safety.md has the rules as O1 to O4.

-- Written by the functions below alone: in the schema public, default privileges would let the runtime role write it.
CREATE TABLE app.order_winner (
  merchant_id uuid NOT NULL,
  order_ref   text NOT NULL,
  session_id  uuid NOT NULL,
  PRIMARY KEY (merchant_id, order_ref)
);
-- What retention removes with its sessions.
CREATE INDEX order_winner_of_session ON app.order_winner (session_id);
GRANT SELECT ON app.order_winner TO PUBLIC;

-- The attempts whose money is kept or may turn out to be: a hold that may be captured, an ordered capture until its void is acknowledged,
-- and a capture that neither failed nor was refunded whole.
CREATE VIEW app.kept_money AS
  SELECT s.id AS session_id, s.merchant_id, s.order_ref, s.status, s.submitted_at
  FROM payment_session s JOIN attempt a ON a.session_id = s.id
  WHERE NOT s.allow_repeated_order AND (
    a.status = 'AUTHORIZED' AND s.winner_attempt_id = a.id
    OR a.status = 'VOIDING' AND a.capture_ordered_at IS NOT NULL
    OR a.status = 'CAPTURED' AND a.capture_failed_at IS NULL AND (s.refunds = 0 OR a.captured_amount_minor > coalesce(
      (SELECT sum(r.amount_minor) FROM refund r WHERE r.session_id = s.id AND r.status = 'SUCCEEDED'), 0)));
GRANT SELECT ON app.kept_money TO PUBLIC;

-- Gives an order to a session, if its merchant refuses repeated orders. Returns the other session that has it.
CREATE FUNCTION app.take_order(taker uuid, merchant uuid, reference text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE other uuid;
BEGIN
  LOOP
    INSERT INTO app.order_winner (merchant_id, order_ref, session_id)
    SELECT merchant, reference, taker FROM merchant_settings m WHERE m.merchant_id = merchant AND m.repeated_orders = 'REFUSE'
    ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    SELECT w.session_id INTO other FROM merchant_settings m LEFT JOIN app.order_winner w ON w.merchant_id = merchant AND w.order_ref = reference
    WHERE m.merchant_id = merchant AND m.repeated_orders = 'REFUSE';
    -- Freed since, where the merchant has the setting and the order has no session.
    EXIT WHEN NOT FOUND OR other IS NOT NULL;
  END LOOP;
  RETURN nullif(other, taker);
END $$;

-- Gives an order to the session whose winner is named. A second session has it only beside its item of the work queue: its money is
-- taken already. LL005 is the service's own code (src/core/orders/order-winner.ts).
CREATE FUNCTION app.require_order(taker uuid, merchant uuid, reference text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE other uuid := app.take_order(taker, merchant, reference);
BEGIN
  IF other IS NOT NULL AND NOT EXISTS (SELECT FROM work_item WHERE session_id = taker AND kind = 'PAID_MORE_THAN_ONCE') THEN
    RAISE EXCEPTION 'another session has the order' USING ERRCODE = 'LL005', DETAIL = other::text; END IF;
END $$;

-- Frees the order of a session that keeps no money, and gives it back to one that keeps some again. An order of several payments goes to
-- the next one.
CREATE FUNCTION app.update_order(of_session uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE s record;
BEGIN
  SELECT merchant_id, order_ref, EXISTS (SELECT FROM app.kept_money k WHERE k.session_id = of_session) AS keeps INTO s
  FROM payment_session WHERE id = of_session AND NOT allow_repeated_order;
  IF s.keeps THEN
    PERFORM app.take_order(of_session, s.merchant_id, s.order_ref);
  ELSE
    DELETE FROM app.order_winner w WHERE w.merchant_id = s.merchant_id AND w.order_ref = s.order_ref AND w.session_id = of_session;
    IF FOUND THEN
      PERFORM app.take_order(k.session_id, s.merchant_id, s.order_ref) FROM app.kept_money k
      WHERE k.merchant_id = s.merchant_id AND k.order_ref = s.order_ref AND k.session_id <> of_session ORDER BY k.session_id LIMIT 1; END IF;
  END IF;
END $$;

-- The session that has an order, for its customers, and whether it has SUCCEEDED: one of a cell that the merchant has left has. Null for
-- none.
CREATE FUNCTION app.order_payer(merchant uuid, reference text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT jsonb_build_object('sessionId', w.session_id, 'hasSucceeded', coalesce(s.status = 'SUCCEEDED', true))
    FROM app.order_winner w LEFT JOIN payment_session s ON s.id = w.session_id WHERE w.merchant_id = merchant AND w.order_ref = reference);
END $$;

-- Fills a merchant's orders from its payments when it begins to refuse repeated ones, earliest first, and forgets them when it no longer
-- does. A payment that has read the earlier setting may commit after the first call: the second one follows when none is left.
CREATE FUNCTION app.fill_orders(of_merchant uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM merchant_settings m WHERE m.merchant_id = of_merchant AND m.repeated_orders = 'REFUSE') THEN
    INSERT INTO app.order_winner (merchant_id, order_ref, session_id)
    SELECT DISTINCT ON (k.order_ref) k.merchant_id, k.order_ref, k.session_id FROM app.kept_money k WHERE k.merchant_id = of_merchant
    ORDER BY k.order_ref, k.session_id
    ON CONFLICT DO NOTHING;
  ELSE
    DELETE FROM app.order_winner w WHERE w.merchant_id = of_merchant;
  END IF;
END $$;

-- Writes a merchant's orders into the cell that it moves to. What an interrupted move has left there is replaced.
CREATE FUNCTION app.write_orders(of_merchant uuid, orders jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  DELETE FROM app.order_winner w WHERE w.merchant_id = of_merchant;
  INSERT INTO app.order_winner (merchant_id, order_ref, session_id)
  SELECT of_merchant, o.order_ref, o.session_id FROM jsonb_populate_recordset(NULL::app.order_winner, orders) o;
END $$;

CREATE FUNCTION partitions.update_order_of_refund_rest() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF 'SUCCEEDED' IN (NEW.status, CASE TG_OP WHEN 'UPDATE' THEN OLD.status END) AND (TG_OP = 'INSERT' OR NEW.status <> OLD.status) THEN
    PERFORM app.update_order(NEW.session_id); END IF;
  RETURN NULL;
END $$;
