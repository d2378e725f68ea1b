/** The tables of the straight payment: primary keys, the few indexes that its statements need, and nothing else. */

/** Creates the tables of service, worker and vault in an empty database. */
export const createTables = `
  CREATE TABLE api_key (hash bytea PRIMARY KEY, merchant_id uuid NOT NULL, revoked_at timestamptz);
  CREATE TABLE session (
    id uuid PRIMARY KEY, merchant_id uuid NOT NULL, amount_minor bigint NOT NULL, currency text NOT NULL,
    order_ref text NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
    token_hash bytea, vault_token text, submitted_at timestamptz, winner_attempt_id uuid, capture_ordered_at timestamptz,
    card_brand text, card_last4 text, captured_via text, capture_confirmed boolean, failover boolean,
    decline_code text, settled_at timestamptz);
  CREATE INDEX session_by_merchant ON session (merchant_id, created_at);
  CREATE INDEX session_processing ON session (submitted_at) WHERE status = 'PROCESSING';
  CREATE TABLE attempt (
    id uuid PRIMARY KEY, session_id uuid NOT NULL, sequence int NOT NULL, gateway text NOT NULL, status text NOT NULL,
    gateway_reference text, decline_code text, started_at timestamptz NOT NULL, answered_at timestamptz,
    completed_at timestamptz);
  CREATE INDEX attempt_by_session ON attempt (session_id);
  CREATE TABLE idempotency (
    merchant_id uuid NOT NULL, key text NOT NULL, request_hash bytea NOT NULL, session_id uuid NOT NULL,
    expires_at timestamptz NOT NULL, PRIMARY KEY (merchant_id, key));
  CREATE TABLE notification (
    reference text NOT NULL, event_code text NOT NULL, body text NOT NULL, received_at timestamptz NOT NULL,
    PRIMARY KEY (reference, event_code));
  CREATE TABLE endpoint (merchant_id uuid PRIMARY KEY, url text NOT NULL, secret text NOT NULL);
  CREATE TABLE webhook (
    id uuid PRIMARY KEY, merchant_id uuid NOT NULL, session_id uuid NOT NULL, type text NOT NULL, body text NOT NULL,
    status text NOT NULL, tries int NOT NULL, next_at timestamptz NOT NULL, created_at timestamptz NOT NULL,
    delivered_at timestamptz);
  CREATE INDEX webhook_pending ON webhook (next_at) WHERE status = 'PENDING';
  CREATE TABLE webhook_attempt (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, webhook_id uuid NOT NULL, started_at timestamptz NOT NULL,
    duration_ms int NOT NULL, status_code int NOT NULL);
  CREATE TABLE card (
    token_hash bytea PRIMARY KEY, session_id text NOT NULL, sealed bytea NOT NULL, uses_left int NOT NULL,
    expires_at timestamptz NOT NULL);
  CREATE INDEX card_by_session ON card (session_id);`;
