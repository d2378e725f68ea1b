-- Oversight of payments: the work queue, orphaned authorizations, and reconciliations with the gateways' records.

-- Matters that a person has to handle. No foreign key: writing a row must not wait for a payment, and no session is ever deleted.
CREATE TABLE work_item (
  id          uuid PRIMARY KEY,
  kind        text NOT NULL CHECK (kind IN ('VOID_UNANSWERED','CAPTURE_UNANSWERED','CAPTURE_UNCONFIRMED','ACTION_OVERDUE','HOLD_OVERDUE','ORPHANED_AUTHORIZATION',
                                            'RECORD_MISMATCH','CAPTURE_FAILED','REFUND_UNANSWERED','PAID_MORE_THAN_ONCE','PAID_BACK_TWICE','DISPUTE_SILENT','RESPONSE_UNANSWERED','INVARIANT_VIOLATED')),
  merchant_id uuid NOT NULL,
  session_id  uuid NOT NULL,
  -- Null if it is about the session as a whole.
  attempt_id  uuid,
  -- The invariant, the refund or the dispute, if it is about one.
  rule        text,
  detail      text NOT NULL CHECK (char_length(detail) BETWEEN 1 AND 500),
  opened_at   timestamptz NOT NULL DEFAULT app.clock(),
  -- When the gateway answered after all, or the rule held again. The row stays open.
  resolved_at timestamptz,
  -- Only a person closes it.
  closed_at   timestamptz,
  closed_by   text CHECK (char_length(closed_by) >= 1),
  close_note  text CHECK (char_length(close_note) BETWEEN 1 AND 1000),
  CHECK (kind = 'RECORD_MISMATCH' OR (kind IN ('INVARIANT_VIOLATED','REFUND_UNANSWERED','PAID_BACK_TWICE','DISPUTE_SILENT','RESPONSE_UNANSWERED')) = (rule IS NOT NULL)),
  CHECK ((closed_at IS NULL) = (closed_by IS NULL)),
  CHECK ((closed_at IS NULL) = (close_note IS NULL))
);
CREATE INDEX work_item_open ON work_item (id) WHERE closed_at IS NULL;
CREATE INDEX work_item_unresolved ON work_item (kind) WHERE resolved_at IS NULL;
-- One open row for each matter.
CREATE UNIQUE INDEX work_item_one_open ON work_item (session_id, attempt_id, kind, rule) NULLS NOT DISTINCT
  WHERE closed_at IS NULL;
-- Whether a matter was closed, and when.
CREATE INDEX work_item_of_attempt ON work_item (session_id, attempt_id, kind);

-- A hold at a gateway of an attempt that is final without one. It is voided beside the attempt, whose record stays.
CREATE TABLE orphaned_authorization (
  session_id        uuid NOT NULL,
  attempt_id        uuid NOT NULL,
  -- Of exactly the authorization to be voided.
  gateway_reference text NOT NULL,
  found_by          text NOT NULL CHECK (found_by IN ('reconciliation','notification')),
  found_at          timestamptz NOT NULL DEFAULT app.clock(),
  retries           int NOT NULL DEFAULT 0,
  -- When a void may be sent; the sender moves it ahead first, so it is the lease too.
  next_retry_at     timestamptz,
  ended_at          timestamptz,
  -- GONE: the gateway has no such hold any more. CAPTURED: it was captured meanwhile, so a person has to handle it.
  outcome           text CHECK (outcome IN ('VOIDED','GONE','CAPTURED')),
  PRIMARY KEY (session_id, attempt_id, gateway_reference),
  CHECK ((ended_at IS NULL) = (next_retry_at IS NOT NULL)),
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
CREATE INDEX orphaned_authorization_by_reference ON orphaned_authorization (gateway_reference);
CREATE INDEX orphaned_authorization_due ON orphaned_authorization (next_retry_at) WHERE ended_at IS NULL;

-- One pass over the attempts of the last day, shared by all workers. The counts say what the pass could see.
CREATE TABLE reconciliation_run (
  id               uuid PRIMARY KEY,
  started_at       timestamptz NOT NULL DEFAULT app.clock(),
  window_from      timestamptz NOT NULL,
  window_to        timestamptz NOT NULL,
  -- The last attempt that was cut into a slice.
  cut_changed_at   timestamptz,
  cut_attempt_id   uuid,
  -- When nothing was left to be cut.
  all_cut          boolean NOT NULL DEFAULT false,
  finished_at      timestamptz,
  attempts         int NOT NULL DEFAULT 0,
  read             int NOT NULL DEFAULT 0,
  by_notifications int NOT NULL DEFAULT 0,
  inconclusive     int NOT NULL DEFAULT 0,
  mismatches       int NOT NULL DEFAULT 0,
  orphans          int NOT NULL DEFAULT 0,
  CHECK (window_from < window_to),
  CHECK ((cut_changed_at IS NULL) = (cut_attempt_id IS NULL)),
  CHECK (finished_at IS NULL OR all_cut),
  CHECK (attempts = read + by_notifications + inconclusive)
);
CREATE UNIQUE INDEX reconciliation_run_one_at_a_time ON reconciliation_run ((true)) WHERE finished_at IS NULL;
CREATE INDEX reconciliation_run_by_start ON reconciliation_run (started_at);

-- A share of a run that one worker has leased; deleted once it is counted. One whose worker died is leased again.
CREATE TABLE reconciliation_slice (
  run_id          uuid NOT NULL REFERENCES reconciliation_run (id),
  id              uuid NOT NULL,
  from_changed_at timestamptz NOT NULL,
  from_attempt_id uuid NOT NULL,
  to_changed_at   timestamptz NOT NULL,
  to_attempt_id   uuid NOT NULL,
  lease_token     uuid NOT NULL,
  lease_until     timestamptz NOT NULL,
  PRIMARY KEY (run_id, id)
);
