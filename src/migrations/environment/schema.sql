-- The whole schema as PostgreSQL 18 describes it, written by `npm run schema`.
-- Read it, and change it by migrations. `switchyard doctor` compares a database with it.

-- schema app
CREATE SCHEMA app;

-- schema partitions
CREATE SCHEMA partitions;

-- table agreement
CREATE TABLE agreement (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  customer_ref text,
  method_id uuid,
  type text NOT NULL,
  text text NOT NULL,
  currency text NOT NULL,
  every_days integer,
  ends_on date,
  instalments integer,
  max_amount_minor bigint,
  status text NOT NULL,
  status_because text,
  session_id uuid NOT NULL,
  consented_at timestamp with time zone NOT NULL,
  chain_version integer DEFAULT 1 NOT NULL,
  network text,
  network_transaction_id text,
  network_date date,
  link_id text,
  ds_trans_id text,
  own_connection_id uuid,
  own_customer text,
  own_method text,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  ended_at timestamp with time zone,
  began_paid boolean DEFAULT false NOT NULL
);

-- table alert
CREATE TABLE alert (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  kind text NOT NULL,
  endpoint_id uuid,
  connection_id uuid,
  gateway text,
  dispute_id uuid,
  since timestamp with time zone NOT NULL,
  detail text,
  covers_until timestamp with time zone,
  status_code integer,
  no_answer text,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  over_at timestamp with time zone,
  acknowledged_at timestamp with time zone,
  acknowledged_by text,
  send_at timestamp with time zone DEFAULT app.clock(),
  send_attempts integer DEFAULT 0 NOT NULL,
  sent_to text[] DEFAULT '{}'::text[] NOT NULL,
  end_sent_to text[] DEFAULT '{}'::text[] NOT NULL
);

-- table analytics_arm
CREATE TABLE analytics_arm (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  rule_version integer NOT NULL,
  case_name text NOT NULL,
  arm text NOT NULL,
  currency text NOT NULL,
  succeeded integer NOT NULL,
  released integer NOT NULL,
  declined integer NOT NULL,
  degraded integer NOT NULL,
  saved integer NOT NULL,
  latency numeric NOT NULL
);

-- table analytics_arm_cost
CREATE TABLE analytics_arm_cost (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  rule_version integer NOT NULL,
  case_name text NOT NULL,
  arm text NOT NULL,
  gateway text NOT NULL,
  currency text NOT NULL,
  attempts integer NOT NULL,
  captured integer NOT NULL,
  voided integer NOT NULL,
  captured_minor bigint NOT NULL
);

-- table analytics_attempt
CREATE TABLE analytics_attempt (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  gateway text NOT NULL,
  currency text NOT NULL,
  approved integer NOT NULL,
  hard_declined integer NOT NULL,
  soft_declined integer NOT NULL,
  fraud_declined integer NOT NULL,
  timeouts integer NOT NULL,
  gateway_errors integer NOT NULL,
  unknown integer NOT NULL,
  authentication_required integer NOT NULL,
  recovered integer NOT NULL,
  latency numeric NOT NULL
);

-- table analytics_authentication
CREATE TABLE analytics_authentication (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  gateway text NOT NULL,
  currency text NOT NULL,
  passed integer NOT NULL,
  exempted integer NOT NULL,
  failed integer NOT NULL,
  cancelled integer NOT NULL,
  abandoned integer NOT NULL,
  unavailable integer NOT NULL,
  frictionless integer NOT NULL,
  never_shown integer NOT NULL,
  issuer_liable integer NOT NULL,
  latency numeric NOT NULL
);

-- table analytics_card
CREATE TABLE analytics_card (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  currency text NOT NULL,
  fact text NOT NULL,
  value text NOT NULL,
  succeeded integer NOT NULL,
  released integer NOT NULL,
  declined integer NOT NULL,
  degraded integer NOT NULL,
  saved integer NOT NULL
);

-- table analytics_cost
CREATE TABLE analytics_cost (
  merchant_id uuid NOT NULL,
  month date NOT NULL,
  gateway text NOT NULL,
  type text NOT NULL,
  card_brand text NOT NULL,
  rule_version integer NOT NULL,
  case_name text NOT NULL,
  arm text NOT NULL,
  currency text NOT NULL,
  settlement_currency text NOT NULL,
  lines integer NOT NULL,
  settled_gross_minor bigint NOT NULL,
  fee_minor bigint NOT NULL
);

-- table analytics_decline
CREATE TABLE analytics_decline (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  gateway text NOT NULL,
  currency text NOT NULL,
  decline_code text NOT NULL,
  attempts integer NOT NULL
);

-- table analytics_payment
CREATE TABLE analytics_payment (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  currency text NOT NULL,
  succeeded integer NOT NULL,
  released integer NOT NULL,
  declined integer NOT NULL,
  degraded integer NOT NULL,
  expired integer NOT NULL,
  saved integer NOT NULL,
  challenged integer NOT NULL,
  authenticated integer NOT NULL,
  saved_authenticated integer NOT NULL,
  challenged_again integer NOT NULL,
  volume_minor bigint NOT NULL,
  saved_minor bigint NOT NULL,
  issuer_minor bigint NOT NULL,
  latency numeric NOT NULL
);

-- table analytics_renewal
CREATE TABLE analytics_renewal (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  currency text NOT NULL,
  succeeded integer NOT NULL,
  released integer NOT NULL,
  declined integer NOT NULL,
  degraded integer NOT NULL,
  saved integer NOT NULL
);

-- table analytics_walk
CREATE TABLE analytics_walk (
  only_one boolean DEFAULT true NOT NULL,
  counted_until timestamp with time zone NOT NULL
);

-- table analytics_wallet
CREATE TABLE analytics_wallet (
  merchant_id uuid NOT NULL,
  minutes integer NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  currency text NOT NULL,
  wallet text NOT NULL,
  succeeded integer NOT NULL,
  released integer NOT NULL,
  declined integer NOT NULL,
  degraded integer NOT NULL,
  saved integer NOT NULL,
  resends_approved integer NOT NULL,
  resends_refused integer NOT NULL
);

-- table api_key
CREATE TABLE api_key (
  id uuid NOT NULL,
  key_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  kind text NOT NULL,
  hash bytea NOT NULL,
  prefix text NOT NULL,
  last4 text NOT NULL,
  name text,
  rights text[],
  expires_at timestamp with time zone,
  refund_cap jsonb,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  replaced_at timestamp with time zone,
  ends_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone
);

-- table app.order_winner
CREATE TABLE app.order_winner (
  merchant_id uuid NOT NULL,
  order_ref text NOT NULL,
  session_id uuid NOT NULL
);

-- table app.partitioned
CREATE TABLE app.partitioned (
  parent text NOT NULL,
  key_column text NOT NULL,
  kind text NOT NULL,
  place integer NOT NULL
);

-- table app.retention
CREATE TABLE app.retention (
  kind text NOT NULL,
  keep interval
);

-- table attempt
CREATE TABLE attempt (
  session_id uuid NOT NULL,
  id uuid NOT NULL,
  sequence integer NOT NULL,
  gateway text NOT NULL,
  connection_id uuid NOT NULL,
  credential_version integer NOT NULL,
  priority integer NOT NULL,
  because text NOT NULL,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  status text DEFAULT 'AUTHORIZING'::text NOT NULL,
  failure_kind text,
  stop text,
  decline_code text,
  gateway_code text,
  refusal text,
  gateway_reference text,
  next_action text,
  next_because text,
  capture_ordered_at timestamp with time zone,
  captured_amount_minor bigint,
  ordered_amount_minor bigint,
  capture_reference text,
  network_transaction_id text,
  capture_refusal_code text,
  void_kind text,
  looked_up_at timestamp with time zone,
  voiding_at timestamp with time zone,
  void_asked_at timestamp with time zone,
  latest_execution_at timestamp with time zone NOT NULL,
  retries integer DEFAULT 0 NOT NULL,
  next_retry_at timestamp with time zone,
  started_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  changed_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  answered_at timestamp with time zone,
  completed_at timestamp with time zone,
  holds boolean GENERATED ALWAYS AS ((status = ANY (ARRAY['AUTHORIZED'::text, 'CAPTURED'::text]))) STORED,
  captured boolean GENERATED ALWAYS AS ((status = 'CAPTURED'::text)) STORED,
  decision text,
  decision_reference text,
  decision_amount_minor bigint,
  decision_reason text,
  decided_by text,
  decided_at timestamp with time zone,
  decision_takes_two boolean,
  decision_confirmed_by text,
  decision_confirmed_at timestamp with time zone,
  round smallint DEFAULT 0 NOT NULL,
  authentication_id uuid,
  capture_failed_at timestamp with time zone,
  capture_failed_before_at timestamp with time zone,
  capture_stands_at timestamp with time zone
) PARTITION BY RANGE (session_id);

-- table audit_entry
CREATE TABLE audit_entry (
  id uuid NOT NULL,
  merchant_id uuid,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  before jsonb,
  after jsonb,
  request_id text,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL
);

-- table audit_walk
CREATE TABLE audit_walk (
  only_one boolean DEFAULT true NOT NULL,
  session_id uuid NOT NULL,
  audited_at timestamp with time zone
);

-- table authentication
CREATE TABLE authentication (
  session_id uuid NOT NULL,
  id uuid NOT NULL,
  sequence smallint NOT NULL,
  attempt_id uuid,
  connection_id uuid NOT NULL,
  because text NOT NULL,
  flow text DEFAULT 'REDIRECT'::text NOT NULL,
  status text DEFAULT 'AWAITING_CUSTOMER'::text NOT NULL,
  holds_only_when_asked boolean NOT NULL,
  action_life_ms integer NOT NULL,
  deadline_at timestamp with time zone NOT NULL,
  action_sealed text,
  keep_sealed text,
  returned_sealed text,
  ticket_hash bytea,
  shown_count smallint DEFAULT 0 NOT NULL,
  shown_at timestamp with time zone,
  cancel_asked_at timestamp with time zone,
  answered_at timestamp with time zone,
  completions_sent smallint DEFAULT 0 NOT NULL,
  version text,
  trans_status text,
  eci text,
  ds_transaction_id text,
  liability text,
  trans_status_reason text,
  provider text,
  credential_version integer,
  next_look_at timestamp with time zone,
  proof_sealed text,
  message_sealed text,
  started_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  completed_at timestamp with time zone
) PARTITION BY RANGE (session_id);

-- table blocklist_entry
CREATE TABLE blocklist_entry (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  kind text NOT NULL,
  value text NOT NULL,
  card_last4 text,
  session_id uuid,
  reason text NOT NULL,
  added_by text NOT NULL,
  added_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  ends_at timestamp with time zone
);

-- table braking
CREATE TABLE braking (
  merchant_id uuid NOT NULL,
  began_at timestamp with time zone DEFAULT date_trunc('milliseconds'::text, app.clock()) NOT NULL,
  threshold integer NOT NULL,
  cards integer NOT NULL,
  calm_since timestamp with time zone,
  ended_at timestamp with time zone,
  begun_by text
);

-- table braking_hold
CREATE TABLE braking_hold (
  merchant_id uuid NOT NULL,
  is_on boolean NOT NULL,
  until timestamp with time zone NOT NULL,
  held_by text NOT NULL
);

-- table card_decline
CREATE TABLE card_decline (
  merchant_id uuid NOT NULL,
  fingerprint uuid NOT NULL,
  attempt_id uuid NOT NULL,
  declined_at timestamp with time zone NOT NULL,
  by_customer boolean NOT NULL
);

-- table card_erasure
CREATE TABLE card_erasure (
  handle_hash bytea NOT NULL,
  merchant_id uuid NOT NULL,
  wanted_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  erase_due_at timestamp with time zone NOT NULL,
  own_connection_id uuid,
  own_customer text,
  own_method text,
  begun_at timestamp with time zone
);

-- table card_state
CREATE TABLE card_state (
  merchant_id uuid NOT NULL,
  fingerprint uuid NOT NULL,
  stopped_at timestamp with time zone,
  stopped_because text,
  not_before timestamp with time zone
);

-- table card_submission
CREATE UNLOGGED TABLE card_submission (
  fingerprint uuid NOT NULL,
  nth integer NOT NULL,
  session_id uuid NOT NULL,
  submitted_at timestamp with time zone NOT NULL,
  merchant_id uuid NOT NULL,
  network cidr,
  declines integer
);

-- table connection
CREATE TABLE connection (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  gateway text NOT NULL,
  account text NOT NULL,
  credential_version integer,
  first_verified_at timestamp with time zone,
  paused boolean DEFAULT false NOT NULL,
  acquirer jsonb,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL
);

-- table connection_credential
CREATE TABLE connection_credential (
  connection_id uuid NOT NULL,
  version integer NOT NULL,
  sealed text NOT NULL,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  verified_at timestamp with time zone,
  gateway_account text,
  dropped_at timestamp with time zone
);

-- table delivery
CREATE TABLE delivery (
  event_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  session_id uuid NOT NULL,
  sequence integer NOT NULL,
  status text DEFAULT 'PENDING'::text NOT NULL,
  tries integer DEFAULT 0 NOT NULL,
  next_at timestamp with time zone,
  lease_token uuid,
  ended_at timestamp with time zone
) PARTITION BY RANGE (session_id);

-- table delivery_attempt
CREATE TABLE delivery_attempt (
  event_id uuid NOT NULL,
  id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  started_at timestamp with time zone NOT NULL,
  duration_ms integer NOT NULL,
  status_code integer,
  no_answer text,
  answer text,
  is_test boolean
) PARTITION BY RANGE (event_id);

-- table dispute
CREATE TABLE dispute (
  session_id uuid NOT NULL,
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  attempt_id uuid NOT NULL,
  captured boolean DEFAULT true NOT NULL,
  connection_id uuid NOT NULL,
  gateway text NOT NULL,
  gateway_reference text NOT NULL,
  is_warning boolean GENERATED ALWAYS AS ((stage = 'FRAUD_WARNING'::text)) STORED,
  stage text NOT NULL,
  status text NOT NULL,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  held_minor bigint DEFAULT 0 NOT NULL,
  overlap_minor bigint DEFAULT 0 NOT NULL,
  reason text NOT NULL,
  network_reason_code text,
  network text,
  respond_by timestamp with time zone,
  notices jsonb NOT NULL,
  asked_at timestamp with time zone,
  opened_at timestamp with time zone,
  decision jsonb,
  erase_at_end boolean DEFAULT false NOT NULL,
  due_soon_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  updated_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  closed_at timestamp with time zone
) PARTITION BY RANGE (session_id);

-- table dispute_file
CREATE TABLE dispute_file (
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  dispute_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  name text NOT NULL,
  content_type text NOT NULL,
  size_bytes integer NOT NULL,
  sha256 bytea NOT NULL,
  content_sealed text NOT NULL,
  is_facts boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL
);

-- table dispute_movement
CREATE TABLE dispute_movement (
  session_id uuid NOT NULL,
  dispute_id uuid NOT NULL,
  ordinal smallint NOT NULL,
  merchant_id uuid NOT NULL,
  gateway text NOT NULL,
  type text NOT NULL,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  recorded_at timestamp with time zone DEFAULT app.clock() NOT NULL
) PARTITION BY RANGE (session_id);

-- table dispute_response
CREATE TABLE dispute_response (
  session_id uuid NOT NULL,
  id uuid NOT NULL,
  dispute_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  stage text NOT NULL,
  type text NOT NULL,
  status text DEFAULT 'REQUESTED'::text NOT NULL,
  amount_minor bigint,
  currency text,
  made_by text,
  request_hash bytea NOT NULL,
  defense text,
  documents jsonb DEFAULT '[]'::jsonb NOT NULL,
  content_sealed text,
  sends integer DEFAULT 0 NOT NULL,
  first_sent_at timestamp with time zone,
  failure_code text,
  next_try_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  answered_at timestamp with time zone
) PARTITION BY RANGE (session_id);

-- table endpoint
CREATE TABLE endpoint (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  url text NOT NULL,
  version integer DEFAULT 1 NOT NULL,
  status text DEFAULT 'PENDING'::text NOT NULL,
  event_types text[],
  secret_sealed text NOT NULL,
  previous_sealed text,
  previous_until timestamp with time zone,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  verified_at timestamp with time zone,
  disabled_at timestamp with time zone,
  disabled_reason text,
  in_flight_max integer DEFAULT 4 NOT NULL,
  failures_in_row integer DEFAULT 0 NOT NULL,
  failing_since timestamp with time zone,
  probe_at timestamp with time zone
);

-- table event_todo
CREATE TABLE event_todo (
  session_id uuid NOT NULL,
  sequence integer NOT NULL,
  created_at timestamp with time zone NOT NULL,
  due_at timestamp with time zone NOT NULL,
  fanned_out boolean DEFAULT false NOT NULL,
  publish_count integer DEFAULT 1 NOT NULL
) WITH (fillfactor=20, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0);

-- table gateway_feed
CREATE TABLE gateway_feed (
  connection_id uuid NOT NULL,
  kind text NOT NULL,
  next_read_at timestamp with time zone NOT NULL,
  lease_token uuid,
  begun_at timestamp with time zone,
  since timestamp with time zone,
  page text,
  is_partial boolean DEFAULT false NOT NULL,
  read_at timestamp with time zone,
  read_whole_at timestamp with time zone,
  usual_delay_ms bigint,
  overdue integer DEFAULT 0 NOT NULL,
  not_ours integer DEFAULT 0 NOT NULL,
  blocked_reason text,
  blocked_at timestamp with time zone,
  credential_version integer
);

-- table gateway_notification
CREATE TABLE gateway_notification (
  connection_id uuid NOT NULL,
  notification_id text NOT NULL,
  kind text NOT NULL,
  attempt_reference text NOT NULL,
  gateway_reference text NOT NULL,
  amount_minor bigint,
  currency text,
  declined jsonb,
  modification_reference text,
  refund_reference text,
  dispute jsonb,
  stored jsonb,
  credential_version integer,
  received_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  next_try_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  processed_at timestamp with time zone
);

-- table idempotency
CREATE TABLE idempotency (
  merchant_id uuid NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  session_id uuid NOT NULL,
  answer_sealed text,
  expires_at timestamp with time zone NOT NULL
);

-- table ledger_sum
CREATE TABLE ledger_sum (
  merchant_id uuid NOT NULL,
  day date NOT NULL,
  month date NOT NULL,
  type text NOT NULL,
  gateway text NOT NULL,
  currency text NOT NULL,
  entries integer NOT NULL,
  amount_minor bigint NOT NULL
);

-- table ledger_walk
CREATE TABLE ledger_walk (
  only_one boolean DEFAULT true NOT NULL,
  counted_until timestamp with time zone NOT NULL
);

-- table merchant_settings
CREATE TABLE merchant_settings (
  merchant_id uuid NOT NULL,
  session_lifetime_ms bigint NOT NULL,
  checkout_origins text[] DEFAULT '{}'::text[] NOT NULL,
  publishable_key text NOT NULL,
  statement_descriptor text,
  alert_addresses text[] DEFAULT '{}'::text[] NOT NULL,
  confirmed_addresses text[] DEFAULT '{}'::text[] NOT NULL,
  alert_address_removals integer DEFAULT 0 NOT NULL,
  muted_alerts text[] DEFAULT '{}'::text[] NOT NULL,
  alert_chat_sealed text,
  alert_chat_host text,
  refund_limits jsonb DEFAULT '{}'::jsonb NOT NULL,
  moved_to smallint,
  former_cells smallint[] DEFAULT '{}'::smallint[] NOT NULL,
  moved_here_at timestamp with time zone,
  repeated_orders text DEFAULT 'WARN'::text NOT NULL,
  repeated_orders_at timestamp with time zone,
  wallets jsonb,
  wallet_set_up jsonb
);

-- table orphaned_authorization
CREATE TABLE orphaned_authorization (
  session_id uuid NOT NULL,
  attempt_id uuid NOT NULL,
  gateway_reference text NOT NULL,
  found_by text NOT NULL,
  found_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  retries integer DEFAULT 0 NOT NULL,
  next_retry_at timestamp with time zone,
  ended_at timestamp with time zone,
  outcome text
);

-- table outbox_event
CREATE TABLE outbox_event (
  session_id uuid NOT NULL,
  id uuid NOT NULL,
  sequence integer NOT NULL,
  type text NOT NULL,
  merchant_id uuid NOT NULL,
  body bytea NOT NULL,
  created_at timestamp with time zone NOT NULL,
  feed_position xid8 DEFAULT pg_current_xact_id() NOT NULL
) PARTITION BY RANGE (session_id);

-- table payment_method
CREATE TABLE payment_method (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  customer_ref text,
  brand text NOT NULL,
  last4 text NOT NULL,
  exp_month smallint NOT NULL,
  exp_year smallint NOT NULL,
  fingerprint uuid NOT NULL,
  handle_sealed text,
  handle_hash bytea NOT NULL,
  status text DEFAULT 'ACTIVE'::text NOT NULL,
  stopped_because text,
  session_id uuid NOT NULL,
  own_connection_id uuid,
  own_customer text,
  own_method text,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  stored_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  last_used_at timestamp with time zone,
  deleted_at timestamp with time zone
);

-- table payment_session
CREATE TABLE payment_session (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  order_ref text NOT NULL,
  customer_email text,
  details jsonb,
  secret_version integer NOT NULL,
  status text DEFAULT 'CREATED'::text NOT NULL,
  phase text DEFAULT 'IDLE'::text NOT NULL,
  lease_epoch integer DEFAULT 0 NOT NULL,
  lease_until timestamp with time zone,
  submit_deadline timestamp with time zone,
  vault_token text,
  token_hash bytea,
  card_brand text,
  card_last4 text,
  rule_version integer,
  plan jsonb,
  skipped jsonb,
  routed_by jsonb,
  winner_attempt_id uuid,
  captured_attempt_id uuid GENERATED ALWAYS AS (
CASE
    WHEN (status = 'SUCCEEDED'::text) THEN winner_attempt_id
    ELSE NULL::uuid
END) STORED,
  pinned boolean DEFAULT true NOT NULL,
  captured_via text,
  capture_confirmed boolean,
  failover boolean DEFAULT false NOT NULL,
  decline_code text,
  expired_because text,
  replaced_by uuid,
  pending_event_at timestamp with time zone,
  unrecorded_check_at timestamp with time zone,
  unrecorded_voids jsonb,
  create_request_id uuid,
  submit_request_id uuid,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  submitted_at timestamp with time zone,
  settled_at timestamp with time zone,
  manual_capture boolean DEFAULT false NOT NULL,
  capture_by timestamp with time zone,
  held_at timestamp with time zone,
  held_until timestamp with time zone,
  capture_due_at timestamp with time zone,
  capture_asked_at timestamp with time zone,
  allow_repeated_order boolean DEFAULT false NOT NULL,
  paying_session_id uuid,
  card_fingerprint uuid,
  customer_network cidr,
  brakes text[],
  awaiting_since timestamp with time zone,
  authentications smallint DEFAULT 0 NOT NULL,
  browser_sealed text,
  refunds smallint DEFAULT 0 NOT NULL,
  disputes smallint DEFAULT 0 NOT NULL,
  customer_ref text,
  stored boolean DEFAULT false NOT NULL,
  wallet text,
  wallet_credential text,
  cryptogram_resend text,
  named_by uuid
) PARTITION BY RANGE (id);

-- table payout
CREATE TABLE payout (
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  gateway text NOT NULL,
  gateway_reference text NOT NULL,
  status text NOT NULL,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  arrives_on date,
  lines_known boolean DEFAULT false NOT NULL,
  complete_at timestamp with time zone,
  remainder_minor bigint,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  day date GENERATED ALWAYS AS (COALESCE(arrives_on, ((created_at AT TIME ZONE 'UTC'::text))::date)) STORED NOT NULL
);

-- table payout_line
CREATE TABLE payout_line (
  connection_id uuid NOT NULL,
  line_id text NOT NULL,
  digest bytea NOT NULL,
  merchant_id uuid NOT NULL,
  gateway text NOT NULL,
  payout_id uuid,
  kind text NOT NULL,
  status text NOT NULL,
  reason text,
  gross_minor bigint,
  currency text,
  settled_gross_minor bigint,
  fee_minor bigint,
  net_minor bigint,
  settlement_currency text,
  gateway_type text NOT NULL,
  gateway_reference text NOT NULL,
  names jsonb DEFAULT '{}'::jsonb NOT NULL,
  session_id uuid,
  entry_type text,
  entry_id uuid,
  entry_ordinal smallint,
  entry_at timestamp with time zone,
  next_try_at timestamp with time zone,
  recorded_at timestamp with time zone DEFAULT app.clock() NOT NULL
);

-- table reconciliation_run
CREATE TABLE reconciliation_run (
  id uuid NOT NULL,
  started_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  window_from timestamp with time zone NOT NULL,
  window_to timestamp with time zone NOT NULL,
  cut_changed_at timestamp with time zone,
  cut_attempt_id uuid,
  all_cut boolean DEFAULT false NOT NULL,
  finished_at timestamp with time zone,
  attempts integer DEFAULT 0 NOT NULL,
  read integer DEFAULT 0 NOT NULL,
  by_notifications integer DEFAULT 0 NOT NULL,
  inconclusive integer DEFAULT 0 NOT NULL,
  mismatches integer DEFAULT 0 NOT NULL,
  orphans integer DEFAULT 0 NOT NULL
);

-- table reconciliation_slice
CREATE TABLE reconciliation_slice (
  run_id uuid NOT NULL,
  id uuid NOT NULL,
  from_changed_at timestamp with time zone NOT NULL,
  from_attempt_id uuid NOT NULL,
  to_changed_at timestamp with time zone NOT NULL,
  to_attempt_id uuid NOT NULL,
  lease_token uuid NOT NULL,
  lease_until timestamp with time zone NOT NULL
);

-- table recovery_link
CREATE TABLE recovery_link (
  agreement_id uuid NOT NULL,
  renewal_ref text NOT NULL,
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  order_ref text NOT NULL,
  return_to text,
  version integer DEFAULT 1 NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  session_id uuid,
  tries integer DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL
);

-- table refund
CREATE TABLE refund (
  session_id uuid NOT NULL,
  id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  attempt_id uuid NOT NULL,
  captured boolean DEFAULT true NOT NULL,
  connection_id uuid NOT NULL,
  gateway text NOT NULL,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  status text DEFAULT 'REQUESTED'::text NOT NULL,
  origin text DEFAULT 'MERCHANT'::text NOT NULL,
  reason text,
  refund_ref text,
  made_by text,
  request_hash bytea,
  gateway_reference text,
  failure_code text,
  sends integer DEFAULT 0 NOT NULL,
  keys smallint DEFAULT 0 NOT NULL,
  unanswered integer DEFAULT 0 NOT NULL,
  key_until timestamp with time zone,
  first_sent_at timestamp with time zone,
  sent_at timestamp with time zone,
  look_up_first boolean DEFAULT false NOT NULL,
  absent_at timestamp with time zone,
  retries integer DEFAULT 0 NOT NULL,
  next_try_at timestamp with time zone,
  pending_event_at timestamp with time zone,
  cleared_at timestamp with time zone,
  decision text,
  decision_reference text,
  decided_by text,
  decision_reason text,
  dispute_id uuid,
  dispute_by text,
  dispute_reason text,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  completed_at timestamp with time zone,
  succeeded_at timestamp with time zone
) PARTITION BY RANGE (session_id);

-- table renewal
CREATE TABLE renewal (
  agreement_id uuid NOT NULL,
  renewal_ref text NOT NULL,
  merchant_id uuid NOT NULL,
  session_id uuid,
  paid_session_id uuid,
  tries integer DEFAULT 0 NOT NULL,
  only_by_link boolean DEFAULT false NOT NULL,
  because text,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL
);

-- table renewal_try
CREATE TABLE renewal_try (
  agreement_id uuid NOT NULL,
  key_hash bytea NOT NULL,
  renewal_ref text NOT NULL,
  try integer NOT NULL,
  request_hash bytea NOT NULL,
  session_id uuid NOT NULL,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL
);

-- table replica_mark
CREATE TABLE replica_mark (
  only_one boolean DEFAULT true NOT NULL,
  marked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  timeline text NOT NULL,
  system_identifier text,
  restored_at timestamp with time zone,
  restores integer DEFAULT 0 NOT NULL
) WITH (fillfactor=10);

-- table request_bucket
CREATE UNLOGGED TABLE request_bucket (
  merchant_id uuid NOT NULL,
  bucket text NOT NULL,
  full_at timestamp with time zone NOT NULL,
  granted integer NOT NULL,
  granted_at timestamp with time zone NOT NULL
) WITH (fillfactor=50);

-- table routing_rule
CREATE TABLE routing_rule (
  merchant_id uuid NOT NULL,
  version integer NOT NULL,
  connection_ids uuid[] NOT NULL,
  failover_on text[] NOT NULL,
  retries_same_gateway boolean DEFAULT false NOT NULL,
  cryptogram_resend text DEFAULT 'UNANSWERED'::text NOT NULL,
  authentication text DEFAULT 'AS_NEEDED'::text NOT NULL,
  provider_id uuid,
  policy jsonb,
  cases jsonb,
  split jsonb,
  created_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  set_by text,
  restored_from integer
);

-- table settlement_report
CREATE TABLE settlement_report (
  connection_id uuid NOT NULL,
  name text NOT NULL,
  is_announced boolean DEFAULT true NOT NULL,
  queued_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  rows_read integer DEFAULT 0 NOT NULL,
  read_at timestamp with time zone,
  is_missing boolean DEFAULT false NOT NULL
);

-- table stored_payment
CREATE TABLE stored_payment (
  session_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  amount_minor bigint NOT NULL,
  currency text NOT NULL,
  customer_ref text,
  role text NOT NULL,
  security_code text DEFAULT 'required'::text NOT NULL,
  terms jsonb,
  agreement_id uuid,
  renewal_ref text,
  try integer,
  method_id uuid,
  opened_token_hash bytea,
  opened_hashes bytea[] DEFAULT '{}'::bytea[] NOT NULL,
  opened_methods uuid[] DEFAULT '{}'::uuid[] NOT NULL,
  chain_version integer,
  network text,
  network_transaction_id text,
  network_date date,
  link_id text,
  ds_trans_id text,
  own_connection_id uuid,
  own_customer text,
  own_method text,
  consent_template text,
  consent_locale text,
  consented_at timestamp with time zone,
  consent_address inet,
  consent_user_agent text,
  saving text,
  token_sealed text,
  handle_sealed text,
  handle_hash bytea,
  save_due_at timestamp with time zone,
  save_until timestamp with time zone
) PARTITION BY RANGE (session_id);

-- table tested_cards
CREATE TABLE tested_cards (
  merchant_id uuid NOT NULL,
  starts_at timestamp with time zone NOT NULL,
  cards integer NOT NULL
);

-- table tested_payment
CREATE UNLOGGED TABLE tested_payment (
  session_id uuid NOT NULL,
  merchant_id uuid NOT NULL,
  fingerprint uuid NOT NULL,
  tested_at timestamp with time zone NOT NULL,
  refused boolean DEFAULT false NOT NULL
);

-- table unclassified_code
CREATE TABLE unclassified_code (
  merchant_id uuid NOT NULL,
  gateway text NOT NULL,
  gateway_code text NOT NULL,
  attempts bigint DEFAULT 1 NOT NULL,
  first_seen_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  last_seen_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  session_id uuid NOT NULL,
  attempt_id uuid NOT NULL
);

-- table vault_session
CREATE TABLE vault_session (
  session_id uuid NOT NULL,
  vault_session text NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table work_item
CREATE TABLE work_item (
  id uuid NOT NULL,
  kind text NOT NULL,
  merchant_id uuid NOT NULL,
  session_id uuid NOT NULL,
  attempt_id uuid,
  rule text,
  detail text NOT NULL,
  opened_at timestamp with time zone DEFAULT app.clock() NOT NULL,
  resolved_at timestamp with time zone,
  closed_at timestamp with time zone,
  closed_by text,
  close_note text
);

-- constraint agreement.agreement_chain_version_check
ALTER TABLE agreement ADD CONSTRAINT agreement_chain_version_check CHECK ((chain_version >= 1));

-- constraint agreement.agreement_check
ALTER TABLE agreement ADD CONSTRAINT agreement_check CHECK (((type = 'UNSCHEDULED'::text) OR ((every_days IS NOT NULL) AND (ends_on IS NOT NULL))));

-- constraint agreement.agreement_check1
ALTER TABLE agreement ADD CONSTRAINT agreement_check1 CHECK (((type = 'INSTALMENT'::text) = (instalments IS NOT NULL)));

-- constraint agreement.agreement_check2
ALTER TABLE agreement ADD CONSTRAINT agreement_check2 CHECK (((status <> 'ACTIVE'::text) OR (method_id IS NOT NULL)));

-- constraint agreement.agreement_check3
ALTER TABLE agreement ADD CONSTRAINT agreement_check3 CHECK (((status <> 'NEEDS_CARD'::text) OR (status_because IS NOT NULL)));

-- constraint agreement.agreement_check4
ALTER TABLE agreement ADD CONSTRAINT agreement_check4 CHECK (((status = ANY (ARRAY['CANCELLED'::text, 'ENDED'::text])) = (ended_at IS NOT NULL)));

-- constraint agreement.agreement_check5
ALTER TABLE agreement ADD CONSTRAINT agreement_check5 CHECK (((customer_ref IS NOT NULL) OR (status = ANY (ARRAY['CANCELLED'::text, 'ENDED'::text]))));

-- constraint agreement.agreement_check6
ALTER TABLE agreement ADD CONSTRAINT agreement_check6 CHECK ((num_nonnulls(own_connection_id, own_customer, own_method) = ANY (ARRAY[0, 3])));

-- constraint agreement.agreement_currency_check
ALTER TABLE agreement ADD CONSTRAINT agreement_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text));

-- constraint agreement.agreement_customer_ref_check
ALTER TABLE agreement ADD CONSTRAINT agreement_customer_ref_check CHECK (((char_length(customer_ref) >= 1) AND (char_length(customer_ref) <= 255)));

-- constraint agreement.agreement_every_days_check
ALTER TABLE agreement ADD CONSTRAINT agreement_every_days_check CHECK (((every_days >= 1) AND (every_days <= 3660)));

-- constraint agreement.agreement_instalments_check
ALTER TABLE agreement ADD CONSTRAINT agreement_instalments_check CHECK (((instalments >= 2) AND (instalments <= 99)));

-- constraint agreement.agreement_max_amount_minor_check
ALTER TABLE agreement ADD CONSTRAINT agreement_max_amount_minor_check CHECK (((max_amount_minor >= 1) AND (max_amount_minor <= '999999999999'::bigint)));

-- constraint agreement.agreement_merchant_id_customer_ref_method_id_fkey
ALTER TABLE agreement ADD CONSTRAINT agreement_merchant_id_customer_ref_method_id_fkey FOREIGN KEY (merchant_id, customer_ref, method_id) REFERENCES payment_method(merchant_id, customer_ref, id);

-- constraint agreement.agreement_merchant_id_id_key
ALTER TABLE agreement ADD CONSTRAINT agreement_merchant_id_id_key UNIQUE (merchant_id, id);

-- constraint agreement.agreement_pkey
ALTER TABLE agreement ADD CONSTRAINT agreement_pkey PRIMARY KEY (id);

-- constraint agreement.agreement_status_check
ALTER TABLE agreement ADD CONSTRAINT agreement_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'NEEDS_CARD'::text, 'CANCELLED'::text, 'ENDED'::text])));

-- constraint agreement.agreement_text_check
ALTER TABLE agreement ADD CONSTRAINT agreement_text_check CHECK (((char_length(text) >= 1) AND (char_length(text) <= 500)));

-- constraint agreement.agreement_type_check
ALTER TABLE agreement ADD CONSTRAINT agreement_type_check CHECK ((type = ANY (ARRAY['RECURRING'::text, 'UNSCHEDULED'::text, 'INSTALMENT'::text])));

-- constraint alert.alert_check
ALTER TABLE alert ADD CONSTRAINT alert_check CHECK (((status_code IS NULL) OR (no_answer IS NULL)));

-- constraint alert.alert_check1
ALTER TABLE alert ADD CONSTRAINT alert_check1 CHECK (((kind = 'HOLDS_EXPIRING'::text) = (covers_until IS NOT NULL)));

-- constraint alert.alert_check2
ALTER TABLE alert ADD CONSTRAINT alert_check2 CHECK (((kind = ANY (ARRAY['FAILING_24_HOURS'::text, 'FAILING_72_HOURS'::text, 'DISABLED_FAILING'::text, 'DISABLED_GONE'::text])) = (detail IS NULL)));

-- constraint alert.alert_check3
ALTER TABLE alert ADD CONSTRAINT alert_check3 CHECK (((kind = ANY (ARRAY['DISPUTE_OPENED'::text, 'DISPUTE_DUE'::text])) = (dispute_id IS NOT NULL)));

-- constraint alert.alert_check4
ALTER TABLE alert ADD CONSTRAINT alert_check4 CHECK (((acknowledged_at IS NULL) = (acknowledged_by IS NULL)));

-- constraint alert.alert_detail_check
ALTER TABLE alert ADD CONSTRAINT alert_detail_check CHECK (((char_length(detail) >= 1) AND (char_length(detail) <= 1000)));

-- constraint alert.alert_endpoint_id_fkey
ALTER TABLE alert ADD CONSTRAINT alert_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES endpoint(id);

-- constraint alert.alert_endpoint_id_kind_since_key
ALTER TABLE alert ADD CONSTRAINT alert_endpoint_id_kind_since_key UNIQUE (endpoint_id, kind, since);

-- constraint alert.alert_kind_check
ALTER TABLE alert ADD CONSTRAINT alert_kind_check CHECK ((kind = ANY (ARRAY['FAILING_24_HOURS'::text, 'FAILING_72_HOURS'::text, 'DISABLED_FAILING'::text, 'DISABLED_GONE'::text, 'GATEWAY_UNHEALTHY'::text, 'CREDENTIALS_REFUSED'::text, 'APPROVAL_RATE_LOW'::text, 'GATEWAY_UNVERIFIED'::text, 'ENDPOINT_UNVERIFIED'::text, 'HOLDS_EXPIRING'::text, 'PAID_MORE_THAN_ONCE'::text, 'CARD_TESTING'::text, 'AGREEMENTS_UNCHARGEABLE'::text, 'RENEWALS_STOPPED'::text, 'CARDS_NOT_ERASED'::text, 'APPLE_PAY_ENDING'::text, 'DISPUTE_OPENED'::text, 'DISPUTE_DUE'::text, 'DISPUTES_UNREADABLE'::text, 'SETTLEMENT_OVERDUE'::text, 'PAYOUT_REMAINDER'::text, 'SETTLEMENT_UNREADABLE'::text])));

-- constraint alert.alert_pkey
ALTER TABLE alert ADD CONSTRAINT alert_pkey PRIMARY KEY (id);

-- constraint analytics_arm.analytics_arm_arm_check
ALTER TABLE analytics_arm ADD CONSTRAINT analytics_arm_arm_check CHECK ((arm = ANY (ARRAY['A'::text, 'B'::text])));

-- constraint analytics_arm.analytics_arm_minutes_check
ALTER TABLE analytics_arm ADD CONSTRAINT analytics_arm_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_arm.analytics_arm_pkey
ALTER TABLE analytics_arm ADD CONSTRAINT analytics_arm_pkey PRIMARY KEY (merchant_id, minutes, starts_at, rule_version, case_name, arm, currency);

-- constraint analytics_arm_cost.analytics_arm_cost_arm_check
ALTER TABLE analytics_arm_cost ADD CONSTRAINT analytics_arm_cost_arm_check CHECK ((arm = ANY (ARRAY['A'::text, 'B'::text])));

-- constraint analytics_arm_cost.analytics_arm_cost_minutes_check
ALTER TABLE analytics_arm_cost ADD CONSTRAINT analytics_arm_cost_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_arm_cost.analytics_arm_cost_pkey
ALTER TABLE analytics_arm_cost ADD CONSTRAINT analytics_arm_cost_pkey PRIMARY KEY (merchant_id, minutes, starts_at, rule_version, case_name, arm, gateway, currency);

-- constraint analytics_attempt.analytics_attempt_minutes_check
ALTER TABLE analytics_attempt ADD CONSTRAINT analytics_attempt_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_attempt.analytics_attempt_pkey
ALTER TABLE analytics_attempt ADD CONSTRAINT analytics_attempt_pkey PRIMARY KEY (merchant_id, minutes, starts_at, gateway, currency);

-- constraint analytics_authentication.analytics_authentication_minutes_check
ALTER TABLE analytics_authentication ADD CONSTRAINT analytics_authentication_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_authentication.analytics_authentication_pkey
ALTER TABLE analytics_authentication ADD CONSTRAINT analytics_authentication_pkey PRIMARY KEY (merchant_id, minutes, starts_at, gateway, currency);

-- constraint analytics_card.analytics_card_fact_check
ALTER TABLE analytics_card ADD CONSTRAINT analytics_card_fact_check CHECK ((fact = ANY (ARRAY['BRAND'::text, 'COUNTRY'::text])));

-- constraint analytics_card.analytics_card_minutes_check
ALTER TABLE analytics_card ADD CONSTRAINT analytics_card_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_card.analytics_card_pkey
ALTER TABLE analytics_card ADD CONSTRAINT analytics_card_pkey PRIMARY KEY (merchant_id, minutes, starts_at, currency, fact, value);

-- constraint analytics_cost.analytics_cost_pkey
ALTER TABLE analytics_cost ADD CONSTRAINT analytics_cost_pkey PRIMARY KEY (merchant_id, month, gateway, type, card_brand, rule_version, case_name, arm, currency, settlement_currency);

-- constraint analytics_cost.analytics_cost_type_check
ALTER TABLE analytics_cost ADD CONSTRAINT analytics_cost_type_check CHECK ((type = ANY (ARRAY['CAPTURED'::text, 'REFUNDED'::text, 'REFUND_FAILED'::text, 'CHARGEBACK'::text, 'CHARGEBACK_REVERSED'::text, 'ACCOUNT'::text])));

-- constraint analytics_decline.analytics_decline_minutes_check
ALTER TABLE analytics_decline ADD CONSTRAINT analytics_decline_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_decline.analytics_decline_pkey
ALTER TABLE analytics_decline ADD CONSTRAINT analytics_decline_pkey PRIMARY KEY (merchant_id, minutes, starts_at, gateway, currency, decline_code);

-- constraint analytics_payment.analytics_payment_minutes_check
ALTER TABLE analytics_payment ADD CONSTRAINT analytics_payment_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_payment.analytics_payment_pkey
ALTER TABLE analytics_payment ADD CONSTRAINT analytics_payment_pkey PRIMARY KEY (merchant_id, minutes, starts_at, currency);

-- constraint analytics_renewal.analytics_renewal_minutes_check
ALTER TABLE analytics_renewal ADD CONSTRAINT analytics_renewal_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_renewal.analytics_renewal_pkey
ALTER TABLE analytics_renewal ADD CONSTRAINT analytics_renewal_pkey PRIMARY KEY (merchant_id, minutes, starts_at, currency);

-- constraint analytics_walk.analytics_walk_only_one_check
ALTER TABLE analytics_walk ADD CONSTRAINT analytics_walk_only_one_check CHECK (only_one);

-- constraint analytics_walk.analytics_walk_pkey
ALTER TABLE analytics_walk ADD CONSTRAINT analytics_walk_pkey PRIMARY KEY (only_one);

-- constraint analytics_wallet.analytics_wallet_minutes_check
ALTER TABLE analytics_wallet ADD CONSTRAINT analytics_wallet_minutes_check CHECK ((minutes = ANY (ARRAY[15, 60, 360, 1440])));

-- constraint analytics_wallet.analytics_wallet_pkey
ALTER TABLE analytics_wallet ADD CONSTRAINT analytics_wallet_pkey PRIMARY KEY (merchant_id, minutes, starts_at, currency, wallet);

-- constraint api_key.api_key_check
ALTER TABLE api_key ADD CONSTRAINT api_key_check CHECK ((((kind = 'restricted'::text) = (name IS NOT NULL)) AND ((kind = 'restricted'::text) = (rights IS NOT NULL))));

-- constraint api_key.api_key_check1
ALTER TABLE api_key ADD CONSTRAINT api_key_check1 CHECK (((kind = 'restricted'::text) OR ((expires_at IS NULL) AND (refund_cap IS NULL))));

-- constraint api_key.api_key_check2
ALTER TABLE api_key ADD CONSTRAINT api_key_check2 CHECK ((((replaced_at IS NULL) = (ends_at IS NULL)) AND (ends_at <= (replaced_at + '168:00:00'::interval))));

-- constraint api_key.api_key_hash_check
ALTER TABLE api_key ADD CONSTRAINT api_key_hash_check CHECK ((octet_length(hash) = 32));

-- constraint api_key.api_key_hash_key
ALTER TABLE api_key ADD CONSTRAINT api_key_hash_key UNIQUE (hash);

-- constraint api_key.api_key_kind_check
ALTER TABLE api_key ADD CONSTRAINT api_key_kind_check CHECK ((kind = ANY (ARRAY['secret'::text, 'publishable'::text, 'restricted'::text])));

-- constraint api_key.api_key_last4_check
ALTER TABLE api_key ADD CONSTRAINT api_key_last4_check CHECK ((char_length(last4) = 4));

-- constraint api_key.api_key_name_check
ALTER TABLE api_key ADD CONSTRAINT api_key_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 80)));

-- constraint api_key.api_key_pkey
ALTER TABLE api_key ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

-- constraint api_key.api_key_refund_cap_check
ALTER TABLE api_key ADD CONSTRAINT api_key_refund_cap_check CHECK ((jsonb_typeof(refund_cap) = 'object'::text));

-- constraint api_key.api_key_rights_check
ALTER TABLE api_key ADD CONSTRAINT api_key_rights_check CHECK (((cardinality(rights) >= 1) AND (cardinality(rights) <= 32)));

-- constraint app.order_winner.order_winner_pkey
ALTER TABLE app.order_winner ADD CONSTRAINT order_winner_pkey PRIMARY KEY (merchant_id, order_ref);

-- constraint app.partitioned.partitioned_pkey
ALTER TABLE app.partitioned ADD CONSTRAINT partitioned_pkey PRIMARY KEY (parent);

-- constraint app.partitioned.partitioned_place_key
ALTER TABLE app.partitioned ADD CONSTRAINT partitioned_place_key UNIQUE (place);

-- constraint app.retention.retention_check
ALTER TABLE app.retention ADD CONSTRAINT retention_check CHECK ((keep >=
CASE kind
    WHEN 'payments'::text THEN '1 year 6 mons'::interval
    ELSE '30 days'::interval
END));

-- constraint app.retention.retention_pkey
ALTER TABLE app.retention ADD CONSTRAINT retention_pkey PRIMARY KEY (kind);

-- constraint attempt.attempt_pkey
ALTER TABLE attempt ADD CONSTRAINT attempt_pkey PRIMARY KEY (session_id, id);

-- constraint attempt.attempt_session_id_amount_minor_currency_fkey
ALTER TABLE partitions.attempt_rest ADD CONSTRAINT attempt_session_id_amount_minor_currency_fkey FOREIGN KEY (session_id, amount_minor, currency) REFERENCES partitions.payment_session_rest(id, amount_minor, currency);

-- constraint attempt.attempt_session_id_id_captured_key
ALTER TABLE attempt ADD CONSTRAINT attempt_session_id_id_captured_key UNIQUE (session_id, id, captured);

-- constraint attempt.attempt_session_id_id_holds_key
ALTER TABLE attempt ADD CONSTRAINT attempt_session_id_id_holds_key UNIQUE (session_id, id, holds);

-- constraint attempt.attempt_session_id_sequence_key
ALTER TABLE attempt ADD CONSTRAINT attempt_session_id_sequence_key UNIQUE (session_id, sequence);

-- constraint audit_entry.audit_entry_pkey
ALTER TABLE audit_entry ADD CONSTRAINT audit_entry_pkey PRIMARY KEY (id);

-- constraint audit_walk.audit_walk_only_one_check
ALTER TABLE audit_walk ADD CONSTRAINT audit_walk_only_one_check CHECK (only_one);

-- constraint audit_walk.audit_walk_pkey
ALTER TABLE audit_walk ADD CONSTRAINT audit_walk_pkey PRIMARY KEY (only_one);

-- constraint authentication.authentication_pkey
ALTER TABLE authentication ADD CONSTRAINT authentication_pkey PRIMARY KEY (session_id, id);

-- constraint authentication.authentication_session_id_attempt_id_fkey
ALTER TABLE partitions.authentication_rest ADD CONSTRAINT authentication_session_id_attempt_id_fkey FOREIGN KEY (session_id, attempt_id) REFERENCES partitions.attempt_rest(session_id, id);

-- constraint authentication.authentication_session_id_attempt_id_key
ALTER TABLE authentication ADD CONSTRAINT authentication_session_id_attempt_id_key UNIQUE (session_id, attempt_id);

-- constraint authentication.authentication_session_id_sequence_key
ALTER TABLE authentication ADD CONSTRAINT authentication_session_id_sequence_key UNIQUE (session_id, sequence);

-- constraint blocklist_entry.blocklist_entry_card_last4_check
ALTER TABLE blocklist_entry ADD CONSTRAINT blocklist_entry_card_last4_check CHECK ((card_last4 ~ '^[0-9]{4}$'::text));

-- constraint blocklist_entry.blocklist_entry_check
ALTER TABLE blocklist_entry ADD CONSTRAINT blocklist_entry_check CHECK ((value ~
CASE kind
    WHEN 'CARD'::text THEN '^[0-9a-f-]{36}$'::text
    WHEN 'EMAIL'::text THEN '^[0-9a-f]{64}$'::text
    ELSE '^[0-9a-f.:]+/[0-9]{2}$'::text
END));

-- constraint blocklist_entry.blocklist_entry_kind_check
ALTER TABLE blocklist_entry ADD CONSTRAINT blocklist_entry_kind_check CHECK ((kind = ANY (ARRAY['CARD'::text, 'EMAIL'::text, 'NETWORK'::text])));

-- constraint blocklist_entry.blocklist_entry_merchant_id_value_key
ALTER TABLE blocklist_entry ADD CONSTRAINT blocklist_entry_merchant_id_value_key UNIQUE (merchant_id, value);

-- constraint blocklist_entry.blocklist_entry_pkey
ALTER TABLE blocklist_entry ADD CONSTRAINT blocklist_entry_pkey PRIMARY KEY (id);

-- constraint blocklist_entry.blocklist_entry_reason_check
ALTER TABLE blocklist_entry ADD CONSTRAINT blocklist_entry_reason_check CHECK (((char_length(reason) >= 1) AND (char_length(reason) <= 200)));

-- constraint braking.braking_pkey
ALTER TABLE braking ADD CONSTRAINT braking_pkey PRIMARY KEY (merchant_id, began_at);

-- constraint braking_hold.braking_hold_pkey
ALTER TABLE braking_hold ADD CONSTRAINT braking_hold_pkey PRIMARY KEY (merchant_id);

-- constraint card_decline.card_decline_pkey
ALTER TABLE card_decline ADD CONSTRAINT card_decline_pkey PRIMARY KEY (merchant_id, fingerprint, attempt_id);

-- constraint card_erasure.card_erasure_check
ALTER TABLE card_erasure ADD CONSTRAINT card_erasure_check CHECK ((num_nonnulls(own_connection_id, own_customer, own_method, begun_at) = ANY (ARRAY[0, 4])));

-- constraint card_erasure.card_erasure_handle_hash_check
ALTER TABLE card_erasure ADD CONSTRAINT card_erasure_handle_hash_check CHECK ((octet_length(handle_hash) = 32));

-- constraint card_erasure.card_erasure_pkey
ALTER TABLE card_erasure ADD CONSTRAINT card_erasure_pkey PRIMARY KEY (handle_hash);

-- constraint card_state.card_state_check
ALTER TABLE card_state ADD CONSTRAINT card_state_check CHECK (((stopped_at IS NULL) = (stopped_because IS NULL)));

-- constraint card_state.card_state_pkey
ALTER TABLE card_state ADD CONSTRAINT card_state_pkey PRIMARY KEY (merchant_id, fingerprint);

-- constraint card_submission.card_submission_declines_check
ALTER TABLE card_submission ADD CONSTRAINT card_submission_declines_check CHECK (((declines >= 1) AND (declines <= 2)));

-- constraint card_submission.card_submission_pkey
ALTER TABLE card_submission ADD CONSTRAINT card_submission_pkey PRIMARY KEY (fingerprint, nth);

-- constraint connection.connection_gateway_check
ALTER TABLE connection ADD CONSTRAINT connection_gateway_check CHECK ((gateway ~ '^[A-Z][A-Z0-9_]*$'::text));

-- constraint connection.connection_merchant_id_gateway_account_key
ALTER TABLE connection ADD CONSTRAINT connection_merchant_id_gateway_account_key UNIQUE (merchant_id, gateway, account);

-- constraint connection.connection_pkey
ALTER TABLE connection ADD CONSTRAINT connection_pkey PRIMARY KEY (id);

-- constraint connection_credential.connection_credential_connection_id_fkey
ALTER TABLE connection_credential ADD CONSTRAINT connection_credential_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id);

-- constraint connection_credential.connection_credential_pkey
ALTER TABLE connection_credential ADD CONSTRAINT connection_credential_pkey PRIMARY KEY (connection_id, version);

-- constraint connection_credential.connection_credential_version_check
ALTER TABLE connection_credential ADD CONSTRAINT connection_credential_version_check CHECK ((version >= 1));

-- constraint delivery.delivery_check
ALTER TABLE delivery ADD CONSTRAINT delivery_check CHECK (((status = 'PENDING'::text) = (next_at IS NOT NULL)));

-- constraint delivery.delivery_check1
ALTER TABLE delivery ADD CONSTRAINT delivery_check1 CHECK (((status = 'PENDING'::text) = (ended_at IS NULL)));

-- constraint delivery.delivery_check2
ALTER TABLE delivery ADD CONSTRAINT delivery_check2 CHECK (((status = 'PENDING'::text) OR (lease_token IS NULL)));

-- constraint delivery.delivery_endpoint_id_fkey
ALTER TABLE delivery ADD CONSTRAINT delivery_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES endpoint(id);

-- constraint delivery.delivery_pkey
ALTER TABLE delivery ADD CONSTRAINT delivery_pkey PRIMARY KEY (event_id, endpoint_id, session_id);

-- constraint delivery.delivery_session_id_endpoint_id_sequence_key
ALTER TABLE delivery ADD CONSTRAINT delivery_session_id_endpoint_id_sequence_key UNIQUE (session_id, endpoint_id, sequence);

-- constraint delivery.delivery_session_id_event_id_fkey
ALTER TABLE partitions.delivery_rest ADD CONSTRAINT delivery_session_id_event_id_fkey FOREIGN KEY (session_id, event_id) REFERENCES partitions.outbox_event_rest(session_id, id);

-- constraint delivery.delivery_status_check
ALTER TABLE delivery ADD CONSTRAINT delivery_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'SUCCEEDED'::text, 'EXHAUSTED'::text])));

-- constraint delivery_attempt.delivery_attempt_check
ALTER TABLE delivery_attempt ADD CONSTRAINT delivery_attempt_check CHECK (((status_code IS NULL) <> (no_answer IS NULL)));

-- constraint delivery_attempt.delivery_attempt_duration_ms_check
ALTER TABLE delivery_attempt ADD CONSTRAINT delivery_attempt_duration_ms_check CHECK ((duration_ms >= 0));

-- constraint delivery_attempt.delivery_attempt_endpoint_id_fkey
ALTER TABLE delivery_attempt ADD CONSTRAINT delivery_attempt_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES endpoint(id);

-- constraint delivery_attempt.delivery_attempt_is_test_check
ALTER TABLE delivery_attempt ADD CONSTRAINT delivery_attempt_is_test_check CHECK (is_test);

-- constraint delivery_attempt.delivery_attempt_pkey
ALTER TABLE delivery_attempt ADD CONSTRAINT delivery_attempt_pkey PRIMARY KEY (event_id, id);

-- constraint dispute.dispute_pkey
ALTER TABLE dispute ADD CONSTRAINT dispute_pkey PRIMARY KEY (session_id, id);

-- constraint dispute.dispute_session_id_attempt_id_captured_fkey
ALTER TABLE partitions.dispute_rest ADD CONSTRAINT dispute_session_id_attempt_id_captured_fkey FOREIGN KEY (session_id, attempt_id, captured) REFERENCES partitions.attempt_rest(session_id, id, captured);

-- constraint dispute_file.dispute_file_content_type_check
ALTER TABLE dispute_file ADD CONSTRAINT dispute_file_content_type_check CHECK ((content_type = ANY (ARRAY['application/pdf'::text, 'image/jpeg'::text])));

-- constraint dispute_file.dispute_file_name_check
ALTER TABLE dispute_file ADD CONSTRAINT dispute_file_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100)));

-- constraint dispute_file.dispute_file_pkey
ALTER TABLE dispute_file ADD CONSTRAINT dispute_file_pkey PRIMARY KEY (id);

-- constraint dispute_file.dispute_file_size_bytes_check
ALTER TABLE dispute_file ADD CONSTRAINT dispute_file_size_bytes_check CHECK (((size_bytes >= 1) AND (size_bytes <= 2097152)));

-- constraint dispute_movement.dispute_movement_pkey
ALTER TABLE dispute_movement ADD CONSTRAINT dispute_movement_pkey PRIMARY KEY (session_id, dispute_id, ordinal);

-- constraint dispute_movement.dispute_movement_session_id_dispute_id_fkey
ALTER TABLE partitions.dispute_movement_rest ADD CONSTRAINT dispute_movement_session_id_dispute_id_fkey FOREIGN KEY (session_id, dispute_id) REFERENCES partitions.dispute_rest(session_id, id);

-- constraint dispute_response.dispute_response_pkey
ALTER TABLE dispute_response ADD CONSTRAINT dispute_response_pkey PRIMARY KEY (session_id, id);

-- constraint dispute_response.dispute_response_session_id_dispute_id_fkey
ALTER TABLE partitions.dispute_response_rest ADD CONSTRAINT dispute_response_session_id_dispute_id_fkey FOREIGN KEY (session_id, dispute_id) REFERENCES partitions.dispute_rest(session_id, id);

-- constraint endpoint.endpoint_check
ALTER TABLE endpoint ADD CONSTRAINT endpoint_check CHECK (((failures_in_row = 0) = (failing_since IS NULL)));

-- constraint endpoint.endpoint_check1
ALTER TABLE endpoint ADD CONSTRAINT endpoint_check1 CHECK (((previous_sealed IS NULL) = (previous_until IS NULL)));

-- constraint endpoint.endpoint_check3
ALTER TABLE endpoint ADD CONSTRAINT endpoint_check3 CHECK (((status = 'DISABLED'::text) = (disabled_at IS NOT NULL)));

-- constraint endpoint.endpoint_check4
ALTER TABLE endpoint ADD CONSTRAINT endpoint_check4 CHECK (((status = 'DISABLED'::text) = (disabled_reason IS NOT NULL)));

-- constraint endpoint.endpoint_disabled_reason_check
ALTER TABLE endpoint ADD CONSTRAINT endpoint_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['GONE'::text, 'FAILING'::text, 'OWNER'::text])));

-- constraint endpoint.endpoint_enabled_verified
ALTER TABLE endpoint ADD CONSTRAINT endpoint_enabled_verified CHECK (((status <> 'ENABLED'::text) OR (verified_at IS NOT NULL)));

-- constraint endpoint.endpoint_event_types_check
ALTER TABLE endpoint ADD CONSTRAINT endpoint_event_types_check CHECK ((cardinality(event_types) >= 1));

-- constraint endpoint.endpoint_failures_in_row_check
ALTER TABLE endpoint ADD CONSTRAINT endpoint_failures_in_row_check CHECK ((failures_in_row >= 0));

-- constraint endpoint.endpoint_in_flight_max_check
ALTER TABLE endpoint ADD CONSTRAINT endpoint_in_flight_max_check CHECK (((in_flight_max >= 1) AND (in_flight_max <= 64)));

-- constraint endpoint.endpoint_pkey
ALTER TABLE endpoint ADD CONSTRAINT endpoint_pkey PRIMARY KEY (id);

-- constraint endpoint.endpoint_status_check
ALTER TABLE endpoint ADD CONSTRAINT endpoint_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'ENABLED'::text, 'PAUSED'::text, 'DISABLED'::text, 'REMOVED'::text])));

-- constraint endpoint.endpoint_url_check
ALTER TABLE endpoint ADD CONSTRAINT endpoint_url_check CHECK (((char_length(url) >= 8) AND (char_length(url) <= 2048)));

-- constraint event_todo.event_todo_pkey
ALTER TABLE event_todo ADD CONSTRAINT event_todo_pkey PRIMARY KEY (session_id, sequence);

-- constraint gateway_feed.gateway_feed_check
ALTER TABLE gateway_feed ADD CONSTRAINT gateway_feed_check CHECK (((blocked_reason IS NULL) = (blocked_at IS NULL)));

-- constraint gateway_feed.gateway_feed_connection_id_fkey
ALTER TABLE gateway_feed ADD CONSTRAINT gateway_feed_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id);

-- constraint gateway_feed.gateway_feed_kind_check
ALTER TABLE gateway_feed ADD CONSTRAINT gateway_feed_kind_check CHECK ((kind = ANY (ARRAY['disputes'::text, 'settlement'::text])));

-- constraint gateway_feed.gateway_feed_pkey
ALTER TABLE gateway_feed ADD CONSTRAINT gateway_feed_pkey PRIMARY KEY (connection_id, kind);

-- constraint gateway_notification.gateway_notification_connection_id_credential_version_fkey
ALTER TABLE gateway_notification ADD CONSTRAINT gateway_notification_connection_id_credential_version_fkey FOREIGN KEY (connection_id, credential_version) REFERENCES connection_credential(connection_id, version);

-- constraint gateway_notification.gateway_notification_connection_id_fkey
ALTER TABLE gateway_notification ADD CONSTRAINT gateway_notification_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id);

-- constraint gateway_notification.gateway_notification_pkey
ALTER TABLE gateway_notification ADD CONSTRAINT gateway_notification_pkey PRIMARY KEY (connection_id, notification_id);

-- constraint idempotency.idempotency_key_check
ALTER TABLE idempotency ADD CONSTRAINT idempotency_key_check CHECK (((char_length(key) >= 1) AND (char_length(key) <= 255)));

-- constraint idempotency.idempotency_pkey
ALTER TABLE idempotency ADD CONSTRAINT idempotency_pkey PRIMARY KEY (merchant_id, key);

-- constraint idempotency.idempotency_request_hash_check
ALTER TABLE idempotency ADD CONSTRAINT idempotency_request_hash_check CHECK ((octet_length(request_hash) = 32));

-- constraint ledger_sum.ledger_sum_pkey
ALTER TABLE ledger_sum ADD CONSTRAINT ledger_sum_pkey PRIMARY KEY (merchant_id, day, month, type, gateway, currency);

-- constraint ledger_walk.ledger_walk_only_one_check
ALTER TABLE ledger_walk ADD CONSTRAINT ledger_walk_only_one_check CHECK (only_one);

-- constraint ledger_walk.ledger_walk_pkey
ALTER TABLE ledger_walk ADD CONSTRAINT ledger_walk_pkey PRIMARY KEY (only_one);

-- constraint merchant_settings.merchant_settings_alert_addresses_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_alert_addresses_check CHECK ((cardinality(alert_addresses) <= 10));

-- constraint merchant_settings.merchant_settings_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_check CHECK ((confirmed_addresses <@ alert_addresses));

-- constraint merchant_settings.merchant_settings_check1
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_check1 CHECK (((alert_chat_sealed IS NULL) = (alert_chat_host IS NULL)));

-- constraint merchant_settings.merchant_settings_moved_to_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_moved_to_check CHECK (((moved_to >= 1) AND (moved_to <= 61)));

-- constraint merchant_settings.merchant_settings_muted_alerts_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_muted_alerts_check CHECK ((muted_alerts <@ ARRAY['GATEWAY_UNHEALTHY'::text, 'CREDENTIALS_REFUSED'::text, 'APPROVAL_RATE'::text, 'ENDPOINT_FAILING'::text, 'UNVERIFIED'::text, 'HOLDS_EXPIRING'::text, 'PAID_MORE_THAN_ONCE'::text, 'CARD_TESTING'::text, 'AGREEMENTS_UNCHARGEABLE'::text, 'RENEWALS_STOPPED'::text, 'CARDS_NOT_ERASED'::text, 'APPLE_PAY_ENDING'::text, 'DISPUTES'::text, 'SETTLEMENT'::text]));

-- constraint merchant_settings.merchant_settings_pkey
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_pkey PRIMARY KEY (merchant_id);

-- constraint merchant_settings.merchant_settings_refund_limits_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_refund_limits_check CHECK ((jsonb_typeof(refund_limits) = 'object'::text));

-- constraint merchant_settings.merchant_settings_repeated_orders_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_repeated_orders_check CHECK ((repeated_orders = ANY (ARRAY['WARN'::text, 'REFUSE'::text])));

-- constraint merchant_settings.merchant_settings_session_lifetime_ms_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_session_lifetime_ms_check CHECK (((session_lifetime_ms >= 300000) AND (session_lifetime_ms <= 86400000)));

-- constraint merchant_settings.merchant_settings_statement_descriptor_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_statement_descriptor_check CHECK (((char_length(statement_descriptor) >= 5) AND (char_length(statement_descriptor) <= 22)));

-- constraint merchant_settings.merchant_settings_wallet_set_up_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_wallet_set_up_check CHECK ((jsonb_typeof(wallet_set_up) = 'object'::text));

-- constraint merchant_settings.merchant_settings_wallets_check
ALTER TABLE merchant_settings ADD CONSTRAINT merchant_settings_wallets_check CHECK ((jsonb_typeof(wallets) = 'object'::text));

-- constraint orphaned_authorization.orphaned_authorization_check
ALTER TABLE orphaned_authorization ADD CONSTRAINT orphaned_authorization_check CHECK (((ended_at IS NULL) = (next_retry_at IS NOT NULL)));

-- constraint orphaned_authorization.orphaned_authorization_check1
ALTER TABLE orphaned_authorization ADD CONSTRAINT orphaned_authorization_check1 CHECK (((ended_at IS NULL) = (outcome IS NULL)));

-- constraint orphaned_authorization.orphaned_authorization_found_by_check
ALTER TABLE orphaned_authorization ADD CONSTRAINT orphaned_authorization_found_by_check CHECK ((found_by = ANY (ARRAY['reconciliation'::text, 'notification'::text])));

-- constraint orphaned_authorization.orphaned_authorization_outcome_check
ALTER TABLE orphaned_authorization ADD CONSTRAINT orphaned_authorization_outcome_check CHECK ((outcome = ANY (ARRAY['VOIDED'::text, 'GONE'::text, 'CAPTURED'::text])));

-- constraint orphaned_authorization.orphaned_authorization_pkey
ALTER TABLE orphaned_authorization ADD CONSTRAINT orphaned_authorization_pkey PRIMARY KEY (session_id, attempt_id, gateway_reference);

-- constraint outbox_event.outbox_event_pkey
ALTER TABLE outbox_event ADD CONSTRAINT outbox_event_pkey PRIMARY KEY (session_id, id);

-- constraint outbox_event.outbox_event_sequence_check
ALTER TABLE outbox_event ADD CONSTRAINT outbox_event_sequence_check CHECK ((sequence >= 1));

-- constraint outbox_event.outbox_event_session_id_fkey
ALTER TABLE partitions.outbox_event_rest ADD CONSTRAINT outbox_event_session_id_fkey FOREIGN KEY (session_id) REFERENCES partitions.payment_session_rest(id);

-- constraint outbox_event.outbox_event_session_id_sequence_key
ALTER TABLE outbox_event ADD CONSTRAINT outbox_event_session_id_sequence_key UNIQUE (session_id, sequence);

-- constraint outbox_event.outbox_event_type_check
ALTER TABLE outbox_event ADD CONSTRAINT outbox_event_type_check CHECK ((type ~ '^[a-z_]+[.][a-z_]+$'::text));

-- constraint payment_method.payment_method_check
ALTER TABLE payment_method ADD CONSTRAINT payment_method_check CHECK ((((status = 'DELETED'::text) = (handle_sealed IS NULL)) AND ((status = 'DELETED'::text) = (deleted_at IS NOT NULL))));

-- constraint payment_method.payment_method_check1
ALTER TABLE payment_method ADD CONSTRAINT payment_method_check1 CHECK (((customer_ref IS NOT NULL) OR (status = 'DELETED'::text)));

-- constraint payment_method.payment_method_check2
ALTER TABLE payment_method ADD CONSTRAINT payment_method_check2 CHECK ((num_nonnulls(own_connection_id, own_customer, own_method) = ANY (ARRAY[0, 3])));

-- constraint payment_method.payment_method_customer_ref_check
ALTER TABLE payment_method ADD CONSTRAINT payment_method_customer_ref_check CHECK (((char_length(customer_ref) >= 1) AND (char_length(customer_ref) <= 255)));

-- constraint payment_method.payment_method_exp_month_check
ALTER TABLE payment_method ADD CONSTRAINT payment_method_exp_month_check CHECK (((exp_month >= 1) AND (exp_month <= 12)));

-- constraint payment_method.payment_method_exp_year_check
ALTER TABLE payment_method ADD CONSTRAINT payment_method_exp_year_check CHECK (((exp_year >= 2000) AND (exp_year <= 2199)));

-- constraint payment_method.payment_method_handle_hash_check
ALTER TABLE payment_method ADD CONSTRAINT payment_method_handle_hash_check CHECK ((octet_length(handle_hash) = 32));

-- constraint payment_method.payment_method_handle_hash_key
ALTER TABLE payment_method ADD CONSTRAINT payment_method_handle_hash_key UNIQUE (handle_hash);

-- constraint payment_method.payment_method_last4_check
ALTER TABLE payment_method ADD CONSTRAINT payment_method_last4_check CHECK ((last4 ~ '^[0-9]{4}$'::text));

-- constraint payment_method.payment_method_merchant_id_customer_ref_id_key
ALTER TABLE payment_method ADD CONSTRAINT payment_method_merchant_id_customer_ref_id_key UNIQUE (merchant_id, customer_ref, id);

-- constraint payment_method.payment_method_pkey
ALTER TABLE payment_method ADD CONSTRAINT payment_method_pkey PRIMARY KEY (id);

-- constraint payment_method.payment_method_status_check
ALTER TABLE payment_method ADD CONSTRAINT payment_method_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'DELETED'::text])));

-- constraint payment_session.payment_session_brakes_check
ALTER TABLE payment_session ADD CONSTRAINT payment_session_brakes_check CHECK ((brakes <@ ARRAY['NEW_CARD'::text, 'KNOWN_CARD'::text, 'NETWORK'::text]));

-- constraint payment_session.payment_session_captured
ALTER TABLE partitions.payment_session_rest ADD CONSTRAINT payment_session_captured FOREIGN KEY (id, captured_attempt_id, pinned) REFERENCES partitions.attempt_rest(session_id, id, captured);

-- constraint payment_session.payment_session_id_amount_minor_currency_key
ALTER TABLE payment_session ADD CONSTRAINT payment_session_id_amount_minor_currency_key UNIQUE (id, amount_minor, currency);

-- constraint payment_session.payment_session_pkey
ALTER TABLE payment_session ADD CONSTRAINT payment_session_pkey PRIMARY KEY (id);

-- constraint payment_session.payment_session_winner
ALTER TABLE partitions.payment_session_rest ADD CONSTRAINT payment_session_winner FOREIGN KEY (id, winner_attempt_id, pinned) REFERENCES partitions.attempt_rest(session_id, id, holds) DEFERRABLE INITIALLY DEFERRED;

-- constraint payout.payout_check
ALTER TABLE payout ADD CONSTRAINT payout_check CHECK (((complete_at IS NULL) = (remainder_minor IS NULL)));

-- constraint payout.payout_connection_id_fkey
ALTER TABLE payout ADD CONSTRAINT payout_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id);

-- constraint payout.payout_connection_id_gateway_reference_key
ALTER TABLE payout ADD CONSTRAINT payout_connection_id_gateway_reference_key UNIQUE (connection_id, gateway_reference);

-- constraint payout.payout_connection_id_id_key
ALTER TABLE payout ADD CONSTRAINT payout_connection_id_id_key UNIQUE (connection_id, id);

-- constraint payout.payout_gateway_reference_check
ALTER TABLE payout ADD CONSTRAINT payout_gateway_reference_check CHECK (((char_length(gateway_reference) >= 1) AND (char_length(gateway_reference) <= 255)));

-- constraint payout.payout_pkey
ALTER TABLE payout ADD CONSTRAINT payout_pkey PRIMARY KEY (id);

-- constraint payout.payout_status_check
ALTER TABLE payout ADD CONSTRAINT payout_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'PAID'::text, 'FAILED'::text])));

-- constraint payout_line.payout_line_check
ALTER TABLE payout_line ADD CONSTRAINT payout_line_check CHECK (((next_try_at IS NULL) OR (status = 'UNMATCHED'::text)));

-- constraint payout_line.payout_line_connection_id_fkey
ALTER TABLE payout_line ADD CONSTRAINT payout_line_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id);

-- constraint payout_line.payout_line_connection_id_payout_id_fkey
ALTER TABLE payout_line ADD CONSTRAINT payout_line_connection_id_payout_id_fkey FOREIGN KEY (connection_id, payout_id) REFERENCES payout(connection_id, id);

-- constraint payout_line.payout_line_gateway_reference_check
ALTER TABLE payout_line ADD CONSTRAINT payout_line_gateway_reference_check CHECK ((char_length(gateway_reference) <= 255));

-- constraint payout_line.payout_line_gateway_type_check
ALTER TABLE payout_line ADD CONSTRAINT payout_line_gateway_type_check CHECK ((char_length(gateway_type) <= 255));

-- constraint payout_line.payout_line_kind_check
ALTER TABLE payout_line ADD CONSTRAINT payout_line_kind_check CHECK ((kind = ANY (ARRAY['CAPTURE'::text, 'REFUND'::text, 'REFUND_FAILED'::text, 'CHARGEBACK'::text, 'CHARGEBACK_REVERSED'::text, 'FEE'::text, 'RESERVE'::text, 'CONVERSION'::text, 'ADJUSTMENT'::text, 'PAYOUT'::text, 'OTHER'::text])));

-- constraint payout_line.payout_line_line_id_check
ALTER TABLE payout_line ADD CONSTRAINT payout_line_line_id_check CHECK (((char_length(line_id) >= 1) AND (char_length(line_id) <= 255)));

-- constraint payout_line.payout_line_pkey
ALTER TABLE payout_line ADD CONSTRAINT payout_line_pkey PRIMARY KEY (connection_id, line_id);

-- constraint payout_line.payout_line_status
ALTER TABLE payout_line ADD CONSTRAINT payout_line_status CHECK (
CASE status
    WHEN 'MATCHED'::text THEN ((reason IS NULL) AND (num_nulls(session_id, entry_type, entry_id, entry_ordinal, entry_at) = 0) AND (entry_type =
    CASE kind
        WHEN 'CAPTURE'::text THEN 'CAPTURED'::text
        WHEN 'REFUND'::text THEN 'REFUNDED'::text
        WHEN 'REFUND_FAILED'::text THEN 'REFUND_FAILED'::text
        WHEN 'CHARGEBACK'::text THEN 'CHARGEBACK'::text
        WHEN 'CHARGEBACK_REVERSED'::text THEN 'CHARGEBACK_REVERSED'::text
        ELSE ''::text
    END))
    WHEN 'ACCOUNT'::text THEN ((reason IS NULL) AND (num_nonnulls(session_id, entry_type, entry_id, entry_ordinal, entry_at) = 0) AND (kind = ANY (ARRAY['FEE'::text, 'RESERVE'::text, 'CONVERSION'::text, 'ADJUSTMENT'::text, 'PAYOUT'::text])))
    ELSE (COALESCE((reason = ANY (ARRAY['not_ours'::text, 'not_found'::text, 'already_paid'::text, 'amount_differs'::text, 'unknown_type'::text, 'unreadable'::text])), false) AND (num_nonnulls(entry_type, entry_id, entry_ordinal, entry_at) = 0) AND ((reason = 'unreadable'::text) OR ((kind = 'OTHER'::text) = (reason = 'unknown_type'::text))) AND ((reason = 'unreadable'::text) OR (kind <> ALL (ARRAY['FEE'::text, 'RESERVE'::text, 'CONVERSION'::text, 'ADJUSTMENT'::text, 'PAYOUT'::text]))))
END);

-- constraint payout_line.payout_line_status_check
ALTER TABLE payout_line ADD CONSTRAINT payout_line_status_check CHECK ((status = ANY (ARRAY['MATCHED'::text, 'UNMATCHED'::text, 'ACCOUNT'::text])));

-- constraint payout_line.payout_line_sum
ALTER TABLE payout_line ADD CONSTRAINT payout_line_sum CHECK (((NOT (reason IS DISTINCT FROM 'unreadable'::text)) OR ((num_nulls(gross_minor, currency, settled_gross_minor, fee_minor, net_minor, settlement_currency) = 0) AND ((settled_gross_minor - fee_minor) = net_minor))));

-- constraint reconciliation_run.reconciliation_run_check
ALTER TABLE reconciliation_run ADD CONSTRAINT reconciliation_run_check CHECK ((window_from < window_to));

-- constraint reconciliation_run.reconciliation_run_check1
ALTER TABLE reconciliation_run ADD CONSTRAINT reconciliation_run_check1 CHECK (((cut_changed_at IS NULL) = (cut_attempt_id IS NULL)));

-- constraint reconciliation_run.reconciliation_run_check2
ALTER TABLE reconciliation_run ADD CONSTRAINT reconciliation_run_check2 CHECK (((finished_at IS NULL) OR all_cut));

-- constraint reconciliation_run.reconciliation_run_check3
ALTER TABLE reconciliation_run ADD CONSTRAINT reconciliation_run_check3 CHECK ((attempts = ((read + by_notifications) + inconclusive)));

-- constraint reconciliation_run.reconciliation_run_pkey
ALTER TABLE reconciliation_run ADD CONSTRAINT reconciliation_run_pkey PRIMARY KEY (id);

-- constraint reconciliation_slice.reconciliation_slice_pkey
ALTER TABLE reconciliation_slice ADD CONSTRAINT reconciliation_slice_pkey PRIMARY KEY (run_id, id);

-- constraint reconciliation_slice.reconciliation_slice_run_id_fkey
ALTER TABLE reconciliation_slice ADD CONSTRAINT reconciliation_slice_run_id_fkey FOREIGN KEY (run_id) REFERENCES reconciliation_run(id);

-- constraint recovery_link.recovery_link_agreement_id_renewal_ref_fkey
ALTER TABLE recovery_link ADD CONSTRAINT recovery_link_agreement_id_renewal_ref_fkey FOREIGN KEY (agreement_id, renewal_ref) REFERENCES renewal(agreement_id, renewal_ref);

-- constraint recovery_link.recovery_link_amount_minor_check
ALTER TABLE recovery_link ADD CONSTRAINT recovery_link_amount_minor_check CHECK (((amount_minor >= 1) AND (amount_minor <= '999999999999'::bigint)));

-- constraint recovery_link.recovery_link_currency_check
ALTER TABLE recovery_link ADD CONSTRAINT recovery_link_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text));

-- constraint recovery_link.recovery_link_id_key
ALTER TABLE recovery_link ADD CONSTRAINT recovery_link_id_key UNIQUE (id);

-- constraint recovery_link.recovery_link_order_ref_check
ALTER TABLE recovery_link ADD CONSTRAINT recovery_link_order_ref_check CHECK (((char_length(order_ref) >= 1) AND (char_length(order_ref) <= 255)));

-- constraint recovery_link.recovery_link_pkey
ALTER TABLE recovery_link ADD CONSTRAINT recovery_link_pkey PRIMARY KEY (agreement_id, renewal_ref);

-- constraint recovery_link.recovery_link_return_to_check
ALTER TABLE recovery_link ADD CONSTRAINT recovery_link_return_to_check CHECK ((char_length(return_to) <= 2048));

-- constraint recovery_link.recovery_link_version_check
ALTER TABLE recovery_link ADD CONSTRAINT recovery_link_version_check CHECK ((version >= 1));

-- constraint refund.refund_pkey
ALTER TABLE refund ADD CONSTRAINT refund_pkey PRIMARY KEY (session_id, id);

-- constraint refund.refund_session_id_attempt_id_captured_fkey
ALTER TABLE partitions.refund_rest ADD CONSTRAINT refund_session_id_attempt_id_captured_fkey FOREIGN KEY (session_id, attempt_id, captured) REFERENCES partitions.attempt_rest(session_id, id, captured);

-- constraint renewal.renewal_check
ALTER TABLE renewal ADD CONSTRAINT renewal_check CHECK ((paid_session_id = session_id));

-- constraint renewal.renewal_check1
ALTER TABLE renewal ADD CONSTRAINT renewal_check1 CHECK (((paid_session_id IS NULL) OR (session_id IS NOT NULL)));

-- constraint renewal.renewal_merchant_id_agreement_id_fkey
ALTER TABLE renewal ADD CONSTRAINT renewal_merchant_id_agreement_id_fkey FOREIGN KEY (merchant_id, agreement_id) REFERENCES agreement(merchant_id, id);

-- constraint renewal.renewal_pkey
ALTER TABLE renewal ADD CONSTRAINT renewal_pkey PRIMARY KEY (agreement_id, renewal_ref);

-- constraint renewal.renewal_renewal_ref_check
ALTER TABLE renewal ADD CONSTRAINT renewal_renewal_ref_check CHECK (((char_length(renewal_ref) >= 1) AND (char_length(renewal_ref) <= 255)));

-- constraint renewal_try.renewal_try_agreement_id_renewal_ref_fkey
ALTER TABLE renewal_try ADD CONSTRAINT renewal_try_agreement_id_renewal_ref_fkey FOREIGN KEY (agreement_id, renewal_ref) REFERENCES renewal(agreement_id, renewal_ref);

-- constraint renewal_try.renewal_try_agreement_id_renewal_ref_try_key
ALTER TABLE renewal_try ADD CONSTRAINT renewal_try_agreement_id_renewal_ref_try_key UNIQUE (agreement_id, renewal_ref, try);

-- constraint renewal_try.renewal_try_key_hash_check
ALTER TABLE renewal_try ADD CONSTRAINT renewal_try_key_hash_check CHECK ((octet_length(key_hash) = 32));

-- constraint renewal_try.renewal_try_pkey
ALTER TABLE renewal_try ADD CONSTRAINT renewal_try_pkey PRIMARY KEY (agreement_id, key_hash);

-- constraint renewal_try.renewal_try_request_hash_check
ALTER TABLE renewal_try ADD CONSTRAINT renewal_try_request_hash_check CHECK ((octet_length(request_hash) = 32));

-- constraint renewal_try.renewal_try_try_check
ALTER TABLE renewal_try ADD CONSTRAINT renewal_try_try_check CHECK ((try >= 1));

-- constraint replica_mark.replica_mark_only_one_check
ALTER TABLE replica_mark ADD CONSTRAINT replica_mark_only_one_check CHECK (only_one);

-- constraint replica_mark.replica_mark_pkey
ALTER TABLE replica_mark ADD CONSTRAINT replica_mark_pkey PRIMARY KEY (only_one);

-- constraint request_bucket.request_bucket_bucket_check
ALTER TABLE request_bucket ADD CONSTRAINT request_bucket_bucket_check CHECK ((bucket ~ '^(api( [0-9a-f-]{36})?|checkout|submitted)$'::text));

-- constraint request_bucket.request_bucket_pkey
ALTER TABLE request_bucket ADD CONSTRAINT request_bucket_pkey PRIMARY KEY (merchant_id, bucket);

-- constraint routing_rule.routing_rule_authentication_check
ALTER TABLE routing_rule ADD CONSTRAINT routing_rule_authentication_check CHECK ((authentication = ANY (ARRAY['AS_NEEDED'::text, 'ALWAYS'::text, 'NEVER'::text])));

-- constraint routing_rule.routing_rule_check
ALTER TABLE routing_rule ADD CONSTRAINT routing_rule_check CHECK (((restored_from >= 1) AND (restored_from <= (version - 1))));

-- constraint routing_rule.routing_rule_cryptogram_resend_check
ALTER TABLE routing_rule ADD CONSTRAINT routing_rule_cryptogram_resend_check CHECK ((cryptogram_resend = ANY (ARRAY['NOT_SENT'::text, 'UNANSWERED'::text, 'DECLINED'::text])));

-- constraint routing_rule.routing_rule_failover_on_check
ALTER TABLE routing_rule ADD CONSTRAINT routing_rule_failover_on_check CHECK ((failover_on <@ ARRAY['HARD_DECLINE'::text, 'TIMEOUT'::text, 'GATEWAY_ERROR'::text]));

-- constraint routing_rule.routing_rule_pkey
ALTER TABLE routing_rule ADD CONSTRAINT routing_rule_pkey PRIMARY KEY (merchant_id, version);

-- constraint routing_rule.routing_rule_version_check
ALTER TABLE routing_rule ADD CONSTRAINT routing_rule_version_check CHECK ((version >= 1));

-- constraint settlement_report.settlement_report_connection_id_fkey
ALTER TABLE settlement_report ADD CONSTRAINT settlement_report_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id);

-- constraint settlement_report.settlement_report_name_check
ALTER TABLE settlement_report ADD CONSTRAINT settlement_report_name_check CHECK ((name ~ '^settlement_detail_report_[A-Za-z0-9_-]{1,100}[.]csv$'::text));

-- constraint settlement_report.settlement_report_pkey
ALTER TABLE settlement_report ADD CONSTRAINT settlement_report_pkey PRIMARY KEY (connection_id, name);

-- constraint settlement_report.settlement_report_rows_read_check
ALTER TABLE settlement_report ADD CONSTRAINT settlement_report_rows_read_check CHECK ((rows_read >= 0));

-- constraint stored_payment.stored_payment_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check CHECK (((role = 'SETUP'::text) = (amount_minor = 0)));

-- constraint stored_payment.stored_payment_check1
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check1 CHECK (((role <> 'RENEWAL'::text) OR (num_nonnulls(terms, consented_at, opened_token_hash, saving) = 0)));

-- constraint stored_payment.stored_payment_check10
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check10 CHECK (((saving <> 'REQUESTED'::text) OR ((save_due_at IS NOT NULL) AND ((handle_sealed IS NOT NULL) OR (method_id IS NOT NULL)))));

-- constraint stored_payment.stored_payment_check11
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check11 CHECK (((handle_sealed IS NULL) = (token_sealed IS NULL)));

-- constraint stored_payment.stored_payment_check12
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check12 CHECK (((saving <> 'KEPT'::text) OR (method_id IS NOT NULL)));

-- constraint stored_payment.stored_payment_check2
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check2 CHECK (((saving <> ALL (ARRAY['REQUESTED'::text, 'KEPT'::text])) OR (consented_at IS NOT NULL)));

-- constraint stored_payment.stored_payment_check3
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check3 CHECK ((num_nonnulls(consent_template, consent_locale, consented_at) = ANY (ARRAY[0, 3])));

-- constraint stored_payment.stored_payment_check4
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check4 CHECK (((terms IS NULL) OR (agreement_id IS NOT NULL)));

-- constraint stored_payment.stored_payment_check5
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check5 CHECK ((((role = ANY (ARRAY['RENEWAL'::text, 'RECOVERY'::text])) = (renewal_ref IS NOT NULL)) AND ((role = ANY (ARRAY['RENEWAL'::text, 'RECOVERY'::text])) = (try IS NOT NULL))));

-- constraint stored_payment.stored_payment_check6
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check6 CHECK (((renewal_ref IS NULL) OR (agreement_id IS NOT NULL)));

-- constraint stored_payment.stored_payment_check7
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check7 CHECK (((role <> 'RENEWAL'::text) OR ((method_id IS NOT NULL) AND (chain_version IS NOT NULL))));

-- constraint stored_payment.stored_payment_check8
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check8 CHECK ((num_nonnulls(own_connection_id, own_customer, own_method) = ANY (ARRAY[0, 3])));

-- constraint stored_payment.stored_payment_check9
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_check9 CHECK (((NOT (saving IS DISTINCT FROM 'REQUESTED'::text)) OR (num_nonnulls(token_sealed, handle_sealed, save_due_at) = 0)));

-- constraint stored_payment.stored_payment_consent_locale_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_consent_locale_check CHECK (((char_length(consent_locale) >= 1) AND (char_length(consent_locale) <= 35)));

-- constraint stored_payment.stored_payment_consent_template_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_consent_template_check CHECK (((char_length(consent_template) >= 1) AND (char_length(consent_template) <= 100)));

-- constraint stored_payment.stored_payment_consent_user_agent_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_consent_user_agent_check CHECK ((char_length(consent_user_agent) <= 512));

-- constraint stored_payment.stored_payment_handle_hash_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_handle_hash_check CHECK ((octet_length(handle_hash) = 32));

-- constraint stored_payment.stored_payment_pkey
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_pkey PRIMARY KEY (session_id);

-- constraint stored_payment.stored_payment_renewal_ref_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_renewal_ref_check CHECK (((char_length(renewal_ref) >= 1) AND (char_length(renewal_ref) <= 255)));

-- constraint stored_payment.stored_payment_role_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_role_check CHECK ((role = ANY (ARRAY['SAVE'::text, 'CUSTOMER'::text, 'RENEWAL'::text, 'RECOVERY'::text, 'SETUP'::text])));

-- constraint stored_payment.stored_payment_saving_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_saving_check CHECK ((saving = ANY (ARRAY['REQUESTED'::text, 'KEPT'::text, 'NOT_WANTED'::text, 'DROPPED'::text, 'FAILED'::text])));

-- constraint stored_payment.stored_payment_security_code_check
ALTER TABLE stored_payment ADD CONSTRAINT stored_payment_security_code_check CHECK ((security_code = ANY (ARRAY['required'::text, 'skip'::text])));

-- constraint stored_payment.stored_payment_session_id_amount_minor_currency_fkey
ALTER TABLE partitions.stored_payment_rest ADD CONSTRAINT stored_payment_session_id_amount_minor_currency_fkey FOREIGN KEY (session_id, amount_minor, currency) REFERENCES partitions.payment_session_rest(id, amount_minor, currency);

-- constraint tested_cards.tested_cards_cards_check
ALTER TABLE tested_cards ADD CONSTRAINT tested_cards_cards_check CHECK ((cards > 0));

-- constraint tested_cards.tested_cards_pkey
ALTER TABLE tested_cards ADD CONSTRAINT tested_cards_pkey PRIMARY KEY (merchant_id, starts_at);

-- constraint tested_payment.tested_payment_pkey
ALTER TABLE tested_payment ADD CONSTRAINT tested_payment_pkey PRIMARY KEY (session_id);

-- constraint unclassified_code.unclassified_code_attempts_check
ALTER TABLE unclassified_code ADD CONSTRAINT unclassified_code_attempts_check CHECK ((attempts >= 1));

-- constraint unclassified_code.unclassified_code_gateway_code_check
ALTER TABLE unclassified_code ADD CONSTRAINT unclassified_code_gateway_code_check CHECK ((char_length(gateway_code) <= 100));

-- constraint unclassified_code.unclassified_code_pkey
ALTER TABLE unclassified_code ADD CONSTRAINT unclassified_code_pkey PRIMARY KEY (merchant_id, gateway, gateway_code);

-- constraint vault_session.vault_session_pkey
ALTER TABLE vault_session ADD CONSTRAINT vault_session_pkey PRIMARY KEY (session_id);

-- constraint vault_session.vault_session_vault_session_check
ALTER TABLE vault_session ADD CONSTRAINT vault_session_vault_session_check CHECK (((char_length(vault_session) >= 1) AND (char_length(vault_session) <= 128)));

-- constraint work_item.work_item_check
ALTER TABLE work_item ADD CONSTRAINT work_item_check CHECK (((kind = 'RECORD_MISMATCH'::text) OR ((kind = ANY (ARRAY['INVARIANT_VIOLATED'::text, 'REFUND_UNANSWERED'::text, 'PAID_BACK_TWICE'::text, 'DISPUTE_SILENT'::text, 'RESPONSE_UNANSWERED'::text])) = (rule IS NOT NULL))));

-- constraint work_item.work_item_check1
ALTER TABLE work_item ADD CONSTRAINT work_item_check1 CHECK (((closed_at IS NULL) = (closed_by IS NULL)));

-- constraint work_item.work_item_check2
ALTER TABLE work_item ADD CONSTRAINT work_item_check2 CHECK (((closed_at IS NULL) = (close_note IS NULL)));

-- constraint work_item.work_item_close_note_check
ALTER TABLE work_item ADD CONSTRAINT work_item_close_note_check CHECK (((char_length(close_note) >= 1) AND (char_length(close_note) <= 1000)));

-- constraint work_item.work_item_closed_by_check
ALTER TABLE work_item ADD CONSTRAINT work_item_closed_by_check CHECK ((char_length(closed_by) >= 1));

-- constraint work_item.work_item_detail_check
ALTER TABLE work_item ADD CONSTRAINT work_item_detail_check CHECK (((char_length(detail) >= 1) AND (char_length(detail) <= 500)));

-- constraint work_item.work_item_kind_check
ALTER TABLE work_item ADD CONSTRAINT work_item_kind_check CHECK ((kind = ANY (ARRAY['VOID_UNANSWERED'::text, 'CAPTURE_UNANSWERED'::text, 'CAPTURE_UNCONFIRMED'::text, 'ACTION_OVERDUE'::text, 'HOLD_OVERDUE'::text, 'ORPHANED_AUTHORIZATION'::text, 'RECORD_MISMATCH'::text, 'CAPTURE_FAILED'::text, 'REFUND_UNANSWERED'::text, 'PAID_MORE_THAN_ONCE'::text, 'PAID_BACK_TWICE'::text, 'DISPUTE_SILENT'::text, 'RESPONSE_UNANSWERED'::text, 'INVARIANT_VIOLATED'::text])));

-- constraint work_item.work_item_pkey
ALTER TABLE work_item ADD CONSTRAINT work_item_pkey PRIMARY KEY (id);

-- unique index alert_one_open
CREATE UNIQUE INDEX alert_one_open ON alert USING btree (merchant_id, kind, endpoint_id, connection_id, gateway, dispute_id) NULLS NOT DISTINCT WHERE ((over_at IS NULL) AND (detail IS NOT NULL));

-- unique index api_key_one_current
CREATE UNIQUE INDEX api_key_one_current ON api_key USING btree (merchant_id, key_id) WHERE ((revoked_at IS NULL) AND (replaced_at IS NULL));

-- unique index api_key_one_current_of_a_kind
CREATE UNIQUE INDEX api_key_one_current_of_a_kind ON api_key USING btree (merchant_id, kind) WHERE ((kind <> 'restricted'::text) AND (revoked_at IS NULL) AND (replaced_at IS NULL));

-- unique index attempt_gateway_reference
CREATE UNIQUE INDEX attempt_gateway_reference_rest ON partitions.attempt_rest USING btree (connection_id, gateway_reference) WHERE (gateway_reference IS NOT NULL);

-- unique index attempt_one_authorizing
CREATE UNIQUE INDEX attempt_one_authorizing ON ONLY attempt USING btree (session_id) WHERE (status = ANY (ARRAY['AUTHORIZING'::text, 'AWAITING_CUSTOMER'::text]));

-- unique index attempt_one_capturable
CREATE UNIQUE INDEX attempt_one_capturable ON ONLY attempt USING btree (session_id) WHERE ((status = ANY (ARRAY['AUTHORIZED'::text, 'CAPTURED'::text])) OR ((status = 'VOIDING'::text) AND (capture_ordered_at IS NOT NULL)));

-- unique index authentication_one_challenge
CREATE UNIQUE INDEX authentication_one_challenge ON ONLY authentication USING btree (session_id, connection_id) WHERE (flow <> 'FRICTIONLESS'::text);

-- unique index authentication_one_open
CREATE UNIQUE INDEX authentication_one_open ON ONLY authentication USING btree (session_id) WHERE (completed_at IS NULL);

-- unique index braking_open
CREATE UNIQUE INDEX braking_open ON braking USING btree (merchant_id) WHERE (ended_at IS NULL);

-- unique index dispute_gateway_reference
CREATE UNIQUE INDEX dispute_gateway_reference_rest ON partitions.dispute_rest USING btree (connection_id, gateway_reference, is_warning);

-- unique index dispute_response_in_effect
CREATE UNIQUE INDEX dispute_response_in_effect ON ONLY dispute_response USING btree (session_id, dispute_id, stage) WHERE (status <> 'REFUSED'::text);

-- unique index payment_method_of_number
CREATE UNIQUE INDEX payment_method_of_number ON payment_method USING btree (merchant_id, customer_ref, fingerprint) WHERE (status = 'ACTIVE'::text);

-- unique index payout_line_of_entry
CREATE UNIQUE INDEX payout_line_of_entry ON payout_line USING btree (session_id, entry_type, entry_id, entry_ordinal) WHERE (status = 'MATCHED'::text);

-- unique index reconciliation_run_one_at_a_time
CREATE UNIQUE INDEX reconciliation_run_one_at_a_time ON reconciliation_run USING btree ((true)) WHERE (finished_at IS NULL);

-- unique index refund_gateway_reference
CREATE UNIQUE INDEX refund_gateway_reference_rest ON partitions.refund_rest USING btree (connection_id, gateway_reference) WHERE (gateway_reference IS NOT NULL);

-- unique index work_item_one_open
CREATE UNIQUE INDEX work_item_one_open ON work_item USING btree (session_id, attempt_id, kind, rule) NULLS NOT DISTINCT WHERE (closed_at IS NULL);

-- index agreement_at_gateway
CREATE INDEX agreement_at_gateway ON agreement USING btree (own_connection_id, own_customer) WHERE (own_customer IS NOT NULL);

-- index agreement_chain
CREATE INDEX agreement_chain ON agreement USING btree (merchant_id, COALESCE(own_connection_id, '00000000-0000-0000-0000-000000000000'::uuid), ((network_transaction_id IS NULL))) WHERE (status = 'ACTIVE'::text);

-- index agreement_ending
CREATE INDEX agreement_ending ON agreement USING btree (ends_on) WHERE (status = ANY (ARRAY['ACTIVE'::text, 'NEEDS_CARD'::text]));

-- index agreement_in_instalments
CREATE INDEX agreement_in_instalments ON agreement USING btree (id) WHERE ((instalments IS NOT NULL) AND (status = ANY (ARRAY['ACTIVE'::text, 'NEEDS_CARD'::text])));

-- index agreement_of_customer
CREATE INDEX agreement_of_customer ON agreement USING btree (merchant_id, customer_ref, id) WHERE (customer_ref IS NOT NULL);

-- index agreement_of_method
CREATE INDEX agreement_of_method ON agreement USING btree (method_id) WHERE (method_id IS NOT NULL);

-- index alert_of_dispute
CREATE INDEX alert_of_dispute ON alert USING btree (dispute_id, kind) WHERE (dispute_id IS NOT NULL);

-- index alert_of_merchant
CREATE INDEX alert_of_merchant ON alert USING btree (merchant_id, id);

-- index alert_open
CREATE INDEX alert_open ON alert USING btree (merchant_id, kind) WHERE (over_at IS NULL);

-- index alert_to_send
CREATE INDEX alert_to_send ON alert USING btree (send_at) WHERE (send_at IS NOT NULL);

-- index analytics_arm_by_age
CREATE INDEX analytics_arm_by_age ON analytics_arm USING brin (starts_at);

-- index analytics_arm_cost_by_age
CREATE INDEX analytics_arm_cost_by_age ON analytics_arm_cost USING brin (starts_at);

-- index analytics_attempt_by_age
CREATE INDEX analytics_attempt_by_age ON analytics_attempt USING brin (starts_at);

-- index analytics_authentication_by_age
CREATE INDEX analytics_authentication_by_age ON analytics_authentication USING brin (starts_at);

-- index analytics_card_by_age
CREATE INDEX analytics_card_by_age ON analytics_card USING brin (starts_at);

-- index analytics_decline_by_age
CREATE INDEX analytics_decline_by_age ON analytics_decline USING brin (starts_at);

-- index analytics_payment_by_age
CREATE INDEX analytics_payment_by_age ON analytics_payment USING brin (starts_at);

-- index analytics_renewal_by_age
CREATE INDEX analytics_renewal_by_age ON analytics_renewal USING brin (starts_at);

-- index analytics_wallet_by_age
CREATE INDEX analytics_wallet_by_age ON analytics_wallet USING brin (starts_at);

-- index api_key_of_merchant
CREATE INDEX api_key_of_merchant ON api_key USING btree (merchant_id, key_id);

-- index attempt_being_captured
CREATE INDEX attempt_being_captured ON ONLY attempt USING btree (capture_ordered_at) WHERE (status = 'AUTHORIZED'::text);

-- index attempt_being_voided
CREATE INDEX attempt_being_voided ON ONLY attempt USING btree (voiding_at) WHERE (status = 'VOIDING'::text);

-- index attempt_by_id
CREATE INDEX attempt_by_id ON ONLY attempt USING btree (id);

-- index attempt_capture_failed
CREATE INDEX attempt_capture_failed ON ONLY attempt USING btree (capture_failed_at) WHERE (capture_failed_at IS NOT NULL);

-- index attempt_capture_failed_before
CREATE INDEX attempt_capture_failed_before ON ONLY attempt USING btree (capture_failed_before_at) WHERE (capture_failed_before_at IS NOT NULL);

-- index attempt_capture_stands
CREATE INDEX attempt_capture_stands ON ONLY attempt USING btree (capture_stands_at) WHERE (capture_stands_at IS NOT NULL);

-- index attempt_changed
CREATE INDEX attempt_changed ON ONLY attempt USING btree (changed_at, id);

-- index attempt_credentials_refused
CREATE INDEX attempt_credentials_refused ON ONLY attempt USING btree (connection_id, answered_at) WHERE (refusal = 'CREDENTIALS'::text);

-- index attempt_void_due
CREATE INDEX attempt_void_due ON ONLY attempt USING btree (next_retry_at) WHERE (status = 'VOIDING'::text);

-- index attempt_voided
CREATE INDEX attempt_voided ON ONLY attempt USING btree (completed_at) WHERE (void_kind = 'VOIDED'::text);

-- index audit_entry_by_age
CREATE INDEX audit_entry_by_age ON audit_entry USING brin (created_at);

-- index audit_entry_of_merchant
CREATE INDEX audit_entry_of_merchant ON audit_entry USING btree (merchant_id, id);

-- index authentication_message
CREATE INDEX authentication_message ON ONLY authentication USING btree (completed_at) WHERE (message_sealed IS NOT NULL);

-- index authentication_open
CREATE INDEX authentication_open ON ONLY authentication USING btree (deadline_at) WHERE (completed_at IS NULL);

-- index blocklist_entry_to_sweep
CREATE INDEX blocklist_entry_to_sweep ON blocklist_entry USING btree (ends_at) WHERE (ends_at IS NOT NULL);

-- index card_decline_of_card
CREATE INDEX card_decline_of_card ON card_decline USING btree (merchant_id, fingerprint, declined_at);

-- index card_decline_to_sweep
CREATE INDEX card_decline_to_sweep ON card_decline USING btree (declined_at);

-- index card_erasure_due
CREATE INDEX card_erasure_due ON card_erasure USING btree (erase_due_at);

-- index card_state_stopped
CREATE INDEX card_state_stopped ON card_state USING btree (stopped_at) WHERE (stopped_at IS NOT NULL);

-- index card_submission_declined_of_network
CREATE INDEX card_submission_declined_of_network ON card_submission USING btree (merchant_id, network, submitted_at) WHERE ((network IS NOT NULL) AND (declines IS NOT NULL));

-- index card_submission_of_network
CREATE INDEX card_submission_of_network ON card_submission USING btree (merchant_id, network, submitted_at) WHERE (network IS NOT NULL);

-- index card_submission_of_session
CREATE INDEX card_submission_of_session ON card_submission USING btree (session_id);

-- index delivery_attempt_of_endpoint
CREATE INDEX delivery_attempt_of_endpoint ON ONLY delivery_attempt USING btree (endpoint_id, id);

-- index delivery_attempt_of_test
CREATE INDEX delivery_attempt_of_test ON ONLY delivery_attempt USING btree (endpoint_id, event_id) WHERE is_test;

-- index delivery_due
CREATE INDEX delivery_due ON ONLY delivery USING btree (endpoint_id, next_at) WHERE (status = 'PENDING'::text);

-- index delivery_of_endpoint
CREATE INDEX delivery_of_endpoint ON ONLY delivery USING btree (endpoint_id, status, event_id);

-- index delivery_under_way
CREATE INDEX delivery_under_way ON ONLY delivery USING btree (endpoint_id) WHERE (lease_token IS NOT NULL);

-- index dispute_by_id
CREATE INDEX dispute_by_id ON ONLY dispute USING btree (id);

-- index dispute_by_reference
CREATE INDEX dispute_by_reference ON ONLY dispute USING btree (connection_id, gateway_reference);

-- index dispute_file_of_dispute
CREATE INDEX dispute_file_of_dispute ON dispute_file USING btree (dispute_id);

-- index dispute_movement_recorded
CREATE INDEX dispute_movement_recorded ON ONLY dispute_movement USING btree (merchant_id, recorded_at);

-- index dispute_of_merchant
CREATE INDEX dispute_of_merchant ON ONLY dispute USING btree (merchant_id, created_at, id);

-- index dispute_open
CREATE INDEX dispute_open ON ONLY dispute USING btree (respond_by) WHERE (closed_at IS NULL);

-- index dispute_response_due
CREATE INDEX dispute_response_due ON ONLY dispute_response USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);

-- index dispute_response_of_merchant
CREATE INDEX dispute_response_of_merchant ON ONLY dispute_response USING btree (merchant_id, created_at);

-- index endpoint_failing
CREATE INDEX endpoint_failing ON endpoint USING btree (failing_since) WHERE ((failing_since IS NOT NULL) AND (status = 'ENABLED'::text));

-- index endpoint_of_merchant
CREATE INDEX endpoint_of_merchant ON endpoint USING btree (merchant_id);

-- index event_todo_to_fan_out
CREATE INDEX event_todo_to_fan_out ON event_todo USING btree (due_at) WHERE (NOT fanned_out);

-- index event_todo_to_publish
CREATE INDEX event_todo_to_publish ON event_todo USING btree (due_at) WHERE fanned_out;

-- index gateway_notification_by_age
CREATE INDEX gateway_notification_by_age ON gateway_notification USING brin (received_at);

-- index gateway_notification_of_attempt
CREATE INDEX gateway_notification_of_attempt ON gateway_notification USING btree (connection_id, attempt_reference);

-- index gateway_notification_to_process
CREATE INDEX gateway_notification_to_process ON gateway_notification USING btree (next_try_at) WHERE (processed_at IS NULL);

-- index idempotency_to_expire
CREATE INDEX idempotency_to_expire ON idempotency USING btree (expires_at);

-- index order_winner_of_session
CREATE INDEX order_winner_of_session ON app.order_winner USING btree (session_id);

-- index orphaned_authorization_by_reference
CREATE INDEX orphaned_authorization_by_reference ON orphaned_authorization USING btree (gateway_reference);

-- index orphaned_authorization_due
CREATE INDEX orphaned_authorization_due ON orphaned_authorization USING btree (next_retry_at) WHERE (ended_at IS NULL);

-- index outbox_event_by_time
CREATE INDEX outbox_event_by_time ON ONLY outbox_event USING btree (merchant_id, created_at, id);

-- index outbox_event_in_order
CREATE INDEX outbox_event_in_order ON ONLY outbox_event USING btree (merchant_id, feed_position, sequence, id);

-- index outbox_event_of_all
CREATE INDEX outbox_event_of_all ON ONLY outbox_event USING btree (feed_position, sequence, id);

-- index payment_method_at_gateway
CREATE INDEX payment_method_at_gateway ON payment_method USING btree (own_connection_id, own_customer) WHERE (own_customer IS NOT NULL);

-- index payment_method_of_merchant
CREATE INDEX payment_method_of_merchant ON payment_method USING btree (merchant_id, id) WHERE (status = 'ACTIVE'::text);

-- index payment_session_failed_over
CREATE INDEX payment_session_failed_over ON ONLY payment_session USING btree (merchant_id, id) WHERE failover;

-- index payment_session_held
CREATE INDEX payment_session_held ON ONLY payment_session USING btree (merchant_id, id) WHERE (manual_capture AND (held_at IS NOT NULL) AND (status = 'CREATED'::text));

-- index payment_session_hold_ends
CREATE INDEX payment_session_hold_ends ON ONLY payment_session USING btree (held_until) WHERE ((held_at IS NOT NULL) AND (status = 'CREATED'::text) AND (capture_asked_at IS NULL));

-- index payment_session_of_approved_card
CREATE INDEX payment_session_of_approved_card ON ONLY payment_session USING btree (merchant_id, card_fingerprint) WHERE ((status = 'SUCCEEDED'::text) AND (card_fingerprint IS NOT NULL));

-- index payment_session_of_card
CREATE INDEX payment_session_of_card ON ONLY payment_session USING btree (merchant_id, card_last4, id) WHERE ((card_last4 IS NOT NULL) AND (status <> 'CREATED'::text));

-- index payment_session_of_customer
CREATE INDEX payment_session_of_customer ON ONLY payment_session USING btree (merchant_id, customer_ref, id) WHERE (customer_ref IS NOT NULL);

-- index payment_session_of_email
CREATE INDEX payment_session_of_email ON ONLY payment_session USING btree (merchant_id, lower(customer_email), id) WHERE (customer_email IS NOT NULL);

-- index payment_session_of_merchant
CREATE INDEX payment_session_of_merchant ON ONLY payment_session USING btree (merchant_id, id);

-- index payment_session_of_name
CREATE INDEX payment_session_of_name ON ONLY payment_session USING btree (merchant_id, lower((details ->> 'customerName'::text)) text_pattern_ops, id) WHERE ((details ->> 'customerName'::text) IS NOT NULL);

-- index payment_session_of_order
CREATE INDEX payment_session_of_order ON ONLY payment_session USING btree (merchant_id, order_ref text_pattern_ops, id);

-- index payment_session_of_status
CREATE INDEX payment_session_of_status ON ONLY payment_session USING btree (merchant_id, status, id) WHERE (status <> 'CREATED'::text);

-- index payment_session_of_wallet
CREATE INDEX payment_session_of_wallet ON ONLY payment_session USING btree (merchant_id, wallet, id) WHERE (wallet IS NOT NULL);

-- index payment_session_settled
CREATE INDEX payment_session_settled ON ONLY payment_session USING btree (settled_at) WHERE (settled_at IS NOT NULL);

-- index payment_session_to_expire
CREATE INDEX payment_session_to_expire ON ONLY payment_session USING btree (expires_at) WHERE (phase = 'IDLE'::text);

-- index payment_session_to_recover
CREATE INDEX payment_session_to_recover ON ONLY payment_session USING btree (lease_until) WHERE (phase = 'PROCESSING'::text);

-- index payment_session_unconfirmed
CREATE INDEX payment_session_unconfirmed ON ONLY payment_session USING btree (settled_at) WHERE (NOT capture_confirmed);

-- index payout_incomplete
CREATE INDEX payout_incomplete ON payout USING btree (connection_id) WHERE (lines_known AND (complete_at IS NULL));

-- index payout_line_account
CREATE INDEX payout_line_account ON payout_line USING btree (merchant_id, recorded_at, line_id) WHERE (status = 'ACCOUNT'::text);

-- index payout_line_by_age
CREATE INDEX payout_line_by_age ON payout_line USING brin (recorded_at);

-- index payout_line_by_reason
CREATE INDEX payout_line_by_reason ON payout_line USING btree (merchant_id, reason, recorded_at, line_id) WHERE (status = 'UNMATCHED'::text);

-- index payout_line_of_merchant
CREATE INDEX payout_line_of_merchant ON payout_line USING btree (merchant_id, recorded_at, line_id);

-- index payout_line_of_payout
CREATE INDEX payout_line_of_payout ON payout_line USING btree (payout_id, recorded_at, line_id, status) WHERE (payout_id IS NOT NULL);

-- index payout_line_of_session
CREATE INDEX payout_line_of_session ON payout_line USING btree (session_id) WHERE ((session_id IS NOT NULL) AND (status = 'UNMATCHED'::text));

-- index payout_line_to_match
CREATE INDEX payout_line_to_match ON payout_line USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);

-- index payout_line_unmatched
CREATE INDEX payout_line_unmatched ON payout_line USING btree (merchant_id, recorded_at, line_id) WHERE (status = 'UNMATCHED'::text);

-- index payout_of_merchant
CREATE INDEX payout_of_merchant ON payout USING btree (merchant_id, day, id);

-- index payout_with_remainder
CREATE INDEX payout_with_remainder ON payout USING btree (merchant_id) WHERE (remainder_minor <> 0);

-- index reconciliation_run_by_start
CREATE INDEX reconciliation_run_by_start ON reconciliation_run USING btree (started_at);

-- index refund_by_id
CREATE INDEX refund_by_id ON ONLY refund USING btree (id);

-- index refund_due
CREATE INDEX refund_due ON ONLY refund USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);

-- index refund_of_merchant
CREATE INDEX refund_of_merchant ON ONLY refund USING btree (merchant_id, created_at, id);

-- index refund_returned
CREATE INDEX refund_returned ON ONLY refund USING btree (merchant_id, completed_at) WHERE ((status = 'FAILED'::text) AND (succeeded_at IS NOT NULL));

-- index refund_succeeded
CREATE INDEX refund_succeeded ON ONLY refund USING btree (merchant_id, succeeded_at) WHERE (succeeded_at IS NOT NULL);

-- index settlement_report_unread
CREATE INDEX settlement_report_unread ON settlement_report USING btree (connection_id, queued_at) WHERE (read_at IS NULL);

-- index stored_payment_due
CREATE INDEX stored_payment_due ON ONLY stored_payment USING btree (save_due_at) WHERE (saving = 'REQUESTED'::text);

-- index tested_payment_by_time
CREATE INDEX tested_payment_by_time ON tested_payment USING btree (tested_at) INCLUDE (merchant_id, fingerprint, session_id, refused);

-- index vault_session_to_expire
CREATE INDEX vault_session_to_expire ON vault_session USING btree (expires_at);

-- index work_item_of_attempt
CREATE INDEX work_item_of_attempt ON work_item USING btree (session_id, attempt_id, kind);

-- index work_item_open
CREATE INDEX work_item_open ON work_item USING btree (id) WHERE (closed_at IS NULL);

-- index work_item_unresolved
CREATE INDEX work_item_unresolved ON work_item USING btree (kind) WHERE (resolved_at IS NULL);

-- function app.act_on_decline(of_session uuid, stopped text, wait_ms bigint, agreement_status text, of_all boolean, by_link boolean, why text)
CREATE OR REPLACE FUNCTION app.act_on_decline(of_session uuid, stopped text, wait_ms bigint, agreement_status text, of_all boolean, by_link boolean, why text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  p  record;
  at timestamptz := app.clock();
BEGIN
  SELECT o.role, o.agreement_id, o.renewal_ref, m.id AS method_id, m.merchant_id, m.fingerprint INTO p
  FROM stored_payment o JOIN payment_method m ON m.id = o.method_id WHERE o.session_id = of_session;
  IF NOT FOUND THEN RETURN; END IF;
  IF p.role = 'RENEWAL' AND agreement_status IS NOT NULL THEN
    -- In the order in which renewals lock them: agreements before cards.
    PERFORM FROM agreement g WHERE g.id = p.agreement_id OR of_all AND g.method_id IN (
      SELECT m.id FROM payment_method m WHERE m.merchant_id = p.merchant_id AND m.fingerprint = p.fingerprint) ORDER BY g.id FOR NO KEY UPDATE;
    RETURN QUERY
      UPDATE agreement g SET status = agreement_status, status_because = why, ended_at = CASE agreement_status WHEN 'CANCELLED' THEN at END
      WHERE g.status IN ('ACTIVE', CASE agreement_status WHEN 'CANCELLED' THEN 'NEEDS_CARD' END) AND (g.id = p.agreement_id OR of_all AND g.method_id IN (
        SELECT m.id FROM payment_method m WHERE m.merchant_id = p.merchant_id AND m.fingerprint = p.fingerprint))
      RETURNING g.id;
  END IF;
  IF p.role = 'RENEWAL' AND by_link THEN
    UPDATE renewal r SET only_by_link = true, because = why WHERE r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref; END IF;
  IF stopped IS NOT NULL OR p.role = 'RENEWAL' AND wait_ms IS NOT NULL THEN
    INSERT INTO card_state AS s (merchant_id, fingerprint, stopped_at, stopped_because, not_before)
    VALUES (p.merchant_id, p.fingerprint, CASE WHEN stopped IS NOT NULL THEN at END, stopped,
      CASE WHEN p.role = 'RENEWAL' THEN at + wait_ms * interval '1 ms' END)
    ON CONFLICT (merchant_id, fingerprint) DO UPDATE SET stopped_at = coalesce(s.stopped_at, EXCLUDED.stopped_at),
      stopped_because = coalesce(s.stopped_because, EXCLUDED.stopped_because), not_before = greatest(s.not_before, EXCLUDED.not_before);
  END IF;
END $function$;

-- function app.agreement_refusal(of_agreement uuid, of_renewal text, minor bigint, in_currency text, at timestamp with time zone)
CREATE OR REPLACE FUNCTION app.agreement_refusal(of_agreement uuid, of_renewal text, minor bigint, in_currency text, at timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
DECLARE a agreement;
BEGIN
  SELECT * INTO a FROM agreement WHERE id = of_agreement;
  IF a.ends_on < (at AT TIME ZONE 'UTC')::date THEN RETURN 'over'; END IF;
  IF a.instalments <= (SELECT count(*) FROM renewal r WHERE r.agreement_id = of_agreement AND r.renewal_ref <> of_renewal
       AND (r.paid_session_id IS NOT NULL OR EXISTS (SELECT FROM payment_session s WHERE s.id = r.session_id AND s.status = 'CREATED')))
     + a.began_paid::int THEN RETURN 'over'; END IF;
  IF in_currency <> a.currency OR minor > a.max_amount_minor THEN RETURN 'amount'; END IF;
  RETURN NULL;
END $function$;

-- function app.ask_for_capture(of_session uuid)
CREATE OR REPLACE FUNCTION app.ask_for_capture(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET capture_asked_at = app.clock(), capture_due_at = NULL
  WHERE id = of_session AND capture_asked_at IS NULL RETURNING * $function$;

-- function app.ask_for_link(new_session uuid, of_link uuid, secret integer, tries_max integer)
CREATE OR REPLACE FUNCTION app.ask_for_link(new_session uuid, of_link uuid, secret integer, tries_max integer)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
    INSERT INTO payment_session AS o (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at, customer_ref,
      stored, named_by, phase, lease_epoch, lease_until, submit_deadline, submitted_at, rule_version, plan, skipped, unrecorded_check_at)
    SELECT new_session, l.merchant_id, l.amount_minor, l.currency, l.order_ref, secret, at, at + interval '1 min', a.customer_ref,
      true, app.recovery_name(l.agreement_id, l.renewal_ref, l.tries + 1, k.restores), 'PROCESSING', 1, at, at, at,
      (SELECT max(u.version) FROM routing_rule u WHERE u.merchant_id = l.merchant_id), '[]', '[]', greatest(at, k.restored_at + interval '1 min')
    FROM replica_mark k
    RETURNING o.*;
  UPDATE renewal w SET session_id = new_session, tries = w.tries + 1 WHERE w.agreement_id = l.agreement_id AND w.renewal_ref = l.renewal_ref;
  INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, terms, agreement_id, renewal_ref, try)
  VALUES (new_session, l.merchant_id, l.amount_minor, l.currency, a.customer_ref, 'RECOVERY', app.terms_of(a), l.agreement_id, l.renewal_ref, l.tries + 1);
END $function$;

-- function app.attempt_name(base uuid, connection uuid, round integer)
CREATE OR REPLACE FUNCTION app.attempt_name(base uuid, connection uuid, round integer)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT app.derived_id(base, format('at %s', connection) || CASE round WHEN 0 THEN '' ELSE format(' round %s', round) END) $function$;

-- function app.audit()
CREATE OR REPLACE FUNCTION app.audit()
 RETURNS TABLE(rule text, session_id uuid, attempt_id uuid)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT * FROM app.audit(ARRAY(SELECT id FROM payment_session))
$function$;

-- function app.audit(checked uuid[])
CREATE OR REPLACE FUNCTION app.audit(checked uuid[])
 RETURNS TABLE(rule text, session_id uuid, attempt_id uuid)
 LANGUAGE sql
 STABLE
AS $function$
  SELECT 'succeeded_without_capture', s.id, NULL::uuid FROM payment_session s
  WHERE s.id = ANY (checked) AND s.status = 'SUCCEEDED' AND NOT EXISTS (
    SELECT FROM attempt a WHERE a.session_id = s.id AND a.id = s.winner_attempt_id AND a.status = 'CAPTURED')
  UNION ALL
  SELECT 'captured_outside_succeeded', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND a.status = 'CAPTURED'
    AND (s.status <> 'SUCCEEDED' OR s.winner_attempt_id IS DISTINCT FROM a.id)
  UNION ALL
  SELECT 'two_capturable', a.session_id, NULL FROM attempt a
  WHERE a.session_id = ANY (checked)
    AND (a.status IN ('AUTHORIZED','CAPTURED') OR a.status = 'VOIDING' AND a.capture_ordered_at IS NOT NULL)
  GROUP BY a.session_id HAVING count(*) > 1
  UNION ALL
  SELECT 'winner_without_hold', s.id, s.winner_attempt_id FROM payment_session s
  WHERE s.id = ANY (checked) AND s.winner_attempt_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM attempt a
    WHERE a.session_id = s.id AND a.id = s.winner_attempt_id AND a.status IN ('AUTHORIZED','CAPTURED'))
  UNION ALL
  SELECT 'open_after_end', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND s.status <> 'CREATED' AND a.status IN ('UNKNOWN','AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED')
  UNION ALL
  SELECT 'done_with_open_attempt', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND s.phase = 'DONE' AND a.status NOT IN ('CAPTURED','DECLINED','FAILED','VOIDED')
  UNION ALL
  SELECT 'amount_differs', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND (a.amount_minor, a.currency) IS DISTINCT FROM (s.amount_minor, s.currency)
  UNION ALL
  SELECT 'attempt_after_stop', later.session_id, later.id FROM attempt later
  WHERE later.session_id = ANY (checked) AND EXISTS (
    SELECT FROM attempt earlier WHERE earlier.session_id = later.session_id AND earlier.sequence < later.sequence
    AND (earlier.stop IS NOT NULL OR earlier.failure_kind = 'FRAUD') AND earlier.completed_at <= later.started_at
    -- One that begins after the deadline was found after a restore, which may have lost the repeat with authentication.
    AND NOT (earlier.stop = 'authentication_required' AND earlier.round = 0 AND (EXISTS (
      SELECT FROM attempt again WHERE again.session_id = later.session_id AND again.connection_id = earlier.connection_id AND again.round = 1)
      OR EXISTS (SELECT FROM payment_session s WHERE s.id = later.session_id AND s.submit_deadline <= later.started_at))))
  UNION ALL
  SELECT 'hold_after_fraud', a.session_id, a.id FROM attempt a
  WHERE a.session_id = ANY (checked) AND a.status IN ('AUTHORIZED','CAPTURED') AND EXISTS (
    SELECT FROM attempt fraud WHERE fraud.session_id = a.session_id AND (fraud.failure_kind = 'FRAUD' OR fraud.stop = 'fraud' AND fraud.id <> a.id))
  UNION ALL
  SELECT 'never_existed_too_early', a.session_id, a.id FROM attempt a
  WHERE a.session_id = ANY (checked) AND a.void_kind = 'NEVER_EXISTED'
    AND (a.void_asked_at IS NULL OR a.void_asked_at < a.latest_execution_at)
  UNION ALL
  SELECT 'attempt_sequence_gap', a.session_id, NULL FROM attempt a
  WHERE a.session_id = ANY (checked)
  GROUP BY a.session_id HAVING min(a.sequence) <> 1 OR max(a.sequence) <> count(*)
  UNION ALL
  SELECT 'final_event', s.id, NULL FROM payment_session s
  WHERE s.id = ANY (checked)
    AND (SELECT array_agg(e.type) FROM outbox_event e WHERE e.session_id = s.id AND e.type IN (
           'payment_session.succeeded','payment_session.declined','payment_session.degraded','payment_session.expired',
           'setup_session.succeeded','setup_session.failed','setup_session.expired'))
      IS DISTINCT FROM CASE WHEN s.status <> 'CREATED' THEN ARRAY[CASE WHEN s.amount_minor > 0 THEN 'payment_session.' || lower(s.status)
        ELSE 'setup_session.' || CASE WHEN s.status IN ('DECLINED','DEGRADED') THEN 'failed' ELSE lower(s.status) END END] END
  UNION ALL
  SELECT 'event_sequence_gap', e.session_id, NULL FROM outbox_event e
  WHERE e.session_id = ANY (checked)
  GROUP BY e.session_id HAVING min(e.sequence) <> 1 OR max(e.sequence) <> count(*)
  UNION ALL
  SELECT 'captured_without_order', a.session_id, a.id FROM attempt a JOIN payment_session s ON s.id = a.session_id
  WHERE a.session_id = ANY (checked) AND s.manual_capture AND a.capture_ordered_at IS NOT NULL AND s.capture_asked_at IS NULL
  UNION ALL
  SELECT 'card_kept_after_end', s.id, NULL FROM payment_session s
  WHERE s.id = ANY (checked) AND (s.status <> 'CREATED' OR s.held_at IS NOT NULL) AND (s.vault_token IS NOT NULL OR s.browser_sealed IS NOT NULL
    OR s.authentications > 0 AND EXISTS (SELECT FROM authentication t WHERE t.session_id = s.id AND t.proof_sealed IS NOT NULL))
  UNION ALL
  SELECT 'authentication_open_after_end', t.session_id, t.attempt_id FROM authentication t JOIN payment_session s ON s.id = t.session_id
  WHERE t.session_id = ANY (checked) AND t.completed_at IS NULL AND s.status <> 'CREATED'
  UNION ALL
  SELECT 'success_after_failed_authentication', t.session_id, t.attempt_id FROM authentication t JOIN payment_session s ON s.id = t.session_id
  WHERE t.session_id = ANY (checked) AND t.status IN ('FAILED','REJECTED','CANCELLED') AND s.status = 'SUCCEEDED'
  UNION ALL
  SELECT 'order_of_another', k.session_id, NULL FROM app.kept_money k JOIN merchant_settings m ON m.merchant_id = k.merchant_id
  WHERE k.session_id = ANY (checked) AND m.repeated_orders = 'REFUSE' AND k.submitted_at > m.repeated_orders_at
    AND NOT EXISTS (SELECT FROM app.order_winner w WHERE w.merchant_id = k.merchant_id AND w.order_ref = k.order_ref AND w.session_id = k.session_id)
    AND NOT EXISTS (SELECT FROM work_item w WHERE w.session_id = k.session_id AND w.kind = 'PAID_MORE_THAN_ONCE')
  UNION ALL
  SELECT 'order_of_no_money', w.session_id, NULL FROM app.order_winner w
  WHERE w.session_id = ANY (checked) AND NOT EXISTS (SELECT FROM app.kept_money k WHERE k.session_id = w.session_id)
  UNION ALL
  SELECT 'saving_without_end', p.session_id, NULL FROM stored_payment p
  WHERE p.session_id = ANY (checked) AND p.saving = 'REQUESTED' AND p.save_until < (SELECT app.clock()) - interval '1 hour'
    AND EXISTS (SELECT FROM payment_session s WHERE s.id = p.session_id AND (s.status <> 'CREATED' OR s.held_at IS NOT NULL))
  UNION ALL
  SELECT 'card_stored_without_consent', p.session_id, NULL FROM stored_payment p
  WHERE p.session_id = ANY (checked) AND p.saving = 'KEPT' AND p.consented_at IS NULL
$function$;

-- function app.begin_chain(of_session uuid, at_network text, network_id text, link text, connection uuid, customer text, method text)
CREATE OR REPLACE FUNCTION app.begin_chain(of_session uuid, at_network text, network_id text, link text, connection uuid, customer text, method text)
 RETURNS SETOF stored_payment
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_method m SET last_used_at = app.clock() FROM stored_payment p WHERE p.session_id = of_session AND m.id = p.method_id;
  UPDATE stored_payment
  SET network = at_network, network_transaction_id = network_id, network_date = CASE WHEN network_id IS NOT NULL THEN (app.clock() AT TIME ZONE 'UTC')::date END,
      link_id = link, own_connection_id = connection, own_customer = customer, own_method = method
  WHERE session_id = of_session AND role <> 'RENEWAL'
  RETURNING * $function$;

-- function app.begin_challenge(of_session uuid, of_authentication uuid, action text, kept text, look_ms double precision, message text)
CREATE OR REPLACE FUNCTION app.begin_challenge(of_session uuid, of_authentication uuid, action text, kept text, look_ms double precision, message text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication
  SET status = 'AWAITING_CUSTOMER', flow = 'CHALLENGE', action_sealed = action, keep_sealed = kept, next_look_at = app.clock() + look_ms * interval '1 ms',
      message_sealed = message
  WHERE session_id = of_session AND id = of_authentication AND status = 'REQUESTING' RETURNING * $function$;

-- function app.begin_completion(of_session uuid, of_authentication uuid)
CREATE OR REPLACE FUNCTION app.begin_completion(of_session uuid, of_authentication uuid)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication
  SET status = 'CONFIRMING', completions_sent = completions_sent + 1, answered_at = app.clock(), ticket_hash = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' AND cancel_asked_at IS NULL RETURNING * $function$;

-- function app.begin_device_check(of_session uuid, of_authentication uuid, action text, kept text, wait_ms double precision)
CREATE OR REPLACE FUNCTION app.begin_device_check(of_session uuid, of_authentication uuid, action text, kept text, wait_ms double precision)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication
  SET status = 'METHOD', action_sealed = action, keep_sealed = kept, next_look_at = least(deadline_at, app.clock() + wait_ms * interval '1 ms')
  WHERE session_id = of_session AND id = of_authentication AND status = 'PREPARING' RETURNING * $function$;

-- function app.begin_hold(of_session uuid, gone_at timestamp with time zone, margin_ms double precision, due_ms double precision)
CREATE OR REPLACE FUNCTION app.begin_hold(of_session uuid, gone_at timestamp with time zone, margin_ms double precision, due_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session s
  SET held_at = h.now, held_until = h.until, vault_token = NULL, browser_sealed = NULL,
      capture_due_at = CASE WHEN h.until > h.now + due_ms * interval '1 ms' THEN h.until - due_ms * interval '1 ms' END
  FROM (
    SELECT o.id, n.now, greatest(n.now, least(o.capture_by, gone_at - least(margin_ms * interval '1 ms', (gone_at - n.now) / 2))) AS until
    FROM payment_session o, LATERAL (SELECT app.clock() AS now) n WHERE o.id = of_session) h
  WHERE s.id = of_session AND h.id = s.id AND s.held_at IS NULL
  RETURNING s.* $function$;

-- function app.begin_provider_request(of_session uuid, of_authentication uuid, from_status text, kept text)
CREATE OR REPLACE FUNCTION app.begin_provider_request(of_session uuid, of_authentication uuid, from_status text, kept text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication
  SET status = 'REQUESTING', keep_sealed = kept, action_sealed = NULL, ticket_hash = NULL, shown_at = NULL, shown_count = 0, answered_at = NULL, next_look_at = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $function$;

-- function app.begin_wait(of_session uuid)
CREATE OR REPLACE FUNCTION app.begin_wait(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET awaiting_since = app.clock() WHERE id = of_session RETURNING * $function$;

-- function app.blockable_networks(address inet)
CREATE OR REPLACE FUNCTION app.blockable_networks(address inet)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE family(address) WHEN 4 THEN ARRAY[network(address), network(set_masklen(address, 24))]::text[]
    WHEN 6 THEN ARRAY[network(set_masklen(address, 64)), network(set_masklen(address, 48))]::text[] END $function$;

-- function app.blocked_email(merchant uuid, email text)
CREATE OR REPLACE FUNCTION app.blocked_email(merchant uuid, email text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT encode(sha256(convert_to(merchant || ' ' || lower(email), 'UTF8')), 'hex') $function$;

-- function app.blocked_value(merchant uuid, kind text, given text)
CREATE OR REPLACE FUNCTION app.blocked_value(merchant uuid, kind text, given text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE kind WHEN 'CARD' THEN given::uuid::text WHEN 'EMAIL' THEN app.blocked_email(merchant, given) ELSE network(given::inet)::text END $function$;

-- function app.brake(reason text)
CREATE OR REPLACE FUNCTION app.brake(reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'LL003';
END $function$;

-- function app.cancel_action(of_session uuid, of_authentication uuid)
CREATE OR REPLACE FUNCTION app.cancel_action(of_session uuid, of_authentication uuid)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET cancel_asked_at = app.clock()
  WHERE session_id = of_session AND id = of_authentication AND cancel_asked_at IS NULL
    AND (status = 'AWAITING_CUSTOMER' OR provider IS NOT NULL AND status IN ('METHOD','REQUESTING')) RETURNING * $function$;

-- function app.cancel_agreement(of_merchant uuid, of_agreement uuid, reason text)
CREATE OR REPLACE FUNCTION app.cancel_agreement(of_merchant uuid, of_agreement uuid, reason text)
 RETURNS SETOF agreement
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT app.require_home(of_merchant);
  UPDATE agreement SET status = 'CANCELLED', status_because = reason, ended_at = app.clock()
  WHERE id = of_agreement AND merchant_id = of_merchant AND status IN ('ACTIVE','NEEDS_CARD') RETURNING * $function$;

-- function app.captured(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, public_attempt text, via text, confirmed boolean, failed_over boolean, reference text, network text, lease_ms integer, unused_ms integer, event uuid, public_event text, event_body text, overdue_ms integer)
CREATE OR REPLACE FUNCTION app.captured(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, public_attempt text, via text, confirmed boolean, failed_over boolean, reference text, network text, lease_ms integer, unused_ms integer, event uuid, public_event text, event_body text, overdue_ms integer)
 RETURNS TABLE(ended_at timestamp with time zone, event_sequence integer, event_bytes bytea)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s    record;
  a    record;
  last xid8;
  at   timestamptz;
BEGIN
  SELECT id, merchant_id, amount_minor, status, winner_attempt_id, manual_capture, capture_asked_at, authentications, lease_until INTO s
  FROM payment_session WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN PERFORM app.lost('the lease was taken over'); END IF;
  at := date_trunc('milliseconds', app.clock());
  SELECT connection_id, gateway, capture_ordered_at, captured_amount_minor, decision_amount_minor, decision_confirmed_at INTO a
  FROM attempt WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZED';
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  IF EXISTS (SELECT FROM gateway_notification WHERE connection_id = a.connection_id AND attempt_reference = public_attempt
             AND kind IN ('captured','already_captured','capture_failed','voided'))
     OR EXISTS (SELECT FROM attempt WHERE session_id = of_session AND id <> attempt AND changed_at > read_at) THEN
    RETURN; END IF;
  IF s.status <> 'CREATED' THEN PERFORM app.refuse('a final status never changes'); END IF;
  IF s.winner_attempt_id IS DISTINCT FROM attempt THEN PERFORM app.refuse('only the authorized winner is captured'); END IF;
  IF a.capture_ordered_at IS NULL OR s.manual_capture AND s.capture_asked_at IS NULL THEN PERFORM app.refuse('only an ordered capture is CAPTURED'); END IF;
  IF a.decision_confirmed_at IS NOT NULL AND a.decision_amount_minor <> a.captured_amount_minor THEN
    PERFORM app.refuse('the amount that a person has seen captured is the one that is recorded'); END IF;
  IF a.gateway <> via THEN PERFORM app.refuse('the money was captured at the winner''s gateway'); END IF;
  UPDATE attempt
  SET status = 'CAPTURED', capture_reference = coalesce(capture_reference, reference), network_transaction_id = coalesce(network, network_transaction_id),
      completed_at = at, changed_at = at
  WHERE session_id = of_session AND id = attempt;
  SELECT bool_or(status IN ('UNKNOWN','AUTHORIZING','AWAITING_CUSTOMER')) AS has_undecided, bool_or(completed_at IS NULL) AS has_open INTO a
  FROM attempt WHERE session_id = of_session AND id <> attempt;
  IF a.has_undecided THEN PERFORM app.refuse('unknown attempts go to VOIDING with the winner or the end'); END IF;
  IF s.authentications > 0 THEN
    IF EXISTS (SELECT FROM authentication WHERE session_id = of_session AND completed_at IS NULL) THEN
      PERFORM app.refuse('no end while an authentication is open'); END IF;
    UPDATE authentication SET proof_sealed = NULL WHERE session_id = of_session AND proof_sealed IS NOT NULL;
  END IF;
  UPDATE payment_session
  SET status = 'SUCCEEDED', captured_via = via, capture_confirmed = confirmed, failover = failed_over, vault_token = NULL, browser_sealed = NULL,
      settled_at = at, phase = CASE WHEN a.has_open THEN 'PROCESSING' ELSE 'DONE' END,
      lease_until = CASE WHEN a.has_open AND lease_until <= at + unused_ms * interval '1 ms' THEN at + lease_ms * interval '1 ms' ELSE lease_until END
  WHERE id = of_session;
  ended_at := at;
  SELECT coalesce(max(sequence), 0) + 1, max(feed_position) INTO event_sequence, last FROM outbox_event WHERE session_id = of_session;
  event_bytes := convert_to(replace(replace(replace(event_body,
    format('"%s:time"', public_event), to_json(to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text),
    format('"%s:settled"', public_event), to_json(app.public_time(at))::text), format('"%s:sequence"', public_event), event_sequence::text), 'UTF8');
  INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at, feed_position)
  VALUES (of_session, event, event_sequence, CASE s.amount_minor WHEN 0 THEN 'setup_session.succeeded' ELSE 'payment_session.succeeded' END, s.merchant_id, event_bytes, at, greatest(pg_current_xact_id(), last));
  INSERT INTO event_todo (session_id, sequence, created_at, due_at) VALUES (of_session, event_sequence, at, at + overdue_ms * interval '1 ms');
  RETURN NEXT;
END $function$;

-- function app.card_limits(brand text)
CREATE OR REPLACE FUNCTION app.card_limits(brand text)
 RETURNS TABLE(tries integer, within interval)
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT l.tries, l.within FROM (VALUES (true, 10, interval '24 hours'), (true, 35, interval '30 days'), (false, 15, interval '30 days')) l (is_mastercard, tries, within)
  WHERE l.is_mastercard = (brand = 'mastercard') $function$;

-- function app.card_refusal(of_merchant uuid, card uuid, brand text)
CREATE OR REPLACE FUNCTION app.card_refusal(of_merchant uuid, card uuid, brand text)
 RETURNS TABLE(because text, not_before timestamp with time zone)
 LANGUAGE plpgsql
AS $function$
DECLARE
  s  record;
  at timestamptz := app.clock();
BEGIN
  SELECT c.stopped_at, c.not_before INTO s FROM card_state c WHERE c.merchant_id = of_merchant AND c.fingerprint = card;
  IF s.stopped_at IS NOT NULL THEN RETURN QUERY SELECT 'stopped', NULL::timestamptz; RETURN; END IF;
  RETURN QUERY
    SELECT w.because, w.not_before FROM (
      SELECT 'waits' AS because, s.not_before
      UNION ALL
      SELECT 'limit', l.within + (SELECT d.declined_at FROM card_decline d WHERE d.merchant_id = of_merchant AND d.fingerprint = card
                                  ORDER BY d.declined_at DESC OFFSET l.tries - 1 LIMIT 1)
      FROM app.card_limits(brand) l) w
    WHERE w.not_before > at ORDER BY w.not_before DESC LIMIT 1;
END $function$;

-- function app.card_tables()
CREATE OR REPLACE FUNCTION app.card_tables()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT ARRAY['payment_method','card_erasure','agreement','renewal','renewal_try','recovery_link','card_state','card_decline'] $function$;

-- function app.check_reference(of_session uuid, of_attempt uuid, connection uuid, reference text)
CREATE OR REPLACE FUNCTION app.check_reference(of_session uuid, of_attempt uuid, connection uuid, reference text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  -- In a variable, so that PostgreSQL reads no partition before it.
  oldest uuid := app.first_id_at(app.clock() - interval '45 days');
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(connection || ' ' || reference, 0));
  IF EXISTS (SELECT FROM attempt WHERE connection_id = connection AND gateway_reference = reference
             AND session_id >= oldest AND (session_id, id) <> (of_session, of_attempt)) THEN
    RAISE EXCEPTION 'attempt_gateway_reference: a gateway reference is of one attempt' USING ERRCODE = 'unique_violation', CONSTRAINT = 'attempt_gateway_reference';
  END IF;
END $function$;

-- function app.check_renewal_paid()
CREATE OR REPLACE FUNCTION app.check_renewal_paid()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM stored_payment p WHERE p.session_id = NEW.id AND p.role IN ('RENEWAL','RECOVERY') AND NOT EXISTS (
       SELECT FROM renewal r WHERE r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.paid_session_id = NEW.id)) THEN
    PERFORM app.refuse('a captured renewal is paid'); END IF;
  RETURN NULL;
END $function$;

-- function app.claim(of_session uuid, lease_ms integer, budget_ms integer, token text, hash bytea, rule integer, planned jsonb, skips jsonb, request uuid, routed jsonb, browser text, attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer, card text, address inet, is_guarded boolean, is_counted boolean, submissions_max integer, declines_max integer, network cidr, network_max integer, braked text, settings text, by_wallet text)
CREATE OR REPLACE FUNCTION app.claim(of_session uuid, lease_ms integer, budget_ms integer, token text, hash bytea, rule integer, planned jsonb, skips jsonb, request uuid, routed jsonb, browser text, attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer, card text, address inet, is_guarded boolean, is_counted boolean, submissions_max integer, declines_max integer, network cidr, network_max integer, braked text, settings text DEFAULT NULL::text, by_wallet text DEFAULT NULL::text)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s  payment_session;
  c  record;
  at timestamptz := date_trunc('milliseconds', app.clock());
  versions uuid[] := string_to_array(card, ' ');
  added    int;
  entry    text;
  -- The credential, the rule for its second use, and the wallet if it is known.
  paid_by  text[] := string_to_array(by_wallet, ' ');
BEGIN
  PERFORM app.refuse_other_timeline();
  UPDATE payment_session
  SET phase = 'PROCESSING', lease_epoch = lease_epoch + 1, lease_until = at + lease_ms * interval '1 ms', submit_deadline = at + budget_ms * interval '1 ms',
      submitted_at = at, vault_token = token, token_hash = hash, rule_version = rule, plan = planned, skipped = skips, submit_request_id = request,
      routed_by = routed, browser_sealed = browser, brakes = string_to_array(braked, ' '), card_fingerprint = versions[1],
      customer_network = network(set_masklen(address, CASE family(address) WHEN 6 THEN 48 ELSE 24 END)),
      wallet_credential = paid_by[1], cryptogram_resend = paid_by[2], wallet = paid_by[3]
  WHERE id = of_session AND phase = 'IDLE' AND expires_at > at
  RETURNING * INTO s;
  IF NOT FOUND THEN PERFORM app.lost('the session cannot be claimed'); END IF;
  IF (CASE left(token, 4) WHEN 'wnt_' THEN 'NETWORK_TOKEN' WHEN 'wpn_' THEN 'PAN' END) IS DISTINCT FROM paid_by[1] THEN
    PERFORM app.refuse('a wallet''s token is claimed as what it is'); END IF;
  IF by_wallet IS NOT NULL THEN PERFORM app.require_wallet(s); END IF;
  IF settings IS NOT NULL AND NOT EXISTS (
       SELECT FROM merchant_settings m WHERE m.merchant_id = s.merchant_id AND array_to_string(m.publishable_key || m.checkout_origins, ' ') = settings
         AND (s.allow_repeated_order OR m.repeated_orders <> 'REFUSE'
           OR NOT EXISTS (SELECT FROM app.order_winner w WHERE w.merchant_id = s.merchant_id AND w.order_ref = s.order_ref))) THEN
    PERFORM app.lost('the settings have changed'); END IF;
  IF is_guarded AND EXISTS (SELECT FROM blocklist_entry b WHERE b.merchant_id = s.merchant_id) THEN
    PERFORM app.refuse_blocked(s.merchant_id, versions, s.customer_email, address, at); END IF;
  IF is_guarded AND is_counted THEN
    -- The first submission of a card is one row. Another one at the same moment waits for it here.
    INSERT INTO card_submission (fingerprint, nth, session_id, submitted_at, merchant_id, network)
    SELECT one, 1, of_session, at, s.merchant_id, CASE WHEN one = versions[1] THEN network END FROM unnest(versions) one ORDER BY one ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
  END IF;
  IF added < cardinality(versions) THEN
    PERFORM FROM card_submission WHERE fingerprint = ANY (versions) AND nth = 1 ORDER BY fingerprint FOR UPDATE;
    SELECT coalesce(max(hour), 0) AS submissions, coalesce(max(declined + undecided), 0) AS tries INTO c FROM (
      SELECT count(*) FILTER (WHERE submitted_at > at - interval '1 hour') AS hour, coalesce(sum(declines), 0) AS declined,
        count(*) FILTER (WHERE declines IS NULL AND submitted_at > at - interval '1 hour') AS undecided
      FROM card_submission WHERE fingerprint = ANY (versions) AND submitted_at > at - interval '1 day' AND session_id <> of_session
      GROUP BY fingerprint) by_version;
    IF c.submissions >= submissions_max THEN PERFORM app.brake('submissions'); END IF;
    -- Only now it matters which of them may still be declined.
    IF c.tries >= declines_max THEN
      SELECT max(tries) AS tries INTO c FROM (
        SELECT sum(coalesce(p.declines, CASE WHEN p.submitted_at > at - interval '1 hour'
            AND (x.id IS NULL OR x.status = 'CREATED' AND x.winner_attempt_id IS NULL AND x.held_at IS NULL) THEN 1 ELSE 0 END)) AS tries
        FROM card_submission p LEFT JOIN payment_session x ON x.id = p.session_id
        WHERE p.fingerprint = ANY (versions) AND p.submitted_at > at - interval '1 day' AND p.session_id <> of_session
        GROUP BY p.fingerprint) by_version;
      IF c.tries >= declines_max THEN PERFORM app.brake('declines'); END IF;
    END IF;
    INSERT INTO card_submission (fingerprint, nth, session_id, submitted_at, merchant_id, network)
    SELECT fingerprint, max(nth) + 1, of_session, at, s.merchant_id, CASE WHEN fingerprint = versions[1] THEN network END
    FROM card_submission WHERE fingerprint = ANY (versions)
    GROUP BY fingerprint HAVING bool_and(session_id <> of_session);
  END IF;
  -- Few networks have so many declined cards that their other cards are counted too.
  IF is_guarded AND is_counted AND network IS NOT NULL AND network_max IS NOT NULL THEN
    IF (SELECT count(*) >= network_max FROM (
          SELECT DISTINCT p.fingerprint FROM card_submission p WHERE p.merchant_id = s.merchant_id AND p.network = network AND p.declines IS NOT NULL
            AND p.submitted_at > at - interval '1 hour' LIMIT network_max) declined)
       AND (SELECT 2 * count(DISTINCT p.fingerprint) FILTER (WHERE p.declines IS NOT NULL) >= count(DISTINCT p.fingerprint) FROM card_submission p
            WHERE p.merchant_id = s.merchant_id AND p.network = network AND p.submitted_at > at - interval '1 hour' AND p.session_id <> of_session) THEN
      PERFORM app.brake('network'); END IF;
  END IF;
  IF attempt IS NOT NULL THEN
    INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
      started_at, changed_at, latest_execution_at)
    VALUES (s.id, attempt, 1, at_gateway, connection, credential, place, why, s.amount_minor, s.currency, at, at, at + execution_ms * interval '1 ms');
    IF s.stored THEN PERFORM app.guard_stored_attempt(s.id, attempt, connection, 0); END IF;
  END IF;
  RETURN NEXT s;
EXCEPTION WHEN SQLSTATE 'LL001' OR SQLSTATE 'LL003' OR SQLSTATE 'LL004' THEN
  GET STACKED DIAGNOSTICS entry = PG_EXCEPTION_DETAIL;
  s := NULL;
  s.decline_code := SQLERRM;
  s.skipped := nullif(entry, '')::jsonb;
  RETURN NEXT s;
END $function$;

-- function app.claim_stored(of_session uuid, token text, handle text, hash bytea, template text, locale text, address inet, agent text, due_ms double precision, life_ms double precision)
CREATE OR REPLACE FUNCTION app.claim_stored(of_session uuid, token text, handle text, hash bytea, template text, locale text, address inet, agent text, due_ms double precision, life_ms double precision)
 RETURNS SETOF stored_payment
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s record;
  p stored_payment;
  is_opened boolean;
BEGIN
  SELECT s1.token_hash, s1.submitted_at INTO s FROM payment_session s1 WHERE s1.id = of_session AND s1.phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO p FROM stored_payment p1 WHERE p1.session_id = of_session FOR UPDATE;
  -- The token may be of a card that was chosen before another one.
  p.method_id := p.opened_methods[array_position(p.opened_hashes, s.token_hash)];
  is_opened := p.method_id IS NOT NULL;
  p.opened_token_hash := CASE WHEN is_opened THEN s.token_hash END;
  -- LL006: deleted, stopped or hidden since it was opened (src/core/stored-cards/claim-stored.ts).
  IF is_opened AND NOT EXISTS (SELECT FROM payment_method m WHERE m.id = p.method_id AND m.status = 'ACTIVE' AND m.stopped_because IS NULL
                    AND app.is_card_usable(m.merchant_id, m.fingerprint)) THEN
    RAISE EXCEPTION 'the stored card cannot be used any more' USING ERRCODE = 'LL006';
  END IF;
  IF p.role IN ('SAVE','RECOVERY','SETUP') THEN
    IF p.terms IS NOT NULL AND template IS NULL THEN PERFORM app.refuse('an agreement needs the customer''s consent'); END IF;
    IF p.role = 'SETUP' AND template IS NULL THEN PERFORM app.refuse('a set-up needs the customer''s consent'); END IF;
    -- A card that is stored already is not stored again; its agreement is made.
    p.saving := CASE WHEN template IS NULL OR is_opened AND p.terms IS NULL THEN 'NOT_WANTED' ELSE 'REQUESTED' END;
    IF template IS NOT NULL THEN
      p.consent_template := template; p.consent_locale := locale; p.consented_at := s.submitted_at;
      p.consent_address := address; p.consent_user_agent := agent;
    END IF;
    IF p.saving = 'REQUESTED' THEN
      p.save_due_at := s.submitted_at + due_ms * interval '1 ms'; p.save_until := s.submitted_at + life_ms * interval '1 ms';
      IF NOT is_opened THEN p.token_sealed := token; p.handle_sealed := handle; p.handle_hash := hash; END IF;
    END IF;
  END IF;
  RETURN QUERY UPDATE stored_payment o
    SET (method_id, opened_token_hash, saving, consent_template, consent_locale, consented_at, consent_address, consent_user_agent, save_due_at, save_until,
         token_sealed, handle_sealed, handle_hash, opened_hashes, opened_methods)
      = (p.method_id, p.opened_token_hash, p.saving, p.consent_template, p.consent_locale, p.consented_at, p.consent_address, p.consent_user_agent,
         p.save_due_at, p.save_until, p.token_sealed, p.handle_sealed, p.handle_hash, '{}', '{}')
    WHERE o.session_id = of_session RETURNING o.*;
END $function$;

-- function app.clear_proofs(of_session uuid)
CREATE OR REPLACE FUNCTION app.clear_proofs(of_session uuid)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET proof_sealed = NULL WHERE session_id = of_session AND proof_sealed IS NOT NULL RETURNING * $function$;

-- function app.clear_winner(of_session uuid)
CREATE OR REPLACE FUNCTION app.clear_winner(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET winner_attempt_id = NULL WHERE id = of_session RETURNING * $function$;

-- function app.clock()
CREATE OR REPLACE FUNCTION app.clock()
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$SELECT clock_timestamp()$function$;

-- function app.close_session(of_session uuid)
CREATE OR REPLACE FUNCTION app.close_session(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET phase = 'DONE' WHERE id = of_session AND phase = 'PROCESSING' AND status <> 'CREATED' RETURNING * $function$;

-- function app.confirm_capture(of_session uuid)
CREATE OR REPLACE FUNCTION app.confirm_capture(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET capture_confirmed = true WHERE id = of_session RETURNING * $function$;

-- function app.confirm_decision(of_session uuid, of_attempt uuid, person text)
CREATE OR REPLACE FUNCTION app.confirm_decision(of_session uuid, of_attempt uuid, person text)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt SET decision_confirmed_by = person, decision_confirmed_at = app.clock()
  WHERE session_id = of_session AND id = of_attempt RETURNING * $function$;

-- function app.copy_functions(model text, suffix text)
CREATE OR REPLACE FUNCTION app.copy_functions(model text, suffix text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE definition text;
BEGIN
  FOR definition IN
    SELECT replace(pg_get_functiondef(oid), model, suffix) FROM pg_proc
    WHERE pronamespace = 'partitions'::regnamespace AND right(proname, length(model)) = model
  LOOP
    EXECUTE definition;
  END LOOP;
END $function$;

-- function app.copy_index(index_id oid, onto text, own_name text)
CREATE OR REPLACE FUNCTION app.copy_index(index_id oid, onto text, own_name text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  rule text := (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conindid = index_id AND contype IN ('p','u'));
BEGIN
  IF rule IS NOT NULL THEN
    EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I %s', onto, own_name, rule);
  ELSE
    EXECUTE regexp_replace(pg_get_indexdef(index_id), ' INDEX [^ ]+ ON (ONLY )?[^ ]+ ', format(' INDEX %I ON %s ', own_name, onto));
  END IF;
END $function$;

-- function app.count_card_decline(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION app.count_card_decline(of_session uuid, of_attempt uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO card_decline (merchant_id, fingerprint, attempt_id, declined_at, by_customer)
  SELECT p.merchant_id, m.fingerprint, of_attempt, app.clock(), p.role <> 'RENEWAL'
  FROM stored_payment p JOIN payment_method m ON m.id = p.method_id
  WHERE p.session_id = of_session AND (p.role = 'RENEWAL' OR p.opened_token_hash IS NOT NULL)
  ON CONFLICT DO NOTHING $function$;

-- function app.count_completion(of_session uuid, of_authentication uuid, sent integer)
CREATE OR REPLACE FUNCTION app.count_completion(of_session uuid, of_authentication uuid, sent integer)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET completions_sent = completions_sent + 1
  WHERE session_id = of_session AND id = of_authentication AND status = 'CONFIRMING' AND completions_sent = sent RETURNING * $function$;

-- function app.create_session(new_session uuid, merchant uuid, amount bigint, in_currency text, reference text, email text, secret integer, life_ms bigint, request uuid, described jsonb, later boolean, later_by timestamp with time zone, repeated boolean, customer text, storing jsonb, own_key text, hash bytea, answer text, key_life_ms bigint)
CREATE OR REPLACE FUNCTION app.create_session(new_session uuid, merchant uuid, amount bigint, in_currency text, reference text, email text, secret integer, life_ms bigint, request uuid, described jsonb, later boolean, later_by timestamp with time zone, repeated boolean, customer text, storing jsonb, own_key text, hash bytea, answer text, key_life_ms bigint)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  at timestamptz := app.clock();
BEGIN
  -- A set-up is of 0; its row of stored_payment holds it to that (S12).
  IF amount NOT BETWEEN (storing ->> 'role' IS DISTINCT FROM 'SETUP')::int AND 999999999999 THEN PERFORM app.refuse('an amount is between 1 and 999999999999 minor units'); END IF;
  IF in_currency !~ '^[A-Z]{3}$' THEN PERFORM app.refuse('a currency is three capital letters'); END IF;
  IF char_length(reference) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('an order reference has 1 to 255 characters'); END IF;
  IF char_length(email) NOT BETWEEN 3 AND 254 THEN PERFORM app.refuse('an email address has 3 to 254 characters'); END IF;
  IF life_ms <= 0 THEN PERFORM app.refuse('a session expires after it was created'); END IF;
  IF NOT later AND later_by IS NOT NULL THEN PERFORM app.refuse('only a payment that is captured later is held'); END IF;
  IF later_by <= at + life_ms * interval '1 ms' THEN PERFORM app.refuse('a capture comes after the submission'); END IF;
  IF char_length(customer) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('a customer reference has 1 to 255 characters'); END IF;
  IF own_key IS NOT NULL THEN
    -- The row of an expired key is overwritten, and its session stays as it is. A cell that the merchant has left creates nothing, and
    -- the other one answers keys of this one by reading them.
    INSERT INTO idempotency AS i (merchant_id, key, request_hash, session_id, answer_sealed, expires_at)
    SELECT merchant, own_key, hash, new_session, answer, at + key_life_ms * interval '1 ms'
    WHERE NOT EXISTS (SELECT FROM merchant_settings m WHERE m.merchant_id = merchant AND m.moved_to IS NOT NULL)
    ON CONFLICT (merchant_id, key) DO UPDATE
      SET request_hash = EXCLUDED.request_hash, session_id = EXCLUDED.session_id, answer_sealed = EXCLUDED.answer_sealed, expires_at = EXCLUDED.expires_at
      WHERE i.expires_at <= at;
    IF NOT FOUND THEN RETURN; END IF;
  END IF;
  RETURN QUERY
    INSERT INTO payment_session AS s (id, merchant_id, amount_minor, currency, order_ref, customer_email, secret_version, created_at,
      expires_at, create_request_id, details, manual_capture, capture_by, allow_repeated_order, customer_ref, stored)
    VALUES (new_session, merchant, amount, in_currency, reference, email, secret, at, at + life_ms * interval '1 ms', request, described, later, later_by, repeated,
      customer, customer IS NOT NULL)
    RETURNING s.*;
  IF customer IS NOT NULL THEN
    INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, security_code, terms, agreement_id)
    VALUES (new_session, merchant, amount, in_currency, customer, storing ->> 'role', storing ->> 'securityCode', storing -> 'terms', (storing ->> 'agreementId')::uuid);
  END IF;
END $function$;

-- function app.customer_settled_at(e card_erasure)
CREATE OR REPLACE FUNCTION app.customer_settled_at(e card_erasure)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$ SELECT e.begun_at + interval '2 days' $function$;

-- function app.decide_dispute(of_session uuid, of_dispute uuid, word jsonb)
CREATE OR REPLACE FUNCTION app.decide_dispute(of_session uuid, of_dispute uuid, word jsonb)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  UPDATE dispute d SET decision = word || jsonb_build_object('before', d.status), status = word ->> 'status', updated_at = app.clock()
  WHERE d.session_id = of_session AND d.id = of_dispute AND d.closed_at IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  IF word ->> 'status' = 'WON' THEN
    INSERT INTO dispute_movement (session_id, dispute_id, ordinal, type, amount_minor, currency)
    SELECT of_session, of_dispute, (SELECT max(o.ordinal) FROM dispute_movement o WHERE o.session_id = of_session AND o.dispute_id = of_dispute) + row_number() OVER (ORDER BY m.currency), 'CHARGEBACK_REVERSED',
      sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END), m.currency
    FROM dispute_movement m WHERE m.session_id = of_session AND m.dispute_id = of_dispute
    GROUP BY m.currency HAVING sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) > 0;
  END IF;
  UPDATE dispute d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT of_dispute;
END $function$;

-- function app.delete_method(of_merchant uuid, method uuid)
CREATE OR REPLACE FUNCTION app.delete_method(of_merchant uuid, method uuid)
 RETURNS TABLE(agreement_id uuid, session_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_column
DECLARE m record;
BEGIN
  PERFORM app.require_home(of_merchant);
  SELECT * INTO m FROM payment_method WHERE id = method AND merchant_id = of_merchant FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF m.status = 'DELETED' THEN
    RETURN QUERY SELECT NULL::uuid, NULL::uuid;
    RETURN;
  END IF;
  -- Later: a renewal that is under way ends as it began.
  PERFORM app.erase_at_gateway(of_merchant, own_connection_id, own_customer, own_method, begun, app.clock() + interval '15 minutes') FROM (
    SELECT m.own_connection_id, m.own_customer, m.own_method, m.stored_at AS begun
    UNION ALL SELECT own_connection_id, own_customer, own_method, consented_at FROM agreement WHERE method_id = method) kept;
  RETURN QUERY UPDATE agreement SET method_id = NULL, status = 'NEEDS_CARD', status_because = 'card_deleted'
    WHERE method_id = method AND status NOT IN ('CANCELLED','ENDED') RETURNING id, agreement.session_id;
  IF NOT FOUND THEN
    RETURN QUERY SELECT NULL::uuid, NULL::uuid; END IF;
  INSERT INTO card_erasure (handle_hash, merchant_id, erase_due_at) VALUES (m.handle_hash, of_merchant, app.clock())
  ON CONFLICT (handle_hash) DO UPDATE SET erase_due_at = EXCLUDED.erase_due_at;
  UPDATE payment_method SET status = 'DELETED', handle_sealed = NULL, deleted_at = app.clock() WHERE id = method;
END $function$;

-- function app.derived_id(base uuid, name text)
CREATE OR REPLACE FUNCTION app.derived_id(base uuid, name text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT format('%s-7%s-%s%s-%s', left(base::text, 13), substr(h, 1, 3), to_hex(('x' || substr(h, 4, 1))::bit(4)::int & 3 | 8), substr(h, 5, 3), substr(h, 8, 12))::uuid
  FROM encode(sha256(convert_to(base || ' ' || name, 'UTF8')), 'hex') h $function$;

-- function app.describe_renewal(p stored_payment, tries_max integer)
CREATE OR REPLACE FUNCTION app.describe_renewal(p stored_payment, tries_max integer)
 RETURNS json
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN (
    SELECT json_build_object('type', a.type, 'tries', r.tries, 'refusal', CASE WHEN s.status IN ('DECLINED','DEGRADED','EXPIRED') THEN (
      SELECT to_json(x) FROM app.renewal_refusal(p.agreement_id, p.renewal_ref, p.amount_minor, p.currency, tries_max) x) END)
    FROM agreement a, renewal r, payment_session s
    WHERE a.id = p.agreement_id AND r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND s.id = p.session_id);
END $function$;

-- function app.drop_card(of_session uuid, as_saving text)
CREATE OR REPLACE FUNCTION app.drop_card(of_session uuid, as_saving text)
 RETURNS SETOF stored_payment
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  s record;
  p stored_payment;
BEGIN
  SELECT status, winner_attempt_id, held_at INTO s FROM payment_session WHERE id = of_session FOR UPDATE;
  SELECT * INTO p FROM stored_payment WHERE session_id = of_session AND saving = 'REQUESTED' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF as_saving = 'DROPPED' AND p.customer_ref IS NOT NULL AND (s.status = 'CREATED' OR s.winner_attempt_id IS NOT NULL) THEN
    PERFORM app.refuse('only a payment without a winner drops its card'); END IF;
  -- The vault may have stored it: an answer that was lost says nothing.
  IF p.handle_hash IS NOT NULL AND (as_saving = 'FAILED' OR s.held_at IS NOT NULL OR p.customer_ref IS NULL) THEN
    INSERT INTO card_erasure (handle_hash, merchant_id, erase_due_at) VALUES (p.handle_hash, p.merchant_id, app.clock()) ON CONFLICT DO NOTHING; END IF;
  PERFORM app.erase_at_gateway(p.merchant_id, p.own_connection_id, p.own_customer, p.own_method, app.clock(), app.clock());
  IF as_saving = 'FAILED' AND p.customer_ref IS NOT NULL THEN PERFORM app.make_agreement(p, NULL); END IF;
  RETURN QUERY UPDATE stored_payment SET saving = as_saving, token_sealed = NULL, handle_sealed = NULL, save_due_at = NULL
    WHERE session_id = of_session RETURNING *;
END $function$;

-- function app.end_agreements(at_most integer)
CREATE OR REPLACE FUNCTION app.end_agreements(at_most integer)
 RETURNS SETOF agreement
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE agreement SET status = 'ENDED', ended_at = app.clock(),
    status_because = CASE WHEN ends_on < (app.clock() AT TIME ZONE 'UTC')::date THEN 'last_day' ELSE 'instalments_paid' END
  WHERE id = ANY (ARRAY(
    SELECT a.id FROM agreement a
    WHERE a.status IN ('ACTIVE','NEEDS_CARD') AND a.ends_on < (SELECT (app.clock() AT TIME ZONE 'UTC')::date)
    LIMIT at_most FOR NO KEY UPDATE SKIP LOCKED) || ARRAY(
    SELECT a.id FROM agreement a
    WHERE a.status IN ('ACTIVE','NEEDS_CARD') AND a.instalments IS NOT NULL
      AND a.instalments <= a.began_paid::int + (SELECT count(*) FROM renewal r WHERE r.agreement_id = a.id AND r.paid_session_id IS NOT NULL)
    LIMIT at_most FOR NO KEY UPDATE SKIP LOCKED))
  RETURNING * $function$;

-- function app.end_authentication(of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
CREATE OR REPLACE FUNCTION app.end_authentication(of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication
  SET status = end_status, completed_at = app.clock(), action_sealed = NULL, keep_sealed = NULL, returned_sealed = NULL, ticket_hash = NULL,
      answered_at = CASE WHEN end_status IN ('CANCELLED','ABANDONED') THEN answered_at ELSE coalesce(answered_at, app.clock()) END,
      version = of_version, trans_status = transaction_status, eci = by_eci, ds_transaction_id = ds_transaction, liability = liable
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $function$;

-- function app.end_erasure(of_handle bytea)
CREATE OR REPLACE FUNCTION app.end_erasure(of_handle bytea)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  DELETE FROM card_erasure e WHERE e.handle_hash = of_handle AND (e.own_method IS NULL OR app.customer_settled_at(e) <= app.clock());
  UPDATE card_erasure e SET wanted_at = app.customer_settled_at(e), erase_due_at = app.customer_settled_at(e) WHERE e.handle_hash = of_handle $function$;

-- function app.end_orphan(of_session uuid, of_attempt uuid, reference text, request integer, as_outcome text)
CREATE OR REPLACE FUNCTION app.end_orphan(of_session uuid, of_attempt uuid, reference text, request integer, as_outcome text)
 RETURNS SETOF orphaned_authorization
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE orphaned_authorization SET ended_at = app.clock(), next_retry_at = NULL, outcome = as_outcome
  WHERE session_id = of_session AND attempt_id = of_attempt AND gateway_reference = reference AND retries = request AND ended_at IS NULL RETURNING * $function$;

-- function app.end_provided(of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, reason text, by_eci text, ds_transaction text, liable text, proof text, message text)
CREATE OR REPLACE FUNCTION app.end_provided(of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, reason text, by_eci text, ds_transaction text, liable text, proof text, message text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication
  SET status = end_status, completed_at = app.clock(), action_sealed = NULL, keep_sealed = NULL, returned_sealed = NULL, ticket_hash = NULL, next_look_at = NULL,
      answered_at = CASE WHEN status = 'AWAITING_CUSTOMER' AND end_status NOT IN ('CANCELLED','ABANDONED') THEN app.clock() END,
      version = of_version, trans_status = transaction_status, trans_status_reason = reason, eci = by_eci, ds_transaction_id = ds_transaction, liability = liable,
      proof_sealed = proof,
      message_sealed = CASE WHEN end_status NOT IN ('CANCELLED','ABANDONED') THEN coalesce(message, message_sealed) END
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $function$;

-- function app.end_unsubmitted(of_session uuid, of_merchant uuid, reason text, successor uuid)
CREATE OR REPLACE FUNCTION app.end_unsubmitted(of_session uuid, of_merchant uuid, reason text, successor uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET status = 'EXPIRED', phase = 'DONE', settled_at = app.clock(), expired_because = reason, replaced_by = successor
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'IDLE'
  RETURNING * $function$;

-- function app.end_wait(of_session uuid)
CREATE OR REPLACE FUNCTION app.end_wait(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session
  SET awaiting_since = NULL,
      submit_deadline = CASE WHEN unrecorded_check_at IS NULL
        THEN greatest(submit_deadline + (app.clock() - awaiting_since), app.clock() + interval '20 s') ELSE submit_deadline END
  WHERE id = of_session AND awaiting_since IS NOT NULL RETURNING * $function$;

-- function app.erase_at_gateway(of_merchant uuid, connection uuid, customer text, method text, begun timestamp with time zone, due timestamp with time zone)
CREATE OR REPLACE FUNCTION app.erase_at_gateway(of_merchant uuid, connection uuid, customer text, method text, begun timestamp with time zone, due timestamp with time zone)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO card_erasure (handle_hash, merchant_id, wanted_at, erase_due_at, own_connection_id, own_customer, own_method, begun_at)
  SELECT sha256(convert_to(connection || ' ' || method, 'UTF8')), of_merchant, due, due, connection, customer, method, begun WHERE method IS NOT NULL
  ON CONFLICT DO NOTHING $function$;

-- function app.erase_customer(of_merchant uuid, of_session uuid)
CREATE OR REPLACE FUNCTION app.erase_customer(of_merchant uuid, of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE stored_payment SET customer_ref = NULL, consent_address = NULL, consent_user_agent = NULL
  WHERE merchant_id = of_merchant AND session_id = of_session;
  UPDATE payment_session
  SET customer_email = NULL, details = nullif(details - '{customerName,billingAddress}'::text[], '{}'), card_fingerprint = NULL, customer_network = NULL, customer_ref = NULL
  WHERE merchant_id = of_merchant AND id = of_session
  RETURNING * $function$;

-- function app.erase_customers(of_merchant uuid, those uuid[], email text)
CREATE OR REPLACE FUNCTION app.erase_customers(of_merchant uuid, those uuid[], email text)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE stored_payment SET customer_ref = NULL, consent_address = NULL, consent_user_agent = NULL
  WHERE session_id IN (
    SELECT id FROM payment_session WHERE merchant_id = of_merchant AND id = ANY (those) AND lower(customer_email) = lower(email) AND stored);
  UPDATE payment_session
  SET customer_email = NULL, details = nullif(details - '{customerName,billingAddress}'::text[], '{}'), card_fingerprint = NULL, customer_network = NULL, customer_ref = NULL
  WHERE merchant_id = of_merchant AND id = ANY (those) AND lower(customer_email) = lower(email)
  RETURNING id $function$;

-- function app.erase_dispute_content(of_sessions uuid[])
CREATE OR REPLACE FUNCTION app.erase_dispute_content(of_sessions uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  UPDATE dispute d SET erase_at_end = true WHERE d.session_id = ANY (of_sessions) AND NOT d.erase_at_end;
  PERFORM app.remove_dispute_content(1e14, 1000);
  RETURN QUERY SELECT d.id FROM dispute d WHERE d.session_id = ANY (of_sessions) AND d.closed_at IS NULL;
END $function$;

-- function app.erase_stored_customer(of_merchant uuid, customer text)
CREATE OR REPLACE FUNCTION app.erase_stored_customer(of_merchant uuid, customer text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  UPDATE agreement SET status = 'CANCELLED', status_because = 'customer_erased', ended_at = app.clock()
  WHERE merchant_id = of_merchant AND customer_ref = customer AND status IN ('ACTIVE','NEEDS_CARD');
  PERFORM app.delete_method(of_merchant, m.id) FROM payment_method m
  WHERE m.merchant_id = of_merchant AND m.customer_ref = customer AND m.status = 'ACTIVE';
  UPDATE stored_payment SET customer_ref = NULL, consent_address = NULL, consent_user_agent = NULL
  WHERE session_id IN (SELECT id FROM payment_session WHERE merchant_id = of_merchant AND customer_ref = customer);
  UPDATE agreement SET customer_ref = NULL WHERE merchant_id = of_merchant AND customer_ref = customer;
  UPDATE payment_method SET customer_ref = NULL WHERE merchant_id = of_merchant AND customer_ref = customer;
  RETURN QUERY UPDATE payment_session
    SET customer_email = NULL, details = nullif(details - '{customerName,billingAddress}'::text[], '{}'), card_fingerprint = NULL, customer_network = NULL, customer_ref = NULL
    WHERE merchant_id = of_merchant AND customer_ref = customer
    RETURNING id;
END $function$;

-- function app.erase_unused(of_merchant uuid, connection uuid, customer text, method text, begun timestamp with time zone)
CREATE OR REPLACE FUNCTION app.erase_unused(of_merchant uuid, connection uuid, customer text, method text, begun timestamp with time zone)
 RETURNS void
 LANGUAGE sql
AS $function$
  SELECT app.erase_at_gateway(of_merchant, connection, customer, method, begun, app.clock() + interval '15 minutes')
  WHERE NOT EXISTS (SELECT FROM payment_method m WHERE m.own_connection_id = connection AND m.own_method = method AND m.status = 'ACTIVE')
    AND NOT EXISTS (SELECT FROM agreement a WHERE a.own_connection_id = connection AND a.own_method = method AND a.method_id IS NOT NULL) $function$;

-- function app.expire_session(of_session uuid)
CREATE OR REPLACE FUNCTION app.expire_session(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET status = 'EXPIRED', phase = 'DONE', settled_at = app.clock()
  WHERE id = of_session AND phase = 'IDLE' AND expires_at <= app.clock()
  RETURNING * $function$;

-- function app.expire_unsubmitted_of(of_merchant uuid)
CREATE OR REPLACE FUNCTION app.expire_unsubmitted_of(of_merchant uuid)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET expires_at = app.clock() WHERE merchant_id = of_merchant AND phase = 'IDLE' AND expires_at > app.clock() $function$;

-- function app.failed(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, as_status text, kind text, declined_as text, own_code text, refused_as text, therefore text, brand text, last4 text, lease_ms integer, unused_ms integer, margin_ms integer, next_attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer)
CREATE OR REPLACE FUNCTION app.failed(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, as_status text, kind text, declined_as text, own_code text, refused_as text, therefore text, brand text, last4 text, lease_ms integer, unused_ms integer, margin_ms integer, next_attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s  record;
  a  record;
  at timestamptz;
BEGIN
  SELECT status, winner_attempt_id, authentications, unrecorded_check_at, held_at, submit_deadline, amount_minor, currency, plan, stored, wallet_credential INTO s
  FROM payment_session WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN PERFORM app.lost('the lease was taken over'); END IF;
  at := date_trunc('milliseconds', app.clock());
  SELECT count(*) AS made, count(*) FILTER (WHERE round = 0) AS of_plan, count(DISTINCT round) FILTER (WHERE round <> 0) AS repeats,
    bool_or(failure_kind = 'FRAUD' OR stop IS NOT NULL) AS after_stop,
    bool_or(id <> attempt AND (status IN ('AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED','CAPTURED') OR status = 'VOIDING' AND capture_ordered_at IS NOT NULL)) AS beside_open,
    bool_or(id <> attempt AND changed_at > read_at) AS is_news INTO a
  FROM attempt WHERE session_id = of_session;
  IF s.status <> 'CREATED' OR s.winner_attempt_id IS NOT NULL OR s.held_at IS NOT NULL OR s.authentications > 0 OR s.unrecorded_check_at IS NOT NULL OR s.stored OR s.wallet_credential = 'NETWORK_TOKEN'
     OR at + margin_ms * interval '1 ms' >= s.submit_deadline OR a.after_stop OR a.beside_open OR a.is_news THEN
    RETURN NULL; END IF;
  IF as_status IS NULL OR kind IS NULL OR as_status NOT IN ('DECLINED','FAILED','UNKNOWN')
     OR kind NOT IN ('HARD_DECLINE','SOFT_DECLINE','TIMEOUT','GATEWAY_ERROR') OR (as_status = 'DECLINED') <> (kind IN ('HARD_DECLINE','SOFT_DECLINE')) THEN
    PERFORM app.refuse('what ends an attempt without a stop is a decline, an error or silence'); END IF;
  IF refused_as NOT IN ('REQUEST','CREDENTIALS','NO_ANSWER') THEN PERFORM app.refuse('no gateway refuses in such a way'); END IF;
  IF therefore IS NULL THEN PERFORM app.refuse('what follows an attempt has its reason'); END IF;
  IF last4 !~ '^[0-9]{4}$' THEN PERFORM app.refuse('the end of a card number is four digits'); END IF;
  IF a.made >= 5 + a.repeats THEN PERFORM app.refuse('a session has at most five attempts, one repeat and one retry'); END IF;
  IF s.plan -> a.of_plan::int ->> 'connectionId' IS DISTINCT FROM connection::text THEN PERFORM app.refuse('the next attempt is the plan''s next'); END IF;
  UPDATE payment_session
  SET card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4),
      lease_until = CASE WHEN lease_until > at + unused_ms * interval '1 ms' THEN lease_until ELSE at + lease_ms * interval '1 ms' END
  WHERE id = of_session;
  UPDATE attempt
  SET status = as_status, failure_kind = kind, decline_code = declined_as, gateway_code = own_code, refusal = refused_as, next_action = 'failover',
      next_because = therefore, answered_at = coalesce(answered_at, at), completed_at = CASE WHEN as_status = 'UNKNOWN' THEN NULL ELSE at END, changed_at = at
  WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZING';
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
    started_at, changed_at, latest_execution_at)
  VALUES (of_session, next_attempt, a.made + 1, at_gateway, connection, credential, place, why, s.amount_minor, s.currency, at, at, at + execution_ms * interval '1 ms');
  RETURN at;
END $function$;

-- function app.fill_orders(of_merchant uuid)
CREATE OR REPLACE FUNCTION app.fill_orders(of_merchant uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM merchant_settings m WHERE m.merchant_id = of_merchant AND m.repeated_orders = 'REFUSE') THEN
    INSERT INTO app.order_winner (merchant_id, order_ref, session_id)
    SELECT DISTINCT ON (k.order_ref) k.merchant_id, k.order_ref, k.session_id FROM app.kept_money k WHERE k.merchant_id = of_merchant
    ORDER BY k.order_ref, k.session_id
    ON CONFLICT DO NOTHING;
  ELSE
    DELETE FROM app.order_winner w WHERE w.merchant_id = of_merchant;
  END IF;
END $function$;

-- function app.first_id_at(moment timestamp with time zone)
CREATE OR REPLACE FUNCTION app.first_id_at(moment timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 STABLE
AS $function$
  SELECT rpad(lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid $function$;

-- function app.grant_as_whole(of_kind text, suffix text)
CREATE OR REPLACE FUNCTION app.grant_as_whole(of_kind text, suffix text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE statement text;
BEGIN
  FOR statement IN
    SELECT format('REVOKE ALL ON partitions.%2$I FROM %3$s; GRANT %1$s ON partitions.%2$I TO %3$s',
      string_agg(a.privilege_type, ', '), p.parent || suffix, a.grantee::regrole)
    FROM app.partitioned p JOIN pg_class c ON c.oid = to_regclass('' || p.parent), aclexplode(c.relacl) a
    WHERE p.kind = of_kind AND a.grantee NOT IN (c.relowner, 0) GROUP BY p.parent, a.grantee
  LOOP
    EXECUTE statement;
  END LOOP;
END $function$;

-- function app.guard_account()
CREATE OR REPLACE FUNCTION app.guard_account()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE known text;
BEGIN
  SELECT v.gateway_account INTO known FROM connection_credential v
  WHERE v.connection_id = NEW.id AND v.version <> NEW.credential_version AND v.verified_at IS NOT NULL AND v.gateway_account IS NOT NULL
  ORDER BY v.version DESC LIMIT 1;
  IF known <> (SELECT v.gateway_account FROM connection_credential v WHERE v.connection_id = NEW.id AND v.version = NEW.credential_version) THEN
    PERFORM app.refuse('the credentials of a connection open one account'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_agreement()
CREATE OR REPLACE FUNCTION app.guard_agreement()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function app.guard_decision()
CREATE OR REPLACE FUNCTION app.guard_decision()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  session record;
  is_held boolean;
BEGIN
  IF (NEW.decision, NEW.decision_reference, NEW.decision_amount_minor, NEW.decision_reason, NEW.decided_by, NEW.decided_at, NEW.decision_takes_two,
      NEW.decision_confirmed_by, NEW.decision_confirmed_at)
     IS NOT DISTINCT FROM (OLD.decision, OLD.decision_reference, OLD.decision_amount_minor, OLD.decision_reason, OLD.decided_by, OLD.decided_at, OLD.decision_takes_two,
      OLD.decision_confirmed_by, OLD.decision_confirmed_at) THEN
    RETURN NEW; END IF;
  IF NEW.decision NOT IN ('GIVEN_UP','CAPTURED')
     OR num_nulls(NEW.decision, NEW.decision_reason, NEW.decided_by, NEW.decided_at, NEW.decision_takes_two) NOT IN (0, 5) THEN
    PERFORM app.refuse('a decision has its reason, its person, its time and how many it takes'); END IF;
  IF char_length(NEW.decision_reason) NOT BETWEEN 1 AND 1000 OR char_length(NEW.decided_by) < 1
     OR char_length(NEW.decision_reference) NOT BETWEEN 1 AND 255 THEN
    PERFORM app.refuse('a decision has a reason of 1 to 1000 characters and a reference of 1 to 255'); END IF;
  IF (NEW.decision IS NOT DISTINCT FROM 'CAPTURED') <> (NEW.decision_reference IS NOT NULL) THEN
    PERFORM app.refuse('a decision has a reference if it says CAPTURED'); END IF;
  IF NEW.decision_amount_minor IS NOT NULL AND (NEW.decision IS DISTINCT FROM 'CAPTURED'
     OR NEW.decision_amount_minor NOT BETWEEN 1 AND NEW.amount_minor) THEN
    PERFORM app.refuse('a decided amount is of a capture, and at most the held one'); END IF;
  IF num_nulls(NEW.decision_confirmed_by, NEW.decision_confirmed_at) NOT IN (0, 2)
     OR NEW.decision_confirmed_by IS NOT NULL AND NEW.decision IS NULL THEN
    PERFORM app.refuse('a confirmation has its decision, its person and its time'); END IF;
  IF NEW.decision_takes_two AND NEW.decision_confirmed_by = NEW.decided_by THEN
    PERFORM app.refuse('another person confirms a decision that takes two'); END IF;
  SELECT status, submit_deadline, held_at, held_until, capture_asked_at, winner_attempt_id INTO session FROM payment_session WHERE id = NEW.session_id FOR UPDATE;
  -- The flow withdraws it completely if the gateway has refused the capture.
  IF OLD.decision_confirmed_at IS NOT NULL AND (OLD.decision <> 'CAPTURED' OR NEW.decision IS NOT NULL) THEN
    PERFORM app.refuse('a confirmed decision never changes'); END IF;
  IF OLD.completed_at IS NOT NULL THEN PERFORM app.refuse('nothing is decided of an attempt that is over'); END IF;
  is_held := NEW.status = 'AUTHORIZED' AND session.held_at IS NOT NULL AND session.capture_asked_at IS NULL AND session.winner_attempt_id = NEW.id;
  IF NEW.decision = 'CAPTURED' AND (NEW.capture_refusal_code IS NOT NULL OR session.status <> 'CREATED'
     OR NEW.capture_ordered_at IS NULL AND NOT (is_held AND NEW.decision_amount_minor IS NOT NULL)) THEN
    PERFORM app.refuse('only an ordered capture of a session without an end can have landed, or one of a hold whose order is lost'); END IF;
  IF NEW.decision = 'GIVEN_UP' AND NEW.status <> 'VOIDING' AND NOT (
       NEW.status = 'AUTHORIZED' AND NEW.capture_ordered_at IS NOT NULL AND session.submit_deadline <= app.clock()
       OR is_held AND session.held_until <= app.clock()) THEN
    PERFORM app.refuse('only a void, a hold past its end, or a capture that is unanswered past the deadline, is given up'); END IF;
  IF OLD.decision IS NULL AND NEW.decision_takes_two AND NEW.decision_confirmed_at IS NOT NULL THEN
    PERFORM app.refuse('a decision that takes two is confirmed after it was made'); END IF;
  -- A confirmed decision never changes.
  IF NEW.decision_confirmed_at IS NOT NULL AND OLD.decision IS NOT NULL
     AND (NEW.decision, NEW.decision_reference, NEW.decision_amount_minor, NEW.decision_reason, NEW.decided_by, NEW.decided_at, NEW.decision_takes_two)
     IS DISTINCT FROM (OLD.decision, OLD.decision_reference, OLD.decision_amount_minor, OLD.decision_reason, OLD.decided_by, OLD.decided_at, OLD.decision_takes_two) THEN
    PERFORM app.refuse('what is confirmed is what was decided'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_key()
CREATE OR REPLACE FUNCTION app.guard_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE may_change text[] := '{replaced_at,ends_at,revoked_at,last_used_at}';
BEGIN
  IF to_jsonb(NEW) - may_change <> to_jsonb(OLD) - may_change THEN
    PERFORM app.refuse('a key keeps its rights: a wider key is a new key'); END IF;
  IF OLD.revoked_at IS DISTINCT FROM NEW.revoked_at AND OLD.revoked_at IS NOT NULL
    OR OLD.replaced_at IS DISTINCT FROM NEW.replaced_at AND OLD.replaced_at IS NOT NULL
    OR OLD.ends_at IS NOT NULL AND (NEW.ends_at <= OLD.ends_at) IS NOT TRUE THEN
    PERFORM app.refuse('a key ends no later than it did, and a revocation stays'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_moved()
CREATE OR REPLACE FUNCTION app.guard_moved()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (SELECT FROM merchant_settings m WHERE m.merchant_id = NEW.merchant_id AND m.moved_to IS NOT NULL) THEN
    RAISE EXCEPTION 'the merchant has moved to another cell' USING ERRCODE = 'LL002'; END IF;
  RETURN NEW;
END $function$;

-- function app.guard_orphaned_authorization()
CREATE OR REPLACE FUNCTION app.guard_orphaned_authorization()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  -- An attempt whose row a restore has lost, or one that is final without a hold.
  IF EXISTS (SELECT FROM attempt WHERE session_id = NEW.session_id AND id = NEW.attempt_id
             AND status NOT IN ('VOIDED','DECLINED','FAILED'))
     OR NOT EXISTS (SELECT FROM attempt WHERE session_id = NEW.session_id AND id = NEW.attempt_id)
        AND NOT EXISTS (SELECT FROM payment_session WHERE id = NEW.session_id AND unrecorded_check_at IS NULL) THEN
    PERFORM app.refuse('an orphaned authorization is of an attempt that is final without a hold'); END IF;
  IF app.is_reference_in_use(NEW.session_id, NEW.attempt_id, NEW.gateway_reference) THEN
    PERFORM app.refuse('an orphaned authorization is of no other attempt'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_payment_method()
CREATE OR REPLACE FUNCTION app.guard_payment_method()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function app.guard_payout()
CREATE OR REPLACE FUNCTION app.guard_payout()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.complete_at IS NOT NULL THEN PERFORM app.refuse('a payout is complete once its lines are known'); END IF;
    SELECT merchant_id, gateway INTO NEW.merchant_id, NEW.gateway FROM connection WHERE id = NEW.connection_id;
    RETURN NEW;
  END IF;
  IF (OLD.id, OLD.merchant_id, OLD.connection_id, OLD.gateway, OLD.gateway_reference, OLD.created_at)
     IS DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.connection_id, NEW.gateway, NEW.gateway_reference, NEW.created_at) THEN
    PERFORM app.refuse('what a payout is about never changes'); END IF;
  -- S4.
  IF OLD.complete_at IS NOT NULL THEN
    IF (OLD.amount_minor, OLD.currency, OLD.complete_at, OLD.remainder_minor)
       IS DISTINCT FROM (NEW.amount_minor, NEW.currency, NEW.complete_at, NEW.remainder_minor) THEN
      PERFORM app.refuse('the amounts of a complete payout never change'); END IF;
  ELSIF NEW.complete_at IS NOT NULL THEN
    NEW.complete_at := app.clock();
    NEW.remainder_minor := NEW.amount_minor - (
      SELECT coalesce(sum(net_minor), 0) FROM payout_line WHERE payout_id = NEW.id AND kind <> 'PAYOUT');
  ELSE
    NEW.remainder_minor := NULL;
  END IF;
  RETURN NEW;
END $function$;

-- function app.guard_payout_line()
CREATE OR REPLACE FUNCTION app.guard_payout_line()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE paid record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT merchant_id, gateway INTO NEW.merchant_id, NEW.gateway FROM connection WHERE id = NEW.connection_id;
  ELSE
    IF (OLD.connection_id, OLD.line_id, OLD.digest, OLD.merchant_id, OLD.gateway, OLD.kind, OLD.gross_minor, OLD.currency, OLD.settled_gross_minor,
        OLD.fee_minor, OLD.net_minor, OLD.settlement_currency, OLD.gateway_type, OLD.gateway_reference, OLD.names, OLD.recorded_at)
       IS DISTINCT FROM (NEW.connection_id, NEW.line_id, NEW.digest, NEW.merchant_id, NEW.gateway, NEW.kind, NEW.gross_minor, NEW.currency, NEW.settled_gross_minor,
        NEW.fee_minor, NEW.net_minor, NEW.settlement_currency, NEW.gateway_type, NEW.gateway_reference, NEW.names, NEW.recorded_at) THEN
      PERFORM app.refuse('what a gateway''s statement says never changes'); END IF;
    IF OLD.payout_id IS NOT NULL AND NEW.payout_id IS DISTINCT FROM OLD.payout_id THEN PERFORM app.refuse('a line stays in its payout'); END IF;
    IF OLD.status <> 'UNMATCHED' AND (OLD.status, OLD.session_id, OLD.entry_type, OLD.entry_id, OLD.entry_ordinal, OLD.entry_at)
       IS DISTINCT FROM (NEW.status, NEW.session_id, NEW.entry_type, NEW.entry_id, NEW.entry_ordinal, NEW.entry_at) THEN
      PERFORM app.refuse('a line that is matched stays so'); END IF;
  END IF;
  IF NEW.payout_id IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.payout_id IS NULL) THEN
    -- Waits for what completes the payout.
    SELECT complete_at, currency INTO paid FROM payout WHERE id = NEW.payout_id FOR SHARE;
    -- S4.
    IF paid.complete_at IS NOT NULL THEN PERFORM app.refuse('the lines of a complete payout are fixed'); END IF;
    IF NEW.settlement_currency <> paid.currency THEN PERFORM app.refuse('a line is in the currency of its payout'); END IF;
  END IF;
  RETURN NEW;
END $function$;

-- function app.guard_recovery_link()
CREATE OR REPLACE FUNCTION app.guard_recovery_link()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF (NEW.agreement_id, NEW.renewal_ref, NEW.id, NEW.merchant_id, NEW.amount_minor, NEW.currency, NEW.order_ref)
     IS DISTINCT FROM (OLD.agreement_id, OLD.renewal_ref, OLD.id, OLD.merchant_id, OLD.amount_minor, OLD.currency, OLD.order_ref) THEN
    PERFORM app.refuse('what a link asks for never changes'); END IF;
  IF NEW.version < OLD.version OR NEW.tries NOT IN (OLD.tries, OLD.tries + 1) THEN PERFORM app.refuse('a link counts its versions and tries'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_removal()
CREATE OR REPLACE FUNCTION app.guard_removal()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM app.refuse('what nobody has ended is not removed');
  RETURN NULL;
END $function$;

-- function app.guard_renewal()
CREATE OR REPLACE FUNCTION app.guard_renewal()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.session_id IS NOT NULL OR NEW.tries <> 0 THEN PERFORM app.refuse('a renewal begins without a try'); END IF;
    RETURN NEW;
  END IF;
  IF (NEW.agreement_id, NEW.renewal_ref, NEW.merchant_id, NEW.created_at) IS DISTINCT FROM (OLD.agreement_id, OLD.renewal_ref, OLD.merchant_id, OLD.created_at) THEN
    PERFORM app.refuse('a renewal stays its agreement''s'); END IF;
  IF OLD.paid_session_id IS NOT NULL AND NEW IS DISTINCT FROM OLD THEN PERFORM app.refuse('a paid renewal never changes'); END IF;
  IF NEW.session_id IS DISTINCT FROM OLD.session_id THEN
    IF NEW.session_id IS NULL OR EXISTS (SELECT FROM payment_session WHERE id = OLD.session_id AND status IN ('CREATED','SUCCEEDED')) THEN
      PERFORM app.refuse('a renewal passes to another session when its own has ended unpaid'); END IF;
    IF NEW.tries <> OLD.tries + 1 THEN PERFORM app.refuse('each try has its number'); END IF;
  ELSIF NEW.tries <> OLD.tries THEN PERFORM app.refuse('each try has its number'); END IF;
  IF NEW.paid_session_id IS NOT NULL AND NOT EXISTS (SELECT FROM payment_session WHERE id = NEW.paid_session_id AND status = 'SUCCEEDED') THEN
    PERFORM app.refuse('a paid renewal has its capture'); END IF;
  IF OLD.only_by_link AND NOT NEW.only_by_link THEN PERFORM app.refuse('a renewal that its customer has to pay stays so'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_rolled_key()
CREATE OR REPLACE FUNCTION app.guard_rolled_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (SELECT FROM api_key k WHERE k.merchant_id = NEW.merchant_id AND k.key_id = NEW.key_id AND k.id <> NEW.id
      AND (k.kind, k.name, k.rights, k.expires_at, k.refund_cap)
        IS DISTINCT FROM (NEW.kind, NEW.name, NEW.rights, NEW.expires_at, NEW.refund_cap)) THEN
    PERFORM app.refuse('a roll keeps name, rights, end and cap of a key'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_stored_attempt(of_session uuid, of_attempt uuid, connection uuid, of_round integer)
CREATE OR REPLACE FUNCTION app.guard_stored_attempt(of_session uuid, of_attempt uuid, connection uuid, of_round integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  s record;
  p record;
  m record;
BEGIN
  SELECT o.named_by, o.unrecorded_check_at, o.created_at INTO s FROM payment_session o WHERE o.id = of_session;
  SELECT * INTO p FROM stored_payment o WHERE o.session_id = of_session;
  -- S12: a set-up is known by its row, and nothing is tried without one.
  IF NOT FOUND THEN PERFORM app.refuse('a payment with a stored card has a row that says what it does with it'); END IF;
  IF p.role IN ('RENEWAL','RECOVERY') AND NOT EXISTS (
       SELECT FROM renewal r WHERE r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.session_id = of_session AND r.paid_session_id IS NULL) THEN
    PERFORM app.refuse('the renewal is another session''s'); END IF;
  IF p.role IN ('RENEWAL','RECOVERY') AND s.unrecorded_check_at IS NULL AND of_attempt <> app.attempt_name(s.named_by, connection, of_round) THEN
    PERFORM app.refuse('an attempt of a renewal has its name'); END IF;
  IF p.role = 'RENEWAL' AND s.unrecorded_check_at IS NULL THEN
    SELECT o.merchant_id, o.fingerprint, o.brand INTO m FROM payment_method o WHERE o.id = p.method_id;
    IF p.own_connection_id IS DISTINCT FROM connection AND p.network_transaction_id IS NULL THEN
      PERFORM app.refuse('a gateway continues its own chain, or one with a network transaction id'); END IF;
    IF app.agreement_refusal(p.agreement_id, p.renewal_ref, p.amount_minor, p.currency, s.created_at) IS NOT NULL THEN
      PERFORM app.refuse('a renewal stays within its agreement'); END IF;
    IF EXISTS (SELECT FROM renewal r WHERE r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.only_by_link) THEN
      PERFORM app.refuse('only its customer pays this renewal'); END IF;
    INSERT INTO card_state (merchant_id, fingerprint) VALUES (m.merchant_id, m.fingerprint) ON CONFLICT DO NOTHING;
    PERFORM FROM card_state c WHERE c.merchant_id = m.merchant_id AND c.fingerprint = m.fingerprint FOR UPDATE;
    IF EXISTS (SELECT FROM app.card_refusal(m.merchant_id, m.fingerprint, m.brand)) THEN
      PERFORM app.refuse('no renewal of a card that is stopped, has to wait or was declined too often'); END IF;
    PERFORM app.count_card_decline(of_session, of_attempt);
  END IF;
END $function$;

-- function app.guard_timeline()
CREATE OR REPLACE FUNCTION app.guard_timeline()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
    PERFORM app.refuse('only the owner of the database confirms its timeline'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_unrecorded_check()
CREATE OR REPLACE FUNCTION app.guard_unrecorded_check()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  -- Asked here and not in a WHEN, which PostgreSQL parses again for each statement.
  IF NEW.unrecorded_check_at IS NULL THEN RETURN NEW; END IF;
  -- It allows an attempt past its deadline, so the service itself cannot use it. Within a function that the service calls, the current
  -- user is the owner.
  IF OLD.unrecorded_check_at IS NULL
     AND NOT pg_has_role(session_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
    PERFORM app.refuse('only the owner of the database declares a restore'); END IF;
  IF NEW.status NOT IN ('CREATED','SUCCEEDED') THEN
    PERFORM app.refuse('no end without a capture before the gateways have reported what is lost'); END IF;
  RETURN NEW;
END $function$;

-- function app.guard_wallet_session(before record, after record)
CREATE OR REPLACE FUNCTION app.guard_wallet_session(before record, after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF before.wallet IS NOT NULL AND after.wallet IS DISTINCT FROM before.wallet
     OR before.submitted_at IS NOT NULL AND (after.wallet_credential, after.cryptogram_resend) IS DISTINCT FROM (before.wallet_credential, before.cryptogram_resend) THEN
    PERFORM app.refuse('how a wallet pays never changes'); END IF;
  IF after.submitted_at IS NULL OR after.wallet_credential IS NULL OR after.cryptogram_resend IS NULL THEN
    PERFORM app.refuse('a wallet pays with a submission, which has its credential and a rule'); END IF;
  IF after.wallet_credential NOT IN ('PAN','NETWORK_TOKEN') THEN PERFORM app.refuse('a wallet gives a PAN or a NETWORK_TOKEN'); END IF;
  IF after.cryptogram_resend NOT IN ('NOT_SENT','UNANSWERED','DECLINED') THEN PERFORM app.refuse('a second use of a cryptogram follows a rule'); END IF;
  IF after.wallet NOT IN ('apple_pay','google_pay') THEN PERFORM app.refuse('no wallet has such a name'); END IF;
  IF after.wallet_credential = 'NETWORK_TOKEN' AND (after.authentications > 0 OR after.awaiting_since IS NOT NULL) THEN
    PERFORM app.refuse('a device has authenticated its customer, whom nothing else asks'); END IF;
END $function$;

-- function app.guard_work_item()
CREATE OR REPLACE FUNCTION app.guard_work_item()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF (OLD.id, OLD.kind, OLD.merchant_id, OLD.session_id, OLD.attempt_id, OLD.rule, OLD.opened_at)
     IS DISTINCT FROM (NEW.id, NEW.kind, NEW.merchant_id, NEW.session_id, NEW.attempt_id, NEW.rule, NEW.opened_at) THEN
    PERFORM app.refuse('what a work item is about never changes'); END IF;
  IF OLD.closed_at IS NOT NULL AND (OLD.closed_at, OLD.closed_by, OLD.close_note)
     IS DISTINCT FROM (NEW.closed_at, NEW.closed_by, NEW.close_note) THEN
    PERFORM app.refuse('a work item is closed once'); END IF;
  RETURN NEW;
END $function$;

-- function app.held(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, reference text, network text, lease_ms integer, unused_ms integer, brand text, last4 text)
CREATE OR REPLACE FUNCTION app.held(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, reference text, network text, lease_ms integer, unused_ms integer, brand text, last4 text)
 RETURNS TABLE(recorded_at timestamp with time zone, is_news boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s  record;
  a  record;
  at timestamptz := date_trunc('milliseconds', app.clock());
BEGIN
  UPDATE payment_session AS o
  SET winner_attempt_id = attempt, card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4),
      lease_until = CASE WHEN lease_until > at + unused_ms * interval '1 ms' THEN lease_until ELSE at + lease_ms * interval '1 ms' END
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' AND winner_attempt_id IS NULL
  RETURNING status, manual_capture, held_at, unrecorded_check_at, authentications, stored, merchant_id, order_ref, NOT allow_repeated_order
    AND (SELECT m.repeated_orders = 'REFUSE' FROM merchant_settings m WHERE m.merchant_id = o.merchant_id) AS refuses_repeats INTO s;
  IF NOT FOUND THEN
    PERFORM app.lost(CASE WHEN lease_epoch = epoch AND phase = 'PROCESSING' THEN 'the session has a winner' ELSE 'the lease was taken over' END)
    FROM payment_session WHERE id = of_session; END IF;
  IF s.status <> 'CREATED' THEN PERFORM app.refuse('a hold is adopted only while CREATED and without a winner'); END IF;
  IF s.manual_capture THEN PERFORM app.refuse('a payment that is captured later is captured only on an order'); END IF;
  IF last4 !~ '^[0-9]{4}$' THEN PERFORM app.refuse('the end of a card number is four digits'); END IF;
  IF reference IS NULL THEN PERFORM app.refuse('a hold has the gateway''s reference'); END IF;
  SELECT bool_or(failure_kind = 'FRAUD' OR stop = 'fraud') AS after_fraud, bool_or(stop = 'authentication_failed') AS after_refusal,
    bool_or(status IN ('AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED','CAPTURED')) AS beside_open, bool_or(status = 'UNKNOWN') AS has_unknown,
    coalesce(bool_or(changed_at > read_at), false) AS news INTO a
  FROM attempt WHERE session_id = of_session AND id <> attempt;
  IF a.after_fraud THEN PERFORM app.refuse('no hold is adopted after a fraud decline'); END IF;
  IF a.after_refusal AND s.unrecorded_check_at IS NULL THEN PERFORM app.refuse('no hold is adopted after a failed authentication'); END IF;
  IF a.beside_open THEN PERFORM app.refuse('an authorized attempt is the winner'); END IF;
  IF s.authentications > 0 AND s.unrecorded_check_at IS NULL AND EXISTS (
       SELECT FROM authentication WHERE session_id = of_session AND provider IS NOT NULL AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED')) THEN
    PERFORM app.refuse('no hold is adopted after a refusal by the provider'); END IF;
  is_news := a.news;
  IF a.has_unknown THEN
    UPDATE attempt SET status = 'VOIDING', retries = 0, next_retry_at = NULL, voiding_at = at, changed_at = at
    WHERE session_id = of_session AND status = 'UNKNOWN'; END IF;
  UPDATE attempt
  SET status = 'AUTHORIZED', gateway_reference = reference, network_transaction_id = coalesce(network, network_transaction_id),
      answered_at = coalesce(answered_at, at), capture_ordered_at = at, captured_amount_minor = amount_minor, changed_at = at
  WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZING'
  RETURNING connection_id INTO a;
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  PERFORM app.check_reference(of_session, attempt, a.connection_id, reference);
  IF s.stored THEN PERFORM app.uncount_try(of_session, attempt); END IF;
  IF s.refuses_repeats THEN PERFORM app.require_order(of_session, s.merchant_id, s.order_ref); END IF;
  recorded_at := at;
  RETURN NEXT;
END $function$;

-- function app.hurry_orphan(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION app.hurry_orphan(of_session uuid, of_attempt uuid)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE orphaned_authorization SET next_retry_at = app.clock()
  WHERE session_id = of_session AND attempt_id = of_attempt AND ended_at IS NULL AND next_retry_at > app.clock() $function$;

-- function app.insert_authentication(of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, only_when_asked boolean, life_ms integer, action text, kept text, time_ms double precision, browser text)
CREATE OR REPLACE FUNCTION app.insert_authentication(of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, only_when_asked boolean, life_ms integer, action text, kept text, time_ms double precision, browser text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO authentication (session_id, id, sequence, attempt_id, connection_id, because, holds_only_when_asked,
    action_life_ms, action_sealed, keep_sealed, deadline_at)
  SELECT of_session, of_authentication, count(*) + 1, of_attempt, connection, why, only_when_asked, life_ms, action, kept,
    app.clock() + time_ms * interval '1 ms' - coalesce(sum(coalesce(answered_at, completed_at) - started_at), interval '0')
  FROM authentication WHERE session_id = of_session;
  UPDATE payment_session
  SET awaiting_since = app.clock(), authentications = authentications + 1, browser_sealed = coalesce(browser_sealed, browser)
  WHERE id = of_session RETURNING * $function$;

-- function app.insert_dispute_movement(of_session uuid, of_dispute uuid, as_type text, minor bigint, in_currency text)
CREATE OR REPLACE FUNCTION app.insert_dispute_movement(of_session uuid, of_dispute uuid, as_type text, minor bigint, in_currency text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO dispute_movement (session_id, dispute_id, ordinal, type, amount_minor, currency)
  SELECT of_session, of_dispute, 1 + coalesce((SELECT max(m.ordinal) FROM dispute_movement m
    WHERE m.session_id = of_session AND m.dispute_id = of_dispute), 0), as_type, minor, in_currency $function$;

-- function app.insert_dispute_response(of_session uuid, of_response uuid, of_dispute uuid, as_type text, person text, hash bytea, as_defense text, of_documents jsonb, content text, lease_ms double precision)
CREATE OR REPLACE FUNCTION app.insert_dispute_response(of_session uuid, of_response uuid, of_dispute uuid, as_type text, person text, hash bytea, as_defense text, of_documents jsonb, content text, lease_ms double precision)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO dispute_response (session_id, id, dispute_id, type, made_by, request_hash, defense, documents, content_sealed, next_try_at)
  SELECT of_session, of_response, of_dispute, as_type, person, hash, as_defense, of_documents, content, app.clock() + lease_ms * interval '1 ms' $function$;

-- function app.insert_frictionless(of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, end_status text, of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
CREATE OR REPLACE FUNCTION app.insert_frictionless(of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, end_status text, of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO authentication (session_id, id, sequence, attempt_id, connection_id, because, flow, status,
    version, trans_status, eci, ds_transaction_id, liability, holds_only_when_asked, action_life_ms, started_at, deadline_at, completed_at)
  SELECT of_session, of_authentication, (SELECT count(*) + 1 FROM authentication WHERE session_id = of_session), of_attempt, connection, why,
    'FRICTIONLESS', end_status, of_version, transaction_status, by_eci, ds_transaction, liable, true, 0, now, now, now
  FROM app.clock() AS now;
  UPDATE payment_session SET authentications = authentications + 1 WHERE id = of_session RETURNING * $function$;

-- function app.insert_provided(of_session uuid, of_authentication uuid, connection uuid, why text, by_provider text, credential integer, time_ms double precision, browser text)
CREATE OR REPLACE FUNCTION app.insert_provided(of_session uuid, of_authentication uuid, connection uuid, why text, by_provider text, credential integer, time_ms double precision, browser text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO authentication (session_id, id, sequence, connection_id, because, flow, status, provider,
    credential_version, holds_only_when_asked, action_life_ms, deadline_at)
  SELECT of_session, of_authentication, count(*) + 1, connection, why, 'FRICTIONLESS', 'PREPARING', by_provider, credential, true, 0,
    app.clock() + time_ms * interval '1 ms' - coalesce(sum(coalesce(answered_at, completed_at) - started_at), interval '0')
  FROM authentication WHERE session_id = of_session;
  UPDATE payment_session SET authentications = authentications + 1, browser_sealed = coalesce(browser_sealed, browser)
  WHERE id = of_session RETURNING * $function$;

-- function app.insert_refund(of_session uuid, of_refund uuid, of_attempt uuid, connection uuid, at_gateway text, minor bigint, in_currency text, as_status text, made_at text, why text, named text, person text, hash bytea, reference text, failure text, due_ms double precision, is_taken boolean)
CREATE OR REPLACE FUNCTION app.insert_refund(of_session uuid, of_refund uuid, of_attempt uuid, connection uuid, at_gateway text, minor bigint, in_currency text, as_status text, made_at text, why text, named text, person text, hash bytea, reference text, failure text, due_ms double precision, is_taken boolean)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO refund (session_id, id, attempt_id, connection_id, gateway, amount_minor, currency, status, origin, reason,
    refund_ref, made_by, request_hash, gateway_reference, failure_code, next_try_at, retries, completed_at)
  SELECT of_session, of_refund, of_attempt, connection, at_gateway, minor, in_currency, as_status, made_at, why, named, person, hash, reference, failure,
    app.clock() + due_ms * interval '1 ms', CASE WHEN is_taken THEN 1 ELSE 0 END, CASE WHEN as_status IN ('SUCCEEDED','FAILED') THEN app.clock() END;
  UPDATE payment_session SET refunds = refunds + 1 WHERE id = of_session RETURNING * $function$;

-- function app.is_card_usable(of_merchant uuid, card uuid)
CREATE OR REPLACE FUNCTION app.is_card_usable(of_merchant uuid, card uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT NOT EXISTS (SELECT FROM card_state WHERE merchant_id = of_merchant AND fingerprint = card AND stopped_at IS NOT NULL)
    AND NOT EXISTS (
      SELECT FROM (
        SELECT declined_at FROM card_decline
        WHERE merchant_id = of_merchant AND fingerprint = card AND by_customer AND declined_at > app.clock() - interval '2 days'
        ORDER BY declined_at DESC LIMIT 5) lately
      HAVING count(*) = 5 AND max(declined_at) > app.clock() - interval '1 day' AND max(declined_at) - min(declined_at) <= interval '1 day') $function$;

-- function app.is_dispute_content_old(one dispute, after_ms double precision)
CREATE OR REPLACE FUNCTION app.is_dispute_content_old(one dispute, after_ms double precision)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT coalesce(one.closed_at < app.clock() - after_ms * interval '1 ms' OR one.closed_at IS NOT NULL AND one.erase_at_end, false) $function$;

-- function app.is_last_at_gateway(e card_erasure)
CREATE OR REPLACE FUNCTION app.is_last_at_gateway(e card_erasure)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT app.customer_settled_at(e) <= app.clock()
    AND NOT EXISTS (SELECT FROM payment_method m WHERE m.own_connection_id = e.own_connection_id AND m.own_customer = e.own_customer
      AND m.own_method <> e.own_method AND m.status = 'ACTIVE')
    AND NOT EXISTS (SELECT FROM agreement a WHERE a.own_connection_id = e.own_connection_id AND a.own_customer = e.own_customer
      AND a.own_method <> e.own_method AND a.method_id IS NOT NULL) $function$;

-- function app.is_over_for_links(a agreement, r renewal)
CREATE OR REPLACE FUNCTION app.is_over_for_links(a agreement, r renewal)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT a.status = 'CANCELLED' OR a.status = 'ENDED' AND (a.status_because IS DISTINCT FROM 'last_day' OR r.agreement_id IS NULL) $function$;

-- function app.is_reference_in_use(of_session uuid, of_attempt uuid, reference text)
CREATE OR REPLACE FUNCTION app.is_reference_in_use(of_session uuid, of_attempt uuid, reference text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT EXISTS (
    SELECT FROM attempt a JOIN attempt other ON other.connection_id = a.connection_id AND other.id <> a.id
    WHERE a.session_id = of_session AND a.id = of_attempt AND other.gateway_reference = reference
      AND other.status NOT IN ('VOIDED','DECLINED','FAILED'))
  OR EXISTS (
    SELECT FROM attempt a JOIN attempt other ON other.session_id = a.session_id AND other.connection_id = a.connection_id
    WHERE a.session_id = of_session AND a.id = of_attempt AND other.id <> a.id AND other.gateway_reference IS NULL
      AND other.status NOT IN ('VOIDED','DECLINED','FAILED'))
$function$;

-- function app.is_set_done(of_kind text, suffix text)
CREATE OR REPLACE FUNCTION app.is_set_done(of_kind text, suffix text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
DECLARE is_done boolean;
BEGIN
  IF of_kind <> 'payments' THEN RETURN true; END IF;
  EXECUTE replace($check$SELECT NOT (
    EXISTS (SELECT FROM partitions.payment_session_X WHERE phase = 'IDLE')
    OR EXISTS (SELECT FROM partitions.payment_session_X WHERE phase = 'PROCESSING')
    OR EXISTS (SELECT FROM event_todo t JOIN partitions.payment_session_X s ON s.id = t.session_id)
    OR EXISTS (SELECT FROM partitions.delivery_X WHERE status = 'PENDING')
    OR EXISTS (SELECT FROM partitions.refund_X WHERE status IN ('REQUESTED','PENDING') OR created_at > app.clock() - interval '30 days')
    OR EXISTS (SELECT FROM partitions.dispute_X WHERE updated_at > app.clock() - CASE WHEN closed_at IS NULL THEN interval '240 days' ELSE interval '30 days' END)
    OR EXISTS (SELECT FROM partitions.payment_session_X s JOIN work_item w ON w.session_id = s.id AND w.closed_at IS NULL)
    OR EXISTS (SELECT FROM partitions.payment_session_X s JOIN orphaned_authorization h ON h.session_id = s.id AND h.ended_at IS NULL))$check$,
    '_X', suffix) INTO is_done;
  RETURN is_done;
END $function$;

-- function app.is_stored_with_consent(of_session uuid, of_merchant uuid)
CREATE OR REPLACE FUNCTION app.is_stored_with_consent(of_session uuid, of_merchant uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
BEGIN
  RETURN EXISTS (
    SELECT FROM stored_payment p JOIN payment_session s ON s.id = p.session_id
    WHERE p.session_id = of_session AND p.merchant_id = of_merchant AND p.role IN ('SAVE','RECOVERY','SETUP') AND p.consented_at IS NOT NULL
      AND s.winner_attempt_id IS NOT NULL);
END $function$;

-- function app.is_timeline_confirmed()
CREATE OR REPLACE FUNCTION app.is_timeline_confirmed()
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT timeline = app.timeline() AND coalesce(system_identifier = app.system_identifier(), true) FROM replica_mark
$function$;

-- function app.keep_card(of_session uuid, new_method uuid, its_brand text, digits text, month integer, year integer, versions uuid[], replaced_ms double precision)
CREATE OR REPLACE FUNCTION app.keep_card(of_session uuid, new_method uuid, its_brand text, digits text, month integer, year integer, versions uuid[], replaced_ms double precision)
 RETURNS SETOF stored_payment
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  p stored_payment;
  m payment_method;
  waits_until timestamptz;
BEGIN
  PERFORM FROM payment_session WHERE id = of_session FOR UPDATE;
  SELECT * INTO p FROM stored_payment WHERE session_id = of_session AND saving = 'REQUESTED' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  -- The customer's data were erased meanwhile.
  IF p.customer_ref IS NULL THEN
    PERFORM FROM app.drop_card(of_session, 'DROPPED');
    RETURN;
  END IF;
  -- In the order in which renewals lock them: an agreement before its card.
  PERFORM FROM agreement a WHERE a.id = p.agreement_id FOR UPDATE;
  IF p.method_id IS NOT NULL THEN
    SELECT * INTO m FROM payment_method o WHERE o.id = p.method_id FOR UPDATE;
    IF m.status <> 'ACTIVE' THEN
      PERFORM FROM app.drop_card(of_session, 'FAILED');
      RETURN;
    END IF;
  ELSE
    -- Another payment may store the same number at this moment.
    PERFORM pg_advisory_xact_lock(hashtextextended('payment_method ' || p.merchant_id || ' ' || p.customer_ref, 0));
    SELECT * INTO m FROM payment_method o
    WHERE o.merchant_id = p.merchant_id AND o.customer_ref = p.customer_ref AND o.fingerprint = ANY (versions) AND o.status = 'ACTIVE'
    ORDER BY o.id LIMIT 1 FOR UPDATE;
    IF FOUND THEN
      INSERT INTO card_erasure (handle_hash, merchant_id, wanted_at, erase_due_at)
      SELECT m.handle_hash, m.merchant_id, at, at FROM (SELECT app.clock() + replaced_ms * interval '1 ms' AS at) later ON CONFLICT DO NOTHING;
      PERFORM app.erase_at_gateway(m.merchant_id, m.own_connection_id, m.own_customer, m.own_method, m.stored_at, app.clock() + replaced_ms * interval '1 ms')
      WHERE m.own_method IS DISTINCT FROM p.own_method
        AND NOT EXISTS (SELECT FROM agreement a WHERE a.own_connection_id = m.own_connection_id AND a.own_customer = m.own_customer AND a.own_method = m.own_method);
      UPDATE payment_method o
      SET brand = its_brand, exp_month = month, exp_year = year, fingerprint = versions[1], handle_sealed = p.handle_sealed, handle_hash = p.handle_hash,
          stopped_because = NULL, session_id = of_session, stored_at = app.clock(),
          own_connection_id = p.own_connection_id, own_customer = p.own_customer, own_method = p.own_method
      WHERE o.id = m.id;
      UPDATE card_decline d SET fingerprint = versions[1] WHERE d.merchant_id = p.merchant_id AND d.fingerprint = m.fingerprint AND m.fingerprint <> versions[1];
    ELSE
      INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id,
        own_connection_id, own_customer, own_method)
      VALUES (new_method, p.merchant_id, p.customer_ref, its_brand, digits, month, year, versions[1], p.handle_sealed, p.handle_hash, of_session,
        p.own_connection_id, p.own_customer, p.own_method)
      RETURNING * INTO m;
    END IF;
    -- A stop ends when the number is stored again. How long it has to wait, and what counts against it, stay with the number.
    SELECT max(c.not_before) INTO waits_until FROM (
      SELECT s.not_before FROM card_state s WHERE s.merchant_id = p.merchant_id AND s.fingerprint = ANY (versions || m.fingerprint)
      ORDER BY s.fingerprint FOR UPDATE) c;
    UPDATE card_state c SET stopped_at = NULL, stopped_because = NULL, not_before = waits_until
    WHERE c.merchant_id = p.merchant_id AND c.fingerprint = ANY (versions || m.fingerprint);
    IF waits_until IS NOT NULL THEN
      INSERT INTO card_state (merchant_id, fingerprint, not_before) VALUES (p.merchant_id, versions[1], waits_until) ON CONFLICT DO NOTHING; END IF;
  END IF;
  UPDATE payment_method o SET last_used_at = app.clock() WHERE o.id = m.id;
  PERFORM app.make_agreement(p, m.id);
  PERFORM app.renew_agreement(p, m.id);
  RETURN QUERY UPDATE stored_payment o SET saving = 'KEPT', method_id = m.id, token_sealed = NULL, handle_sealed = NULL, save_due_at = NULL
    WHERE o.session_id = of_session RETURNING o.*;
END $function$;

-- function app.keep_partitions()
CREATE OR REPLACE FUNCTION app.keep_partitions()
 RETURNS TABLE(kind text, suffix text, done text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '500ms'
AS $function$
#variable_conflict use_column
DECLARE
  this_month timestamptz := date_trunc('month', app.clock(), 'UTC');
  one        record;
  is_free    boolean;
BEGIN
  -- One at a time; the second caller has nothing to do.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('app.keep_partitions', 0)) THEN RETURN; END IF;
  FOR one IN
    SELECT r.kind, p.parent, p.key_column, to_char(m AT TIME ZONE 'UTC', '_YYYY_MM') AS suffix,
      app.first_id_at(m) AS from_id, app.first_id_at(m + interval '1 month') AS to_id
    FROM app.retention r JOIN app.partitioned p ON p.kind = r.kind AND p.place IN (1, 5),
      generate_series(this_month, this_month + interval '1 month', interval '1 month', 'UTC') m
    WHERE NOT EXISTS (SELECT FROM app.partition_sets s WHERE s.kind = r.kind AND s.from_at = m)
    ORDER BY m, r.kind
  LOOP
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM partitions.%1$I WHERE %2$I >= %3$L AND %2$I < %4$L)',
      one.parent || '_rest', one.key_column, one.from_id, one.to_id) INTO is_free;
    CONTINUE WHEN NOT is_free;
    PERFORM app.make_set(one.kind, '_rest', one.suffix, format('FOR VALUES FROM (%L) TO (%L)', one.from_id, one.to_id));
    RETURN QUERY SELECT one.kind, one.suffix, 'made';
  END LOOP;
  FOR one IN
    SELECT s.kind, s.suffix, string_agg(format('partitions.%I', p.parent || s.suffix), ', ') AS tables,
      app.first_id_at(min(s.from_at)) AS from_id, app.first_id_at(min(s.until_at)) AS to_id, min(s.until_at) AS until_at
    FROM app.partition_sets s JOIN app.retention r ON r.kind = s.kind AND s.until_at <= app.clock() - r.keep
      JOIN app.partitioned p ON p.kind = s.kind
    GROUP BY s.kind, s.suffix ORDER BY s.suffix
  LOOP
    CONTINUE WHEN NOT app.is_set_done(one.kind, one.suffix);
    IF one.kind = 'payments' THEN
      DELETE FROM work_item WHERE session_id >= one.from_id AND session_id < one.to_id;
      DELETE FROM orphaned_authorization WHERE session_id >= one.from_id AND session_id < one.to_id;
      DELETE FROM app.order_winner WHERE session_id >= one.from_id AND session_id < one.to_id;
    END IF;
    EXECUTE 'DROP TABLE ' || one.tables;
    IF one.kind = 'payments' THEN
      -- Afterwards: the DROP has waited for sums that were being made of these rows.
      DELETE FROM ledger_sum WHERE month = to_date(one.suffix, '_YYYY_MM');
      -- Lines of the month's payments, and those of no payment that are as old.
      DELETE FROM payout_line WHERE session_id >= one.from_id AND session_id < one.to_id;
      DELETE FROM payout_line WHERE session_id IS NULL AND recorded_at < one.until_at;
      DELETE FROM payout p WHERE p.created_at < one.until_at AND p.complete_at IS NOT NULL AND NOT EXISTS (SELECT FROM payout_line l WHERE l.payout_id = p.id);
      DELETE FROM settlement_report WHERE read_at < one.until_at;
      EXECUTE (SELECT string_agg('DROP FUNCTION ' || oid::regprocedure, '; ') FROM pg_proc
               WHERE pronamespace = 'partitions'::regnamespace AND right(proname, length(one.suffix)) = one.suffix);
    END IF;
    RETURN QUERY SELECT one.kind, one.suffix, 'dropped';
  END LOOP;
END $function$;

-- function app.latency_step(from_at timestamp with time zone, to_at timestamp with time zone)
CREATE OR REPLACE FUNCTION app.latency_step(from_at timestamp with time zone, to_at timestamp with time zone)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$SELECT CASE WHEN to_at - from_at IS NOT NULL THEN
     least(63, floor(4 * ln(greatest(1, extract(epoch FROM to_at - from_at)::float8 * 1000)) / ln(2::float8))::int) END$function$;

-- function app.lift_card_stop(of_merchant uuid, method uuid)
CREATE OR REPLACE FUNCTION app.lift_card_stop(of_merchant uuid, method uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE was record;
BEGIN
  PERFORM app.require_home(of_merchant);
  SELECT c.fingerprint, c.stopped_because INTO was FROM payment_method m JOIN card_state c ON c.merchant_id = m.merchant_id AND c.fingerprint = m.fingerprint
  WHERE m.id = method AND m.merchant_id = of_merchant AND m.status = 'ACTIVE' AND c.stopped_at IS NOT NULL FOR UPDATE OF c;
  UPDATE card_state SET stopped_at = NULL, stopped_because = NULL WHERE merchant_id = of_merchant AND fingerprint = was.fingerprint;
  RETURN was.stopped_because;
END $function$;

-- function app.link_dispute_refund(of_session uuid, of_dispute uuid, of_refund uuid, person text, why text)
CREATE OR REPLACE FUNCTION app.link_dispute_refund(of_session uuid, of_dispute uuid, of_refund uuid, person text, why text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  UPDATE refund r SET (dispute_id, dispute_by, dispute_reason) = (of_dispute, person, why)
  WHERE r.session_id = of_session AND r.id = of_refund AND r.dispute_id IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO dispute_movement (session_id, dispute_id, ordinal, type, amount_minor, currency)
  SELECT of_session, of_dispute, max(m.ordinal) + 1, 'CHARGEBACK_REVERSED',
    least(min(r.amount_minor), sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) FILTER (WHERE m.currency = r.currency)), min(r.currency)
  FROM dispute_movement m, refund r
  WHERE m.session_id = of_session AND m.dispute_id = of_dispute AND r.session_id = of_session AND r.id = of_refund
  HAVING sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) FILTER (WHERE m.currency = r.currency) > 0;
  UPDATE dispute d SET updated_at = app.clock() WHERE d.session_id = of_session AND d.id = of_dispute;
  UPDATE dispute d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT of_dispute;
END $function$;

-- function app.link_refusal(l recovery_link, tries_max integer)
CREATE OR REPLACE FUNCTION app.link_refusal(l recovery_link, tries_max integer)
 RETURNS TABLE(reason text, other uuid)
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function app.lock_leased(of_session uuid, epoch integer)
CREATE OR REPLACE FUNCTION app.lock_leased(of_session uuid, epoch integer)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT * FROM payment_session WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE $function$;

-- function app.lock_session(of_session uuid)
CREATE OR REPLACE FUNCTION app.lock_session(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT * FROM payment_session WHERE id = of_session FOR UPDATE $function$;

-- function app.lock_session_of(of_session uuid, of_merchant uuid)
CREATE OR REPLACE FUNCTION app.lock_session_of(of_session uuid, of_merchant uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT * FROM payment_session WHERE id = of_session AND merchant_id = of_merchant FOR UPDATE $function$;

-- function app.look_again(of_session uuid)
CREATE OR REPLACE FUNCTION app.look_again(of_session uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt SET next_retry_at = app.clock()
  WHERE session_id = of_session AND status = 'AWAITING_CUSTOMER' AND next_retry_at <= app.clock() RETURNING * $function$;

-- function app.look_at_hold_later(of_session uuid, of_attempt uuid, after_ms double precision)
CREATE OR REPLACE FUNCTION app.look_at_hold_later(of_session uuid, of_attempt uuid, after_ms double precision)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt SET next_retry_at = app.clock() + after_ms * interval '1 ms'
  WHERE session_id = of_session AND id = of_attempt AND status = 'AUTHORIZED' RETURNING * $function$;

-- function app.look_at_provider(of_session uuid, of_authentication uuid, look_at timestamp with time zone, checked_at timestamp with time zone, wakes boolean)
CREATE OR REPLACE FUNCTION app.look_at_provider(of_session uuid, of_authentication uuid, look_at timestamp with time zone, checked_at timestamp with time zone, wakes boolean)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET next_look_at = look_at, answered_at = coalesce(checked_at, answered_at)
  WHERE session_id = of_session AND id = of_authentication;
  UPDATE payment_session SET lease_until = least(lease_until, look_at)
  WHERE id = of_session AND wakes AND phase = 'PROCESSING' AND awaiting_since IS NOT NULL RETURNING * $function$;

-- function app.look_soon(of_session uuid, apart_ms double precision)
CREATE OR REPLACE FUNCTION app.look_soon(of_session uuid, apart_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  WITH soon AS (
    UPDATE attempt SET next_retry_at = least(next_retry_at, app.clock() + apart_ms * interval '1 ms')
    WHERE session_id = of_session AND status = 'AWAITING_CUSTOMER' AND retries > 0 AND next_retry_at > app.clock()
      AND changed_at > app.clock() - apart_ms * interval '1 ms'
    RETURNING next_retry_at)
  UPDATE payment_session s SET lease_until = least(s.lease_until, soon.next_retry_at) FROM soon WHERE s.id = of_session RETURNING s.* $function$;

-- function app.lose_card(method uuid, hash bytea)
CREATE OR REPLACE FUNCTION app.lose_card(method uuid, hash bytea)
 RETURNS TABLE(agreement_id uuid, session_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_column
BEGIN
  UPDATE payment_method SET stopped_because = 'card_lost' WHERE id = method AND handle_hash = hash AND status = 'ACTIVE';
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY UPDATE agreement SET method_id = NULL, status = 'NEEDS_CARD', status_because = 'card_lost'
    WHERE method_id = method AND status NOT IN ('CANCELLED','ENDED') RETURNING id, agreement.session_id;
END $function$;

-- function app.lost(reason text)
CREATE OR REPLACE FUNCTION app.lost(reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'LL001';
END $function$;

-- function app.make_agreement(p stored_payment, method uuid)
CREATE OR REPLACE FUNCTION app.make_agreement(p stored_payment, method uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  INSERT INTO agreement (id, merchant_id, customer_ref, method_id, type, text, currency, every_days, ends_on, instalments, max_amount_minor, status, status_because,
    session_id, consented_at, network, network_transaction_id, network_date, link_id, ds_trans_id, own_connection_id, own_customer, own_method)
  SELECT p.agreement_id, p.merchant_id, p.customer_ref, method, p.terms ->> 'type', p.terms ->> 'text', p.currency, (p.terms ->> 'everyDays')::int,
    (p.terms ->> 'endsOn')::date, (p.terms ->> 'instalments')::int, (p.terms ->> 'maxAmountMinor')::bigint,
    CASE WHEN method IS NULL THEN 'NEEDS_CARD' ELSE 'ACTIVE' END, CASE WHEN method IS NULL THEN 'card_not_stored' END,
    p.session_id, p.consented_at, p.network, p.network_transaction_id, p.network_date, p.link_id, p.ds_trans_id, p.own_connection_id, p.own_customer, p.own_method
  WHERE p.terms IS NOT NULL AND p.role <> 'RECOVERY'
  ON CONFLICT (id) DO NOTHING $function$;

-- function app.make_link(new_link uuid, of_merchant uuid, of_agreement uuid, of_renewal text, minor bigint, in_currency text, reference text, back_to text, life_ms bigint)
CREATE OR REPLACE FUNCTION app.make_link(new_link uuid, of_merchant uuid, of_agreement uuid, of_renewal text, minor bigint, in_currency text, reference text, back_to text, life_ms bigint)
 RETURNS SETOF recovery_link
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
END $function$;

-- function app.make_set(of_kind text, model text, suffix text, bounds text)
CREATE OR REPLACE FUNCTION app.make_set(of_kind text, model text, suffix text, bounds text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE one record;
BEGIN
  FOR one IN SELECT parent, 'partitions.' || parent || suffix AS made FROM app.partitioned WHERE kind = of_kind ORDER BY place LOOP
    EXECUTE format('CREATE TABLE %s (LIKE %I INCLUDING ALL EXCLUDING INDEXES)', one.made, one.parent);
    PERFORM app.copy_index(i.indexrelid, one.made, regexp_replace(x.relname, model || '$', '') || suffix)
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
    WHERE i.indrelid = to_regclass('partitions.' || one.parent || model) ORDER BY i.indisprimary DESC, x.relname;
  END LOOP;
  FOR one IN
    SELECT p.parent, c.conname, replace(pg_get_constraintdef(c.oid), r.relname, regexp_replace(r.relname, model || '$', suffix)) AS rule
    FROM app.partitioned p JOIN pg_constraint c ON c.conrelid = to_regclass('partitions.' || p.parent || model)
      JOIN pg_class r ON r.oid = c.confrelid
    WHERE p.kind = of_kind AND c.contype = 'f' AND c.conparentid = 0 ORDER BY p.place, c.conname
  LOOP
    EXECUTE format('ALTER TABLE partitions.%I ADD CONSTRAINT %I %s', one.parent || suffix, one.conname, one.rule);
  END LOOP;
  IF of_kind = 'payments' THEN PERFORM app.copy_functions(model, suffix); END IF;
  FOR one IN
    SELECT replace(pg_get_triggerdef(t.oid), model, suffix) AS rule
    FROM app.partitioned p JOIN pg_trigger t ON t.tgrelid = to_regclass('partitions.' || p.parent || model)
    WHERE p.kind = of_kind AND NOT t.tgisinternal AND t.tgparentid = 0 ORDER BY p.place, t.tgname
  LOOP
    EXECUTE one.rule;
  END LOOP;
  FOR one IN SELECT parent FROM app.partitioned WHERE kind = of_kind ORDER BY place LOOP
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION partitions.%I %s', one.parent, one.parent || suffix, bounds);
  END LOOP;
  PERFORM app.grant_as_whole(of_kind, suffix);
END $function$;

-- function app.mark_dispute_due(of_session uuid, of_dispute uuid)
CREATE OR REPLACE FUNCTION app.mark_dispute_due(of_session uuid, of_dispute uuid)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE dispute d SET due_soon_at = app.clock()
  WHERE d.session_id = of_session AND d.id = of_dispute AND d.due_soon_at IS NULL AND d.status = 'NEEDS_RESPONSE' RETURNING d.id $function$;

-- function app.may_have_lost_renewals(made_at timestamp with time zone)
CREATE OR REPLACE FUNCTION app.may_have_lost_renewals(made_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN EXISTS (SELECT FROM replica_mark WHERE restored_at > made_at AND restored_at > app.clock() - interval '45 days');
END $function$;

-- function app.move_attempt(of_session uuid, of_attempt uuid, from_status text, changes jsonb, stamps text[])
CREATE OR REPLACE FUNCTION app.move_attempt(of_session uuid, of_attempt uuid, from_status text, changes jsonb, stamps text[])
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT app.require_columns(changes, stamps, '{
    status,failure_kind,stop,decline_code,gateway_code,refusal,gateway_reference,network_transaction_id,next_action,
    next_because,capture_ordered_at,captured_amount_minor,ordered_amount_minor,capture_reference,capture_refusal_code,
    void_kind,void_asked_at,looked_up_at,latest_execution_at,retries,next_retry_at,answered_at,completed_at}');
  UPDATE attempt a
  SET (status, failure_kind, stop, decline_code, gateway_code, refusal, gateway_reference, network_transaction_id, next_action, next_because,
       capture_ordered_at, captured_amount_minor, ordered_amount_minor, capture_reference, capture_refusal_code, void_kind, void_asked_at, looked_up_at,
       latest_execution_at, retries, next_retry_at, answered_at, completed_at)
    = (SELECT n.status, n.failure_kind, n.stop, n.decline_code, n.gateway_code, n.refusal, n.gateway_reference, n.network_transaction_id, n.next_action, n.next_because,
       n.capture_ordered_at, n.captured_amount_minor, n.ordered_amount_minor, n.capture_reference, n.capture_refusal_code, n.void_kind, n.void_asked_at, n.looked_up_at,
       n.latest_execution_at, n.retries, n.next_retry_at, n.answered_at, n.completed_at
       FROM jsonb_populate_record(a, changes || coalesce((SELECT jsonb_object_agg(one, app.clock()) FROM unnest(stamps) one), '{}')) n)
  WHERE a.session_id = of_session AND a.id = of_attempt AND a.status = from_status
  RETURNING a.* $function$;

-- function app.move_dispute_response(of_session uuid, of_response uuid, as_status text, failure text, due_ms double precision)
CREATE OR REPLACE FUNCTION app.move_dispute_response(of_session uuid, of_response uuid, as_status text, failure text, due_ms double precision)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE dispute_response r
  SET status = as_status, failure_code = failure, answered_at = CASE WHEN as_status <> 'REQUESTED' THEN app.clock() END,
    next_try_at = app.clock() + due_ms * interval '1 ms'
  WHERE r.session_id = of_session AND r.id = of_response AND r.status = 'REQUESTED' RETURNING r.id $function$;

-- function app.move_refund(of_session uuid, of_refund uuid, from_status text, changes jsonb, stamps text[], is_due boolean, due_ms double precision)
CREATE OR REPLACE FUNCTION app.move_refund(of_session uuid, of_refund uuid, from_status text, changes jsonb, stamps text[], is_due boolean, due_ms double precision)
 RETURNS SETOF refund
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT app.require_columns(changes, stamps, '{
    status,gateway_reference,failure_code,sends,keys,unanswered,key_until,first_sent_at,sent_at,look_up_first,absent_at,
    retries,pending_event_at,cleared_at,decision,decision_reference,decided_by,decision_reason,completed_at}');
  UPDATE refund r
  SET (status, gateway_reference, failure_code, sends, keys, unanswered, key_until, first_sent_at, sent_at, look_up_first, absent_at, retries,
       pending_event_at, cleared_at, decision, decision_reference, decided_by, decision_reason, completed_at, next_try_at)
    = (SELECT n.status, n.gateway_reference, n.failure_code, n.sends, n.keys, n.unanswered, n.key_until, n.first_sent_at, n.sent_at, n.look_up_first, n.absent_at,
       n.retries, n.pending_event_at, n.cleared_at, n.decision, n.decision_reference, n.decided_by, n.decision_reason, n.completed_at,
       CASE WHEN is_due THEN app.clock() + due_ms * interval '1 ms' ELSE r.next_try_at END
       FROM jsonb_populate_record(r, changes || coalesce((SELECT jsonb_object_agg(one, app.clock()) FROM unnest(stamps) one), '{}')) n)
  WHERE r.session_id = of_session AND r.id = of_refund AND r.status = from_status
  RETURNING r.* $function$;

-- function app.name_successor(of_session uuid, successor uuid)
CREATE OR REPLACE FUNCTION app.name_successor(of_session uuid, successor uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET replaced_by = successor WHERE id = of_session RETURNING * $function$;

-- function app.name_winner(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION app.name_winner(of_session uuid, of_attempt uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET winner_attempt_id = of_attempt WHERE id = of_session AND winner_attempt_id IS NULL RETURNING * $function$;

-- function app.note_first_payment()
CREATE OR REPLACE FUNCTION app.note_first_payment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.began_paid := EXISTS (SELECT FROM payment_session WHERE id = NEW.session_id AND amount_minor > 0);
  RETURN NEW;
END $function$;

-- function app.of_merchant(card_table text)
CREATE OR REPLACE FUNCTION app.of_merchant(card_table text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE card_table WHEN 'renewal_try' THEN 'agreement_id IN (SELECT id FROM agreement WHERE merchant_id = $1)' ELSE 'merchant_id = $1' END $function$;

-- function app.open_attempt(of_session uuid, of_attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, minor bigint, in_currency text, execution_ms double precision, of_round integer, authenticated_by uuid)
CREATE OR REPLACE FUNCTION app.open_attempt(of_session uuid, of_attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, minor bigint, in_currency text, execution_ms double precision, of_round integer, authenticated_by uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
    started_at, latest_execution_at, round, authentication_id)
  SELECT of_session, of_attempt, (SELECT count(*) + 1 FROM attempt WHERE session_id = of_session), at_gateway, connection, credential, place,
    why, minor, in_currency, now, now + execution_ms * interval '1 ms', of_round, authenticated_by
  FROM app.clock() AS now
  RETURNING * $function$;

-- function app.open_link(new_session uuid, of_link uuid, secret integer, request uuid, tries_max integer)
CREATE OR REPLACE FUNCTION app.open_link(new_session uuid, of_link uuid, secret integer, request uuid, tries_max integer)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
    INSERT INTO payment_session AS o (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at,
      create_request_id, details, customer_ref, stored, named_by)
    VALUES (new_session, l.merchant_id, l.amount_minor, l.currency, l.order_ref, secret, at, least(at + m.session_lifetime_ms * interval '1 ms', l.expires_at),
      request, CASE WHEN m.statement_descriptor IS NOT NULL THEN jsonb_build_object('statementDescriptor', m.statement_descriptor) END, a.customer_ref, true, named)
    RETURNING o.*;
  INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, terms, agreement_id, renewal_ref, try)
  VALUES (new_session, l.merchant_id, l.amount_minor, l.currency, a.customer_ref, 'RECOVERY', app.terms_of(a), l.agreement_id, l.renewal_ref, l.tries + 1);
  UPDATE recovery_link k SET session_id = new_session WHERE k.id = of_link;
END $function$;

-- function app.order_payer(merchant uuid, reference text)
CREATE OR REPLACE FUNCTION app.order_payer(merchant uuid, reference text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
BEGIN
  RETURN (SELECT jsonb_build_object('sessionId', w.session_id, 'hasSucceeded', coalesce(s.status = 'SUCCEEDED', true))
    FROM app.order_winner w LEFT JOIN payment_session s ON s.id = w.session_id WHERE w.merchant_id = merchant AND w.order_ref = reference);
END $function$;

-- function app.park_session(of_session uuid, epoch integer, until timestamp with time zone, but uuid[])
CREATE OR REPLACE FUNCTION app.park_session(of_session uuid, epoch integer, until timestamp with time zone, but uuid[])
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session
  SET lease_until = least(until, (
    SELECT min(next_retry_at) FROM attempt WHERE session_id = of_session AND completed_at IS NULL AND id <> ALL (but)))
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $function$;

-- function app.park_session_at_provider(of_session uuid, epoch integer, until timestamp with time zone, read_at timestamp with time zone)
CREATE OR REPLACE FUNCTION app.park_session_at_provider(of_session uuid, epoch integer, until timestamp with time zone, read_at timestamp with time zone)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session
  SET lease_until = least(until, (
    SELECT CASE WHEN cancel_asked_at IS NOT NULL THEN app.clock() WHEN next_look_at > read_at THEN next_look_at END
    FROM authentication WHERE session_id = of_session AND completed_at IS NULL))
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $function$;

-- function app.pay_renewal()
CREATE OR REPLACE FUNCTION app.pay_renewal()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE renewal r SET paid_session_id = NEW.id FROM stored_payment p
  WHERE p.session_id = NEW.id AND p.role IN ('RENEWAL','RECOVERY') AND r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.session_id = NEW.id;
  -- Captures of one statement would wait for those of another, whose order is another one. Who has locked the card is using it now.
  UPDATE payment_method m SET last_used_at = app.clock() WHERE m.id = (
    SELECT o.id FROM stored_payment p JOIN payment_method o ON o.id = p.method_id WHERE p.session_id = NEW.id AND p.role = 'RENEWAL' FOR NO KEY UPDATE OF o SKIP LOCKED);
  RETURN NULL;
END $function$;

-- function app.postpone_look(of_session uuid, of_attempt uuid, read_at timestamp with time zone, again_ms double precision, look_ms double precision)
CREATE OR REPLACE FUNCTION app.postpone_look(of_session uuid, of_attempt uuid, read_at timestamp with time zone, again_ms double precision, look_ms double precision)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt a SET retries = retries + 1, next_retry_at = CASE
    WHEN next_retry_at > read_at THEN greatest(next_retry_at, app.clock() + again_ms * interval '1 ms')
    ELSE least(app.clock() + look_ms * interval '1 ms', (
      SELECT deadline_at FROM authentication
      WHERE session_id = of_session AND attempt_id = a.id AND deadline_at > app.clock())) END
  WHERE session_id = of_session AND id = of_attempt AND status = 'AWAITING_CUSTOMER'
  RETURNING a.* $function$;

-- function app.postpone_provider_look(of_session uuid, of_authentication uuid, read_at timestamp with time zone, again_ms double precision, look_ms double precision)
CREATE OR REPLACE FUNCTION app.postpone_provider_look(of_session uuid, of_authentication uuid, read_at timestamp with time zone, again_ms double precision, look_ms double precision)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET next_look_at = CASE
    WHEN next_look_at > read_at THEN greatest(next_look_at, app.clock() + again_ms * interval '1 ms')
    WHEN deadline_at > app.clock() THEN least(app.clock() + look_ms * interval '1 ms', deadline_at)
    ELSE app.clock() + look_ms * interval '1 ms' END
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' RETURNING * $function$;

-- function app.public_time(at timestamp with time zone)
CREATE OR REPLACE FUNCTION app.public_time(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || CASE WHEN date_trunc('second', at) = at THEN '' ELSE to_char(at AT TIME ZONE 'UTC', '.MS') END || 'Z' $function$;

-- function app.read_stored_cards(of_merchant uuid)
CREATE OR REPLACE FUNCTION app.read_stored_cards(of_merchant uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  one   text;
  found jsonb;
  cards jsonb := '{}';
BEGIN
  -- S4: the other cell knows of no restore, and would ask no gateway about a renewal that this one has lost.
  IF EXISTS (SELECT FROM agreement a WHERE a.merchant_id = of_merchant AND app.may_have_lost_renewals(a.created_at)) THEN
    PERFORM app.refuse('a merchant with agreements moves 45 days after a restore at the earliest'); END IF;
  FOREACH one IN ARRAY app.card_tables() LOOP
    EXECUTE format('SELECT coalesce(jsonb_agg(to_jsonb(t)), ''[]'') FROM %I t WHERE %s', one, app.of_merchant(one)) INTO found USING of_merchant;
    cards := cards || jsonb_build_object(one, found);
  END LOOP;
  RETURN cards;
END $function$;

-- function app.record_capture_due(of_session uuid)
CREATE OR REPLACE FUNCTION app.record_capture_due(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET capture_due_at = NULL WHERE id = of_session AND capture_due_at IS NOT NULL RETURNING * $function$;

-- function app.record_dispute(of_session uuid, of_dispute uuid, of_attempt uuid, connection uuid, at_gateway text, reference text, as_stage text, as_status text, minor bigint, in_currency text, why text, network_code text, by_network text, until timestamp with time zone, reported jsonb, asked timestamp with time zone, opened timestamp with time zone)
CREATE OR REPLACE FUNCTION app.record_dispute(of_session uuid, of_dispute uuid, of_attempt uuid, connection uuid, at_gateway text, reference text, as_stage text, as_status text, minor bigint, in_currency text, why text, network_code text, by_network text, until timestamp with time zone, reported jsonb, asked timestamp with time zone, opened timestamp with time zone)
 RETURNS SETOF dispute
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  UPDATE dispute d
  SET (stage, status, amount_minor, currency, reason, network_reason_code, network, respond_by, notices, asked_at, opened_at, updated_at)
    = (as_stage, as_status, minor, in_currency, why, network_code, by_network, until, reported, asked, coalesce(opened, d.opened_at),
      CASE WHEN (d.stage, d.status, d.amount_minor, d.currency, d.reason, d.respond_by, d.notices)
          IS DISTINCT FROM (as_stage, as_status, minor, in_currency, why, until, reported) THEN app.clock() ELSE d.updated_at END)
  WHERE d.session_id = of_session AND d.id = of_dispute;
  IF NOT FOUND THEN
    INSERT INTO dispute (session_id, id, attempt_id, connection_id, gateway, gateway_reference, stage, status, amount_minor, currency,
      reason, network_reason_code, network, respond_by, notices, asked_at, opened_at)
    VALUES (of_session, of_dispute, of_attempt, connection, at_gateway, reference, as_stage, as_status, minor, in_currency, why, network_code, by_network,
      until, reported, asked, opened);
  END IF;
  UPDATE dispute d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT d.* FROM dispute d WHERE d.session_id = of_session AND d.id = of_dispute;
END $function$;

-- function app.record_matches(lines payout_line[])
CREATE OR REPLACE FUNCTION app.record_matches(lines payout_line[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  -- S3.
  IF EXISTS (
    SELECT FROM unnest(lines) l WHERE l.status = 'MATCHED' AND CASE l.kind
      WHEN 'CAPTURE' THEN (SELECT true FROM attempt a WHERE a.session_id = l.session_id AND a.id = l.entry_id AND a.captured
        AND a.connection_id = l.connection_id AND a.captured_amount_minor = l.gross_minor AND a.currency = l.currency LIMIT 1)
      WHEN 'REFUND' THEN (SELECT true FROM refund r WHERE r.session_id = l.session_id AND r.id = l.entry_id
        AND (r.status <> 'FAILED' OR r.succeeded_at IS NOT NULL OR r.origin = 'GATEWAY') AND r.connection_id = l.connection_id AND -r.amount_minor = l.gross_minor AND r.currency = l.currency LIMIT 1)
      WHEN 'REFUND_FAILED' THEN (SELECT true FROM refund r WHERE r.session_id = l.session_id AND r.id = l.entry_id AND r.status = 'FAILED'
        AND r.connection_id = l.connection_id AND r.amount_minor = l.gross_minor AND r.currency = l.currency LIMIT 1)
      ELSE (SELECT true FROM dispute_movement m JOIN dispute d ON d.session_id = m.session_id AND d.id = m.dispute_id
        WHERE m.session_id = l.session_id AND m.dispute_id = l.entry_id AND m.ordinal = l.entry_ordinal AND d.connection_id = l.connection_id
          AND m.type = l.entry_type AND m.currency = l.currency
          AND CASE m.type WHEN 'CHARGEBACK' THEN -m.amount_minor ELSE m.amount_minor END = l.gross_minor LIMIT 1) END IS NOT TRUE) THEN
    PERFORM app.refuse('a line pays an entry of the same account, amount and currency'); END IF;
  INSERT INTO analytics_cost AS c (merchant_id, month, gateway, type, card_brand, rule_version, case_name, arm, currency, settlement_currency,
    lines, settled_gross_minor, fee_minor)
  SELECT l.merchant_id, coalesce(s.month, date_trunc('month', l.recorded_at AT TIME ZONE 'UTC')::date), l.gateway, coalesce(l.entry_type, 'ACCOUNT'),
    coalesce(s.brand, ''), coalesce(s.version, 0), coalesce(s.case_name, ''), coalesce(s.arm, ''), l.currency, l.settlement_currency,
    count(*), sum(l.settled_gross_minor), sum(CASE WHEN l.status = 'ACCOUNT' THEN -l.net_minor ELSE l.fee_minor END)
  FROM unnest(lines) l LEFT JOIN LATERAL (
    SELECT date_trunc('month', p.settled_at AT TIME ZONE 'UTC')::date AS month, p.card_brand AS brand,
      CASE WHEN p.routed_by ? 'split' THEN p.rule_version END AS version,
      CASE WHEN p.routed_by ? 'split' THEN p.routed_by ->> 'case' END AS case_name, p.routed_by -> 'split' ->> 'arm' AS arm
    FROM payment_session p WHERE p.id = l.session_id LIMIT 1) s ON true
  WHERE l.status = 'MATCHED' OR l.kind = 'FEE' AND l.status = 'ACCOUNT'
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
  ON CONFLICT (merchant_id, month, gateway, type, card_brand, rule_version, case_name, arm, currency, settlement_currency) DO UPDATE
    SET lines = c.lines + EXCLUDED.lines, settled_gross_minor = c.settled_gross_minor + EXCLUDED.settled_gross_minor, fee_minor = c.fee_minor + EXCLUDED.fee_minor;
END $function$;

-- function app.record_moved_lines()
CREATE OR REPLACE FUNCTION app.record_moved_lines()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM app.record_matches(array_agg(ROW(n.*)::payout_line)) FROM now_lines n JOIN then_lines t USING (connection_id, line_id)
  WHERE t.status = 'UNMATCHED' AND n.status <> 'UNMATCHED' HAVING count(*) > 0;
  RETURN NULL;
END $function$;

-- function app.record_new_lines()
CREATE OR REPLACE FUNCTION app.record_new_lines()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM app.record_matches(array_agg(ROW(n.*)::payout_line)) FROM now_lines n HAVING count(*) > 0;
  RETURN NULL;
END $function$;

-- function app.record_orphan(of_session uuid, of_attempt uuid, reference text, finder text)
CREATE OR REPLACE FUNCTION app.record_orphan(of_session uuid, of_attempt uuid, reference text, finder text)
 RETURNS SETOF orphaned_authorization
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO orphaned_authorization AS o (session_id, attempt_id, gateway_reference, found_by, next_retry_at)
  VALUES (of_session, of_attempt, reference, finder, app.clock())
  ON CONFLICT (session_id, attempt_id, gateway_reference)
    DO UPDATE SET ended_at = NULL, outcome = NULL, next_retry_at = app.clock()
    WHERE o.ended_at IS NOT NULL AND o.outcome <> 'CAPTURED' AND excluded.found_by = 'reconciliation'
  RETURNING o.* $function$;

-- function app.record_pending_event(of_session uuid)
CREATE OR REPLACE FUNCTION app.record_pending_event(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET pending_event_at = app.clock() WHERE id = of_session AND pending_event_at IS NULL RETURNING * $function$;

-- function app.recovery_name(of_agreement uuid, of_renewal text, nth integer, restores integer)
CREATE OR REPLACE FUNCTION app.recovery_name(of_agreement uuid, of_renewal text, nth integer, restores integer)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT app.derived_id(of_agreement, format('recovery %s %s %s', restores, nth, of_renewal)) $function$;

-- function app.refuse(reason text)
CREATE OR REPLACE FUNCTION app.refuse(reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'check_violation';
END $function$;

-- function app.refuse_blocked(merchant uuid, card uuid[], email text, address inet, at timestamp with time zone)
CREATE OR REPLACE FUNCTION app.refuse_blocked(merchant uuid, card uuid[], email text, address inet, at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE entry text;
BEGIN
  SELECT jsonb_build_object('id', b.id, 'kind', b.kind, 'reason', b.reason) INTO entry FROM blocklist_entry b
  WHERE b.merchant_id = merchant AND (b.ends_at IS NULL OR b.ends_at > at)
    AND b.value = ANY (card::text[] || app.blockable_networks(address) || app.blocked_email(merchant, email))
  -- A card first: its entry is renewed while its key is rotated (blocked.ts).
  ORDER BY b.kind <> 'CARD', b.added_at, b.id LIMIT 1;
  IF FOUND THEN RAISE EXCEPTION 'blocked' USING ERRCODE = 'LL004', DETAIL = entry; END IF;
END $function$;

-- function app.refuse_change()
CREATE OR REPLACE FUNCTION app.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit_entry' THEN
    IF OLD.created_at < app.clock() - interval '1096 days' THEN RETURN OLD; END IF;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $function$;

-- function app.refuse_other_timeline()
CREATE OR REPLACE FUNCTION app.refuse_other_timeline()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF app.is_timeline_confirmed() IS NOT TRUE THEN
    RAISE EXCEPTION 'the server was promoted, or is another cluster (timeline %): no session goes on until "switchyard restore confirm" or "restore declare"',
      app.timeline() USING ERRCODE = '57P03'; END IF;
END $function$;

-- function app.refuse_renewal(reason text, other uuid, until timestamp with time zone)
CREATE OR REPLACE FUNCTION app.refuse_renewal(reason text, other uuid DEFAULT NULL::uuid, until timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'LL007', DETAIL = json_build_object('other', other, 'until', until)::text;
END $function$;

-- function app.remove_bank_messages(kept_ms double precision, at_most integer)
CREATE OR REPLACE FUNCTION app.remove_bank_messages(kept_ms double precision, at_most integer)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET message_sealed = NULL WHERE (session_id, id) IN (
    SELECT session_id, id FROM authentication
    WHERE message_sealed IS NOT NULL AND completed_at < (SELECT app.clock()) - kept_ms * interval '1 ms'
    LIMIT at_most FOR UPDATE SKIP LOCKED)
  RETURNING id $function$;

-- function app.remove_dispute_content(after_ms double precision, at_most integer)
CREATE OR REPLACE FUNCTION app.remove_dispute_content(after_ms double precision, at_most integer)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  RETURN QUERY WITH ended AS (
      SELECT f.session_id, f.dispute_id FROM dispute_file f
      WHERE NOT EXISTS (SELECT FROM dispute d WHERE d.session_id = f.session_id AND d.id = f.dispute_id AND NOT app.is_dispute_content_old(d, after_ms))
      UNION
      SELECT r.session_id, r.dispute_id FROM dispute_response r JOIN dispute d ON d.session_id = r.session_id AND d.id = r.dispute_id
      WHERE r.content_sealed IS NOT NULL AND r.status <> 'REQUESTED' AND app.is_dispute_content_old(d, after_ms)
      LIMIT at_most),
    emptied AS (UPDATE dispute_response r SET content_sealed = NULL FROM ended e
      WHERE r.session_id = e.session_id AND r.dispute_id = e.dispute_id AND r.content_sealed IS NOT NULL AND r.status <> 'REQUESTED'),
    removed AS (DELETE FROM dispute_file f USING ended e WHERE f.dispute_id = e.dispute_id)
    SELECT e.dispute_id FROM ended e;
END $function$;

-- function app.remove_old_card_declines(kept_ms double precision, at_most integer)
CREATE OR REPLACE FUNCTION app.remove_old_card_declines(kept_ms double precision, at_most integer)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  DELETE FROM card_decline WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM card_decline WHERE declined_at < (SELECT app.clock()) - greatest(kept_ms, 40 * 86400000.0) * interval '1 ms'
    LIMIT at_most FOR UPDATE SKIP LOCKED)) RETURNING attempt_id $function$;

-- function app.remove_old_orphans(kept_ms double precision, at_most integer)
CREATE OR REPLACE FUNCTION app.remove_old_orphans(kept_ms double precision, at_most integer)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  DELETE FROM orphaned_authorization WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM orphaned_authorization WHERE ended_at < (SELECT app.clock()) - kept_ms * interval '1 ms' LIMIT at_most FOR UPDATE SKIP LOCKED))
  RETURNING attempt_id $function$;

-- function app.remove_stored_cards(of_merchant uuid)
CREATE OR REPLACE FUNCTION app.remove_stored_cards(of_merchant uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE one text;
BEGIN
  IF NOT EXISTS (SELECT FROM merchant_settings WHERE merchant_id = of_merchant AND moved_to IS NOT NULL) THEN
    PERFORM app.refuse('only the cards of a merchant that has moved are removed'); END IF;
  FOREACH one IN ARRAY ARRAY['card_decline','card_state','recovery_link','renewal_try','renewal','agreement','card_erasure','payment_method'] LOOP
    EXECUTE format('DELETE FROM %I WHERE %s', one, app.of_merchant(one)) USING of_merchant;
  END LOOP;
END $function$;

-- function app.renew_agreement(p stored_payment, method uuid)
CREATE OR REPLACE FUNCTION app.renew_agreement(p stored_payment, method uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE a agreement;
BEGIN
  IF p.role NOT IN ('SETUP','RECOVERY') THEN RETURN; END IF;
  SELECT * INTO a FROM agreement g WHERE g.id = p.agreement_id FOR UPDATE;
  UPDATE agreement g
  SET method_id = method, status = 'ACTIVE', status_because = NULL, session_id = p.session_id, consented_at = p.consented_at, chain_version = g.chain_version + 1,
    network = p.network, network_transaction_id = p.network_transaction_id, network_date = p.network_date, link_id = p.link_id, ds_trans_id = p.ds_trans_id,
    own_connection_id = p.own_connection_id, own_customer = p.own_customer, own_method = p.own_method
  WHERE g.id = p.agreement_id AND g.merchant_id = p.merchant_id AND g.customer_ref = p.customer_ref AND g.session_id <> p.session_id
    AND g.status IN ('ACTIVE','NEEDS_CARD');
  IF FOUND THEN
    PERFORM app.erase_unused(a.merchant_id, a.own_connection_id, a.own_customer, a.own_method, a.consented_at);
  ELSIF a.session_id IS DISTINCT FROM p.session_id THEN
    PERFORM app.erase_unused(p.merchant_id, p.own_connection_id, p.own_customer, p.own_method, p.consented_at);
  END IF;
END $function$;

-- function app.renew_lease(of_session uuid, epoch integer, lease_ms double precision, unused_ms double precision, brand text, last4 text)
CREATE OR REPLACE FUNCTION app.renew_lease(of_session uuid, epoch integer, lease_ms double precision, unused_ms double precision, brand text, last4 text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session
  SET lease_until = CASE WHEN lease_until > app.clock() + unused_ms * interval '1 ms' THEN lease_until ELSE app.clock() + lease_ms * interval '1 ms' END,
      card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4)
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $function$;

-- function app.renewal_name(of_agreement uuid, of_renewal text, nth integer, restores integer)
CREATE OR REPLACE FUNCTION app.renewal_name(of_agreement uuid, of_renewal text, nth integer, restores integer)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT app.derived_id(of_agreement, format('renewal %s %s %s', restores, nth, of_renewal)) $function$;

-- function app.renewal_refusal(of_agreement uuid, of_renewal text, minor bigint, in_currency text, tries_max integer)
CREATE OR REPLACE FUNCTION app.renewal_refusal(of_agreement uuid, of_renewal text, minor bigint, in_currency text, tries_max integer)
 RETURNS TABLE(reason text, other uuid, until timestamp with time zone)
 LANGUAGE plpgsql
AS $function$
DECLARE
  a agreement;
  r renewal;
BEGIN
  SELECT * INTO a FROM agreement g WHERE g.id = of_agreement;
  SELECT * INTO r FROM renewal w WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal;
  IF r.paid_session_id IS NOT NULL THEN RETURN QUERY SELECT 'paid', r.paid_session_id, NULL::timestamptz; RETURN; END IF;
  IF EXISTS (SELECT FROM payment_session s WHERE s.id = r.session_id AND s.status IN ('CREATED','SUCCEEDED')) THEN
    RETURN QUERY SELECT 'in_progress', r.session_id, NULL::timestamptz; RETURN; END IF;
  reason := CASE WHEN a.status <> 'ACTIVE' THEN lower(a.status) ELSE app.agreement_refusal(of_agreement, of_renewal, minor, in_currency, app.clock()) END;
  IF reason IS NULL AND r.only_by_link THEN reason := 'link'; END IF;
  IF reason IS NULL AND r.tries >= tries_max THEN reason := 'tries'; END IF;
  IF reason IS NOT NULL THEN RETURN NEXT; RETURN; END IF;
  RETURN QUERY SELECT c.because, NULL::uuid, c.not_before FROM payment_method m, app.card_refusal(m.merchant_id, m.fingerprint, m.brand) c WHERE m.id = a.method_id;
END $function$;

-- function app.repeat_orphan(of_session uuid, of_attempt uuid, reference text, request integer, again_at timestamp with time zone)
CREATE OR REPLACE FUNCTION app.repeat_orphan(of_session uuid, of_attempt uuid, reference text, request integer, again_at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE orphaned_authorization SET next_retry_at = again_at
  WHERE session_id = of_session AND attempt_id = of_attempt AND gateway_reference = reference AND retries = request AND ended_at IS NULL $function$;

-- function app.require_columns(changes jsonb, stamps text[], movable text[])
CREATE OR REPLACE FUNCTION app.require_columns(changes jsonb, stamps text[], movable text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE other text;
BEGIN
  SELECT given.name INTO other FROM (SELECT jsonb_object_keys(changes) UNION ALL SELECT unnest(stamps)) AS given (name)
  WHERE given.name = ANY (movable) IS NOT TRUE LIMIT 1;
  IF FOUND THEN PERFORM app.refuse('no such change: ' || coalesce(other, 'null')); END IF;
END $function$;

-- function app.require_home(of_merchant uuid)
CREATE OR REPLACE FUNCTION app.require_home(of_merchant uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE next_cell smallint;
BEGIN
  SELECT moved_to INTO next_cell FROM merchant_settings WHERE merchant_id = of_merchant FOR SHARE;
  IF next_cell IS NOT NULL THEN RAISE EXCEPTION 'the merchant has moved to another cell' USING ERRCODE = 'LL002'; END IF;
END $function$;

-- function app.require_one(changed bigint, otherwise text)
CREATE OR REPLACE FUNCTION app.require_one(changed bigint, otherwise text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF changed <> 1 THEN RAISE EXCEPTION '%', otherwise USING ERRCODE = 'LL001'; END IF;
END $function$;

-- function app.require_order(taker uuid, merchant uuid, reference text)
CREATE OR REPLACE FUNCTION app.require_order(taker uuid, merchant uuid, reference text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE other uuid := app.take_order(taker, merchant, reference);
BEGIN
  IF other IS NOT NULL AND NOT EXISTS (SELECT FROM work_item WHERE session_id = taker AND kind = 'PAID_MORE_THAN_ONCE') THEN
    RAISE EXCEPTION 'another session has the order' USING ERRCODE = 'LL005', DETAIL = other::text; END IF;
END $function$;

-- function app.require_timeline()
CREATE OR REPLACE FUNCTION app.require_timeline()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM app.refuse_other_timeline();
  RETURN NEW;
END $function$;

-- function app.require_wallet(claimed payment_session)
CREATE OR REPLACE FUNCTION app.require_wallet(claimed payment_session)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF (claimed.wallet_credential IN ('PAN','NETWORK_TOKEN')) IS NOT TRUE THEN PERFORM app.refuse('a wallet gives a PAN or a NETWORK_TOKEN'); END IF;
  IF (claimed.cryptogram_resend IN ('NOT_SENT','UNANSWERED','DECLINED')) IS NOT TRUE THEN
    PERFORM app.refuse('a second use of a cryptogram follows a rule'); END IF;
  IF claimed.wallet NOT IN ('apple_pay','google_pay') THEN PERFORM app.refuse('no wallet has such a name'); END IF;
END $function$;

-- function app.resume_action(of_session uuid, of_authentication uuid)
CREATE OR REPLACE FUNCTION app.resume_action(of_session uuid, of_authentication uuid)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET status = 'AWAITING_CUSTOMER', answered_at = NULL, returned_sealed = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = 'CONFIRMING' RETURNING * $function$;

-- function app.send_dispute_response(of_session uuid, of_response uuid, lease_ms double precision)
CREATE OR REPLACE FUNCTION app.send_dispute_response(of_session uuid, of_response uuid, lease_ms double precision)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE dispute_response r
  SET sends = r.sends + 1, first_sent_at = coalesce(r.first_sent_at, app.clock()), next_try_at = app.clock() + lease_ms * interval '1 ms'
  WHERE r.session_id = of_session AND r.id = of_response AND r.status = 'REQUESTED' RETURNING r.id $function$;

-- function app.set_action_ticket(of_session uuid, of_authentication uuid, hash bytea)
CREATE OR REPLACE FUNCTION app.set_action_ticket(of_session uuid, of_authentication uuid, hash bytea)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET ticket_hash = hash
  WHERE session_id = of_session AND id = of_authentication AND status IN ('METHOD','AWAITING_CUSTOMER') AND cancel_asked_at IS NULL AND deadline_at > app.clock()
  RETURNING * $function$;

-- function app.set_capture_failed(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION app.set_capture_failed(of_session uuid, of_attempt uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt SET capture_failed_at = app.clock()
  WHERE session_id = of_session AND id = of_attempt AND capture_failed_at IS NULL RETURNING * $function$;

-- function app.set_decision(of_session uuid, of_attempt uuid, decided text, reference text, reason text, person text, takes_two boolean, minor bigint)
CREATE OR REPLACE FUNCTION app.set_decision(of_session uuid, of_attempt uuid, decided text, reference text, reason text, person text, takes_two boolean, minor bigint)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt
  SET decision = decided, decision_reference = reference, decision_reason = reason, decided_by = person, decided_at = app.clock(),
      decision_takes_two = takes_two, decision_confirmed_by = CASE WHEN NOT takes_two THEN person END,
      decision_confirmed_at = CASE WHEN NOT takes_two THEN app.clock() END, decision_amount_minor = minor
  WHERE session_id = of_session AND id = of_attempt RETURNING * $function$;

-- function app.set_paying_session(of_session uuid, payer uuid)
CREATE OR REPLACE FUNCTION app.set_paying_session(of_session uuid, payer uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET paying_session_id = payer WHERE id = of_session RETURNING * $function$;

-- function app.set_returned(of_session uuid, of_authentication uuid, returned text)
CREATE OR REPLACE FUNCTION app.set_returned(of_session uuid, of_authentication uuid, returned text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET returned_sealed = returned
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' AND cancel_asked_at IS NULL RETURNING * $function$;

-- function app.set_unrecorded_check(of_session uuid, check_at timestamp with time zone, voids jsonb)
CREATE OR REPLACE FUNCTION app.set_unrecorded_check(of_session uuid, check_at timestamp with time zone, voids jsonb)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET unrecorded_check_at = check_at, unrecorded_voids = voids
  WHERE id = of_session RETURNING * $function$;

-- function app.settle_session(of_session uuid, end_status text, via text, confirmed boolean, failed_over boolean, declined_as text)
CREATE OR REPLACE FUNCTION app.settle_session(of_session uuid, end_status text, via text, confirmed boolean, failed_over boolean, declined_as text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session
  SET status = end_status, captured_via = via, capture_confirmed = confirmed, failover = failed_over, decline_code = declined_as, vault_token = NULL,
      browser_sealed = NULL, settled_at = app.clock(),
      phase = CASE WHEN EXISTS (SELECT FROM attempt WHERE session_id = of_session AND completed_at IS NULL) THEN 'PROCESSING' ELSE 'DONE' END
  WHERE id = of_session AND status = 'CREATED'
  RETURNING * $function$;

-- function app.settled_before()
CREATE OR REPLACE FUNCTION app.settled_before()
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$SELECT app.clock() - clock_timestamp() + min(xact_start) FROM pg_stat_activity WHERE datname = current_database()$function$;

-- function app.start_device_check(of_session uuid, of_authentication uuid, check_ms double precision)
CREATE OR REPLACE FUNCTION app.start_device_check(of_session uuid, of_authentication uuid, check_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET next_look_at = least(next_look_at, app.clock() + check_ms * interval '1 ms')
  WHERE session_id = of_session AND id = of_authentication AND status = 'METHOD';
  UPDATE payment_session SET lease_until = least(lease_until, app.clock() + check_ms * interval '1 ms')
  WHERE id = of_session AND phase = 'PROCESSING' AND awaiting_since IS NOT NULL RETURNING * $function$;

-- function app.system_identifier()
CREATE OR REPLACE FUNCTION app.system_identifier()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
BEGIN
  RETURN (SELECT system_identifier::text FROM pg_control_system());
EXCEPTION WHEN insufficient_privilege OR undefined_function THEN
  RETURN NULL;
END $function$;

-- function app.take_due_erasures(at_most integer, lease_ms double precision, gateway_lease_ms double precision)
CREATE OR REPLACE FUNCTION app.take_due_erasures(at_most integer, lease_ms double precision, gateway_lease_ms double precision)
 RETURNS SETOF card_erasure
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE card_erasure SET erase_due_at = app.clock() + CASE WHEN own_method IS NULL THEN lease_ms ELSE gateway_lease_ms END * interval '1 ms'
  WHERE handle_hash IN (
    SELECT handle_hash FROM card_erasure WHERE erase_due_at <= (SELECT app.clock()) ORDER BY erase_due_at LIMIT at_most FOR UPDATE SKIP LOCKED)
  RETURNING * $function$;

-- function app.take_due_orphan(lease_ms double precision, without_connections text[], without_gateways text[])
CREATE OR REPLACE FUNCTION app.take_due_orphan(lease_ms double precision, without_connections text[], without_gateways text[])
 RETURNS SETOF orphaned_authorization
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE orphaned_authorization o SET retries = o.retries + 1, next_retry_at = app.clock() + lease_ms * interval '1 ms'
  FROM (
    SELECT d.session_id, d.attempt_id, d.gateway_reference
    FROM orphaned_authorization d LEFT JOIN attempt a ON a.session_id = d.session_id AND a.id = d.attempt_id
    WHERE d.ended_at IS NULL AND d.next_retry_at <= (SELECT app.clock())
      AND coalesce(a.connection_id::text, '') <> ALL (without_connections) AND coalesce(a.gateway, '') <> ALL (without_gateways)
    ORDER BY d.next_retry_at, d.attempt_id LIMIT 1 FOR UPDATE OF d SKIP LOCKED) due
  WHERE (o.session_id, o.attempt_id, o.gateway_reference) = (due.session_id, due.attempt_id, due.gateway_reference)
  RETURNING o.* $function$;

-- function app.take_due_refund(lease_ms double precision, without_connections uuid[], without_gateways text[])
CREATE OR REPLACE FUNCTION app.take_due_refund(lease_ms double precision, without_connections uuid[], without_gateways text[])
 RETURNS SETOF refund
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE refund SET retries = retries + 1, next_try_at = app.clock() + lease_ms * interval '1 ms'
  WHERE (session_id, id) = (
    SELECT session_id, id FROM refund
    WHERE next_try_at <= (SELECT app.clock()) AND connection_id <> ALL (without_connections) AND gateway <> ALL (without_gateways)
    ORDER BY next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING * $function$;

-- function app.take_due_response(lease_ms double precision)
CREATE OR REPLACE FUNCTION app.take_due_response(lease_ms double precision)
 RETURNS SETOF dispute_response
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE dispute_response SET next_try_at = app.clock() + lease_ms * interval '1 ms'
  WHERE (session_id, id) = (
    SELECT session_id, id FROM dispute_response WHERE next_try_at <= (SELECT app.clock()) ORDER BY next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING * $function$;

-- function app.take_due_savings(at_most integer, lease_ms double precision)
CREATE OR REPLACE FUNCTION app.take_due_savings(at_most integer, lease_ms double precision)
 RETURNS SETOF stored_payment
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE stored_payment SET save_due_at = app.clock() + lease_ms * interval '1 ms'
  WHERE session_id IN (
    SELECT session_id FROM stored_payment WHERE saving = 'REQUESTED' AND save_due_at <= (SELECT app.clock())
    ORDER BY save_due_at LIMIT at_most FOR UPDATE SKIP LOCKED)
  RETURNING * $function$;

-- function app.take_hold_to_cancel(of_session uuid, of_merchant uuid, lease_ms double precision)
CREATE OR REPLACE FUNCTION app.take_hold_to_cancel(of_session uuid, of_merchant uuid, lease_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'PROCESSING' AND status = 'CREATED' AND held_at IS NOT NULL AND unrecorded_check_at IS NULL
    AND capture_asked_at IS NULL
  RETURNING * $function$;

-- function app.take_hold_to_capture(of_session uuid, of_merchant uuid, lease_ms double precision, capture_minor bigint)
CREATE OR REPLACE FUNCTION app.take_hold_to_capture(of_session uuid, of_merchant uuid, lease_ms double precision, capture_minor bigint)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session
  SET capture_asked_at = app.clock(), capture_due_at = NULL, lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'PROCESSING' AND status = 'CREATED' AND held_at IS NOT NULL AND unrecorded_check_at IS NULL
    AND capture_asked_at IS NULL AND held_until > app.clock() AND amount_minor >= coalesce(capture_minor, amount_minor)
  RETURNING * $function$;

-- function app.take_order(taker uuid, merchant uuid, reference text)
CREATE OR REPLACE FUNCTION app.take_order(taker uuid, merchant uuid, reference text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
END $function$;

-- function app.take_over(of_session uuid, lease_ms double precision)
CREATE OR REPLACE FUNCTION app.take_over(of_session uuid, lease_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND phase = 'PROCESSING' AND lease_until <= app.clock()
  RETURNING * $function$;

-- function app.take_over_next(lease_ms double precision)
CREATE OR REPLACE FUNCTION app.take_over_next(lease_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_session SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = (
    SELECT id FROM payment_session WHERE phase = 'PROCESSING' AND lease_until < (SELECT app.clock())
    ORDER BY lease_until LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING * $function$;

-- function app.take_recovery(of_session uuid, tries_max integer)
CREATE OR REPLACE FUNCTION app.take_recovery(of_session uuid, tries_max integer)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
END $function$;

-- function app.take_renewal(new_session uuid, of_merchant uuid, of_agreement uuid, of_renewal text, own_key bytea, hash bytea, minor bigint, in_currency text, reference text, described jsonb, secret integer, life_ms bigint, request uuid, lease_ms integer, budget_ms integer, doubt_ms integer, tries_max integer, of_method uuid, token text, token_digest bytea, rule integer, planned jsonb, skips jsonb, routed jsonb, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer, card text, is_guarded boolean)
CREATE OR REPLACE FUNCTION app.take_renewal(new_session uuid, of_merchant uuid, of_agreement uuid, of_renewal text, own_key bytea, hash bytea, minor bigint, in_currency text, reference text, described jsonb, secret integer, life_ms bigint, request uuid, lease_ms integer, budget_ms integer, doubt_ms integer, tries_max integer, of_method uuid, token text, token_digest bytea, rule integer, planned jsonb, skips jsonb, routed jsonb, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer, card text DEFAULT NULL::text, is_guarded boolean DEFAULT true)
 RETURNS TABLE(refused text, other uuid, until timestamp with time zone, attempt uuid, in_doubt boolean, entry jsonb)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  a      agreement;
  r      renewal;
  m      payment_method;
  known  record;
  at     timestamptz := date_trunc('milliseconds', app.clock());
  named  uuid;
  detail text;
BEGIN
  PERFORM app.refuse_other_timeline();
  -- A merchant that is about to move takes its renewals along.
  PERFORM FROM merchant_settings w WHERE w.merchant_id = of_merchant FOR SHARE NOWAIT;
  PERFORM app.require_home(of_merchant);
  -- Renewals of one agreement take turns, before any lock of a card.
  SELECT * INTO a FROM agreement g WHERE g.id = of_agreement AND g.merchant_id = of_merchant FOR NO KEY UPDATE;
  IF NOT FOUND THEN PERFORM app.refuse_renewal('not_found'); END IF;
  SELECT t.session_id, t.request_hash = hash AS is_same INTO known FROM renewal_try t WHERE t.agreement_id = of_agreement AND t.key_hash = own_key;
  IF FOUND THEN PERFORM app.refuse_renewal(CASE WHEN known.is_same THEN 'known' ELSE 'idempotency_key_reused' END, known.session_id); END IF;
  INSERT INTO renewal (agreement_id, renewal_ref, merchant_id) VALUES (of_agreement, of_renewal, of_merchant) ON CONFLICT DO NOTHING;
  SELECT * INTO r FROM renewal w WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal FOR UPDATE;
  SELECT * INTO m FROM payment_method p WHERE p.id = of_method;
  INSERT INTO card_state (merchant_id, fingerprint) VALUES (of_merchant, m.fingerprint) ON CONFLICT DO NOTHING;
  PERFORM FROM card_state s WHERE s.merchant_id = of_merchant AND s.fingerprint = m.fingerprint FOR UPDATE;
  PERFORM app.refuse_renewal(c.reason, c.other, c.until) FROM app.renewal_refusal(of_agreement, of_renewal, minor, in_currency, tries_max) c;
  -- Another card since this one was opened.
  IF a.method_id <> of_method THEN PERFORM app.refuse_renewal('changed'); END IF;
  -- The customer is known by the payment in which the agreement was made.
  IF is_guarded AND EXISTS (SELECT FROM blocklist_entry b WHERE b.merchant_id = of_merchant) THEN
    PERFORM app.refuse_blocked(of_merchant, m.fingerprint || string_to_array(card, ' ')::uuid[],
      (SELECT s.customer_email FROM payment_session s WHERE s.id = a.session_id), (SELECT c.consent_address FROM stored_payment c WHERE c.session_id = a.session_id), at); END IF;

  in_doubt := app.may_have_lost_renewals(a.created_at);
  named := app.renewal_name(of_agreement, of_renewal, r.tries + 1, (SELECT k.restores FROM replica_mark k));
  INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at, create_request_id,
    submit_request_id, details, customer_ref, stored, named_by, phase, lease_epoch, lease_until, submit_deadline, submitted_at, vault_token, token_hash,
    card_brand, card_last4, rule_version, plan, skipped, routed_by, unrecorded_check_at)
  SELECT new_session, of_merchant, minor, in_currency, reference, secret, at, at + life_ms * interval '1 ms', request,
    request, described, a.customer_ref, true, named, 'PROCESSING', 1, at + lease_ms * interval '1 ms',
    at + (CASE WHEN in_doubt THEN doubt_ms ELSE budget_ms END) * interval '1 ms', at, token, token_digest,
    m.brand, m.last4, rule, planned, skips, routed, CASE WHEN in_doubt THEN greatest(at, k.restored_at + interval '1 min') END
  FROM replica_mark k;
  UPDATE renewal w SET session_id = new_session, tries = r.tries + 1 WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal;
  INSERT INTO stored_payment (session_id, merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, try, method_id,
    chain_version, network, network_transaction_id, network_date, link_id, ds_trans_id, own_connection_id, own_customer, own_method)
  VALUES (new_session, of_merchant, minor, in_currency, a.customer_ref, 'RENEWAL', of_agreement, of_renewal, r.tries + 1, of_method,
    a.chain_version, a.network, a.network_transaction_id, a.network_date, a.link_id, a.ds_trans_id, a.own_connection_id, a.own_customer, a.own_method);
  INSERT INTO renewal_try (agreement_id, key_hash, renewal_ref, try, request_hash, session_id)
  VALUES (of_agreement, own_key, of_renewal, r.tries + 1, hash, new_session);
  IF connection IS NOT NULL AND NOT in_doubt THEN
    attempt := app.attempt_name(named, connection, 0);
    INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
      started_at, latest_execution_at)
    VALUES (new_session, attempt, 1, at_gateway, connection, credential, place, why, minor, in_currency, at, at + execution_ms * interval '1 ms');
  END IF;
  RETURN NEXT;
EXCEPTION WHEN SQLSTATE 'LL004' OR SQLSTATE 'LL007' THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  refused := SQLERRM;
  other := (detail::json ->> 'other')::uuid;
  until := (detail::json ->> 'until')::timestamptz;
  entry := CASE WHEN SQLSTATE = 'LL004' THEN detail::jsonb END;
  attempt := NULL;
  RETURN NEXT;
END $function$;

-- function app.terms_of(a agreement)
CREATE OR REPLACE FUNCTION app.terms_of(a agreement)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT jsonb_strip_nulls(jsonb_build_object('type', a.type, 'text', a.text, 'everyDays', a.every_days, 'endsOn', a.ends_on, 'instalments', a.instalments,
    'maxAmountMinor', a.max_amount_minor)) $function$;

-- function app.timeline()
CREATE OR REPLACE FUNCTION app.timeline()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) $function$;

-- function app.uncount_try(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION app.uncount_try(of_session uuid, of_attempt uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM card_decline d USING stored_payment p JOIN payment_method m ON m.id = p.method_id
  WHERE p.session_id = of_session AND p.role = 'RENEWAL' AND d.merchant_id = m.merchant_id AND d.fingerprint = m.fingerprint AND d.attempt_id = of_attempt;
END $function$;

-- function app.unset_capture_failed(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION app.unset_capture_failed(of_session uuid, of_attempt uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt a
  SET capture_failed_at = NULL,
      capture_failed_before_at = CASE WHEN a.capture_failed_at < today THEN a.capture_failed_at ELSE a.capture_failed_before_at END,
      capture_stands_at = CASE WHEN a.capture_failed_at < today THEN app.clock() ELSE a.capture_stands_at END
  FROM date_trunc('day', app.clock(), 'UTC') AS today
  WHERE a.session_id = of_session AND a.id = of_attempt AND (a.capture_failed_at >= today OR a.capture_failed_at < today AND a.capture_stands_at IS NULL)
  RETURNING a.* $function$;

-- function app.update_order(of_session uuid)
CREATE OR REPLACE FUNCTION app.update_order(of_session uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
END $function$;

-- function app.use_action_ticket(of_session uuid, of_authentication uuid, hash bytea, shown_max integer)
CREATE OR REPLACE FUNCTION app.use_action_ticket(of_session uuid, of_authentication uuid, hash bytea, shown_max integer)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE authentication SET ticket_hash = NULL, shown_count = shown_count + 1, shown_at = coalesce(shown_at, app.clock())
  WHERE session_id = of_session AND id = of_authentication AND ticket_hash = hash AND status IN ('METHOD','AWAITING_CUSTOMER')
    AND shown_count < CASE WHEN flow = 'CHALLENGE' THEN 1 ELSE shown_max END
  RETURNING * $function$;

-- function app.use_stored_card(of_session uuid, method uuid, token_hash bytea)
CREATE OR REPLACE FUNCTION app.use_stored_card(of_session uuid, method uuid, token_hash bytea)
 RETURNS SETOF stored_payment
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  -- A submission at this moment comes first or later, and never between.
  PERFORM FROM payment_session WHERE id = of_session AND phase = 'IDLE' AND expires_at > app.clock() FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY UPDATE stored_payment p SET method_id = method, opened_token_hash = token_hash,
      opened_hashes = p.opened_hashes || token_hash, opened_methods = p.opened_methods || method
    WHERE p.session_id = of_session AND p.saving IS NULL AND p.role IN ('SAVE','CUSTOMER','RECOVERY')
      -- Whoever has a link pays with the card of its agreement, or with another one that they know.
      AND (p.role <> 'RECOVERY' OR EXISTS (SELECT FROM agreement a WHERE a.id = p.agreement_id AND a.method_id = method))
      AND EXISTS (SELECT FROM payment_method m WHERE m.id = method AND m.merchant_id = p.merchant_id AND m.customer_ref = p.customer_ref AND m.status = 'ACTIVE')
    RETURNING p.*;
END $function$;

-- function app.void_unknown_attempts(of_session uuid)
CREATE OR REPLACE FUNCTION app.void_unknown_attempts(of_session uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt SET status = 'VOIDING', retries = 0, next_retry_at = NULL WHERE session_id = of_session AND status = 'UNKNOWN' RETURNING * $function$;

-- function app.wake_session(of_session uuid)
CREATE OR REPLACE FUNCTION app.wake_session(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  RETURN QUERY UPDATE payment_session SET lease_until = app.clock()
    WHERE id = of_session AND phase = 'PROCESSING' AND lease_until > app.clock()
      AND EXISTS (SELECT FROM attempt WHERE session_id = of_session AND next_retry_at > app.clock())
      AND NOT EXISTS (SELECT FROM attempt WHERE session_id = of_session AND status = 'AUTHORIZING')
    RETURNING *;
  IF FOUND THEN
    UPDATE attempt SET next_retry_at = app.clock() WHERE session_id = of_session AND next_retry_at > app.clock(); END IF;
END $function$;

-- function app.withdraw_decision(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION app.withdraw_decision(of_session uuid, of_attempt uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE attempt
  SET decision = NULL, decision_reference = NULL, decision_amount_minor = NULL, decision_reason = NULL, decided_by = NULL, decided_at = NULL,
      decision_takes_two = NULL, decision_confirmed_by = NULL, decision_confirmed_at = NULL
  WHERE session_id = of_session AND id = of_attempt RETURNING * $function$;

-- function app.write_orders(of_merchant uuid, orders jsonb)
CREATE OR REPLACE FUNCTION app.write_orders(of_merchant uuid, orders jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  DELETE FROM app.order_winner w WHERE w.merchant_id = of_merchant;
  INSERT INTO app.order_winner (merchant_id, order_ref, session_id)
  SELECT of_merchant, o.order_ref, o.session_id FROM jsonb_populate_recordset(NULL::app.order_winner, orders) o;
END $function$;

-- function app.write_stored_cards(of_merchant uuid, cards jsonb)
CREATE OR REPLACE FUNCTION app.write_stored_cards(of_merchant uuid, cards jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
DECLARE one text;
BEGIN
  IF EXISTS (SELECT FROM jsonb_each(cards) t, jsonb_array_elements(t.value) r WHERE t.key <> 'renewal_try' AND (r ->> 'merchant_id')::uuid IS DISTINCT FROM of_merchant)
     OR EXISTS (SELECT FROM jsonb_array_elements(cards -> 'renewal_try') r
                WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(cards -> 'agreement') a WHERE a ->> 'id' = r ->> 'agreement_id')) THEN
    PERFORM app.refuse('a merchant''s cards move with their merchant alone'); END IF;
  FOREACH one IN ARRAY ARRAY['card_decline','card_state','recovery_link','renewal_try','renewal','agreement','card_erasure','payment_method'] LOOP
    EXECUTE format('DELETE FROM %I WHERE %s', one, app.of_merchant(one)) USING of_merchant;
  END LOOP;
  FOREACH one IN ARRAY app.card_tables() LOOP
    EXECUTE format('INSERT INTO %1$I SELECT * FROM jsonb_populate_recordset(NULL::%1$I, $1)', one) USING cards -> one;
  END LOOP;
END $function$;

-- function partitions.ask_for_capture(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.ask_for_capture_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET capture_asked_at = app.clock(), capture_due_at = NULL
  WHERE id = of_session AND capture_asked_at IS NULL RETURNING * $function$;

-- function partitions.ask_for_link(new_session uuid, of_link uuid, secret integer, tries_max integer)
CREATE OR REPLACE FUNCTION partitions.ask_for_link_rest(new_session uuid, of_link uuid, secret integer, tries_max integer)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
END $function$;

-- function partitions.begin_chain(of_session uuid, at_network text, network_id text, link text, connection uuid, customer text, method text)
CREATE OR REPLACE FUNCTION partitions.begin_chain_rest(of_session uuid, at_network text, network_id text, link text, connection uuid, customer text, method text)
 RETURNS SETOF stored_payment
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE payment_method m SET last_used_at = app.clock() FROM partitions.stored_payment_rest p WHERE p.session_id = of_session AND m.id = p.method_id;
  UPDATE partitions.stored_payment_rest
  SET network = at_network, network_transaction_id = network_id, network_date = CASE WHEN network_id IS NOT NULL THEN (app.clock() AT TIME ZONE 'UTC')::date END,
      link_id = link, own_connection_id = connection, own_customer = customer, own_method = method
  WHERE session_id = of_session AND role <> 'RENEWAL'
  RETURNING * $function$;

-- function partitions.begin_challenge(of_session uuid, of_authentication uuid, action text, kept text, look_ms double precision, message text)
CREATE OR REPLACE FUNCTION partitions.begin_challenge_rest(of_session uuid, of_authentication uuid, action text, kept text, look_ms double precision, message text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest
  SET status = 'AWAITING_CUSTOMER', flow = 'CHALLENGE', action_sealed = action, keep_sealed = kept, next_look_at = app.clock() + look_ms * interval '1 ms',
      message_sealed = message
  WHERE session_id = of_session AND id = of_authentication AND status = 'REQUESTING' RETURNING * $function$;

-- function partitions.begin_completion(of_session uuid, of_authentication uuid)
CREATE OR REPLACE FUNCTION partitions.begin_completion_rest(of_session uuid, of_authentication uuid)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest
  SET status = 'CONFIRMING', completions_sent = completions_sent + 1, answered_at = app.clock(), ticket_hash = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' AND cancel_asked_at IS NULL RETURNING * $function$;

-- function partitions.begin_device_check(of_session uuid, of_authentication uuid, action text, kept text, wait_ms double precision)
CREATE OR REPLACE FUNCTION partitions.begin_device_check_rest(of_session uuid, of_authentication uuid, action text, kept text, wait_ms double precision)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest
  SET status = 'METHOD', action_sealed = action, keep_sealed = kept, next_look_at = least(deadline_at, app.clock() + wait_ms * interval '1 ms')
  WHERE session_id = of_session AND id = of_authentication AND status = 'PREPARING' RETURNING * $function$;

-- function partitions.begin_hold(of_session uuid, gone_at timestamp with time zone, margin_ms double precision, due_ms double precision)
CREATE OR REPLACE FUNCTION partitions.begin_hold_rest(of_session uuid, gone_at timestamp with time zone, margin_ms double precision, due_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest s
  SET held_at = h.now, held_until = h.until, vault_token = NULL, browser_sealed = NULL,
      capture_due_at = CASE WHEN h.until > h.now + due_ms * interval '1 ms' THEN h.until - due_ms * interval '1 ms' END
  FROM (
    SELECT o.id, n.now, greatest(n.now, least(o.capture_by, gone_at - least(margin_ms * interval '1 ms', (gone_at - n.now) / 2))) AS until
    FROM partitions.payment_session_rest o, LATERAL (SELECT app.clock() AS now) n WHERE o.id = of_session) h
  WHERE s.id = of_session AND h.id = s.id AND s.held_at IS NULL
  RETURNING s.* $function$;

-- function partitions.begin_provider_request(of_session uuid, of_authentication uuid, from_status text, kept text)
CREATE OR REPLACE FUNCTION partitions.begin_provider_request_rest(of_session uuid, of_authentication uuid, from_status text, kept text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest
  SET status = 'REQUESTING', keep_sealed = kept, action_sealed = NULL, ticket_hash = NULL, shown_at = NULL, shown_count = 0, answered_at = NULL, next_look_at = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $function$;

-- function partitions.begin_wait(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.begin_wait_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET awaiting_since = app.clock() WHERE id = of_session RETURNING * $function$;

-- function partitions.cancel_action(of_session uuid, of_authentication uuid)
CREATE OR REPLACE FUNCTION partitions.cancel_action_rest(of_session uuid, of_authentication uuid)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET cancel_asked_at = app.clock()
  WHERE session_id = of_session AND id = of_authentication AND cancel_asked_at IS NULL
    AND (status = 'AWAITING_CUSTOMER' OR provider IS NOT NULL AND status IN ('METHOD','REQUESTING')) RETURNING * $function$;

-- function partitions.captured(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, public_attempt text, via text, confirmed boolean, failed_over boolean, reference text, network text, lease_ms integer, unused_ms integer, event uuid, public_event text, event_body text, overdue_ms integer)
CREATE OR REPLACE FUNCTION partitions.captured_rest(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, public_attempt text, via text, confirmed boolean, failed_over boolean, reference text, network text, lease_ms integer, unused_ms integer, event uuid, public_event text, event_body text, overdue_ms integer)
 RETURNS TABLE(ended_at timestamp with time zone, event_sequence integer, event_bytes bytea)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s    record;
  a    record;
  last xid8;
  at   timestamptz;
BEGIN
  SELECT id, merchant_id, amount_minor, status, winner_attempt_id, manual_capture, capture_asked_at, authentications, lease_until INTO s
  FROM partitions.payment_session_rest WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN PERFORM app.lost('the lease was taken over'); END IF;
  at := date_trunc('milliseconds', app.clock());
  SELECT connection_id, gateway, capture_ordered_at, captured_amount_minor, decision_amount_minor, decision_confirmed_at INTO a
  FROM partitions.attempt_rest WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZED';
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  IF EXISTS (SELECT FROM gateway_notification WHERE connection_id = a.connection_id AND attempt_reference = public_attempt
             AND kind IN ('captured','already_captured','capture_failed','voided'))
     OR EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = of_session AND id <> attempt AND changed_at > read_at) THEN
    RETURN; END IF;
  IF s.status <> 'CREATED' THEN PERFORM app.refuse('a final status never changes'); END IF;
  IF s.winner_attempt_id IS DISTINCT FROM attempt THEN PERFORM app.refuse('only the authorized winner is captured'); END IF;
  IF a.capture_ordered_at IS NULL OR s.manual_capture AND s.capture_asked_at IS NULL THEN PERFORM app.refuse('only an ordered capture is CAPTURED'); END IF;
  IF a.decision_confirmed_at IS NOT NULL AND a.decision_amount_minor <> a.captured_amount_minor THEN
    PERFORM app.refuse('the amount that a person has seen captured is the one that is recorded'); END IF;
  IF a.gateway <> via THEN PERFORM app.refuse('the money was captured at the winner''s gateway'); END IF;
  UPDATE partitions.attempt_rest
  SET status = 'CAPTURED', capture_reference = coalesce(capture_reference, reference), network_transaction_id = coalesce(network, network_transaction_id),
      completed_at = at, changed_at = at
  WHERE session_id = of_session AND id = attempt;
  SELECT bool_or(status IN ('UNKNOWN','AUTHORIZING','AWAITING_CUSTOMER')) AS has_undecided, bool_or(completed_at IS NULL) AS has_open INTO a
  FROM partitions.attempt_rest WHERE session_id = of_session AND id <> attempt;
  IF a.has_undecided THEN PERFORM app.refuse('unknown attempts go to VOIDING with the winner or the end'); END IF;
  IF s.authentications > 0 THEN
    IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = of_session AND completed_at IS NULL) THEN
      PERFORM app.refuse('no end while an authentication is open'); END IF;
    UPDATE partitions.authentication_rest SET proof_sealed = NULL WHERE session_id = of_session AND proof_sealed IS NOT NULL;
  END IF;
  UPDATE partitions.payment_session_rest
  SET status = 'SUCCEEDED', captured_via = via, capture_confirmed = confirmed, failover = failed_over, vault_token = NULL, browser_sealed = NULL,
      settled_at = at, phase = CASE WHEN a.has_open THEN 'PROCESSING' ELSE 'DONE' END,
      lease_until = CASE WHEN a.has_open AND lease_until <= at + unused_ms * interval '1 ms' THEN at + lease_ms * interval '1 ms' ELSE lease_until END
  WHERE id = of_session;
  ended_at := at;
  SELECT coalesce(max(sequence), 0) + 1, max(feed_position) INTO event_sequence, last FROM partitions.outbox_event_rest WHERE session_id = of_session;
  event_bytes := convert_to(replace(replace(replace(event_body,
    format('"%s:time"', public_event), to_json(to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text),
    format('"%s:settled"', public_event), to_json(app.public_time(at))::text), format('"%s:sequence"', public_event), event_sequence::text), 'UTF8');
  INSERT INTO partitions.outbox_event_rest (session_id, id, sequence, type, merchant_id, body, created_at, feed_position)
  VALUES (of_session, event, event_sequence, CASE s.amount_minor WHEN 0 THEN 'setup_session.succeeded' ELSE 'payment_session.succeeded' END, s.merchant_id, event_bytes, at, greatest(pg_current_xact_id(), last));
  INSERT INTO event_todo (session_id, sequence, created_at, due_at) VALUES (of_session, event_sequence, at, at + overdue_ms * interval '1 ms');
  RETURN NEXT;
END $function$;

-- function partitions.check_awaiting(checked uuid)
CREATE OR REPLACE FUNCTION partitions.check_awaiting_rest(checked uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE one record;
BEGIN
  SELECT s.awaiting_since IS NOT NULL AS waits, s.authentications,
    (SELECT count(*) FROM partitions.authentication_rest t WHERE t.session_id = checked) AS counted,
    (SELECT count(*) FROM partitions.authentication_rest t WHERE t.session_id = checked AND t.status IN ('METHOD','AWAITING_CUSTOMER')) AS open,
    (SELECT count(*) FROM partitions.authentication_rest t WHERE t.session_id = checked AND t.provider IS NULL AND t.status = 'AWAITING_CUSTOMER') AS within,
    (SELECT count(*) FROM partitions.attempt_rest a WHERE a.session_id = checked AND a.status = 'AWAITING_CUSTOMER') AS awaiting,
    (SELECT count(*) FROM partitions.authentication_rest t JOIN partitions.attempt_rest a ON a.session_id = t.session_id AND a.id = t.attempt_id
     WHERE t.session_id = checked AND a.session_id = checked AND (
       (t.status = 'AWAITING_CUSTOMER') <> (a.status = 'AWAITING_CUSTOMER') OR (t.status = 'CONFIRMING') <> (a.status = 'AUTHORIZING'))) AS apart
  INTO one FROM partitions.payment_session_rest s WHERE s.id = checked;
  IF one.apart > 0 OR one.within <> one.awaiting THEN PERFORM app.refuse('an attempt and its authentication change together'); END IF;
  IF one.waits <> (one.open > 0) THEN PERFORM app.refuse('a session waits exactly while an action is open'); END IF;
  IF one.authentications <> one.counted THEN PERFORM app.refuse('a session counts its authentications'); END IF;
END $function$;

-- function partitions.check_awaiting_row()
CREATE OR REPLACE FUNCTION partitions.check_awaiting_row_rest()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM partitions.check_awaiting_rest(NEW.session_id);
  RETURN NULL;
END $function$;

-- function partitions.check_whole(checked uuid)
CREATE OR REPLACE FUNCTION partitions.check_whole_rest(checked uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE one record;
BEGIN
  SELECT s.status, s.phase, s.winner_attempt_id, bool_or(a.holds AND a.id IS DISTINCT FROM s.winner_attempt_id) AS has_other_hold,
    bool_or(a.captured) AS has_capture, bool_or(a.status = 'UNKNOWN') AS has_unknown, bool_or(a.status IN ('AUTHORIZING','AWAITING_CUSTOMER')) AS has_authorizing,
    bool_or(a.completed_at IS NULL) AS has_open, s.manual_capture, s.held_at, s.capture_asked_at,
    bool_or(a.capture_ordered_at IS NOT NULL) AS has_order INTO one
  FROM partitions.payment_session_rest s JOIN partitions.attempt_rest a ON a.session_id = s.id WHERE s.id = checked AND a.session_id = checked
  GROUP BY s.id, s.status, s.phase, s.winner_attempt_id, s.manual_capture, s.held_at, s.capture_asked_at;
  IF one.has_other_hold THEN PERFORM app.refuse('an authorized attempt is the winner'); END IF;
  IF one.has_capture AND one.status <> 'SUCCEEDED' THEN PERFORM app.refuse('a captured attempt means SUCCEEDED'); END IF;
  IF one.has_unknown AND (one.winner_attempt_id IS NOT NULL OR one.status <> 'CREATED') THEN
    PERFORM app.refuse('unknown attempts go to VOIDING with the winner or the end'); END IF;
  IF one.has_authorizing AND one.status <> 'CREATED' THEN PERFORM app.refuse('no end while an attempt is AUTHORIZING'); END IF;
  IF one.has_open AND one.phase = 'DONE' THEN PERFORM app.refuse('DONE means that every attempt is final'); END IF;
  IF one.manual_capture THEN
    IF one.winner_attempt_id IS NOT NULL AND one.held_at IS NULL THEN PERFORM app.refuse('a winner that is captured later is held'); END IF;
    IF one.held_at IS NOT NULL AND one.capture_asked_at IS NULL AND one.winner_attempt_id IS NULL AND one.status = 'CREATED' THEN
      PERFORM app.refuse('a hold without an order ends with its session'); END IF;
    IF (one.capture_asked_at IS NOT NULL) <> one.has_order THEN PERFORM app.refuse('a capture has its order and the time of it together'); END IF;
  END IF;
END $function$;

-- function partitions.check_whole_attempt()
CREATE OR REPLACE FUNCTION partitions.check_whole_attempt_rest()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF TG_OP = 'INSERT' OR (OLD.status, OLD.completed_at) IS DISTINCT FROM (NEW.status, NEW.completed_at) THEN
    PERFORM partitions.check_whole_rest(NEW.session_id); END IF;
  -- A hold frees its order with the order to void it, unless a capture of it was ordered: that may land until it is voided.
  IF TG_OP = 'UPDATE' AND (OLD.capture_failed_at IS DISTINCT FROM NEW.capture_failed_at
     OR NEW.status <> OLD.status AND NEW.status = (CASE WHEN NEW.capture_ordered_at IS NULL THEN 'VOIDING' ELSE 'VOIDED' END)) THEN
    PERFORM app.update_order(NEW.session_id); END IF;
  IF TG_OP = 'UPDATE' AND OLD.status <> NEW.status AND 'AWAITING_CUSTOMER' IN (OLD.status, NEW.status) THEN
    PERFORM partitions.check_awaiting_rest(NEW.session_id); END IF;
  RETURN NULL;
END $function$;

-- function partitions.check_whole_session()
CREATE OR REPLACE FUNCTION partitions.check_whole_session_rest()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF (OLD.status, OLD.phase, OLD.winner_attempt_id, OLD.capture_asked_at)
     IS DISTINCT FROM (NEW.status, NEW.phase, NEW.winner_attempt_id, NEW.capture_asked_at) THEN
    PERFORM partitions.check_whole_rest(NEW.id); END IF;
  IF NEW.awaiting_since IS DISTINCT FROM OLD.awaiting_since THEN PERFORM partitions.check_awaiting_rest(NEW.id); END IF;
  RETURN NULL;
END $function$;

-- function partitions.claim(of_session uuid, lease_ms integer, budget_ms integer, token text, hash bytea, rule integer, planned jsonb, skips jsonb, request uuid, routed jsonb, browser text, attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer, card text, address inet, is_guarded boolean, is_counted boolean, submissions_max integer, declines_max integer, network cidr, network_max integer, braked text, settings text, by_wallet text)
CREATE OR REPLACE FUNCTION partitions.claim_rest(of_session uuid, lease_ms integer, budget_ms integer, token text, hash bytea, rule integer, planned jsonb, skips jsonb, request uuid, routed jsonb, browser text, attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer, card text, address inet, is_guarded boolean, is_counted boolean, submissions_max integer, declines_max integer, network cidr, network_max integer, braked text, settings text DEFAULT NULL::text, by_wallet text DEFAULT NULL::text)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s  payment_session;
  c  record;
  at timestamptz := date_trunc('milliseconds', app.clock());
  versions uuid[] := string_to_array(card, ' ');
  added    int;
  entry    text;
  -- The credential, the rule for its second use, and the wallet if it is known.
  paid_by  text[] := string_to_array(by_wallet, ' ');
BEGIN
  PERFORM app.refuse_other_timeline();
  UPDATE partitions.payment_session_rest
  SET phase = 'PROCESSING', lease_epoch = lease_epoch + 1, lease_until = at + lease_ms * interval '1 ms', submit_deadline = at + budget_ms * interval '1 ms',
      submitted_at = at, vault_token = token, token_hash = hash, rule_version = rule, plan = planned, skipped = skips, submit_request_id = request,
      routed_by = routed, browser_sealed = browser, brakes = string_to_array(braked, ' '), card_fingerprint = versions[1],
      customer_network = network(set_masklen(address, CASE family(address) WHEN 6 THEN 48 ELSE 24 END)),
      wallet_credential = paid_by[1], cryptogram_resend = paid_by[2], wallet = paid_by[3]
  WHERE id = of_session AND phase = 'IDLE' AND expires_at > at
  RETURNING * INTO s;
  IF NOT FOUND THEN PERFORM app.lost('the session cannot be claimed'); END IF;
  IF (CASE left(token, 4) WHEN 'wnt_' THEN 'NETWORK_TOKEN' WHEN 'wpn_' THEN 'PAN' END) IS DISTINCT FROM paid_by[1] THEN
    PERFORM app.refuse('a wallet''s token is claimed as what it is'); END IF;
  IF by_wallet IS NOT NULL THEN PERFORM app.require_wallet(s); END IF;
  IF settings IS NOT NULL AND NOT EXISTS (
       SELECT FROM merchant_settings m WHERE m.merchant_id = s.merchant_id AND array_to_string(m.publishable_key || m.checkout_origins, ' ') = settings
         AND (s.allow_repeated_order OR m.repeated_orders <> 'REFUSE'
           OR NOT EXISTS (SELECT FROM app.order_winner w WHERE w.merchant_id = s.merchant_id AND w.order_ref = s.order_ref))) THEN
    PERFORM app.lost('the settings have changed'); END IF;
  IF is_guarded AND EXISTS (SELECT FROM blocklist_entry b WHERE b.merchant_id = s.merchant_id) THEN
    PERFORM app.refuse_blocked(s.merchant_id, versions, s.customer_email, address, at); END IF;
  IF is_guarded AND is_counted THEN
    -- The first submission of a card is one row. Another one at the same moment waits for it here.
    INSERT INTO card_submission (fingerprint, nth, session_id, submitted_at, merchant_id, network)
    SELECT one, 1, of_session, at, s.merchant_id, CASE WHEN one = versions[1] THEN network END FROM unnest(versions) one ORDER BY one ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
  END IF;
  IF added < cardinality(versions) THEN
    PERFORM FROM card_submission WHERE fingerprint = ANY (versions) AND nth = 1 ORDER BY fingerprint FOR UPDATE;
    SELECT coalesce(max(hour), 0) AS submissions, coalesce(max(declined + undecided), 0) AS tries INTO c FROM (
      SELECT count(*) FILTER (WHERE submitted_at > at - interval '1 hour') AS hour, coalesce(sum(declines), 0) AS declined,
        count(*) FILTER (WHERE declines IS NULL AND submitted_at > at - interval '1 hour') AS undecided
      FROM card_submission WHERE fingerprint = ANY (versions) AND submitted_at > at - interval '1 day' AND session_id <> of_session
      GROUP BY fingerprint) by_version;
    IF c.submissions >= submissions_max THEN PERFORM app.brake('submissions'); END IF;
    -- Only now it matters which of them may still be declined.
    IF c.tries >= declines_max THEN
      SELECT max(tries) AS tries INTO c FROM (
        SELECT sum(coalesce(p.declines, CASE WHEN p.submitted_at > at - interval '1 hour'
            AND (x.id IS NULL OR x.status = 'CREATED' AND x.winner_attempt_id IS NULL AND x.held_at IS NULL) THEN 1 ELSE 0 END)) AS tries
        FROM card_submission p LEFT JOIN partitions.payment_session_rest x ON x.id = p.session_id
        WHERE p.fingerprint = ANY (versions) AND p.submitted_at > at - interval '1 day' AND p.session_id <> of_session
        GROUP BY p.fingerprint) by_version;
      IF c.tries >= declines_max THEN PERFORM app.brake('declines'); END IF;
    END IF;
    INSERT INTO card_submission (fingerprint, nth, session_id, submitted_at, merchant_id, network)
    SELECT fingerprint, max(nth) + 1, of_session, at, s.merchant_id, CASE WHEN fingerprint = versions[1] THEN network END
    FROM card_submission WHERE fingerprint = ANY (versions)
    GROUP BY fingerprint HAVING bool_and(session_id <> of_session);
  END IF;
  -- Few networks have so many declined cards that their other cards are counted too.
  IF is_guarded AND is_counted AND network IS NOT NULL AND network_max IS NOT NULL THEN
    IF (SELECT count(*) >= network_max FROM (
          SELECT DISTINCT p.fingerprint FROM card_submission p WHERE p.merchant_id = s.merchant_id AND p.network = network AND p.declines IS NOT NULL
            AND p.submitted_at > at - interval '1 hour' LIMIT network_max) declined)
       AND (SELECT 2 * count(DISTINCT p.fingerprint) FILTER (WHERE p.declines IS NOT NULL) >= count(DISTINCT p.fingerprint) FROM card_submission p
            WHERE p.merchant_id = s.merchant_id AND p.network = network AND p.submitted_at > at - interval '1 hour' AND p.session_id <> of_session) THEN
      PERFORM app.brake('network'); END IF;
  END IF;
  IF attempt IS NOT NULL THEN
    INSERT INTO partitions.attempt_rest (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
      started_at, changed_at, latest_execution_at)
    VALUES (s.id, attempt, 1, at_gateway, connection, credential, place, why, s.amount_minor, s.currency, at, at, at + execution_ms * interval '1 ms');
    IF s.stored THEN PERFORM app.guard_stored_attempt(s.id, attempt, connection, 0); END IF;
  END IF;
  RETURN NEXT s;
EXCEPTION WHEN SQLSTATE 'LL001' OR SQLSTATE 'LL003' OR SQLSTATE 'LL004' THEN
  GET STACKED DIAGNOSTICS entry = PG_EXCEPTION_DETAIL;
  s := NULL;
  s.decline_code := SQLERRM;
  s.skipped := nullif(entry, '')::jsonb;
  RETURN NEXT s;
END $function$;

-- function partitions.claim_stored(of_session uuid, token text, handle text, hash bytea, template text, locale text, address inet, agent text, due_ms double precision, life_ms double precision)
CREATE OR REPLACE FUNCTION partitions.claim_stored_rest(of_session uuid, token text, handle text, hash bytea, template text, locale text, address inet, agent text, due_ms double precision, life_ms double precision)
 RETURNS SETOF stored_payment
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s record;
  p stored_payment;
  is_opened boolean;
BEGIN
  SELECT s1.token_hash, s1.submitted_at INTO s FROM partitions.payment_session_rest s1 WHERE s1.id = of_session AND s1.phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO p FROM partitions.stored_payment_rest p1 WHERE p1.session_id = of_session FOR UPDATE;
  -- The token may be of a card that was chosen before another one.
  p.method_id := p.opened_methods[array_position(p.opened_hashes, s.token_hash)];
  is_opened := p.method_id IS NOT NULL;
  p.opened_token_hash := CASE WHEN is_opened THEN s.token_hash END;
  -- LL006: deleted, stopped or hidden since it was opened (src/core/stored-cards/claim-stored.ts).
  IF is_opened AND NOT EXISTS (SELECT FROM payment_method m WHERE m.id = p.method_id AND m.status = 'ACTIVE' AND m.stopped_because IS NULL
                    AND app.is_card_usable(m.merchant_id, m.fingerprint)) THEN
    RAISE EXCEPTION 'the stored card cannot be used any more' USING ERRCODE = 'LL006';
  END IF;
  IF p.role IN ('SAVE','RECOVERY','SETUP') THEN
    IF p.terms IS NOT NULL AND template IS NULL THEN PERFORM app.refuse('an agreement needs the customer''s consent'); END IF;
    IF p.role = 'SETUP' AND template IS NULL THEN PERFORM app.refuse('a set-up needs the customer''s consent'); END IF;
    -- A card that is stored already is not stored again; its agreement is made.
    p.saving := CASE WHEN template IS NULL OR is_opened AND p.terms IS NULL THEN 'NOT_WANTED' ELSE 'REQUESTED' END;
    IF template IS NOT NULL THEN
      p.consent_template := template; p.consent_locale := locale; p.consented_at := s.submitted_at;
      p.consent_address := address; p.consent_user_agent := agent;
    END IF;
    IF p.saving = 'REQUESTED' THEN
      p.save_due_at := s.submitted_at + due_ms * interval '1 ms'; p.save_until := s.submitted_at + life_ms * interval '1 ms';
      IF NOT is_opened THEN p.token_sealed := token; p.handle_sealed := handle; p.handle_hash := hash; END IF;
    END IF;
  END IF;
  RETURN QUERY UPDATE partitions.stored_payment_rest o
    SET (method_id, opened_token_hash, saving, consent_template, consent_locale, consented_at, consent_address, consent_user_agent, save_due_at, save_until,
         token_sealed, handle_sealed, handle_hash, opened_hashes, opened_methods)
      = (p.method_id, p.opened_token_hash, p.saving, p.consent_template, p.consent_locale, p.consented_at, p.consent_address, p.consent_user_agent,
         p.save_due_at, p.save_until, p.token_sealed, p.handle_sealed, p.handle_hash, '{}', '{}')
    WHERE o.session_id = of_session RETURNING o.*;
END $function$;

-- function partitions.clear_proofs(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.clear_proofs_rest(of_session uuid)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET proof_sealed = NULL WHERE session_id = of_session AND proof_sealed IS NOT NULL RETURNING * $function$;

-- function partitions.clear_winner(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.clear_winner_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET winner_attempt_id = NULL WHERE id = of_session RETURNING * $function$;

-- function partitions.close_session(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.close_session_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET phase = 'DONE' WHERE id = of_session AND phase = 'PROCESSING' AND status <> 'CREATED' RETURNING * $function$;

-- function partitions.confirm_capture(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.confirm_capture_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET capture_confirmed = true WHERE id = of_session RETURNING * $function$;

-- function partitions.confirm_decision(of_session uuid, of_attempt uuid, person text)
CREATE OR REPLACE FUNCTION partitions.confirm_decision_rest(of_session uuid, of_attempt uuid, person text)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest SET decision_confirmed_by = person, decision_confirmed_at = app.clock()
  WHERE session_id = of_session AND id = of_attempt RETURNING * $function$;

-- function partitions.count_completion(of_session uuid, of_authentication uuid, sent integer)
CREATE OR REPLACE FUNCTION partitions.count_completion_rest(of_session uuid, of_authentication uuid, sent integer)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET completions_sent = completions_sent + 1
  WHERE session_id = of_session AND id = of_authentication AND status = 'CONFIRMING' AND completions_sent = sent RETURNING * $function$;

-- function partitions.create_session(new_session uuid, merchant uuid, amount bigint, in_currency text, reference text, email text, secret integer, life_ms bigint, request uuid, described jsonb, later boolean, later_by timestamp with time zone, repeated boolean, customer text, storing jsonb, own_key text, hash bytea, answer text, key_life_ms bigint)
CREATE OR REPLACE FUNCTION partitions.create_session_rest(new_session uuid, merchant uuid, amount bigint, in_currency text, reference text, email text, secret integer, life_ms bigint, request uuid, described jsonb, later boolean, later_by timestamp with time zone, repeated boolean, customer text, storing jsonb, own_key text, hash bytea, answer text, key_life_ms bigint)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  at timestamptz := app.clock();
BEGIN
  -- A set-up is of 0; its row of stored_payment holds it to that (S12).
  IF amount NOT BETWEEN (storing ->> 'role' IS DISTINCT FROM 'SETUP')::int AND 999999999999 THEN PERFORM app.refuse('an amount is between 1 and 999999999999 minor units'); END IF;
  IF in_currency !~ '^[A-Z]{3}$' THEN PERFORM app.refuse('a currency is three capital letters'); END IF;
  IF char_length(reference) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('an order reference has 1 to 255 characters'); END IF;
  IF char_length(email) NOT BETWEEN 3 AND 254 THEN PERFORM app.refuse('an email address has 3 to 254 characters'); END IF;
  IF life_ms <= 0 THEN PERFORM app.refuse('a session expires after it was created'); END IF;
  IF NOT later AND later_by IS NOT NULL THEN PERFORM app.refuse('only a payment that is captured later is held'); END IF;
  IF later_by <= at + life_ms * interval '1 ms' THEN PERFORM app.refuse('a capture comes after the submission'); END IF;
  IF char_length(customer) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('a customer reference has 1 to 255 characters'); END IF;
  IF own_key IS NOT NULL THEN
    -- The row of an expired key is overwritten, and its session stays as it is. A cell that the merchant has left creates nothing, and
    -- the other one answers keys of this one by reading them.
    INSERT INTO idempotency AS i (merchant_id, key, request_hash, session_id, answer_sealed, expires_at)
    SELECT merchant, own_key, hash, new_session, answer, at + key_life_ms * interval '1 ms'
    WHERE NOT EXISTS (SELECT FROM merchant_settings m WHERE m.merchant_id = merchant AND m.moved_to IS NOT NULL)
    ON CONFLICT (merchant_id, key) DO UPDATE
      SET request_hash = EXCLUDED.request_hash, session_id = EXCLUDED.session_id, answer_sealed = EXCLUDED.answer_sealed, expires_at = EXCLUDED.expires_at
      WHERE i.expires_at <= at;
    IF NOT FOUND THEN RETURN; END IF;
  END IF;
  RETURN QUERY
    INSERT INTO partitions.payment_session_rest AS s (id, merchant_id, amount_minor, currency, order_ref, customer_email, secret_version, created_at,
      expires_at, create_request_id, details, manual_capture, capture_by, allow_repeated_order, customer_ref, stored)
    VALUES (new_session, merchant, amount, in_currency, reference, email, secret, at, at + life_ms * interval '1 ms', request, described, later, later_by, repeated,
      customer, customer IS NOT NULL)
    RETURNING s.*;
  IF customer IS NOT NULL THEN
    INSERT INTO partitions.stored_payment_rest (session_id, merchant_id, amount_minor, currency, customer_ref, role, security_code, terms, agreement_id)
    VALUES (new_session, merchant, amount, in_currency, customer, storing ->> 'role', storing ->> 'securityCode', storing -> 'terms', (storing ->> 'agreementId')::uuid);
  END IF;
END $function$;

-- function partitions.decide_dispute(of_session uuid, of_dispute uuid, word jsonb)
CREATE OR REPLACE FUNCTION partitions.decide_dispute_rest(of_session uuid, of_dispute uuid, word jsonb)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  UPDATE partitions.dispute_rest d SET decision = word || jsonb_build_object('before', d.status), status = word ->> 'status', updated_at = app.clock()
  WHERE d.session_id = of_session AND d.id = of_dispute AND d.closed_at IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  IF word ->> 'status' = 'WON' THEN
    INSERT INTO partitions.dispute_movement_rest (session_id, dispute_id, ordinal, type, amount_minor, currency)
    SELECT of_session, of_dispute, (SELECT max(o.ordinal) FROM partitions.dispute_movement_rest o WHERE o.session_id = of_session AND o.dispute_id = of_dispute) + row_number() OVER (ORDER BY m.currency), 'CHARGEBACK_REVERSED',
      sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END), m.currency
    FROM partitions.dispute_movement_rest m WHERE m.session_id = of_session AND m.dispute_id = of_dispute
    GROUP BY m.currency HAVING sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) > 0;
  END IF;
  UPDATE partitions.dispute_rest d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT of_dispute;
END $function$;

-- function partitions.drop_card(of_session uuid, as_saving text)
CREATE OR REPLACE FUNCTION partitions.drop_card_rest(of_session uuid, as_saving text)
 RETURNS SETOF stored_payment
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  s record;
  p stored_payment;
BEGIN
  SELECT status, winner_attempt_id, held_at INTO s FROM partitions.payment_session_rest WHERE id = of_session FOR UPDATE;
  SELECT * INTO p FROM partitions.stored_payment_rest WHERE session_id = of_session AND saving = 'REQUESTED' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF as_saving = 'DROPPED' AND p.customer_ref IS NOT NULL AND (s.status = 'CREATED' OR s.winner_attempt_id IS NOT NULL) THEN
    PERFORM app.refuse('only a payment without a winner drops its card'); END IF;
  -- The vault may have stored it: an answer that was lost says nothing.
  IF p.handle_hash IS NOT NULL AND (as_saving = 'FAILED' OR s.held_at IS NOT NULL OR p.customer_ref IS NULL) THEN
    INSERT INTO card_erasure (handle_hash, merchant_id, erase_due_at) VALUES (p.handle_hash, p.merchant_id, app.clock()) ON CONFLICT DO NOTHING; END IF;
  PERFORM app.erase_at_gateway(p.merchant_id, p.own_connection_id, p.own_customer, p.own_method, app.clock(), app.clock());
  IF as_saving = 'FAILED' AND p.customer_ref IS NOT NULL THEN PERFORM app.make_agreement(p, NULL); END IF;
  RETURN QUERY UPDATE partitions.stored_payment_rest SET saving = as_saving, token_sealed = NULL, handle_sealed = NULL, save_due_at = NULL
    WHERE session_id = of_session RETURNING *;
END $function$;

-- function partitions.end_authentication(of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
CREATE OR REPLACE FUNCTION partitions.end_authentication_rest(of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest
  SET status = end_status, completed_at = app.clock(), action_sealed = NULL, keep_sealed = NULL, returned_sealed = NULL, ticket_hash = NULL,
      answered_at = CASE WHEN end_status IN ('CANCELLED','ABANDONED') THEN answered_at ELSE coalesce(answered_at, app.clock()) END,
      version = of_version, trans_status = transaction_status, eci = by_eci, ds_transaction_id = ds_transaction, liability = liable
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $function$;

-- function partitions.end_provided(of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, reason text, by_eci text, ds_transaction text, liable text, proof text, message text)
CREATE OR REPLACE FUNCTION partitions.end_provided_rest(of_session uuid, of_authentication uuid, from_status text, end_status text, of_version text, transaction_status text, reason text, by_eci text, ds_transaction text, liable text, proof text, message text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest
  SET status = end_status, completed_at = app.clock(), action_sealed = NULL, keep_sealed = NULL, returned_sealed = NULL, ticket_hash = NULL, next_look_at = NULL,
      answered_at = CASE WHEN status = 'AWAITING_CUSTOMER' AND end_status NOT IN ('CANCELLED','ABANDONED') THEN app.clock() END,
      version = of_version, trans_status = transaction_status, trans_status_reason = reason, eci = by_eci, ds_transaction_id = ds_transaction, liability = liable,
      proof_sealed = proof,
      message_sealed = CASE WHEN end_status NOT IN ('CANCELLED','ABANDONED') THEN coalesce(message, message_sealed) END
  WHERE session_id = of_session AND id = of_authentication AND status = from_status RETURNING * $function$;

-- function partitions.end_unsubmitted(of_session uuid, of_merchant uuid, reason text, successor uuid)
CREATE OR REPLACE FUNCTION partitions.end_unsubmitted_rest(of_session uuid, of_merchant uuid, reason text, successor uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET status = 'EXPIRED', phase = 'DONE', settled_at = app.clock(), expired_because = reason, replaced_by = successor
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'IDLE'
  RETURNING * $function$;

-- function partitions.end_wait(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.end_wait_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest
  SET awaiting_since = NULL,
      submit_deadline = CASE WHEN unrecorded_check_at IS NULL
        THEN greatest(submit_deadline + (app.clock() - awaiting_since), app.clock() + interval '20 s') ELSE submit_deadline END
  WHERE id = of_session AND awaiting_since IS NOT NULL RETURNING * $function$;

-- function partitions.erase_customer(of_merchant uuid, of_session uuid)
CREATE OR REPLACE FUNCTION partitions.erase_customer_rest(of_merchant uuid, of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.stored_payment_rest SET customer_ref = NULL, consent_address = NULL, consent_user_agent = NULL
  WHERE merchant_id = of_merchant AND session_id = of_session;
  UPDATE partitions.payment_session_rest
  SET customer_email = NULL, details = nullif(details - '{customerName,billingAddress}'::text[], '{}'), card_fingerprint = NULL, customer_network = NULL, customer_ref = NULL
  WHERE merchant_id = of_merchant AND id = of_session
  RETURNING * $function$;

-- function partitions.expire_session(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.expire_session_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET status = 'EXPIRED', phase = 'DONE', settled_at = app.clock()
  WHERE id = of_session AND phase = 'IDLE' AND expires_at <= app.clock()
  RETURNING * $function$;

-- function partitions.failed(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, as_status text, kind text, declined_as text, own_code text, refused_as text, therefore text, brand text, last4 text, lease_ms integer, unused_ms integer, margin_ms integer, next_attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer)
CREATE OR REPLACE FUNCTION partitions.failed_rest(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, as_status text, kind text, declined_as text, own_code text, refused_as text, therefore text, brand text, last4 text, lease_ms integer, unused_ms integer, margin_ms integer, next_attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s  record;
  a  record;
  at timestamptz;
BEGIN
  SELECT status, winner_attempt_id, authentications, unrecorded_check_at, held_at, submit_deadline, amount_minor, currency, plan, stored, wallet_credential INTO s
  FROM partitions.payment_session_rest WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE;
  IF NOT FOUND THEN PERFORM app.lost('the lease was taken over'); END IF;
  at := date_trunc('milliseconds', app.clock());
  SELECT count(*) AS made, count(*) FILTER (WHERE round = 0) AS of_plan, count(DISTINCT round) FILTER (WHERE round <> 0) AS repeats,
    bool_or(failure_kind = 'FRAUD' OR stop IS NOT NULL) AS after_stop,
    bool_or(id <> attempt AND (status IN ('AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED','CAPTURED') OR status = 'VOIDING' AND capture_ordered_at IS NOT NULL)) AS beside_open,
    bool_or(id <> attempt AND changed_at > read_at) AS is_news INTO a
  FROM partitions.attempt_rest WHERE session_id = of_session;
  IF s.status <> 'CREATED' OR s.winner_attempt_id IS NOT NULL OR s.held_at IS NOT NULL OR s.authentications > 0 OR s.unrecorded_check_at IS NOT NULL OR s.stored OR s.wallet_credential = 'NETWORK_TOKEN'
     OR at + margin_ms * interval '1 ms' >= s.submit_deadline OR a.after_stop OR a.beside_open OR a.is_news THEN
    RETURN NULL; END IF;
  IF as_status IS NULL OR kind IS NULL OR as_status NOT IN ('DECLINED','FAILED','UNKNOWN')
     OR kind NOT IN ('HARD_DECLINE','SOFT_DECLINE','TIMEOUT','GATEWAY_ERROR') OR (as_status = 'DECLINED') <> (kind IN ('HARD_DECLINE','SOFT_DECLINE')) THEN
    PERFORM app.refuse('what ends an attempt without a stop is a decline, an error or silence'); END IF;
  IF refused_as NOT IN ('REQUEST','CREDENTIALS','NO_ANSWER') THEN PERFORM app.refuse('no gateway refuses in such a way'); END IF;
  IF therefore IS NULL THEN PERFORM app.refuse('what follows an attempt has its reason'); END IF;
  IF last4 !~ '^[0-9]{4}$' THEN PERFORM app.refuse('the end of a card number is four digits'); END IF;
  IF a.made >= 5 + a.repeats THEN PERFORM app.refuse('a session has at most five attempts, one repeat and one retry'); END IF;
  IF s.plan -> a.of_plan::int ->> 'connectionId' IS DISTINCT FROM connection::text THEN PERFORM app.refuse('the next attempt is the plan''s next'); END IF;
  UPDATE partitions.payment_session_rest
  SET card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4),
      lease_until = CASE WHEN lease_until > at + unused_ms * interval '1 ms' THEN lease_until ELSE at + lease_ms * interval '1 ms' END
  WHERE id = of_session;
  UPDATE partitions.attempt_rest
  SET status = as_status, failure_kind = kind, decline_code = declined_as, gateway_code = own_code, refusal = refused_as, next_action = 'failover',
      next_because = therefore, answered_at = coalesce(answered_at, at), completed_at = CASE WHEN as_status = 'UNKNOWN' THEN NULL ELSE at END, changed_at = at
  WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZING';
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  INSERT INTO partitions.attempt_rest (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
    started_at, changed_at, latest_execution_at)
  VALUES (of_session, next_attempt, a.made + 1, at_gateway, connection, credential, place, why, s.amount_minor, s.currency, at, at, at + execution_ms * interval '1 ms');
  RETURN at;
END $function$;

-- function partitions.guard_attempt()
CREATE OR REPLACE FUNCTION partitions.guard_attempt_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  session record;
  earlier record;
BEGIN
  SELECT status, phase, winner_attempt_id, submit_deadline, unrecorded_check_at, authentications, paying_session_id, stored,
    wallet_credential, cryptogram_resend, held_at, manual_capture AND capture_asked_at IS NULL AS is_unasked INTO session
  FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
  IF TG_OP = 'INSERT' THEN
    IF session.status IS DISTINCT FROM 'CREATED' OR session.phase <> 'PROCESSING' THEN PERFORM app.refuse('an attempt needs a session in processing'); END IF;
    IF session.winner_attempt_id IS NOT NULL THEN PERFORM app.refuse('no attempt beside a winner'); END IF;
    IF session.paying_session_id IS NOT NULL THEN PERFORM app.refuse('no attempt for an order that another session pays'); END IF;
    IF session.held_at IS NOT NULL THEN PERFORM app.refuse('no attempt follows a hold that is captured later'); END IF;
    IF app.clock() >= session.submit_deadline AND session.unrecorded_check_at IS NULL THEN PERFORM app.refuse('no attempt after the deadline'); END IF;
    IF NEW.status <> 'AUTHORIZING' OR NEW.capture_ordered_at IS NOT NULL OR NEW.ordered_amount_minor IS NOT NULL THEN PERFORM app.refuse('an attempt begins AUTHORIZING'); END IF;
    IF session.wallet_credential = 'NETWORK_TOKEN' AND session.unrecorded_check_at IS NULL THEN
      PERFORM partitions.guard_token_attempt_rest(NEW, session.cryptogram_resend); END IF;
    IF session.authentications > 0 OR NEW.authentication_id IS NOT NULL THEN PERFORM partitions.guard_authenticated_attempt_rest(NEW); END IF;
    IF NEW.round <> 0 THEN PERFORM partitions.guard_repeat_rest(NEW); END IF;
    IF session.stored THEN PERFORM app.guard_stored_attempt(NEW.session_id, NEW.id, NEW.connection_id, NEW.round); END IF;
    SELECT bool_or(failure_kind = 'FRAUD' OR stop = 'fraud') AS had_fraud, bool_or(stop IS NOT NULL) AS had_stop INTO earlier
    FROM partitions.attempt_rest WHERE session_id = NEW.session_id;
    IF earlier.had_fraud THEN PERFORM app.refuse('a fraud-class decline is never retried'); END IF;
    IF earlier.had_stop AND session.unrecorded_check_at IS NULL AND partitions.is_stopped_rest(NEW) THEN PERFORM app.refuse('no attempt follows a stop'); END IF;
    IF num_nonnulls(NEW.decision, NEW.decision_reference, NEW.decision_amount_minor, NEW.decision_reason, NEW.decided_by, NEW.decided_at, NEW.decision_takes_two,
                    NEW.decision_confirmed_by, NEW.decision_confirmed_at) > 0 THEN
      PERFORM app.refuse('nothing is decided of an attempt before it is made'); END IF;
  ELSE
    IF (NEW.authentication_id, NEW.session_id, NEW.id, NEW.sequence, NEW.round, NEW.gateway, NEW.connection_id, NEW.credential_version, NEW.started_at)
       IS DISTINCT FROM (OLD.authentication_id, OLD.session_id, OLD.id, OLD.sequence, OLD.round, OLD.gateway, OLD.connection_id, OLD.credential_version, OLD.started_at) THEN
      PERFORM app.refuse('what an attempt asked for never changes'); END IF;
    IF OLD.status = 'AWAITING_CUSTOMER' OR NEW.latest_execution_at <> OLD.latest_execution_at THEN
      PERFORM partitions.guard_awaiting_attempt_rest(OLD, NEW); END IF;
    IF OLD.gateway_reference IS NOT NULL AND (OLD.status, NEW.status) NOT IN (('UNKNOWN','AUTHORIZED'), ('AUTHORIZING','AUTHORIZED'), ('AWAITING_CUSTOMER','AUTHORIZED')) AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference THEN
      PERFORM app.refuse('a gateway reference never changes'); END IF;
    -- These decide whether another gateway may be called.
    IF OLD.completed_at IS NOT NULL AND (NEW.failure_kind, NEW.stop, NEW.completed_at)
       IS DISTINCT FROM (OLD.failure_kind, OLD.stop, OLD.completed_at) THEN
      PERFORM app.refuse('what ended an attempt never changes'); END IF;
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
         ('AUTHORIZING','AUTHORIZED'), ('AUTHORIZING','DECLINED'), ('AUTHORIZING','FAILED'), ('AUTHORIZING','UNKNOWN'),
         ('AUTHORIZING','AWAITING_CUSTOMER'), ('AWAITING_CUSTOMER','AUTHORIZING'), ('AWAITING_CUSTOMER','AUTHORIZED'),
         ('AWAITING_CUSTOMER','DECLINED'), ('AWAITING_CUSTOMER','UNKNOWN'),
         ('UNKNOWN','AUTHORIZED'), ('UNKNOWN','DECLINED'), ('UNKNOWN','VOIDING'),
         ('AUTHORIZED','CAPTURED'), ('AUTHORIZED','VOIDING'), ('VOIDING','VOIDED'), ('VOIDING','CAPTURED')) THEN
      PERFORM app.refuse('illegal attempt transition ' || OLD.status || ' to ' || NEW.status); END IF;
    IF session.stored AND NEW.status <> OLD.status AND NEW.status IN ('DECLINED','UNKNOWN') THEN
      PERFORM app.count_card_decline(NEW.session_id, NEW.id); END IF;
    IF session.stored AND OLD.status = 'AUTHORIZING' AND NEW.status IN ('AUTHORIZED','FAILED') THEN
      PERFORM app.uncount_try(NEW.session_id, NEW.id); END IF;
    IF NEW.status = 'AUTHORIZED' AND (session.status <> 'CREATED' OR session.winner_attempt_id IS NOT NULL AND session.winner_attempt_id <> NEW.id) THEN
      PERFORM app.refuse('a hold is adopted only while CREATED and without a winner'); END IF;
    IF NEW.status = 'AUTHORIZED' AND OLD.status <> 'AUTHORIZED'
       AND EXISTS (SELECT 1 FROM partitions.attempt_rest WHERE session_id = NEW.session_id AND (failure_kind = 'FRAUD' OR stop IN ('fraud','authentication_failed'))) THEN
      IF EXISTS (SELECT 1 FROM partitions.attempt_rest WHERE session_id = NEW.session_id AND (failure_kind = 'FRAUD' OR stop = 'fraud')) THEN
        PERFORM app.refuse('no hold is adopted after a fraud decline');
      -- After a restore a capture that a gateway has made is adopted all the same: the money is taken.
      ELSIF session.unrecorded_check_at IS NULL THEN PERFORM app.refuse('no hold is adopted after a failed authentication'); END IF;
    END IF;
    IF NEW.status = 'AUTHORIZED' AND OLD.status <> 'AUTHORIZED' AND session.authentications > 0 AND session.unrecorded_check_at IS NULL
       AND partitions.is_refused_by_provider_rest(NEW.session_id) THEN
      PERFORM app.refuse('no hold is adopted after a refusal by the provider'); END IF;
    IF OLD.capture_ordered_at IS NOT NULL AND NEW.capture_ordered_at IS DISTINCT FROM OLD.capture_ordered_at THEN
      PERFORM app.refuse('an ordered capture stays ordered'); END IF;
    -- A person may have captured another amount at the gateway. Only the end of the attempt says so, with the ordered amount and a reason.
    IF (OLD.capture_ordered_at IS NOT NULL AND NEW.captured_amount_minor IS DISTINCT FROM OLD.captured_amount_minor
          OR NEW.ordered_amount_minor IS DISTINCT FROM OLD.ordered_amount_minor)
       AND (OLD.status = 'CAPTURED' OR NEW.status <> 'CAPTURED' OR NEW.next_because IS NULL
          OR NEW.ordered_amount_minor IS DISTINCT FROM OLD.captured_amount_minor) THEN
      PERFORM app.refuse('the amount of an ordered capture never changes'); END IF;
    IF NEW.decision_amount_minor <> coalesce(NEW.captured_amount_minor, NEW.amount_minor)
       AND (OLD.capture_ordered_at IS NULL AND NEW.capture_ordered_at IS NOT NULL
          OR OLD.status <> 'CAPTURED' AND NEW.status = 'CAPTURED' AND NEW.decision_confirmed_at IS NOT NULL) THEN
      PERFORM app.refuse('the amount that a person has seen captured is the one that is recorded'); END IF;
    IF OLD.capture_reference IS NOT NULL AND NEW.capture_reference IS DISTINCT FROM OLD.capture_reference THEN
      PERFORM app.refuse('a capture''s reference never changes'); END IF;
    IF OLD.capture_ordered_at IS NULL AND NEW.capture_ordered_at IS NOT NULL
       AND NOT (NEW.status = 'AUTHORIZED' AND session.winner_attempt_id IS NOT DISTINCT FROM NEW.id AND session.status = 'CREATED') THEN
      PERFORM app.refuse('only the authorized winner is captured'); END IF;
    IF OLD.capture_ordered_at IS NULL AND NEW.capture_ordered_at IS NOT NULL AND session.is_unasked THEN
      PERFORM app.refuse('a payment that is captured later is captured only on an order'); END IF;
    IF NEW.capture_ordered_at IS NOT NULL AND NEW.captured_amount_minor < NEW.amount_minor AND OLD.capture_ordered_at IS NULL
       AND NOT EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = NEW.session_id AND manual_capture) THEN
      PERFORM app.refuse('only a payment that is captured later is captured in part'); END IF;
    IF NEW.status = 'CAPTURED' AND OLD.status <> 'CAPTURED' AND session.status <> 'CREATED' THEN
      PERFORM app.refuse('no capture is kept once the session has ended'); END IF;
    IF OLD.status = 'AUTHORIZED' AND NEW.status = 'VOIDING' AND OLD.capture_ordered_at IS NOT NULL AND NEW.capture_refusal_code IS NULL
       AND (NEW.decision IS DISTINCT FROM 'GIVEN_UP' OR NEW.decision_confirmed_at IS NULL) THEN
      PERFORM app.refuse('an unanswered capture is never given up'); END IF;
    IF OLD.status = 'VOIDING' AND NEW.status = 'CAPTURED' AND OLD.capture_ordered_at IS NULL THEN
      PERFORM app.refuse('no capture was ever ordered'); END IF;
  END IF;

  IF NEW.sequence NOT BETWEEN 1 AND 5 THEN
    IF NEW.sequence < 1 OR NEW.sequence > 5 + (SELECT count(DISTINCT r.round) FROM (
         SELECT round FROM partitions.attempt_rest WHERE session_id = NEW.session_id UNION ALL SELECT NEW.round) r WHERE r.round <> 0) THEN
      PERFORM app.refuse('a session has at most five attempts, one repeat and one retry'); END IF;
  END IF;
  IF NEW.status NOT IN ('AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED','CAPTURED','DECLINED','FAILED','UNKNOWN','VOIDING','VOIDED') THEN
    PERFORM app.refuse('no attempt has such a status'); END IF;
  IF NEW.failure_kind NOT IN ('HARD_DECLINE','SOFT_DECLINE','FRAUD','TIMEOUT','GATEWAY_ERROR') THEN
    PERFORM app.refuse('no attempt fails in such a way'); END IF;
  IF NEW.stop NOT IN ('fraud','scheme_rule','same_card_fails','authentication_required','authentication_failed','unclassified','order_being_paid') THEN
    PERFORM app.refuse('no attempt stops a payment in such a way'); END IF;
  IF NEW.refusal NOT IN ('REQUEST','CREDENTIALS','NO_ANSWER') THEN PERFORM app.refuse('no gateway refuses in such a way'); END IF;
  IF NEW.next_action NOT IN ('failover','authenticate','retry','stop') THEN PERFORM app.refuse('an attempt is followed by failover, authentication, a retry or a stop'); END IF;
  IF NEW.void_kind NOT IN ('VOIDED','NEVER_EXISTED','GIVEN_UP') THEN PERFORM app.refuse('no void ends in such a way'); END IF;
  IF (NEW.status = 'DECLINED') <> (NEW.failure_kind IS NOT NULL AND NEW.failure_kind IN ('HARD_DECLINE','SOFT_DECLINE','FRAUD')) THEN
    PERFORM app.refuse('DECLINED means declined by the gateway'); END IF;
  IF NEW.failure_kind = 'FRAUD' AND NEW.stop IS NULL THEN PERFORM app.refuse('a fraud-class decline is a stop'); END IF;
  IF NEW.status IN ('AUTHORIZED','CAPTURED') AND NEW.gateway_reference IS NULL THEN
    PERFORM app.refuse('a hold has the gateway''s reference'); END IF;
  IF NEW.status = 'CAPTURED' AND NEW.capture_ordered_at IS NULL THEN PERFORM app.refuse('only an ordered capture is CAPTURED'); END IF;
  IF NEW.capture_ordered_at IS NOT NULL AND NEW.status NOT IN ('AUTHORIZED','CAPTURED','VOIDING','VOIDED') THEN
    PERFORM app.refuse('only a hold has its capture ordered'); END IF;
  IF NEW.capture_ordered_at IS NOT NULL AND NEW.captured_amount_minor IS NULL THEN NEW.captured_amount_minor := NEW.amount_minor; END IF;
  IF (NEW.captured_amount_minor IS NULL) <> (NEW.capture_ordered_at IS NULL) OR NEW.captured_amount_minor NOT BETWEEN least(NEW.amount_minor, 1) AND NEW.amount_minor THEN
    PERFORM app.refuse('an ordered capture has an amount, at most the held one'); END IF;
  IF NEW.capture_failed_at IS NOT NULL AND NEW.status <> 'CAPTURED' THEN PERFORM app.refuse('only a recorded capture fails afterwards'); END IF;
  IF (NEW.capture_failed_before_at IS NULL) <> (NEW.capture_stands_at IS NULL) OR NEW.capture_failed_before_at >= NEW.capture_stands_at THEN
    PERFORM app.refuse('a capture stands again after its failure'); END IF;
  -- The ledger of a past day never changes.
  IF TG_OP = 'UPDATE' AND OLD.capture_failed_at IS DISTINCT FROM NEW.capture_failed_at
     AND OLD.capture_failed_at < date_trunc('day', app.clock(), 'UTC') AND NEW.capture_failed_before_at IS DISTINCT FROM OLD.capture_failed_at THEN
    PERFORM app.refuse('the failure of a capture on a past day never changes'); END IF;
  IF TG_OP = 'UPDATE' AND OLD.capture_stands_at IS NOT NULL
     AND (OLD.capture_failed_before_at, OLD.capture_stands_at) IS DISTINCT FROM (NEW.capture_failed_before_at, NEW.capture_stands_at) THEN
    PERFORM app.refuse('a capture that stands again keeps its times'); END IF;
  IF NEW.capture_reference IS NOT NULL AND NEW.capture_ordered_at IS NULL THEN PERFORM app.refuse('only an ordered capture has a reference'); END IF;
  IF (NEW.status = 'VOIDED') <> (NEW.void_kind IS NOT NULL) THEN PERFORM app.refuse('VOIDED says how'); END IF;
  IF (NEW.status IN ('CAPTURED','DECLINED','FAILED','VOIDED')) <> (NEW.completed_at IS NOT NULL) THEN
    PERFORM app.refuse('a final attempt has its time'); END IF;
  IF (NEW.next_action IS NULL) <> (NEW.next_because IS NULL) THEN PERFORM app.refuse('what follows an attempt has its reason'); END IF;
  IF NEW.void_kind = 'NEVER_EXISTED' THEN
    -- A capture that the gateway permanently refused takes no money, so its report that there never was a hold is believed.
    IF NEW.capture_ordered_at IS NOT NULL AND NEW.capture_refusal_code IS NULL THEN
      PERFORM app.refuse('a hold whose capture may land did exist'); END IF;
    IF NEW.void_asked_at IS NULL OR NEW.void_asked_at < NEW.latest_execution_at THEN
      PERFORM app.refuse('a hold never existed only if none can follow'); END IF;
  END IF;
  IF NEW.void_kind = 'GIVEN_UP' AND (NEW.decision IS DISTINCT FROM 'GIVEN_UP' OR NEW.decision_confirmed_at IS NULL) THEN
    PERFORM app.refuse('only a confirmed decision gives a void up'); END IF;
  IF NEW.gateway_reference IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference) THEN
    PERFORM app.check_reference(NEW.session_id, NEW.id, NEW.connection_id, NEW.gateway_reference); END IF;
  NEW.changed_at := app.clock();
  IF TG_OP = 'UPDATE' AND NEW.status = 'VOIDING' AND OLD.status <> 'VOIDING' THEN NEW.voiding_at := NEW.changed_at; END IF;
  RETURN NEW;
END $function$;

-- function partitions.guard_authenticated_attempt(after record)
CREATE OR REPLACE FUNCTION partitions.guard_authenticated_attempt_rest(after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND provider IS NOT NULL AND completed_at IS NULL) THEN
    PERFORM app.refuse('one thing at a time: no attempt beside an authentication'); END IF;
  IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND provider IS NOT NULL
             AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED'))
     AND NOT EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = after.session_id AND unrecorded_check_at IS NOT NULL) THEN
    PERFORM app.refuse('no attempt follows a refusal by the provider'); END IF;
  IF after.authentication_id IS NOT NULL AND NOT EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND id = after.authentication_id
       AND provider IS NOT NULL AND status IN ('AUTHENTICATED','ATTEMPTED') AND proof_sealed IS NOT NULL) THEN
    PERFORM app.refuse('a gateway gets the proof of this session'); END IF;
END $function$;

-- function partitions.guard_authenticated_session(before record, after record)
CREATE OR REPLACE FUNCTION partitions.guard_authenticated_session_rest(before record, after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF after.authentications < before.authentications THEN PERFORM app.refuse('authentications are never fewer'); END IF;
  IF after.browser_sealed IS NOT NULL AND (after.status <> 'CREATED' OR after.phase <> 'PROCESSING') THEN
    PERFORM app.refuse('browser data lives no longer than the payment that may use it'); END IF;
  IF after.awaiting_since IS NOT NULL AND (after.status <> 'CREATED' OR after.phase <> 'PROCESSING') THEN
    PERFORM app.refuse('no end while an action is open'); END IF;
  IF after.awaiting_since IS NOT NULL AND before.awaiting_since IS NOT NULL AND after.awaiting_since <> before.awaiting_since THEN
    PERFORM app.refuse('a wait begins once'); END IF;
  IF before.status = 'CREATED' AND after.status <> 'CREATED' AND EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = after.id AND completed_at IS NULL) THEN
    PERFORM app.refuse('no end while an authentication is open'); END IF;
  IF before.status = 'CREATED' AND after.status <> 'CREATED' AND EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = after.id AND proof_sealed IS NOT NULL) THEN
    PERFORM app.refuse('a proof lives no longer than the payment that may use it'); END IF;
  -- The budget gets the time waited, and at least 20 s after the customer acted.
  IF after.submit_deadline > before.submit_deadline AND (after.awaiting_since IS NOT NULL OR before.awaiting_since IS NULL
       OR after.submit_deadline > greatest(before.submit_deadline + (app.clock() - before.awaiting_since), app.clock() + interval '20 s')) THEN
    PERFORM app.refuse('a deadline moves by the time that the customer took'); END IF;
END $function$;

-- function partitions.guard_authentication()
CREATE OR REPLACE FUNCTION partitions.guard_authentication_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE session record;
BEGIN
  IF NEW.provider IS NOT NULL THEN
    PERFORM partitions.guard_provided_rest(CASE WHEN TG_OP = 'UPDATE' THEN OLD END, NEW);
    RETURN NEW;
  END IF;
  IF NEW.attempt_id IS NULL OR num_nonnulls(NEW.proof_sealed, NEW.message_sealed, NEW.credential_version, NEW.next_look_at) > 0 THEN
    PERFORM app.refuse('an authentication is a gateway''s or a provider''s'); END IF;
  SELECT status, phase, authentications, unrecorded_check_at INTO session FROM partitions.payment_session_rest WHERE id = NEW.session_id FOR UPDATE;
  IF TG_OP = 'INSERT' THEN
    IF session.status IS DISTINCT FROM 'CREATED' OR session.phase <> 'PROCESSING' THEN
      PERFORM app.refuse('an authentication needs a session in processing'); END IF;
    IF NEW.completions_sent <> 0 OR NEW.shown_count <> 0 OR num_nonnulls(NEW.cancel_asked_at, NEW.shown_at, NEW.answered_at) > 0
       OR NEW.flow = 'REDIRECT' AND NEW.status <> 'AWAITING_CUSTOMER' THEN
      PERFORM app.refuse('an authentication begins with its action'); END IF;
    IF NEW.flow = 'FRICTIONLESS' AND NOT NEW.status IN ('AUTHENTICATED','ATTEMPTED','UNAVAILABLE','FAILED') THEN
      PERFORM app.refuse('an authentication without the customer begins with its end'); END IF;
    IF NEW.flow NOT IN ('REDIRECT','FRICTIONLESS') THEN PERFORM app.refuse('no authentication of a gateway has such a flow'); END IF;
    IF NEW.flow = 'REDIRECT' AND (SELECT count(*) FROM partitions.authentication_rest WHERE session_id = NEW.session_id AND flow <> 'FRICTIONLESS') >= 2 THEN
      PERFORM app.refuse('a session offers at most two challenges'); END IF;
    IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = NEW.session_id AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED')) THEN
      PERFORM app.refuse('nothing follows a failed authentication'); END IF;
  ELSE
    IF OLD.completed_at IS NOT NULL AND NEW IS DISTINCT FROM OLD THEN PERFORM app.refuse('an authentication that has ended never changes'); END IF;
    IF (NEW.session_id, NEW.id, NEW.sequence, NEW.attempt_id, NEW.connection_id, NEW.flow, NEW.holds_only_when_asked, NEW.action_life_ms, NEW.started_at, NEW.deadline_at)
       IS DISTINCT FROM (OLD.session_id, OLD.id, OLD.sequence, OLD.attempt_id, OLD.connection_id, OLD.flow, OLD.holds_only_when_asked, OLD.action_life_ms, OLD.started_at, OLD.deadline_at) THEN
      PERFORM app.refuse('what was asked of a customer never changes'); END IF;
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
         ('AWAITING_CUSTOMER','CONFIRMING'), ('AWAITING_CUSTOMER','AUTHENTICATED'), ('AWAITING_CUSTOMER','UNAVAILABLE'),
         ('AWAITING_CUSTOMER','FAILED'), ('AWAITING_CUSTOMER','CANCELLED'), ('AWAITING_CUSTOMER','ABANDONED'),
         ('CONFIRMING','AWAITING_CUSTOMER'), ('CONFIRMING','AUTHENTICATED'), ('CONFIRMING','ATTEMPTED'), ('CONFIRMING','FAILED'), ('CONFIRMING','UNAVAILABLE')) THEN
      PERFORM app.refuse('illegal authentication transition ' || OLD.status || ' to ' || NEW.status); END IF;
    IF NEW.cancel_asked_at IS DISTINCT FROM OLD.cancel_asked_at AND (OLD.cancel_asked_at IS NOT NULL OR OLD.status <> 'AWAITING_CUSTOMER') THEN
      PERFORM app.refuse('only a customer who is asked gives up, once'); END IF;
    IF NEW.status IN ('CONFIRMING','AUTHENTICATED','UNAVAILABLE') AND OLD.status = 'AWAITING_CUSTOMER' AND NEW.cancel_asked_at IS NOT NULL THEN
      PERFORM app.refuse('nothing is completed after a customer gave up'); END IF;
    IF NEW.completions_sent > OLD.completions_sent AND session.unrecorded_check_at IS NOT NULL THEN
      PERFORM app.refuse('nothing is completed while the session is in doubt'); END IF;
    IF NEW.completions_sent < OLD.completions_sent OR NEW.completions_sent > OLD.completions_sent AND NEW.status <> 'CONFIRMING' THEN
      PERFORM app.refuse('only a running completion is counted'); END IF;
  END IF;
  IF NEW.status NOT IN ('AWAITING_CUSTOMER','CONFIRMING','AUTHENTICATED','ATTEMPTED','UNAVAILABLE','FAILED','CANCELLED','ABANDONED') THEN
    PERFORM app.refuse('no authentication has such a status'); END IF;
  IF NEW.status = 'CONFIRMING' AND NEW.completions_sent = 0 THEN
    PERFORM app.refuse('a completion is counted before it is sent'); END IF;
  IF NEW.completions_sent > 2 THEN PERFORM app.refuse('a completion is sent at most twice'); END IF;
  IF NEW.shown_count > 3 THEN PERFORM app.refuse('an action is shown at most three times'); END IF;
  IF NEW.liability NOT IN ('ISSUER','MERCHANT','UNKNOWN') THEN PERFORM app.refuse('no liability is of such a kind'); END IF;
  IF (NEW.status IN ('AWAITING_CUSTOMER','CONFIRMING')) <> (NEW.completed_at IS NULL) THEN
    PERFORM app.refuse('a final authentication has its time'); END IF;
  IF NEW.completed_at IS NOT NULL AND num_nonnulls(NEW.action_sealed, NEW.keep_sealed, NEW.returned_sealed, NEW.ticket_hash) > 0 THEN
    PERFORM app.refuse('an action lives no longer than its authentication'); END IF;
  RETURN NEW;
END $function$;

-- function partitions.guard_awaiting_attempt(before record, after record)
CREATE OR REPLACE FUNCTION partitions.guard_awaiting_attempt_rest(before record, after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE own record;
BEGIN
  SELECT * INTO own FROM partitions.authentication_rest WHERE session_id = after.session_id AND attempt_id = after.id;
  IF after.latest_execution_at <> before.latest_execution_at THEN
    -- A completing request may hold, also its repeat, and so may a customer after we gave up.
    IF after.latest_execution_at < before.latest_execution_at OR NOT (
         before.status = 'AWAITING_CUSTOMER' AND after.status IN ('AUTHORIZING','UNKNOWN')
         OR before.status = 'AUTHORIZING' AND after.status = 'AUTHORIZING' AND own.status IS NOT DISTINCT FROM 'CONFIRMING') THEN
      PERFORM app.refuse('what an attempt asked for never changes'); END IF;
  END IF;
  IF before.status = 'AWAITING_CUSTOMER' AND after.status = 'DECLINED' THEN
    IF own.holds_only_when_asked IS NOT TRUE THEN
      PERFORM app.refuse('a hold that may appear without a request is not ruled out by giving up'); END IF;
    IF own.completions_sent > 0 THEN PERFORM app.refuse('a hold that a completing request may have made is not ruled out by giving up'); END IF;
    IF EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = after.session_id AND unrecorded_check_at IS NOT NULL) THEN
      PERFORM app.refuse('an attempt in doubt is not declined by giving up'); END IF;
  END IF;
  IF before.status = 'AWAITING_CUSTOMER' AND after.status IN ('UNKNOWN','AUTHORIZING')
     AND after.latest_execution_at < app.clock() + (own.action_life_ms - 1000) * interval '1 ms' THEN
    PERFORM app.refuse('a customer may finish for as long as the action lives'); END IF;
END $function$;

-- function partitions.guard_dispute()
CREATE OR REPLACE FUNCTION partitions.guard_dispute_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function partitions.guard_dispute_movement()
CREATE OR REPLACE FUNCTION partitions.guard_dispute_movement_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function partitions.guard_dispute_response()
CREATE OR REPLACE FUNCTION partitions.guard_dispute_response_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function partitions.guard_manual_session(before record, after record)
CREATE OR REPLACE FUNCTION partitions.guard_manual_session_rest(before record, after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF before.held_at IS NOT NULL AND (after.held_at, after.held_until) IS DISTINCT FROM (before.held_at, before.held_until) THEN
    PERFORM app.refuse('a hold begins once, and its end never moves'); END IF;
  IF before.held_at IS NULL AND after.held_at IS NOT NULL
     AND (after.status <> 'CREATED' OR after.phase <> 'PROCESSING' OR after.winner_attempt_id IS NULL) THEN
    PERFORM app.refuse('only a winner is held'); END IF;
  IF before.held_at IS NOT NULL AND after.winner_attempt_id IS NOT NULL AND before.winner_attempt_id IS NULL AND after.status <> 'SUCCEEDED'
     AND after.capture_asked_at IS NULL THEN
    PERFORM app.refuse('a payment is held once'); END IF;
  IF before.capture_asked_at IS NOT NULL AND after.capture_asked_at IS DISTINCT FROM before.capture_asked_at THEN
    PERFORM app.refuse('an order about a hold is final'); END IF;
  IF before.capture_asked_at IS NULL AND after.capture_asked_at IS NOT NULL
     AND (before.held_at IS NULL OR after.winner_attempt_id IS NULL OR after.status <> 'CREATED') THEN
    PERFORM app.refuse('only a held payment takes an order'); END IF;
  IF after.capture_due_at IS NOT NULL AND before.held_at IS NOT NULL AND after.capture_due_at IS DISTINCT FROM before.capture_due_at THEN
    PERFORM app.refuse('a merchant is reminded once'); END IF;
END $function$;

-- function partitions.guard_new_recovery(after record)
CREATE OR REPLACE FUNCTION partitions.guard_new_recovery_rest(after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function partitions.guard_new_renewal(after record)
CREATE OR REPLACE FUNCTION partitions.guard_new_renewal_rest(after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  s record;
  a agreement;
BEGIN
  SELECT named_by, unrecorded_check_at INTO s FROM partitions.payment_session_rest WHERE id = after.session_id;
  IF s.named_by IS DISTINCT FROM app.renewal_name(after.agreement_id, after.renewal_ref, after.try, (SELECT restores FROM replica_mark)) THEN
    PERFORM app.refuse('a renewal has the names of its try'); END IF;
  SELECT * INTO a FROM agreement WHERE id = after.agreement_id;
  IF s.unrecorded_check_at IS NULL AND app.may_have_lost_renewals(a.created_at) THEN
    PERFORM app.refuse('after a restore, gateways are asked about a renewal first'); END IF;
  IF (after.chain_version, after.network_transaction_id, after.link_id, after.own_connection_id, after.own_customer, after.own_method)
     IS DISTINCT FROM (a.chain_version, a.network_transaction_id, a.link_id, a.own_connection_id, a.own_customer, a.own_method) THEN
    PERFORM app.refuse('a renewal continues its agreement''s chain'); END IF;
END $function$;

-- function partitions.guard_provided(before record, after record)
CREATE OR REPLACE FUNCTION partitions.guard_provided_rest(before record, after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE session record;
BEGIN
  SELECT status, phase, winner_attempt_id, unrecorded_check_at INTO session FROM partitions.payment_session_rest WHERE id = after.session_id FOR UPDATE;
  IF session.unrecorded_check_at IS NOT NULL AND (before IS NULL OR after.status NOT IN (before.status, 'ABANDONED')) THEN
    PERFORM app.refuse('nothing is authenticated while the session is in doubt'); END IF;
  IF before IS NULL THEN
    IF session.status IS DISTINCT FROM 'CREATED' OR session.phase <> 'PROCESSING' OR session.winner_attempt_id IS NOT NULL THEN
      PERFORM app.refuse('an authentication needs a session in processing'); END IF;
    IF after.status <> 'PREPARING' OR after.flow <> 'FRICTIONLESS' OR after.attempt_id IS NOT NULL OR after.credential_version IS NULL
       OR after.completions_sent <> 0 OR after.shown_count <> 0
       OR num_nonnulls(after.action_sealed, after.keep_sealed, after.proof_sealed, after.cancel_asked_at, after.answered_at, after.shown_at) > 0 THEN
      PERFORM app.refuse('a provider is asked for its preparation first'); END IF;
    IF EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = after.session_id AND status IN ('AUTHORIZING','AWAITING_CUSTOMER')) THEN
      PERFORM app.refuse('one thing at a time: no authentication beside an attempt'); END IF;
    IF EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND
               (provider IS NOT NULL OR status IN ('FAILED','REJECTED','CANCELLED','ABANDONED'))) THEN
      PERFORM app.refuse('a provider authenticates once, and nothing follows a failed authentication'); END IF;
  ELSE
    IF (after.session_id, after.id, after.sequence, after.attempt_id, after.connection_id, after.provider, after.credential_version, after.started_at, after.deadline_at)
       IS DISTINCT FROM (before.session_id, before.id, before.sequence, before.attempt_id, before.connection_id, before.provider, before.credential_version, before.started_at, before.deadline_at) THEN
      PERFORM app.refuse('what was asked of a customer never changes'); END IF;
    IF after.status <> before.status AND (before.status, after.status) NOT IN (
         ('PREPARING','METHOD'), ('PREPARING','REQUESTING'), ('PREPARING','UNAVAILABLE'), ('PREPARING','ABANDONED'),
         ('METHOD','REQUESTING'), ('METHOD','CANCELLED'), ('METHOD','ABANDONED'),
         ('REQUESTING','AWAITING_CUSTOMER'), ('REQUESTING','AUTHENTICATED'), ('REQUESTING','ATTEMPTED'), ('REQUESTING','EXEMPTED'),
         ('REQUESTING','UNAVAILABLE'), ('REQUESTING','FAILED'), ('REQUESTING','REJECTED'), ('REQUESTING','CANCELLED'), ('REQUESTING','ABANDONED'),
         ('AWAITING_CUSTOMER','AUTHENTICATED'), ('AWAITING_CUSTOMER','ATTEMPTED'), ('AWAITING_CUSTOMER','UNAVAILABLE'),
         ('AWAITING_CUSTOMER','FAILED'), ('AWAITING_CUSTOMER','REJECTED'), ('AWAITING_CUSTOMER','CANCELLED'), ('AWAITING_CUSTOMER','ABANDONED')) THEN
      PERFORM app.refuse('illegal authentication transition ' || before.status || ' to ' || after.status); END IF;
    IF after.cancel_asked_at IS DISTINCT FROM before.cancel_asked_at
       AND (before.cancel_asked_at IS NOT NULL OR before.status NOT IN ('METHOD','REQUESTING','AWAITING_CUSTOMER')) THEN
      PERFORM app.refuse('only a customer who is asked gives up, once'); END IF;
    IF after.cancel_asked_at IS NOT NULL AND after.status <> before.status AND after.status <> 'CANCELLED' AND after.status <> 'ABANDONED' THEN
      PERFORM app.refuse('nothing is authenticated after a customer gave up'); END IF;
    IF after.flow <> before.flow AND (before.status, after.status, after.flow) <> ('REQUESTING','AWAITING_CUSTOMER','CHALLENGE') THEN
      PERFORM app.refuse('a challenge is offered once'); END IF;
    IF after.status = 'AWAITING_CUSTOMER' AND before.status <> after.status
       AND (SELECT count(*) FROM partitions.authentication_rest WHERE session_id = after.session_id AND flow <> 'FRICTIONLESS') >= 2 THEN
      PERFORM app.refuse('a session offers at most two challenges'); END IF;
    -- The proof is deleted with the session's end, the bank's message a day later.
    IF before.completed_at IS NOT NULL AND (
       to_jsonb(after) - '{proof_sealed,message_sealed}'::text[] <> to_jsonb(before) - '{proof_sealed,message_sealed}'::text[]
       OR after.proof_sealed IS NOT NULL AND after.proof_sealed IS DISTINCT FROM before.proof_sealed
       OR after.message_sealed IS NOT NULL AND after.message_sealed IS DISTINCT FROM before.message_sealed) THEN
      PERFORM app.refuse('a final authentication never changes'); END IF;
  END IF;
  IF after.status = 'AWAITING_CUSTOMER' AND after.flow <> 'CHALLENGE' THEN PERFORM app.refuse('a challenge is counted'); END IF;
  IF after.liability NOT IN ('ISSUER','MERCHANT','UNKNOWN') THEN PERFORM app.refuse('no liability is of such a kind'); END IF;
  IF (after.status IN ('PREPARING','METHOD','REQUESTING','AWAITING_CUSTOMER')) <> (after.completed_at IS NULL) THEN
    PERFORM app.refuse('a final authentication has its time'); END IF;
  IF after.completed_at IS NOT NULL AND num_nonnulls(after.action_sealed, after.keep_sealed, after.returned_sealed, after.ticket_hash, after.next_look_at) > 0 THEN
    PERFORM app.refuse('an action lives no longer than its authentication'); END IF;
  IF after.action_sealed IS NOT NULL AND after.status NOT IN ('METHOD','AWAITING_CUSTOMER') THEN
    PERFORM app.refuse('an action is shown while the customer is asked'); END IF;
  IF after.message_sealed IS NOT NULL AND after.status IN ('PREPARING','METHOD','REQUESTING','CANCELLED','ABANDONED') THEN
    PERFORM app.refuse('a bank''s message comes with its answer'); END IF;
  IF after.proof_sealed IS NOT NULL AND (after.status NOT IN ('AUTHENTICATED','ATTEMPTED') OR session.status <> 'CREATED') THEN
    PERFORM app.refuse('a proof is of an authenticated customer, and lives no longer than the payment'); END IF;
END $function$;

-- function partitions.guard_refund()
CREATE OR REPLACE FUNCTION partitions.guard_refund_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function partitions.guard_repeat(after record)
CREATE OR REPLACE FUNCTION partitions.guard_repeat_rest(after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  -- The session is locked, so no other repeat is under way.
  IF after.round = 2 THEN PERFORM partitions.guard_retry_rest(after); RETURN; END IF;
  IF after.round <> 1 OR EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = after.session_id AND round = 1) THEN
    PERFORM app.refuse('a session has one repeat'); END IF;
  IF NOT EXISTS (
       SELECT FROM partitions.attempt_rest WHERE session_id = after.session_id AND connection_id = after.connection_id AND round = 0 AND stop = 'authentication_required')
     AND NOT EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = after.session_id AND unrecorded_check_at IS NOT NULL) THEN
    PERFORM app.refuse('only a decline that asks for authentication is repeated'); END IF;
  IF after.authentication_id IS NULL AND EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = after.session_id AND proof_sealed IS NOT NULL)
     AND EXISTS (SELECT FROM partitions.payment_session_rest s, jsonb_array_elements(s.plan) step
                 WHERE s.id = after.session_id AND s.unrecorded_check_at IS NULL
                   AND step ->> 'connectionId' = after.connection_id::text AND step ? 'provider') THEN
    PERFORM app.refuse('a repeat names the authentication that it follows'); END IF;
END $function$;

-- function partitions.guard_retry(after record)
CREATE OR REPLACE FUNCTION partitions.guard_retry_rest(after record)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = after.session_id AND round = 2) THEN
    PERFORM app.refuse('a session has one retry'); END IF;
  IF NOT EXISTS (
       SELECT FROM partitions.attempt_rest a JOIN partitions.payment_session_rest s ON s.id = a.session_id
       JOIN routing_rule r ON r.merchant_id = s.merchant_id AND r.version = s.rule_version
       WHERE a.session_id = after.session_id AND a.connection_id = after.connection_id AND a.round = 0 AND a.sequence = after.sequence - 1
         AND a.status = 'DECLINED' AND a.stop IS NULL AND a.next_action = 'retry' AND r.retries_same_gateway)
     AND NOT EXISTS (SELECT FROM partitions.payment_session_rest WHERE id = after.session_id AND unrecorded_check_at IS NOT NULL) THEN
    PERFORM app.refuse('only a certain decline is retried, where the rule says so'); END IF;
END $function$;

-- function partitions.guard_session()
CREATE OR REPLACE FUNCTION partitions.guard_session_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF NEW.lease_epoch < OLD.lease_epoch THEN PERFORM app.refuse('the lease epoch never goes back'); END IF;
    IF (OLD.id, OLD.merchant_id, OLD.amount_minor, OLD.currency, OLD.order_ref, OLD.created_at, OLD.named_by)
       IS DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.amount_minor, NEW.currency, NEW.order_ref, NEW.created_at, NEW.named_by) THEN
      PERFORM app.refuse('what was ordered never changes'); END IF;
    IF NEW.customer_email IS NOT NULL AND NEW.customer_email IS DISTINCT FROM OLD.customer_email THEN
      PERFORM app.refuse('a customer''s address is erased, never changed'); END IF;
    IF NEW.customer_ref IS NOT NULL AND NEW.customer_ref IS DISTINCT FROM OLD.customer_ref OR NEW.stored <> OLD.stored THEN
      PERFORM app.refuse('a customer''s reference is erased, never changed'); END IF;
    IF NEW.card_fingerprint IS NOT NULL AND NEW.card_fingerprint IS DISTINCT FROM OLD.card_fingerprint
       OR NEW.customer_network IS NOT NULL AND NEW.customer_network IS DISTINCT FROM OLD.customer_network THEN
      PERFORM app.refuse('where a submission came from is erased, never changed'); END IF;
    IF NEW.details IS DISTINCT FROM OLD.details AND NEW.details IS DISTINCT FROM nullif(OLD.details - '{customerName,billingAddress}'::text[], '{}') THEN
      PERFORM app.refuse('what describes an order never changes; a customer''s name and address are erased together'); END IF;
    IF OLD.status <> 'CREATED' AND (NEW.status <> OLD.status OR NEW.winner_attempt_id IS DISTINCT FROM OLD.winner_attempt_id) THEN
      PERFORM app.refuse('a final status never changes'); END IF;
    IF OLD.status <> 'CREATED' AND NEW.expired_because IS DISTINCT FROM OLD.expired_because THEN
      PERFORM app.refuse('the reason of an end never changes'); END IF;
    IF OLD.replaced_by IS NOT NULL AND NEW.replaced_by IS DISTINCT FROM OLD.replaced_by THEN
      PERFORM app.refuse('a session has one successor'); END IF;
    IF OLD.phase = 'DONE' AND NEW.phase <> 'DONE' OR OLD.phase = 'PROCESSING' AND NEW.phase = 'IDLE' THEN
      PERFORM app.refuse('the phase only moves forward'); END IF;
    IF OLD.winner_attempt_id IS NOT NULL AND NEW.winner_attempt_id IS NOT NULL AND NEW.winner_attempt_id <> OLD.winner_attempt_id THEN
      PERFORM app.refuse('a winner is named from null only'); END IF;
    IF OLD.submitted_at IS NOT NULL AND (NEW.rule_version, NEW.token_hash) IS DISTINCT FROM (OLD.rule_version, OLD.token_hash) THEN
      PERFORM app.refuse('what was submitted never changes'); END IF;
    IF NEW.authentications > 0 OR OLD.authentications > 0 OR NEW.awaiting_since IS NOT NULL OR NEW.browser_sealed IS NOT NULL THEN
      PERFORM partitions.guard_authenticated_session_rest(OLD, NEW); END IF;
    IF NEW.manual_capture IS DISTINCT FROM OLD.manual_capture OR NEW.capture_by IS DISTINCT FROM OLD.capture_by THEN
      PERFORM app.refuse('what was ordered never changes'); END IF;
    IF NEW.manual_capture THEN PERFORM partitions.guard_manual_session_rest(OLD, NEW); END IF;
    IF NEW.allow_repeated_order <> OLD.allow_repeated_order OR OLD.paying_session_id <> NEW.paying_session_id THEN
      PERFORM app.refuse('what was ordered, and who pays it, never changes'); END IF;
    IF OLD.winner_attempt_id IS NULL AND NEW.winner_attempt_id IS NOT NULL AND NOT NEW.allow_repeated_order THEN
      PERFORM app.require_order(NEW.id, NEW.merchant_id, NEW.order_ref); END IF;
    IF NEW.submit_deadline > OLD.submit_deadline AND OLD.awaiting_since IS NULL THEN PERFORM app.refuse('a deadline never moves away'); END IF;
    IF NEW.status IN ('DECLINED','DEGRADED') AND OLD.status = 'CREATED' AND EXISTS (
         SELECT 1 FROM partitions.attempt_rest WHERE session_id = NEW.id
         AND (status IN ('AUTHORIZED','CAPTURED') OR status = 'VOIDING' AND capture_ordered_at IS NOT NULL)) THEN
      PERFORM app.refuse('no end without a capture while one may still land'); END IF;
    IF NEW.status = 'SUCCEEDED' AND NEW.captured_via IS NOT NULL AND NEW.winner_attempt_id IS NOT NULL
       AND (NEW.captured_via, NEW.winner_attempt_id, OLD.status) IS DISTINCT FROM (OLD.captured_via, OLD.winner_attempt_id, NEW.status)
       AND NOT EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = NEW.id AND id = NEW.winner_attempt_id AND gateway = NEW.captured_via) THEN
      PERFORM app.refuse('the money was captured at the winner''s gateway'); END IF;
  END IF;

  IF num_nonnulls(NEW.wallet_credential, NEW.wallet, NEW.cryptogram_resend, CASE WHEN TG_OP = 'UPDATE' THEN OLD.wallet_credential END) > 0 THEN
    PERFORM app.guard_wallet_session(CASE WHEN TG_OP = 'UPDATE' THEN OLD END, NEW); END IF;
  IF NOT NEW.manual_capture AND num_nonnulls(NEW.capture_by, NEW.held_at, NEW.capture_asked_at) > 0 THEN
    PERFORM app.refuse('only a payment that is captured later is held'); END IF;
  IF (NEW.held_at IS NULL) <> (NEW.held_until IS NULL) OR NEW.held_at IS NULL AND num_nonnulls(NEW.capture_asked_at, NEW.capture_due_at) > 0
     OR NEW.held_until < NEW.held_at OR NEW.capture_due_at > NEW.held_until THEN
    PERFORM app.refuse('a hold has its beginning and its end, and its order between them'); END IF;
  IF NEW.named_by IS NOT NULL AND (NEW.authentications > 0 OR num_nonnulls(NEW.browser_sealed, NEW.awaiting_since) > 0 OR NEW.manual_capture)
     AND NOT EXISTS (SELECT FROM partitions.stored_payment_rest WHERE session_id = NEW.id AND role = 'RECOVERY' AND NOT NEW.manual_capture) THEN
    PERFORM app.refuse('a renewal has no customer to ask, and is captured at once'); END IF;
  IF NEW.capture_by <= NEW.expires_at THEN PERFORM app.refuse('a capture comes after the submission'); END IF;
  IF NEW.held_at IS NOT NULL AND (NEW.vault_token IS NOT NULL OR NEW.browser_sealed IS NOT NULL) THEN
    PERFORM app.refuse('a held payment needs neither card nor browser any more'); END IF;
  IF NEW.decline_code IN ('capture_cancelled','capture_expired') AND (NEW.status <> 'DECLINED' OR NEW.held_at IS NULL OR NEW.capture_asked_at IS NOT NULL) THEN
    PERFORM app.refuse('only a hold without an order is cancelled or lapses'); END IF;
  IF NEW.decline_code IN ('order_being_paid','order_already_paid') AND (NEW.status <> 'DECLINED' OR NEW.paying_session_id IS NULL) THEN
    PERFORM app.refuse('a payment that is declined for its order names the session that pays it'); END IF;
  IF NEW.paying_session_id = NEW.id OR NEW.paying_session_id IS NOT NULL AND NEW.status = 'SUCCEEDED' THEN
    PERFORM app.refuse('an order is paid by another session'); END IF;
  -- S12: 0 for a set-up alone, which has a row in stored_payment.
  IF NEW.amount_minor NOT BETWEEN (NOT NEW.stored)::int AND 999999999999 THEN PERFORM app.refuse('an amount is between 1 and 999999999999 minor units'); END IF;
  IF NEW.currency !~ '^[A-Z]{3}$' THEN PERFORM app.refuse('a currency is three capital letters'); END IF;
  IF char_length(NEW.order_ref) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('an order reference has 1 to 255 characters'); END IF;
  IF char_length(NEW.customer_email) NOT BETWEEN 3 AND 254 THEN PERFORM app.refuse('an email address has 3 to 254 characters'); END IF;
  IF char_length(NEW.customer_ref) NOT BETWEEN 1 AND 255 THEN PERFORM app.refuse('a customer reference has 1 to 255 characters'); END IF;
  IF NEW.card_last4 !~ '^[0-9]{4}$' THEN PERFORM app.refuse('the end of a card number is four digits'); END IF;
  IF NEW.status NOT IN ('CREATED','SUCCEEDED','DECLINED','DEGRADED','EXPIRED') THEN PERFORM app.refuse('no session has such a status'); END IF;
  IF NEW.phase NOT IN ('IDLE','PROCESSING','DONE') THEN PERFORM app.refuse('no session has such a phase'); END IF;
  IF NOT NEW.pinned THEN PERFORM app.refuse('a session is pinned to its winner'); END IF;
  IF NEW.expires_at <= NEW.created_at THEN PERFORM app.refuse('a session expires after it was created'); END IF;
  IF NEW.status = 'SUCCEEDED' AND NEW.winner_attempt_id IS NULL THEN PERFORM app.refuse('SUCCEEDED needs a winner'); END IF;
  IF NEW.status NOT IN ('CREATED','SUCCEEDED') AND NEW.winner_attempt_id IS NOT NULL THEN
    PERFORM app.refuse('an end without a capture has no winner'); END IF;
  IF NEW.phase = 'DONE' AND NEW.status = 'CREATED' THEN PERFORM app.refuse('DONE needs a final status'); END IF;
  IF NEW.phase = 'IDLE' AND (NEW.status <> 'CREATED' OR NEW.winner_attempt_id IS NOT NULL) THEN
    PERFORM app.refuse('an IDLE session is CREATED, without a winner'); END IF;
  IF NEW.phase = 'PROCESSING' AND (NEW.lease_until IS NULL OR NEW.submit_deadline IS NULL) THEN
    PERFORM app.refuse('PROCESSING needs a lease and a deadline'); END IF;
  IF (NEW.status = 'EXPIRED') <> (NEW.phase = 'DONE' AND NEW.lease_epoch = 0) THEN
    PERFORM app.refuse('EXPIRED means DONE and never submitted'); END IF;
  IF NEW.expired_because IS NOT NULL AND (NEW.status <> 'EXPIRED' OR NEW.expired_because NOT IN ('CANCELLED','REPLACED')) THEN
    PERFORM app.refuse('a merchant cancels or replaces a session that was not submitted'); END IF;
  IF NEW.replaced_by IS NOT NULL AND NEW.status NOT IN ('DECLINED','DEGRADED','EXPIRED')
     OR NEW.replaced_by IS NULL AND NEW.expired_because = 'REPLACED' THEN
    PERFORM app.refuse('only a session that ended without a payment has a successor'); END IF;
  IF (NEW.status = 'CREATED') <> (NEW.settled_at IS NULL) THEN PERFORM app.refuse('a final status has its time'); END IF;
  IF (NEW.phase = 'IDLE' OR NEW.status = 'EXPIRED') <> (NEW.submitted_at IS NULL) THEN PERFORM app.refuse('a submission has its time'); END IF;
  IF NEW.status = 'SUCCEEDED' AND (NEW.captured_via IS NULL OR NEW.capture_confirmed IS NULL) THEN
    PERFORM app.refuse('SUCCEEDED names its gateway'); END IF;
  IF (NEW.status IN ('DECLINED','DEGRADED')) <> (NEW.decline_code IS NOT NULL) THEN
    PERFORM app.refuse('DECLINED and DEGRADED have a decline code'); END IF;
  IF NEW.vault_token IS NOT NULL AND (NEW.phase <> 'PROCESSING' OR NEW.status <> 'CREATED') THEN
    PERFORM app.refuse('the token lives no longer than the payment that may use it'); END IF;
  RETURN NEW;
END $function$;

-- function partitions.guard_stored_payment()
CREATE OR REPLACE FUNCTION partitions.guard_stored_payment_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function partitions.guard_token_attempt(after record, resend text)
CREATE OR REPLACE FUNCTION partitions.guard_token_attempt_rest(after record, resend text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE earlier record;
BEGIN
  IF after.round = 1 OR after.authentication_id IS NOT NULL THEN PERFORM app.refuse('a device''s number is sent without an authentication'); END IF;
  SELECT bool_or(status = 'DECLINED') AS was_declined, bool_or(status = 'UNKNOWN') AS is_unknown, bool_or(status = 'UNKNOWN' AND looked_up_at IS NULL) AS is_unread,
    bool_or(next_action = 'stop') AS is_stopped,
    bool_or(status NOT IN ('FAILED','DECLINED','UNKNOWN')) AS was_held INTO earlier
  FROM partitions.attempt_rest WHERE session_id = after.session_id;
  IF earlier.was_held THEN PERFORM app.refuse('no cryptogram is sent again after a hold'); END IF;
  IF earlier.is_unknown AND coalesce(resend, 'NOT_SENT') = 'NOT_SENT' THEN PERFORM app.refuse('a cryptogram without an answer is sent again only where the rule says so'); END IF;
  IF earlier.is_stopped THEN PERFORM app.refuse('no cryptogram is sent again after a stop'); END IF;
  IF earlier.is_unread THEN PERFORM app.refuse('a gateway that is silent is looked up before a cryptogram is sent again'); END IF;
  IF earlier.was_declined AND resend IS DISTINCT FROM 'DECLINED' THEN PERFORM app.refuse('a declined cryptogram is sent again only where the rule says so'); END IF;
END $function$;

-- function partitions.held(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, reference text, network text, lease_ms integer, unused_ms integer, brand text, last4 text)
CREATE OR REPLACE FUNCTION partitions.held_rest(of_session uuid, epoch integer, attempt uuid, read_at timestamp with time zone, reference text, network text, lease_ms integer, unused_ms integer, brand text, last4 text)
 RETURNS TABLE(recorded_at timestamp with time zone, is_news boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'partitions', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  s  record;
  a  record;
  at timestamptz := date_trunc('milliseconds', app.clock());
BEGIN
  UPDATE partitions.payment_session_rest AS o
  SET winner_attempt_id = attempt, card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4),
      lease_until = CASE WHEN lease_until > at + unused_ms * interval '1 ms' THEN lease_until ELSE at + lease_ms * interval '1 ms' END
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' AND winner_attempt_id IS NULL
  RETURNING status, manual_capture, held_at, unrecorded_check_at, authentications, stored, merchant_id, order_ref, NOT allow_repeated_order
    AND (SELECT m.repeated_orders = 'REFUSE' FROM merchant_settings m WHERE m.merchant_id = o.merchant_id) AS refuses_repeats INTO s;
  IF NOT FOUND THEN
    PERFORM app.lost(CASE WHEN lease_epoch = epoch AND phase = 'PROCESSING' THEN 'the session has a winner' ELSE 'the lease was taken over' END)
    FROM partitions.payment_session_rest WHERE id = of_session; END IF;
  IF s.status <> 'CREATED' THEN PERFORM app.refuse('a hold is adopted only while CREATED and without a winner'); END IF;
  IF s.manual_capture THEN PERFORM app.refuse('a payment that is captured later is captured only on an order'); END IF;
  IF last4 !~ '^[0-9]{4}$' THEN PERFORM app.refuse('the end of a card number is four digits'); END IF;
  IF reference IS NULL THEN PERFORM app.refuse('a hold has the gateway''s reference'); END IF;
  SELECT bool_or(failure_kind = 'FRAUD' OR stop = 'fraud') AS after_fraud, bool_or(stop = 'authentication_failed') AS after_refusal,
    bool_or(status IN ('AUTHORIZING','AWAITING_CUSTOMER','AUTHORIZED','CAPTURED')) AS beside_open, bool_or(status = 'UNKNOWN') AS has_unknown,
    coalesce(bool_or(changed_at > read_at), false) AS news INTO a
  FROM partitions.attempt_rest WHERE session_id = of_session AND id <> attempt;
  IF a.after_fraud THEN PERFORM app.refuse('no hold is adopted after a fraud decline'); END IF;
  IF a.after_refusal AND s.unrecorded_check_at IS NULL THEN PERFORM app.refuse('no hold is adopted after a failed authentication'); END IF;
  IF a.beside_open THEN PERFORM app.refuse('an authorized attempt is the winner'); END IF;
  IF s.authentications > 0 AND s.unrecorded_check_at IS NULL AND EXISTS (
       SELECT FROM partitions.authentication_rest WHERE session_id = of_session AND provider IS NOT NULL AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED')) THEN
    PERFORM app.refuse('no hold is adopted after a refusal by the provider'); END IF;
  is_news := a.news;
  IF a.has_unknown THEN
    UPDATE partitions.attempt_rest SET status = 'VOIDING', retries = 0, next_retry_at = NULL, voiding_at = at, changed_at = at
    WHERE session_id = of_session AND status = 'UNKNOWN'; END IF;
  UPDATE partitions.attempt_rest
  SET status = 'AUTHORIZED', gateway_reference = reference, network_transaction_id = coalesce(network, network_transaction_id),
      answered_at = coalesce(answered_at, at), capture_ordered_at = at, captured_amount_minor = amount_minor, changed_at = at
  WHERE session_id = of_session AND id = attempt AND status = 'AUTHORIZING'
  RETURNING connection_id INTO a;
  IF NOT FOUND THEN PERFORM app.lost('the attempt has moved on'); END IF;
  PERFORM app.check_reference(of_session, attempt, a.connection_id, reference);
  IF s.stored THEN PERFORM app.uncount_try(of_session, attempt); END IF;
  IF s.refuses_repeats THEN PERFORM app.require_order(of_session, s.merchant_id, s.order_ref); END IF;
  recorded_at := at;
  RETURN NEXT;
END $function$;

-- function partitions.held_by_disputes(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.held_by_disputes_rest(of_session uuid)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN (SELECT coalesce(sum(held_minor), 0) FROM partitions.dispute_rest WHERE session_id = of_session);
END $function$;

-- function partitions.insert_authentication(of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, only_when_asked boolean, life_ms integer, action text, kept text, time_ms double precision, browser text)
CREATE OR REPLACE FUNCTION partitions.insert_authentication_rest(of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, only_when_asked boolean, life_ms integer, action text, kept text, time_ms double precision, browser text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO partitions.authentication_rest (session_id, id, sequence, attempt_id, connection_id, because, holds_only_when_asked,
    action_life_ms, action_sealed, keep_sealed, deadline_at)
  SELECT of_session, of_authentication, count(*) + 1, of_attempt, connection, why, only_when_asked, life_ms, action, kept,
    app.clock() + time_ms * interval '1 ms' - coalesce(sum(coalesce(answered_at, completed_at) - started_at), interval '0')
  FROM partitions.authentication_rest WHERE session_id = of_session;
  UPDATE partitions.payment_session_rest
  SET awaiting_since = app.clock(), authentications = authentications + 1, browser_sealed = coalesce(browser_sealed, browser)
  WHERE id = of_session RETURNING * $function$;

-- function partitions.insert_dispute_movement(of_session uuid, of_dispute uuid, as_type text, minor bigint, in_currency text)
CREATE OR REPLACE FUNCTION partitions.insert_dispute_movement_rest(of_session uuid, of_dispute uuid, as_type text, minor bigint, in_currency text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO partitions.dispute_movement_rest (session_id, dispute_id, ordinal, type, amount_minor, currency)
  SELECT of_session, of_dispute, 1 + coalesce((SELECT max(m.ordinal) FROM partitions.dispute_movement_rest m
    WHERE m.session_id = of_session AND m.dispute_id = of_dispute), 0), as_type, minor, in_currency $function$;

-- function partitions.insert_dispute_response(of_session uuid, of_response uuid, of_dispute uuid, as_type text, person text, hash bytea, as_defense text, of_documents jsonb, content text, lease_ms double precision)
CREATE OR REPLACE FUNCTION partitions.insert_dispute_response_rest(of_session uuid, of_response uuid, of_dispute uuid, as_type text, person text, hash bytea, as_defense text, of_documents jsonb, content text, lease_ms double precision)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO partitions.dispute_response_rest (session_id, id, dispute_id, type, made_by, request_hash, defense, documents, content_sealed, next_try_at)
  SELECT of_session, of_response, of_dispute, as_type, person, hash, as_defense, of_documents, content, app.clock() + lease_ms * interval '1 ms' $function$;

-- function partitions.insert_frictionless(of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, end_status text, of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
CREATE OR REPLACE FUNCTION partitions.insert_frictionless_rest(of_session uuid, of_authentication uuid, of_attempt uuid, connection uuid, why text, end_status text, of_version text, transaction_status text, by_eci text, ds_transaction text, liable text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO partitions.authentication_rest (session_id, id, sequence, attempt_id, connection_id, because, flow, status,
    version, trans_status, eci, ds_transaction_id, liability, holds_only_when_asked, action_life_ms, started_at, deadline_at, completed_at)
  SELECT of_session, of_authentication, (SELECT count(*) + 1 FROM partitions.authentication_rest WHERE session_id = of_session), of_attempt, connection, why,
    'FRICTIONLESS', end_status, of_version, transaction_status, by_eci, ds_transaction, liable, true, 0, now, now, now
  FROM app.clock() AS now;
  UPDATE partitions.payment_session_rest SET authentications = authentications + 1 WHERE id = of_session RETURNING * $function$;

-- function partitions.insert_provided(of_session uuid, of_authentication uuid, connection uuid, why text, by_provider text, credential integer, time_ms double precision, browser text)
CREATE OR REPLACE FUNCTION partitions.insert_provided_rest(of_session uuid, of_authentication uuid, connection uuid, why text, by_provider text, credential integer, time_ms double precision, browser text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO partitions.authentication_rest (session_id, id, sequence, connection_id, because, flow, status, provider,
    credential_version, holds_only_when_asked, action_life_ms, deadline_at)
  SELECT of_session, of_authentication, count(*) + 1, connection, why, 'FRICTIONLESS', 'PREPARING', by_provider, credential, true, 0,
    app.clock() + time_ms * interval '1 ms' - coalesce(sum(coalesce(answered_at, completed_at) - started_at), interval '0')
  FROM partitions.authentication_rest WHERE session_id = of_session;
  UPDATE partitions.payment_session_rest SET authentications = authentications + 1, browser_sealed = coalesce(browser_sealed, browser)
  WHERE id = of_session RETURNING * $function$;

-- function partitions.insert_refund(of_session uuid, of_refund uuid, of_attempt uuid, connection uuid, at_gateway text, minor bigint, in_currency text, as_status text, made_at text, why text, named text, person text, hash bytea, reference text, failure text, due_ms double precision, is_taken boolean)
CREATE OR REPLACE FUNCTION partitions.insert_refund_rest(of_session uuid, of_refund uuid, of_attempt uuid, connection uuid, at_gateway text, minor bigint, in_currency text, as_status text, made_at text, why text, named text, person text, hash bytea, reference text, failure text, due_ms double precision, is_taken boolean)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO partitions.refund_rest (session_id, id, attempt_id, connection_id, gateway, amount_minor, currency, status, origin, reason,
    refund_ref, made_by, request_hash, gateway_reference, failure_code, next_try_at, retries, completed_at)
  SELECT of_session, of_refund, of_attempt, connection, at_gateway, minor, in_currency, as_status, made_at, why, named, person, hash, reference, failure,
    app.clock() + due_ms * interval '1 ms', CASE WHEN is_taken THEN 1 ELSE 0 END, CASE WHEN as_status IN ('SUCCEEDED','FAILED') THEN app.clock() END;
  UPDATE partitions.payment_session_rest SET refunds = refunds + 1 WHERE id = of_session RETURNING * $function$;

-- function partitions.is_refused_by_provider(checked uuid)
CREATE OR REPLACE FUNCTION partitions.is_refused_by_provider_rest(checked uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN EXISTS (SELECT FROM partitions.authentication_rest WHERE session_id = checked AND provider IS NOT NULL
                 AND status IN ('FAILED','REJECTED','CANCELLED','ABANDONED'));
END $function$;

-- function partitions.is_stopped(opened record)
CREATE OR REPLACE FUNCTION partitions.is_stopped_rest(opened record)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
BEGIN
  RETURN EXISTS (
    SELECT FROM partitions.attempt_rest a
    WHERE a.session_id = opened.session_id AND a.stop IS NOT NULL AND NOT (a.stop = 'authentication_required' AND a.round = 0 AND (
      opened.round = 1 AND opened.connection_id = a.connection_id OR EXISTS (
        SELECT FROM partitions.attempt_rest r
        WHERE r.session_id = opened.session_id AND r.connection_id = a.connection_id AND r.round = 1))));
END $function$;

-- function partitions.keep_card(of_session uuid, new_method uuid, its_brand text, digits text, month integer, year integer, versions uuid[], replaced_ms double precision)
CREATE OR REPLACE FUNCTION partitions.keep_card_rest(of_session uuid, new_method uuid, its_brand text, digits text, month integer, year integer, versions uuid[], replaced_ms double precision)
 RETURNS SETOF stored_payment
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  p stored_payment;
  m payment_method;
  waits_until timestamptz;
BEGIN
  PERFORM FROM partitions.payment_session_rest WHERE id = of_session FOR UPDATE;
  SELECT * INTO p FROM partitions.stored_payment_rest WHERE session_id = of_session AND saving = 'REQUESTED' FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  -- The customer's data were erased meanwhile.
  IF p.customer_ref IS NULL THEN
    PERFORM FROM app.drop_card(of_session, 'DROPPED');
    RETURN;
  END IF;
  -- In the order in which renewals lock them: an agreement before its card.
  PERFORM FROM agreement a WHERE a.id = p.agreement_id FOR UPDATE;
  IF p.method_id IS NOT NULL THEN
    SELECT * INTO m FROM payment_method o WHERE o.id = p.method_id FOR UPDATE;
    IF m.status <> 'ACTIVE' THEN
      PERFORM FROM app.drop_card(of_session, 'FAILED');
      RETURN;
    END IF;
  ELSE
    -- Another payment may store the same number at this moment.
    PERFORM pg_advisory_xact_lock(hashtextextended('payment_method ' || p.merchant_id || ' ' || p.customer_ref, 0));
    SELECT * INTO m FROM payment_method o
    WHERE o.merchant_id = p.merchant_id AND o.customer_ref = p.customer_ref AND o.fingerprint = ANY (versions) AND o.status = 'ACTIVE'
    ORDER BY o.id LIMIT 1 FOR UPDATE;
    IF FOUND THEN
      INSERT INTO card_erasure (handle_hash, merchant_id, wanted_at, erase_due_at)
      SELECT m.handle_hash, m.merchant_id, at, at FROM (SELECT app.clock() + replaced_ms * interval '1 ms' AS at) later ON CONFLICT DO NOTHING;
      PERFORM app.erase_at_gateway(m.merchant_id, m.own_connection_id, m.own_customer, m.own_method, m.stored_at, app.clock() + replaced_ms * interval '1 ms')
      WHERE m.own_method IS DISTINCT FROM p.own_method
        AND NOT EXISTS (SELECT FROM agreement a WHERE a.own_connection_id = m.own_connection_id AND a.own_customer = m.own_customer AND a.own_method = m.own_method);
      UPDATE payment_method o
      SET brand = its_brand, exp_month = month, exp_year = year, fingerprint = versions[1], handle_sealed = p.handle_sealed, handle_hash = p.handle_hash,
          stopped_because = NULL, session_id = of_session, stored_at = app.clock(),
          own_connection_id = p.own_connection_id, own_customer = p.own_customer, own_method = p.own_method
      WHERE o.id = m.id;
      UPDATE card_decline d SET fingerprint = versions[1] WHERE d.merchant_id = p.merchant_id AND d.fingerprint = m.fingerprint AND m.fingerprint <> versions[1];
    ELSE
      INSERT INTO payment_method (id, merchant_id, customer_ref, brand, last4, exp_month, exp_year, fingerprint, handle_sealed, handle_hash, session_id,
        own_connection_id, own_customer, own_method)
      VALUES (new_method, p.merchant_id, p.customer_ref, its_brand, digits, month, year, versions[1], p.handle_sealed, p.handle_hash, of_session,
        p.own_connection_id, p.own_customer, p.own_method)
      RETURNING * INTO m;
    END IF;
    -- A stop ends when the number is stored again. How long it has to wait, and what counts against it, stay with the number.
    SELECT max(c.not_before) INTO waits_until FROM (
      SELECT s.not_before FROM card_state s WHERE s.merchant_id = p.merchant_id AND s.fingerprint = ANY (versions || m.fingerprint)
      ORDER BY s.fingerprint FOR UPDATE) c;
    UPDATE card_state c SET stopped_at = NULL, stopped_because = NULL, not_before = waits_until
    WHERE c.merchant_id = p.merchant_id AND c.fingerprint = ANY (versions || m.fingerprint);
    IF waits_until IS NOT NULL THEN
      INSERT INTO card_state (merchant_id, fingerprint, not_before) VALUES (p.merchant_id, versions[1], waits_until) ON CONFLICT DO NOTHING; END IF;
  END IF;
  UPDATE payment_method o SET last_used_at = app.clock() WHERE o.id = m.id;
  PERFORM app.make_agreement(p, m.id);
  PERFORM app.renew_agreement(p, m.id);
  RETURN QUERY UPDATE partitions.stored_payment_rest o SET saving = 'KEPT', method_id = m.id, token_sealed = NULL, handle_sealed = NULL, save_due_at = NULL
    WHERE o.session_id = of_session RETURNING o.*;
END $function$;

-- function partitions.link_dispute_refund(of_session uuid, of_dispute uuid, of_refund uuid, person text, why text)
CREATE OR REPLACE FUNCTION partitions.link_dispute_refund_rest(of_session uuid, of_dispute uuid, of_refund uuid, person text, why text)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  UPDATE partitions.refund_rest r SET (dispute_id, dispute_by, dispute_reason) = (of_dispute, person, why)
  WHERE r.session_id = of_session AND r.id = of_refund AND r.dispute_id IS NULL;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO partitions.dispute_movement_rest (session_id, dispute_id, ordinal, type, amount_minor, currency)
  SELECT of_session, of_dispute, max(m.ordinal) + 1, 'CHARGEBACK_REVERSED',
    least(min(r.amount_minor), sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) FILTER (WHERE m.currency = r.currency)), min(r.currency)
  FROM partitions.dispute_movement_rest m, partitions.refund_rest r
  WHERE m.session_id = of_session AND m.dispute_id = of_dispute AND r.session_id = of_session AND r.id = of_refund
  HAVING sum(CASE m.type WHEN 'CHARGEBACK' THEN m.amount_minor ELSE -m.amount_minor END) FILTER (WHERE m.currency = r.currency) > 0;
  UPDATE partitions.dispute_rest d SET updated_at = app.clock() WHERE d.session_id = of_session AND d.id = of_dispute;
  UPDATE partitions.dispute_rest d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT of_dispute;
END $function$;

-- function partitions.lock_leased(of_session uuid, epoch integer)
CREATE OR REPLACE FUNCTION partitions.lock_leased_rest(of_session uuid, epoch integer)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT * FROM partitions.payment_session_rest WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING' FOR UPDATE $function$;

-- function partitions.lock_session(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.lock_session_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT * FROM partitions.payment_session_rest WHERE id = of_session FOR UPDATE $function$;

-- function partitions.lock_session_of(of_session uuid, of_merchant uuid)
CREATE OR REPLACE FUNCTION partitions.lock_session_of_rest(of_session uuid, of_merchant uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT * FROM partitions.payment_session_rest WHERE id = of_session AND merchant_id = of_merchant FOR UPDATE $function$;

-- function partitions.look_again(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.look_again_rest(of_session uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest SET next_retry_at = app.clock()
  WHERE session_id = of_session AND status = 'AWAITING_CUSTOMER' AND next_retry_at <= app.clock() RETURNING * $function$;

-- function partitions.look_at_hold_later(of_session uuid, of_attempt uuid, after_ms double precision)
CREATE OR REPLACE FUNCTION partitions.look_at_hold_later_rest(of_session uuid, of_attempt uuid, after_ms double precision)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest SET next_retry_at = app.clock() + after_ms * interval '1 ms'
  WHERE session_id = of_session AND id = of_attempt AND status = 'AUTHORIZED' RETURNING * $function$;

-- function partitions.look_at_provider(of_session uuid, of_authentication uuid, look_at timestamp with time zone, checked_at timestamp with time zone, wakes boolean)
CREATE OR REPLACE FUNCTION partitions.look_at_provider_rest(of_session uuid, of_authentication uuid, look_at timestamp with time zone, checked_at timestamp with time zone, wakes boolean)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET next_look_at = look_at, answered_at = coalesce(checked_at, answered_at)
  WHERE session_id = of_session AND id = of_authentication;
  UPDATE partitions.payment_session_rest SET lease_until = least(lease_until, look_at)
  WHERE id = of_session AND wakes AND phase = 'PROCESSING' AND awaiting_since IS NOT NULL RETURNING * $function$;

-- function partitions.look_soon(of_session uuid, apart_ms double precision)
CREATE OR REPLACE FUNCTION partitions.look_soon_rest(of_session uuid, apart_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  WITH soon AS (
    UPDATE partitions.attempt_rest SET next_retry_at = least(next_retry_at, app.clock() + apart_ms * interval '1 ms')
    WHERE session_id = of_session AND status = 'AWAITING_CUSTOMER' AND retries > 0 AND next_retry_at > app.clock()
      AND changed_at > app.clock() - apart_ms * interval '1 ms'
    RETURNING next_retry_at)
  UPDATE partitions.payment_session_rest s SET lease_until = least(s.lease_until, soon.next_retry_at) FROM soon WHERE s.id = of_session RETURNING s.* $function$;

-- function partitions.mark_dispute_due(of_session uuid, of_dispute uuid)
CREATE OR REPLACE FUNCTION partitions.mark_dispute_due_rest(of_session uuid, of_dispute uuid)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.dispute_rest d SET due_soon_at = app.clock()
  WHERE d.session_id = of_session AND d.id = of_dispute AND d.due_soon_at IS NULL AND d.status = 'NEEDS_RESPONSE' RETURNING d.id $function$;

-- function partitions.move_attempt(of_session uuid, of_attempt uuid, from_status text, changes jsonb, stamps text[])
CREATE OR REPLACE FUNCTION partitions.move_attempt_rest(of_session uuid, of_attempt uuid, from_status text, changes jsonb, stamps text[])
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT app.require_columns(changes, stamps, '{
    status,failure_kind,stop,decline_code,gateway_code,refusal,gateway_reference,network_transaction_id,next_action,
    next_because,capture_ordered_at,captured_amount_minor,ordered_amount_minor,capture_reference,capture_refusal_code,
    void_kind,void_asked_at,looked_up_at,latest_execution_at,retries,next_retry_at,answered_at,completed_at}');
  UPDATE partitions.attempt_rest a
  SET (status, failure_kind, stop, decline_code, gateway_code, refusal, gateway_reference, network_transaction_id, next_action, next_because,
       capture_ordered_at, captured_amount_minor, ordered_amount_minor, capture_reference, capture_refusal_code, void_kind, void_asked_at, looked_up_at,
       latest_execution_at, retries, next_retry_at, answered_at, completed_at)
    = (SELECT n.status, n.failure_kind, n.stop, n.decline_code, n.gateway_code, n.refusal, n.gateway_reference, n.network_transaction_id, n.next_action, n.next_because,
       n.capture_ordered_at, n.captured_amount_minor, n.ordered_amount_minor, n.capture_reference, n.capture_refusal_code, n.void_kind, n.void_asked_at, n.looked_up_at,
       n.latest_execution_at, n.retries, n.next_retry_at, n.answered_at, n.completed_at
       FROM jsonb_populate_record(a, changes || coalesce((SELECT jsonb_object_agg(one, app.clock()) FROM unnest(stamps) one), '{}')) n)
  WHERE a.session_id = of_session AND a.id = of_attempt AND a.status = from_status
  RETURNING a.* $function$;

-- function partitions.move_dispute_response(of_session uuid, of_response uuid, as_status text, failure text, due_ms double precision)
CREATE OR REPLACE FUNCTION partitions.move_dispute_response_rest(of_session uuid, of_response uuid, as_status text, failure text, due_ms double precision)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.dispute_response_rest r
  SET status = as_status, failure_code = failure, answered_at = CASE WHEN as_status <> 'REQUESTED' THEN app.clock() END,
    next_try_at = app.clock() + due_ms * interval '1 ms'
  WHERE r.session_id = of_session AND r.id = of_response AND r.status = 'REQUESTED' RETURNING r.id $function$;

-- function partitions.move_refund(of_session uuid, of_refund uuid, from_status text, changes jsonb, stamps text[], is_due boolean, due_ms double precision)
CREATE OR REPLACE FUNCTION partitions.move_refund_rest(of_session uuid, of_refund uuid, from_status text, changes jsonb, stamps text[], is_due boolean, due_ms double precision)
 RETURNS SETOF refund
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT app.require_columns(changes, stamps, '{
    status,gateway_reference,failure_code,sends,keys,unanswered,key_until,first_sent_at,sent_at,look_up_first,absent_at,
    retries,pending_event_at,cleared_at,decision,decision_reference,decided_by,decision_reason,completed_at}');
  UPDATE partitions.refund_rest r
  SET (status, gateway_reference, failure_code, sends, keys, unanswered, key_until, first_sent_at, sent_at, look_up_first, absent_at, retries,
       pending_event_at, cleared_at, decision, decision_reference, decided_by, decision_reason, completed_at, next_try_at)
    = (SELECT n.status, n.gateway_reference, n.failure_code, n.sends, n.keys, n.unanswered, n.key_until, n.first_sent_at, n.sent_at, n.look_up_first, n.absent_at,
       n.retries, n.pending_event_at, n.cleared_at, n.decision, n.decision_reference, n.decided_by, n.decision_reason, n.completed_at,
       CASE WHEN is_due THEN app.clock() + due_ms * interval '1 ms' ELSE r.next_try_at END
       FROM jsonb_populate_record(r, changes || coalesce((SELECT jsonb_object_agg(one, app.clock()) FROM unnest(stamps) one), '{}')) n)
  WHERE r.session_id = of_session AND r.id = of_refund AND r.status = from_status
  RETURNING r.* $function$;

-- function partitions.name_successor(of_session uuid, successor uuid)
CREATE OR REPLACE FUNCTION partitions.name_successor_rest(of_session uuid, successor uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET replaced_by = successor WHERE id = of_session RETURNING * $function$;

-- function partitions.name_winner(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION partitions.name_winner_rest(of_session uuid, of_attempt uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET winner_attempt_id = of_attempt WHERE id = of_session AND winner_attempt_id IS NULL RETURNING * $function$;

-- function partitions.open_attempt(of_session uuid, of_attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, minor bigint, in_currency text, execution_ms double precision, of_round integer, authenticated_by uuid)
CREATE OR REPLACE FUNCTION partitions.open_attempt_rest(of_session uuid, of_attempt uuid, at_gateway text, connection uuid, credential integer, place integer, why text, minor bigint, in_currency text, execution_ms double precision, of_round integer, authenticated_by uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  INSERT INTO partitions.attempt_rest (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
    started_at, latest_execution_at, round, authentication_id)
  SELECT of_session, of_attempt, (SELECT count(*) + 1 FROM partitions.attempt_rest WHERE session_id = of_session), at_gateway, connection, credential, place,
    why, minor, in_currency, now, now + execution_ms * interval '1 ms', of_round, authenticated_by
  FROM app.clock() AS now
  RETURNING * $function$;

-- function partitions.open_link(new_session uuid, of_link uuid, secret integer, request uuid, tries_max integer)
CREATE OR REPLACE FUNCTION partitions.open_link_rest(new_session uuid, of_link uuid, secret integer, request uuid, tries_max integer)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
END $function$;

-- function partitions.park_session(of_session uuid, epoch integer, until timestamp with time zone, but uuid[])
CREATE OR REPLACE FUNCTION partitions.park_session_rest(of_session uuid, epoch integer, until timestamp with time zone, but uuid[])
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest
  SET lease_until = least(until, (
    SELECT min(next_retry_at) FROM partitions.attempt_rest WHERE session_id = of_session AND completed_at IS NULL AND id <> ALL (but)))
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $function$;

-- function partitions.park_session_at_provider(of_session uuid, epoch integer, until timestamp with time zone, read_at timestamp with time zone)
CREATE OR REPLACE FUNCTION partitions.park_session_at_provider_rest(of_session uuid, epoch integer, until timestamp with time zone, read_at timestamp with time zone)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest
  SET lease_until = least(until, (
    SELECT CASE WHEN cancel_asked_at IS NOT NULL THEN app.clock() WHEN next_look_at > read_at THEN next_look_at END
    FROM partitions.authentication_rest WHERE session_id = of_session AND completed_at IS NULL))
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $function$;

-- function partitions.postpone_look(of_session uuid, of_attempt uuid, read_at timestamp with time zone, again_ms double precision, look_ms double precision)
CREATE OR REPLACE FUNCTION partitions.postpone_look_rest(of_session uuid, of_attempt uuid, read_at timestamp with time zone, again_ms double precision, look_ms double precision)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest a SET retries = retries + 1, next_retry_at = CASE
    WHEN next_retry_at > read_at THEN greatest(next_retry_at, app.clock() + again_ms * interval '1 ms')
    ELSE least(app.clock() + look_ms * interval '1 ms', (
      SELECT deadline_at FROM partitions.authentication_rest
      WHERE session_id = of_session AND attempt_id = a.id AND deadline_at > app.clock())) END
  WHERE session_id = of_session AND id = of_attempt AND status = 'AWAITING_CUSTOMER'
  RETURNING a.* $function$;

-- function partitions.postpone_provider_look(of_session uuid, of_authentication uuid, read_at timestamp with time zone, again_ms double precision, look_ms double precision)
CREATE OR REPLACE FUNCTION partitions.postpone_provider_look_rest(of_session uuid, of_authentication uuid, read_at timestamp with time zone, again_ms double precision, look_ms double precision)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET next_look_at = CASE
    WHEN next_look_at > read_at THEN greatest(next_look_at, app.clock() + again_ms * interval '1 ms')
    WHEN deadline_at > app.clock() THEN least(app.clock() + look_ms * interval '1 ms', deadline_at)
    ELSE app.clock() + look_ms * interval '1 ms' END
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' RETURNING * $function$;

-- function partitions.record_capture_due(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.record_capture_due_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET capture_due_at = NULL WHERE id = of_session AND capture_due_at IS NOT NULL RETURNING * $function$;

-- function partitions.record_dispute(of_session uuid, of_dispute uuid, of_attempt uuid, connection uuid, at_gateway text, reference text, as_stage text, as_status text, minor bigint, in_currency text, why text, network_code text, by_network text, until timestamp with time zone, reported jsonb, asked timestamp with time zone, opened timestamp with time zone)
CREATE OR REPLACE FUNCTION partitions.record_dispute_rest(of_session uuid, of_dispute uuid, of_attempt uuid, connection uuid, at_gateway text, reference text, as_stage text, as_status text, minor bigint, in_currency text, why text, network_code text, by_network text, until timestamp with time zone, reported jsonb, asked timestamp with time zone, opened timestamp with time zone)
 RETURNS SETOF dispute
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  UPDATE partitions.dispute_rest d
  SET (stage, status, amount_minor, currency, reason, network_reason_code, network, respond_by, notices, asked_at, opened_at, updated_at)
    = (as_stage, as_status, minor, in_currency, why, network_code, by_network, until, reported, asked, coalesce(opened, d.opened_at),
      CASE WHEN (d.stage, d.status, d.amount_minor, d.currency, d.reason, d.respond_by, d.notices)
          IS DISTINCT FROM (as_stage, as_status, minor, in_currency, why, until, reported) THEN app.clock() ELSE d.updated_at END)
  WHERE d.session_id = of_session AND d.id = of_dispute;
  IF NOT FOUND THEN
    INSERT INTO partitions.dispute_rest (session_id, id, attempt_id, connection_id, gateway, gateway_reference, stage, status, amount_minor, currency,
      reason, network_reason_code, network, respond_by, notices, asked_at, opened_at)
    VALUES (of_session, of_dispute, of_attempt, connection, at_gateway, reference, as_stage, as_status, minor, in_currency, why, network_code, by_network,
      until, reported, asked, opened);
  END IF;
  UPDATE partitions.dispute_rest d SET overlap_minor = 0 WHERE d.session_id = of_session AND d.id <> of_dispute;
  RETURN QUERY SELECT d.* FROM partitions.dispute_rest d WHERE d.session_id = of_session AND d.id = of_dispute;
END $function$;

-- function partitions.record_pending_event(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.record_pending_event_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET pending_event_at = app.clock() WHERE id = of_session AND pending_event_at IS NULL RETURNING * $function$;

-- function partitions.recount_disputes()
CREATE OR REPLACE FUNCTION partitions.recount_disputes_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$;

-- function partitions.recount_moved_dispute()
CREATE OR REPLACE FUNCTION partitions.recount_moved_dispute_rest()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE partitions.dispute_rest SET overlap_minor = 0 WHERE session_id = NEW.session_id AND id = NEW.dispute_id;
  UPDATE partitions.dispute_rest SET overlap_minor = 0 WHERE session_id = NEW.session_id AND id <> NEW.dispute_id;
  RETURN NULL;
END $function$;

-- function partitions.renew_lease(of_session uuid, epoch integer, lease_ms double precision, unused_ms double precision, brand text, last4 text)
CREATE OR REPLACE FUNCTION partitions.renew_lease_rest(of_session uuid, epoch integer, lease_ms double precision, unused_ms double precision, brand text, last4 text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest
  SET lease_until = CASE WHEN lease_until > app.clock() + unused_ms * interval '1 ms' THEN lease_until ELSE app.clock() + lease_ms * interval '1 ms' END,
      card_brand = coalesce(brand, card_brand), card_last4 = coalesce(last4, card_last4)
  WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'
  RETURNING * $function$;

-- function partitions.resume_action(of_session uuid, of_authentication uuid)
CREATE OR REPLACE FUNCTION partitions.resume_action_rest(of_session uuid, of_authentication uuid)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET status = 'AWAITING_CUSTOMER', answered_at = NULL, returned_sealed = NULL
  WHERE session_id = of_session AND id = of_authentication AND status = 'CONFIRMING' RETURNING * $function$;

-- function partitions.send_dispute_response(of_session uuid, of_response uuid, lease_ms double precision)
CREATE OR REPLACE FUNCTION partitions.send_dispute_response_rest(of_session uuid, of_response uuid, lease_ms double precision)
 RETURNS SETOF uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.dispute_response_rest r
  SET sends = r.sends + 1, first_sent_at = coalesce(r.first_sent_at, app.clock()), next_try_at = app.clock() + lease_ms * interval '1 ms'
  WHERE r.session_id = of_session AND r.id = of_response AND r.status = 'REQUESTED' RETURNING r.id $function$;

-- function partitions.set_action_ticket(of_session uuid, of_authentication uuid, hash bytea)
CREATE OR REPLACE FUNCTION partitions.set_action_ticket_rest(of_session uuid, of_authentication uuid, hash bytea)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET ticket_hash = hash
  WHERE session_id = of_session AND id = of_authentication AND status IN ('METHOD','AWAITING_CUSTOMER') AND cancel_asked_at IS NULL AND deadline_at > app.clock()
  RETURNING * $function$;

-- function partitions.set_capture_failed(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION partitions.set_capture_failed_rest(of_session uuid, of_attempt uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest SET capture_failed_at = app.clock()
  WHERE session_id = of_session AND id = of_attempt AND capture_failed_at IS NULL RETURNING * $function$;

-- function partitions.set_decision(of_session uuid, of_attempt uuid, decided text, reference text, reason text, person text, takes_two boolean, minor bigint)
CREATE OR REPLACE FUNCTION partitions.set_decision_rest(of_session uuid, of_attempt uuid, decided text, reference text, reason text, person text, takes_two boolean, minor bigint)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest
  SET decision = decided, decision_reference = reference, decision_reason = reason, decided_by = person, decided_at = app.clock(),
      decision_takes_two = takes_two, decision_confirmed_by = CASE WHEN NOT takes_two THEN person END,
      decision_confirmed_at = CASE WHEN NOT takes_two THEN app.clock() END, decision_amount_minor = minor
  WHERE session_id = of_session AND id = of_attempt RETURNING * $function$;

-- function partitions.set_paying_session(of_session uuid, payer uuid)
CREATE OR REPLACE FUNCTION partitions.set_paying_session_rest(of_session uuid, payer uuid)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET paying_session_id = payer WHERE id = of_session RETURNING * $function$;

-- function partitions.set_returned(of_session uuid, of_authentication uuid, returned text)
CREATE OR REPLACE FUNCTION partitions.set_returned_rest(of_session uuid, of_authentication uuid, returned text)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET returned_sealed = returned
  WHERE session_id = of_session AND id = of_authentication AND status = 'AWAITING_CUSTOMER' AND cancel_asked_at IS NULL RETURNING * $function$;

-- function partitions.set_unrecorded_check(of_session uuid, check_at timestamp with time zone, voids jsonb)
CREATE OR REPLACE FUNCTION partitions.set_unrecorded_check_rest(of_session uuid, check_at timestamp with time zone, voids jsonb)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET unrecorded_check_at = check_at, unrecorded_voids = voids
  WHERE id = of_session RETURNING * $function$;

-- function partitions.settle_session(of_session uuid, end_status text, via text, confirmed boolean, failed_over boolean, declined_as text)
CREATE OR REPLACE FUNCTION partitions.settle_session_rest(of_session uuid, end_status text, via text, confirmed boolean, failed_over boolean, declined_as text)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest
  SET status = end_status, captured_via = via, capture_confirmed = confirmed, failover = failed_over, decline_code = declined_as, vault_token = NULL,
      browser_sealed = NULL, settled_at = app.clock(),
      phase = CASE WHEN EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = of_session AND completed_at IS NULL) THEN 'PROCESSING' ELSE 'DONE' END
  WHERE id = of_session AND status = 'CREATED'
  RETURNING * $function$;

-- function partitions.start_device_check(of_session uuid, of_authentication uuid, check_ms double precision)
CREATE OR REPLACE FUNCTION partitions.start_device_check_rest(of_session uuid, of_authentication uuid, check_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET next_look_at = least(next_look_at, app.clock() + check_ms * interval '1 ms')
  WHERE session_id = of_session AND id = of_authentication AND status = 'METHOD';
  UPDATE partitions.payment_session_rest SET lease_until = least(lease_until, app.clock() + check_ms * interval '1 ms')
  WHERE id = of_session AND phase = 'PROCESSING' AND awaiting_since IS NOT NULL RETURNING * $function$;

-- function partitions.take_hold_to_cancel(of_session uuid, of_merchant uuid, lease_ms double precision)
CREATE OR REPLACE FUNCTION partitions.take_hold_to_cancel_rest(of_session uuid, of_merchant uuid, lease_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'PROCESSING' AND status = 'CREATED' AND held_at IS NOT NULL AND unrecorded_check_at IS NULL
    AND capture_asked_at IS NULL
  RETURNING * $function$;

-- function partitions.take_hold_to_capture(of_session uuid, of_merchant uuid, lease_ms double precision, capture_minor bigint)
CREATE OR REPLACE FUNCTION partitions.take_hold_to_capture_rest(of_session uuid, of_merchant uuid, lease_ms double precision, capture_minor bigint)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest
  SET capture_asked_at = app.clock(), capture_due_at = NULL, lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND merchant_id = of_merchant AND phase = 'PROCESSING' AND status = 'CREATED' AND held_at IS NOT NULL AND unrecorded_check_at IS NULL
    AND capture_asked_at IS NULL AND held_until > app.clock() AND amount_minor >= coalesce(capture_minor, amount_minor)
  RETURNING * $function$;

-- function partitions.take_over(of_session uuid, lease_ms double precision)
CREATE OR REPLACE FUNCTION partitions.take_over_rest(of_session uuid, lease_ms double precision)
 RETURNS SETOF payment_session
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.payment_session_rest SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + lease_ms * interval '1 ms'
  WHERE id = of_session AND phase = 'PROCESSING' AND lease_until <= app.clock()
  RETURNING * $function$;

-- function partitions.take_renewal(new_session uuid, of_merchant uuid, of_agreement uuid, of_renewal text, own_key bytea, hash bytea, minor bigint, in_currency text, reference text, described jsonb, secret integer, life_ms bigint, request uuid, lease_ms integer, budget_ms integer, doubt_ms integer, tries_max integer, of_method uuid, token text, token_digest bytea, rule integer, planned jsonb, skips jsonb, routed jsonb, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer, card text, is_guarded boolean)
CREATE OR REPLACE FUNCTION partitions.take_renewal_rest(new_session uuid, of_merchant uuid, of_agreement uuid, of_renewal text, own_key bytea, hash bytea, minor bigint, in_currency text, reference text, described jsonb, secret integer, life_ms bigint, request uuid, lease_ms integer, budget_ms integer, doubt_ms integer, tries_max integer, of_method uuid, token text, token_digest bytea, rule integer, planned jsonb, skips jsonb, routed jsonb, at_gateway text, connection uuid, credential integer, place integer, why text, execution_ms integer, card text DEFAULT NULL::text, is_guarded boolean DEFAULT true)
 RETURNS TABLE(refused text, other uuid, until timestamp with time zone, attempt uuid, in_doubt boolean, entry jsonb)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_variable
DECLARE
  a      agreement;
  r      renewal;
  m      payment_method;
  known  record;
  at     timestamptz := date_trunc('milliseconds', app.clock());
  named  uuid;
  detail text;
BEGIN
  PERFORM app.refuse_other_timeline();
  -- A merchant that is about to move takes its renewals along.
  PERFORM FROM merchant_settings w WHERE w.merchant_id = of_merchant FOR SHARE NOWAIT;
  PERFORM app.require_home(of_merchant);
  -- Renewals of one agreement take turns, before any lock of a card.
  SELECT * INTO a FROM agreement g WHERE g.id = of_agreement AND g.merchant_id = of_merchant FOR NO KEY UPDATE;
  IF NOT FOUND THEN PERFORM app.refuse_renewal('not_found'); END IF;
  SELECT t.session_id, t.request_hash = hash AS is_same INTO known FROM renewal_try t WHERE t.agreement_id = of_agreement AND t.key_hash = own_key;
  IF FOUND THEN PERFORM app.refuse_renewal(CASE WHEN known.is_same THEN 'known' ELSE 'idempotency_key_reused' END, known.session_id); END IF;
  INSERT INTO renewal (agreement_id, renewal_ref, merchant_id) VALUES (of_agreement, of_renewal, of_merchant) ON CONFLICT DO NOTHING;
  SELECT * INTO r FROM renewal w WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal FOR UPDATE;
  SELECT * INTO m FROM payment_method p WHERE p.id = of_method;
  INSERT INTO card_state (merchant_id, fingerprint) VALUES (of_merchant, m.fingerprint) ON CONFLICT DO NOTHING;
  PERFORM FROM card_state s WHERE s.merchant_id = of_merchant AND s.fingerprint = m.fingerprint FOR UPDATE;
  PERFORM app.refuse_renewal(c.reason, c.other, c.until) FROM app.renewal_refusal(of_agreement, of_renewal, minor, in_currency, tries_max) c;
  -- Another card since this one was opened.
  IF a.method_id <> of_method THEN PERFORM app.refuse_renewal('changed'); END IF;
  -- The customer is known by the payment in which the agreement was made.
  IF is_guarded AND EXISTS (SELECT FROM blocklist_entry b WHERE b.merchant_id = of_merchant) THEN
    PERFORM app.refuse_blocked(of_merchant, m.fingerprint || string_to_array(card, ' ')::uuid[],
      (SELECT s.customer_email FROM payment_session s WHERE s.id = a.session_id), (SELECT c.consent_address FROM stored_payment c WHERE c.session_id = a.session_id), at); END IF;

  in_doubt := app.may_have_lost_renewals(a.created_at);
  named := app.renewal_name(of_agreement, of_renewal, r.tries + 1, (SELECT k.restores FROM replica_mark k));
  INSERT INTO partitions.payment_session_rest (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at, create_request_id,
    submit_request_id, details, customer_ref, stored, named_by, phase, lease_epoch, lease_until, submit_deadline, submitted_at, vault_token, token_hash,
    card_brand, card_last4, rule_version, plan, skipped, routed_by, unrecorded_check_at)
  SELECT new_session, of_merchant, minor, in_currency, reference, secret, at, at + life_ms * interval '1 ms', request,
    request, described, a.customer_ref, true, named, 'PROCESSING', 1, at + lease_ms * interval '1 ms',
    at + (CASE WHEN in_doubt THEN doubt_ms ELSE budget_ms END) * interval '1 ms', at, token, token_digest,
    m.brand, m.last4, rule, planned, skips, routed, CASE WHEN in_doubt THEN greatest(at, k.restored_at + interval '1 min') END
  FROM replica_mark k;
  UPDATE renewal w SET session_id = new_session, tries = r.tries + 1 WHERE w.agreement_id = of_agreement AND w.renewal_ref = of_renewal;
  INSERT INTO partitions.stored_payment_rest (session_id, merchant_id, amount_minor, currency, customer_ref, role, agreement_id, renewal_ref, try, method_id,
    chain_version, network, network_transaction_id, network_date, link_id, ds_trans_id, own_connection_id, own_customer, own_method)
  VALUES (new_session, of_merchant, minor, in_currency, a.customer_ref, 'RENEWAL', of_agreement, of_renewal, r.tries + 1, of_method,
    a.chain_version, a.network, a.network_transaction_id, a.network_date, a.link_id, a.ds_trans_id, a.own_connection_id, a.own_customer, a.own_method);
  INSERT INTO renewal_try (agreement_id, key_hash, renewal_ref, try, request_hash, session_id)
  VALUES (of_agreement, own_key, of_renewal, r.tries + 1, hash, new_session);
  IF connection IS NOT NULL AND NOT in_doubt THEN
    attempt := app.attempt_name(named, connection, 0);
    INSERT INTO partitions.attempt_rest (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
      started_at, latest_execution_at)
    VALUES (new_session, attempt, 1, at_gateway, connection, credential, place, why, minor, in_currency, at, at + execution_ms * interval '1 ms');
  END IF;
  RETURN NEXT;
EXCEPTION WHEN SQLSTATE 'LL004' OR SQLSTATE 'LL007' THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  refused := SQLERRM;
  other := (detail::json ->> 'other')::uuid;
  until := (detail::json ->> 'until')::timestamptz;
  entry := CASE WHEN SQLSTATE = 'LL004' THEN detail::jsonb END;
  attempt := NULL;
  RETURN NEXT;
END $function$;

-- function partitions.unset_capture_failed(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION partitions.unset_capture_failed_rest(of_session uuid, of_attempt uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest a
  SET capture_failed_at = NULL,
      capture_failed_before_at = CASE WHEN a.capture_failed_at < today THEN a.capture_failed_at ELSE a.capture_failed_before_at END,
      capture_stands_at = CASE WHEN a.capture_failed_at < today THEN app.clock() ELSE a.capture_stands_at END
  FROM date_trunc('day', app.clock(), 'UTC') AS today
  WHERE a.session_id = of_session AND a.id = of_attempt AND (a.capture_failed_at >= today OR a.capture_failed_at < today AND a.capture_stands_at IS NULL)
  RETURNING a.* $function$;

-- function partitions.update_order_of_refund()
CREATE OR REPLACE FUNCTION partitions.update_order_of_refund_rest()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF 'SUCCEEDED' IN (NEW.status, CASE TG_OP WHEN 'UPDATE' THEN OLD.status END) AND (TG_OP = 'INSERT' OR NEW.status <> OLD.status) THEN
    PERFORM app.update_order(NEW.session_id); END IF;
  RETURN NULL;
END $function$;

-- function partitions.use_action_ticket(of_session uuid, of_authentication uuid, hash bytea, shown_max integer)
CREATE OR REPLACE FUNCTION partitions.use_action_ticket_rest(of_session uuid, of_authentication uuid, hash bytea, shown_max integer)
 RETURNS SETOF authentication
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.authentication_rest SET ticket_hash = NULL, shown_count = shown_count + 1, shown_at = coalesce(shown_at, app.clock())
  WHERE session_id = of_session AND id = of_authentication AND ticket_hash = hash AND status IN ('METHOD','AWAITING_CUSTOMER')
    AND shown_count < CASE WHEN flow = 'CHALLENGE' THEN 1 ELSE shown_max END
  RETURNING * $function$;

-- function partitions.use_stored_card(of_session uuid, method uuid, token_hash bytea)
CREATE OR REPLACE FUNCTION partitions.use_stored_card_rest(of_session uuid, method uuid, token_hash bytea)
 RETURNS SETOF stored_payment
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  -- A submission at this moment comes first or later, and never between.
  PERFORM FROM partitions.payment_session_rest WHERE id = of_session AND phase = 'IDLE' AND expires_at > app.clock() FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY UPDATE partitions.stored_payment_rest p SET method_id = method, opened_token_hash = token_hash,
      opened_hashes = p.opened_hashes || token_hash, opened_methods = p.opened_methods || method
    WHERE p.session_id = of_session AND p.saving IS NULL AND p.role IN ('SAVE','CUSTOMER','RECOVERY')
      -- Whoever has a link pays with the card of its agreement, or with another one that they know.
      AND (p.role <> 'RECOVERY' OR EXISTS (SELECT FROM agreement a WHERE a.id = p.agreement_id AND a.method_id = method))
      AND EXISTS (SELECT FROM payment_method m WHERE m.id = method AND m.merchant_id = p.merchant_id AND m.customer_ref = p.customer_ref AND m.status = 'ACTIVE')
    RETURNING p.*;
END $function$;

-- function partitions.void_unknown_attempts(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.void_unknown_attempts_rest(of_session uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest SET status = 'VOIDING', retries = 0, next_retry_at = NULL WHERE session_id = of_session AND status = 'UNKNOWN' RETURNING * $function$;

-- function partitions.wake_session(of_session uuid)
CREATE OR REPLACE FUNCTION partitions.wake_session_rest(of_session uuid)
 RETURNS SETOF payment_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  RETURN QUERY UPDATE partitions.payment_session_rest SET lease_until = app.clock()
    WHERE id = of_session AND phase = 'PROCESSING' AND lease_until > app.clock()
      AND EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = of_session AND next_retry_at > app.clock())
      AND NOT EXISTS (SELECT FROM partitions.attempt_rest WHERE session_id = of_session AND status = 'AUTHORIZING')
    RETURNING *;
  IF FOUND THEN
    UPDATE partitions.attempt_rest SET next_retry_at = app.clock() WHERE session_id = of_session AND next_retry_at > app.clock(); END IF;
END $function$;

-- function partitions.withdraw_decision(of_session uuid, of_attempt uuid)
CREATE OR REPLACE FUNCTION partitions.withdraw_decision_rest(of_session uuid, of_attempt uuid)
 RETURNS SETOF attempt
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
  UPDATE partitions.attempt_rest
  SET decision = NULL, decision_reference = NULL, decision_amount_minor = NULL, decision_reason = NULL, decided_by = NULL, decided_at = NULL,
      decision_takes_two = NULL, decision_confirmed_by = NULL, decision_confirmed_at = NULL
  WHERE session_id = of_session AND id = of_attempt RETURNING * $function$;

-- trigger agreement.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON agreement FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION app.guard_agreement();

-- trigger agreement.note_first_payment
CREATE TRIGGER note_first_payment BEFORE INSERT ON agreement FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION app.note_first_payment();

-- trigger api_key.guard_key
CREATE TRIGGER guard_key BEFORE UPDATE ON api_key FOR EACH ROW EXECUTE FUNCTION app.guard_key();

-- trigger api_key.guard_moved
CREATE TRIGGER guard_moved BEFORE INSERT ON api_key FOR EACH ROW EXECUTE FUNCTION app.guard_moved();

-- trigger api_key.guard_rolled_key
CREATE TRIGGER guard_rolled_key BEFORE INSERT ON api_key FOR EACH ROW EXECUTE FUNCTION app.guard_rolled_key();

-- trigger attempt.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.attempt_rest FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION partitions.guard_attempt_rest();

-- trigger attempt.guard_decision
CREATE TRIGGER guard_decision BEFORE UPDATE ON attempt FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION app.guard_decision();

-- trigger attempt.whole
CREATE CONSTRAINT TRIGGER whole AFTER INSERT OR UPDATE ON partitions.attempt_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION partitions.check_whole_attempt_rest();

-- trigger audit_entry.unchanging
CREATE TRIGGER unchanging BEFORE DELETE OR UPDATE ON audit_entry FOR EACH ROW EXECUTE FUNCTION app.refuse_change();

-- trigger authentication.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.authentication_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_authentication_rest();

-- trigger authentication.whole
CREATE CONSTRAINT TRIGGER whole AFTER INSERT OR UPDATE ON partitions.authentication_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION partitions.check_awaiting_row_rest();

-- trigger connection.guard_account
CREATE TRIGGER guard_account BEFORE UPDATE OF credential_version ON connection FOR EACH ROW EXECUTE FUNCTION app.guard_account();

-- trigger delivery_attempt.unchanging
CREATE TRIGGER unchanging BEFORE DELETE OR UPDATE ON delivery_attempt FOR EACH ROW EXECUTE FUNCTION app.refuse_change();

-- trigger dispute.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.dispute_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_dispute_rest();

-- trigger dispute_movement.guard
CREATE TRIGGER guard BEFORE INSERT OR DELETE OR UPDATE ON partitions.dispute_movement_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_dispute_movement_rest();

-- trigger dispute_movement.recount_disputes
CREATE TRIGGER recount_disputes AFTER INSERT ON partitions.dispute_movement_rest FOR EACH ROW EXECUTE FUNCTION partitions.recount_moved_dispute_rest();

-- trigger dispute_response.guard
CREATE TRIGGER guard BEFORE INSERT OR DELETE OR UPDATE ON partitions.dispute_response_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_dispute_response_rest();

-- trigger dispute_response.recount_disputes
CREATE TRIGGER recount_disputes AFTER INSERT OR UPDATE OF status ON partitions.dispute_response_rest FOR EACH ROW EXECUTE FUNCTION partitions.recount_moved_dispute_rest();

-- trigger merchant_settings.guard_moved
CREATE TRIGGER guard_moved BEFORE UPDATE ON merchant_settings FOR EACH ROW WHEN ((old.moved_to IS NOT NULL)) EXECUTE FUNCTION app.guard_moved();

-- trigger orphaned_authorization.guard
CREATE TRIGGER guard BEFORE INSERT ON orphaned_authorization FOR EACH ROW EXECUTE FUNCTION app.guard_orphaned_authorization();

-- trigger orphaned_authorization.guard_removal
CREATE TRIGGER guard_removal BEFORE DELETE ON orphaned_authorization FOR EACH ROW WHEN ((old.ended_at IS NULL)) EXECUTE FUNCTION app.guard_removal();

-- trigger payment_method.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON payment_method FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION app.guard_payment_method();

-- trigger payment_session.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.payment_session_rest FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION partitions.guard_session_rest();

-- trigger payment_session.guard_unrecorded_check
CREATE TRIGGER guard_unrecorded_check BEFORE UPDATE ON payment_session FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION app.guard_unrecorded_check();

-- trigger payment_session.pay_renewal
CREATE TRIGGER pay_renewal AFTER UPDATE ON partitions.payment_session_rest FOR EACH ROW WHEN ((new.stored AND (new.status = 'SUCCEEDED'::text) AND (old.status <> 'SUCCEEDED'::text))) EXECUTE FUNCTION app.pay_renewal();

-- trigger payment_session.renewal_paid
CREATE CONSTRAINT TRIGGER renewal_paid AFTER UPDATE ON partitions.payment_session_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.stored AND (new.status = 'SUCCEEDED'::text) AND (old.status <> 'SUCCEEDED'::text))) EXECUTE FUNCTION app.check_renewal_paid();

-- trigger payment_session.require_timeline
CREATE TRIGGER require_timeline BEFORE UPDATE OF lease_epoch, phase ON payment_session FOR EACH ROW WHEN ((((new.lease_epoch > old.lease_epoch) OR ((old.phase = 'IDLE'::text) AND (new.phase <> 'IDLE'::text))) AND (NOT (new.unrecorded_check_at IS DISTINCT FROM old.unrecorded_check_at)) AND ((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text)))) EXECUTE FUNCTION app.require_timeline();

-- trigger payment_session.whole
CREATE CONSTRAINT TRIGGER whole AFTER UPDATE ON partitions.payment_session_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION partitions.check_whole_session_rest();

-- trigger payout.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON payout FOR EACH ROW EXECUTE FUNCTION app.guard_payout();

-- trigger payout_line.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON payout_line FOR EACH ROW EXECUTE FUNCTION app.guard_payout_line();

-- trigger payout_line.matched
CREATE TRIGGER matched AFTER INSERT ON payout_line REFERENCING NEW TABLE AS now_lines FOR EACH STATEMENT EXECUTE FUNCTION app.record_new_lines();

-- trigger payout_line.matched_later
CREATE TRIGGER matched_later AFTER UPDATE ON payout_line REFERENCING OLD TABLE AS then_lines NEW TABLE AS now_lines FOR EACH STATEMENT EXECUTE FUNCTION app.record_moved_lines();

-- trigger recovery_link.guard
CREATE TRIGGER guard BEFORE UPDATE ON recovery_link FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION app.guard_recovery_link();

-- trigger refund.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.refund_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_refund_rest();

-- trigger refund.recount_disputes
CREATE TRIGGER recount_disputes AFTER INSERT OR UPDATE OF status, dispute_id ON partitions.refund_rest FOR EACH ROW WHEN (((new.status = 'FAILED'::text) OR ((new.sends = 0) AND (new.status <> 'REQUESTED'::text)))) EXECUTE FUNCTION partitions.recount_disputes_rest();

-- trigger refund.update_order
CREATE CONSTRAINT TRIGGER update_order AFTER INSERT OR UPDATE ON partitions.refund_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION partitions.update_order_of_refund_rest();

-- trigger renewal.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON renewal FOR EACH ROW WHEN (((CURRENT_USER = SESSION_USER) OR (current_setting('search_path'::text) <> 'public, partitions, pg_temp'::text))) EXECUTE FUNCTION app.guard_renewal();

-- trigger replica_mark.guard_system_identifier
CREATE TRIGGER guard_system_identifier BEFORE UPDATE ON replica_mark FOR EACH ROW WHEN ((new.system_identifier IS DISTINCT FROM old.system_identifier)) EXECUTE FUNCTION app.guard_timeline();

-- trigger replica_mark.guard_timeline
CREATE TRIGGER guard_timeline BEFORE UPDATE ON replica_mark FOR EACH ROW WHEN ((new.timeline IS DISTINCT FROM old.timeline)) EXECUTE FUNCTION app.guard_timeline();

-- trigger routing_rule.guard_moved
CREATE TRIGGER guard_moved BEFORE INSERT ON routing_rule FOR EACH ROW EXECUTE FUNCTION app.guard_moved();

-- trigger routing_rule.unchanging
CREATE TRIGGER unchanging BEFORE DELETE OR UPDATE ON routing_rule FOR EACH ROW EXECUTE FUNCTION app.refuse_change();

-- trigger stored_payment.guard
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.stored_payment_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_stored_payment_rest();

-- trigger work_item.guard
CREATE TRIGGER guard BEFORE UPDATE ON work_item FOR EACH ROW EXECUTE FUNCTION app.guard_work_item();

-- view app.kept_money
CREATE VIEW app.kept_money AS
 SELECT s.id AS session_id,
    s.merchant_id,
    s.order_ref,
    s.status,
    s.submitted_at
   FROM (payment_session s
     JOIN attempt a ON ((a.session_id = s.id)))
  WHERE ((NOT s.allow_repeated_order) AND (((a.status = 'AUTHORIZED'::text) AND (s.winner_attempt_id = a.id)) OR ((a.status = 'VOIDING'::text) AND (a.capture_ordered_at IS NOT NULL)) OR ((a.status = 'CAPTURED'::text) AND (a.capture_failed_at IS NULL) AND ((s.refunds = 0) OR ((a.captured_amount_minor)::numeric > COALESCE(( SELECT sum(r.amount_minor) AS sum
           FROM refund r
          WHERE ((r.session_id = s.id) AND (r.status = 'SUCCEEDED'::text))), (0)::numeric))))));

-- view app.partition_sets
CREATE VIEW app.partition_sets AS
 SELECT p.kind,
    ((to_date("right"((c.relname)::text, 7), 'YYYY_MM'::text))::timestamp without time zone AT TIME ZONE 'UTC'::text) AS from_at,
    ((to_date("right"((c.relname)::text, 7), 'YYYY_MM'::text) + '1 mon'::interval) AT TIME ZONE 'UTC'::text) AS until_at,
    "right"((c.relname)::text, 8) AS suffix
   FROM ((app.partitioned p
     JOIN pg_inherits i ON ((i.inhparent = (to_regclass((''::text || p.parent)))::oid)))
     JOIN pg_class c ON ((c.oid = i.inhrelid)))
  WHERE ((p.place = ANY (ARRAY[1, 5])) AND (c.relname ~ '_[0-9]{4}_[0-9]{2}$'::text));

-- view app.payment_functions
CREATE VIEW app.payment_functions AS
 SELECT "left"((proname)::text, '-5'::integer) AS name
   FROM pg_proc
  WHERE ((pronamespace = ('partitions'::regnamespace)::oid) AND prosecdef AND (proname ~~ '%_rest'::text));

-- partition partitions.attempt_rest
CREATE TABLE partitions.attempt_rest PARTITION OF attempt DEFAULT;

-- partition partitions.authentication_rest
CREATE TABLE partitions.authentication_rest PARTITION OF authentication DEFAULT;

-- partition partitions.delivery_attempt_rest
CREATE TABLE partitions.delivery_attempt_rest PARTITION OF delivery_attempt DEFAULT;

-- partition partitions.delivery_rest
CREATE TABLE partitions.delivery_rest PARTITION OF delivery DEFAULT;

-- partition partitions.dispute_movement_rest
CREATE TABLE partitions.dispute_movement_rest PARTITION OF dispute_movement DEFAULT;

-- partition partitions.dispute_response_rest
CREATE TABLE partitions.dispute_response_rest PARTITION OF dispute_response DEFAULT;

-- partition partitions.dispute_rest
CREATE TABLE partitions.dispute_rest PARTITION OF dispute DEFAULT;

-- partition partitions.outbox_event_rest
CREATE TABLE partitions.outbox_event_rest PARTITION OF outbox_event DEFAULT;

-- partition partitions.payment_session_rest
CREATE TABLE partitions.payment_session_rest PARTITION OF payment_session DEFAULT;

-- partition partitions.refund_rest
CREATE TABLE partitions.refund_rest PARTITION OF refund DEFAULT;

-- partition partitions.stored_payment_rest
CREATE TABLE partitions.stored_payment_rest PARTITION OF stored_payment DEFAULT;

-- privileges agreement to the runtime role
GRANT SELECT ON agreement TO the runtime role;

-- privileges alert to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON alert TO the runtime role;

-- privileges analytics_arm to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_arm TO the runtime role;

-- privileges analytics_arm_cost to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_arm_cost TO the runtime role;

-- privileges analytics_attempt to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_attempt TO the runtime role;

-- privileges analytics_authentication to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_authentication TO the runtime role;

-- privileges analytics_card to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_card TO the runtime role;

-- privileges analytics_cost to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_cost TO the runtime role;

-- privileges analytics_decline to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_decline TO the runtime role;

-- privileges analytics_payment to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_payment TO the runtime role;

-- privileges analytics_renewal to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_renewal TO the runtime role;

-- privileges analytics_walk to the runtime role
GRANT INSERT, SELECT, UPDATE ON analytics_walk TO the runtime role;

-- privileges analytics_wallet to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON analytics_wallet TO the runtime role;

-- privileges api_key to the runtime role
GRANT INSERT, SELECT, UPDATE ON api_key TO the runtime role;

-- privileges app.kept_money to PUBLIC
GRANT SELECT ON app.kept_money TO PUBLIC;

-- privileges app.order_winner to PUBLIC
GRANT SELECT ON app.order_winner TO PUBLIC;

-- privileges app.partition_sets to PUBLIC
GRANT SELECT ON app.partition_sets TO PUBLIC;

-- privileges app.partitioned to PUBLIC
GRANT SELECT ON app.partitioned TO PUBLIC;

-- privileges app.payment_functions to PUBLIC
GRANT SELECT ON app.payment_functions TO PUBLIC;

-- privileges app.retention to PUBLIC
GRANT SELECT ON app.retention TO PUBLIC;

-- privileges attempt to the runtime role
GRANT SELECT ON attempt TO the runtime role;

-- privileges audit_entry to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON audit_entry TO the runtime role;

-- privileges audit_walk to the runtime role
GRANT INSERT, SELECT, UPDATE ON audit_walk TO the runtime role;

-- privileges authentication to the runtime role
GRANT SELECT ON authentication TO the runtime role;

-- privileges blocklist_entry to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON blocklist_entry TO the runtime role;

-- privileges braking to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON braking TO the runtime role;

-- privileges braking_hold to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON braking_hold TO the runtime role;

-- privileges card_decline to the runtime role
GRANT SELECT ON card_decline TO the runtime role;

-- privileges card_erasure to the runtime role
GRANT SELECT ON card_erasure TO the runtime role;

-- privileges card_state to the runtime role
GRANT SELECT ON card_state TO the runtime role;

-- privileges card_submission to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON card_submission TO the runtime role;

-- privileges connection to the runtime role
GRANT INSERT, SELECT, UPDATE ON connection TO the runtime role;

-- privileges connection_credential to the runtime role
GRANT INSERT, SELECT, UPDATE ON connection_credential TO the runtime role;

-- privileges delivery to the runtime role
GRANT INSERT, SELECT, UPDATE ON delivery TO the runtime role;

-- privileges delivery_attempt to the runtime role
GRANT INSERT, SELECT, UPDATE ON delivery_attempt TO the runtime role;

-- privileges dispute to the runtime role
GRANT SELECT ON dispute TO the runtime role;

-- privileges dispute_file to the runtime role
GRANT INSERT, SELECT, UPDATE ON dispute_file TO the runtime role;

-- privileges dispute_movement to the runtime role
GRANT SELECT ON dispute_movement TO the runtime role;

-- privileges dispute_response to the runtime role
GRANT SELECT ON dispute_response TO the runtime role;

-- privileges endpoint to the runtime role
GRANT INSERT, SELECT, UPDATE ON endpoint TO the runtime role;

-- privileges event_todo to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON event_todo TO the runtime role;

-- privileges gateway_feed to the runtime role
GRANT INSERT, SELECT, UPDATE ON gateway_feed TO the runtime role;

-- privileges gateway_notification to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON gateway_notification TO the runtime role;

-- privileges idempotency to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON idempotency TO the runtime role;

-- privileges ledger_sum to the runtime role
GRANT INSERT, SELECT, UPDATE ON ledger_sum TO the runtime role;

-- privileges ledger_walk to the runtime role
GRANT INSERT, SELECT, UPDATE ON ledger_walk TO the runtime role;

-- privileges merchant_settings to the runtime role
GRANT INSERT, SELECT, UPDATE ON merchant_settings TO the runtime role;

-- privileges new tables in public to the runtime role
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT, SELECT, UPDATE ON TABLES TO the runtime role;

-- privileges orphaned_authorization to the runtime role
GRANT SELECT ON orphaned_authorization TO the runtime role;

-- privileges outbox_event to the runtime role
GRANT INSERT, SELECT, UPDATE ON outbox_event TO the runtime role;

-- privileges payment_method to the runtime role
GRANT SELECT ON payment_method TO the runtime role;

-- privileges payment_session to the runtime role
GRANT SELECT ON payment_session TO the runtime role;

-- privileges payout to the runtime role
GRANT INSERT, SELECT, UPDATE ON payout TO the runtime role;

-- privileges payout_line to the runtime role
GRANT INSERT, SELECT, UPDATE ON payout_line TO the runtime role;

-- privileges reconciliation_run to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON reconciliation_run TO the runtime role;

-- privileges reconciliation_slice to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON reconciliation_slice TO the runtime role;

-- privileges recovery_link to the runtime role
GRANT SELECT ON recovery_link TO the runtime role;

-- privileges refund to the runtime role
GRANT SELECT ON refund TO the runtime role;

-- privileges renewal to the runtime role
GRANT SELECT ON renewal TO the runtime role;

-- privileges renewal_try to the runtime role
GRANT SELECT ON renewal_try TO the runtime role;

-- privileges replica_mark to the runtime role
GRANT INSERT, SELECT, UPDATE ON replica_mark TO the runtime role;

-- privileges request_bucket to the runtime role
GRANT INSERT, SELECT, UPDATE ON request_bucket TO the runtime role;

-- privileges routing_rule to the runtime role
GRANT INSERT, SELECT, UPDATE ON routing_rule TO the runtime role;

-- privileges schema app to PUBLIC
GRANT USAGE ON SCHEMA app TO PUBLIC;

-- privileges schema partitions to the runtime role
GRANT USAGE ON SCHEMA partitions TO the runtime role;

-- privileges settlement_report to the runtime role
GRANT INSERT, SELECT, UPDATE ON settlement_report TO the runtime role;

-- privileges stored_payment to the runtime role
GRANT SELECT ON stored_payment TO the runtime role;

-- privileges tested_cards to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON tested_cards TO the runtime role;

-- privileges tested_payment to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON tested_payment TO the runtime role;

-- privileges unclassified_code to the runtime role
GRANT INSERT, SELECT, UPDATE ON unclassified_code TO the runtime role;

-- privileges vault_session to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON vault_session TO the runtime role;

-- privileges work_item to the runtime role
GRANT INSERT, SELECT, UPDATE ON work_item TO the runtime role;
