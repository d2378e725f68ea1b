/** What the dashboard finds payments by: a beginning of the order reference, the outcome, a failover, and requests' ids. */

export const name = "014-payment-search";

export const sql = `
-- In the place of one over the same columns, so that it costs what that one did: equality works by it as before, and
-- beginnings of references do too, whatever the database's collation is.
DROP INDEX payment_session_of_order;
CREATE INDEX payment_session_of_order ON payment_session (merchant_id, order_ref text_pattern_ops, id);

-- Rows come into both when a payment settles and not before, so that a payment's many changes until then do not write to
-- them. Sessions that are CREATED are the newest, where a walk by id begins anyway.
CREATE INDEX payment_session_of_status ON payment_session (merchant_id, status, id) WHERE status <> 'CREATED';
CREATE INDEX payment_session_failed_over ON payment_session (merchant_id, id) WHERE failover;

-- Of the API requests that created and submitted the session: what a merchant's log and a customer's error page name.
-- They are written by the statements that create and claim, and are found by their own times, so that they need no index.
ALTER TABLE payment_session
  ADD COLUMN create_request_id uuid,
  ADD COLUMN submit_request_id uuid;
`;
