-- What people and alerts look at of stored cards, and the stop of a card that an operator lifts.

-- The cards that were stopped lately.
CREATE INDEX card_state_stopped ON card_state (stopped_at) WHERE stopped_at IS NOT NULL;
-- The kinds of chains of a merchant's agreements: which account can continue them by itself, and whether others can.
CREATE INDEX agreement_chain ON agreement (merchant_id, coalesce(own_connection_id, '00000000-0000-0000-0000-000000000000'), (network_transaction_id IS NULL))
  WHERE status = 'ACTIVE';

-- Lifts the stop that a bank or a network has put on a card, for all customers of the merchant with its number. Until when to wait, and the
-- declines that count against its limits, stay. Returns why it was stopped; null where it is not, or the merchant has no such card.
CREATE FUNCTION app.lift_card_stop(of_merchant uuid, method uuid) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE was record;
BEGIN
  PERFORM app.require_home(of_merchant);
  SELECT c.fingerprint, c.stopped_because INTO was FROM payment_method m JOIN card_state c ON c.merchant_id = m.merchant_id AND c.fingerprint = m.fingerprint
  WHERE m.id = method AND m.merchant_id = of_merchant AND m.status = 'ACTIVE' AND c.stopped_at IS NOT NULL FOR UPDATE OF c;
  UPDATE card_state SET stopped_at = NULL, stopped_because = NULL WHERE merchant_id = of_merchant AND fingerprint = was.fingerprint;
  RETURN was.stopped_because;
END $$;
