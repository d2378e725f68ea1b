-- Refunds: money that goes from a captured payment back to the customer's card. A payment without one is read without looking for any.

ALTER TABLE payment_session
  -- The refunds of the session, whatever became of them.
  ADD COLUMN refunds smallint NOT NULL DEFAULT 0;

ALTER TABLE attempt
  -- When the gateway reported that the capture had failed, and no other one stands. Nothing is refunded from then on.
  ADD COLUMN capture_failed_at timestamptz,
  -- The time of a failure on an earlier day than the report that another capture of the hold stands, and of that report: the
  -- ledger has both. Both are set together.
  ADD COLUMN capture_failed_before_at timestamptz,
  ADD COLUMN capture_stands_at timestamptz;

CREATE TABLE refund (
  session_id        uuid NOT NULL,
  -- Derived from the session and the Idempotency-Key, so the row is the key's memory. The gateway's reference, and its key.
  id                uuid NOT NULL,
  -- The session's, set by the guard: for the list of a merchant's refunds.
  merchant_id       uuid NOT NULL,
  -- The captured attempt; `captured` lets a foreign key demand that it stays captured.
  attempt_id        uuid NOT NULL,
  captured          boolean NOT NULL DEFAULT true,
  connection_id     uuid NOT NULL,
  gateway           text NOT NULL,
  amount_minor      bigint NOT NULL,
  currency          text NOT NULL,
  status            text NOT NULL DEFAULT 'REQUESTED',
  -- GATEWAY: made by hand at the gateway, and recorded here.
  origin            text NOT NULL DEFAULT 'MERCHANT',
  reason            text,
  refund_ref        text,
  -- The member who made it; null for the API.
  made_by           text,
  -- SHA-256 of the request's fields: the same key with others is refused. Null for GATEWAY.
  request_hash      bytea,
  gateway_reference text,
  failure_code      text,
  -- Requests that were sent, and the keys under which they were. Raised and committed before each.
  sends             int NOT NULL DEFAULT 0,
  keys              smallint NOT NULL DEFAULT 0,
  -- Requests under the present key that may have made the refund, as no answer has ruled that out. Raised with `sends`.
  unanswered        int NOT NULL DEFAULT 0,
  -- Until when the gateway surely remembers the present key.
  key_until         timestamptz,
  first_sent_at     timestamptz,
  sent_at           timestamptz,
  -- The gateway repeats an error to the key, so only a look-up leads on.
  look_up_first     boolean NOT NULL DEFAULT false,
  -- When an authoritative look-up found nothing.
  absent_at         timestamptz,
  retries           int NOT NULL DEFAULT 0,
  -- When a worker takes it up again; null when nothing is left to do. The taker moves it ahead first, so it is the lease too.
  next_try_at       timestamptz,
  pending_event_at  timestamptz,
  -- A person has checked that the gateway has no refund that a restore has lost, so this one may be sent.
  cleared_at        timestamptz,
  -- A person's word about one whose end no gateway reports: it was made, under this reference, or never made.
  decision           text,
  decision_reference text,
  decided_by        text,
  decision_reason   text,
  -- The dispute that the gateway settled by this refund of its own, as an owner has recorded with a reason. It counts as the refund only.
  dispute_id        uuid,
  dispute_by        text,
  dispute_reason    text,
  created_at        timestamptz NOT NULL DEFAULT app.clock(),
  -- When it became SUCCEEDED or FAILED.
  completed_at      timestamptz,
  -- When it became SUCCEEDED, even if it failed afterwards: the ledger has both.
  succeeded_at      timestamptz,
  PRIMARY KEY (session_id, id)
) PARTITION BY RANGE (session_id);
-- A notification names the refund and knows no session.
CREATE INDEX refund_by_id ON refund (id);
-- The list of a merchant's refunds, and what a member has refunded in a day.
CREATE INDEX refund_of_merchant ON refund (merchant_id, created_at, id);
CREATE INDEX refund_due ON refund (next_try_at) WHERE next_try_at IS NOT NULL;
-- What a merchant's ledger of a day reads.
CREATE INDEX refund_succeeded ON refund (merchant_id, succeeded_at) WHERE succeeded_at IS NOT NULL;
CREATE INDEX refund_returned ON refund (merchant_id, completed_at) WHERE status = 'FAILED' AND succeeded_at IS NOT NULL;
CREATE INDEX attempt_capture_failed ON attempt (capture_failed_at) WHERE capture_failed_at IS NOT NULL;
CREATE INDEX attempt_capture_failed_before ON attempt (capture_failed_before_at) WHERE capture_failed_before_at IS NOT NULL;
CREATE INDEX attempt_capture_stands ON attempt (capture_stands_at) WHERE capture_stands_at IS NOT NULL;
