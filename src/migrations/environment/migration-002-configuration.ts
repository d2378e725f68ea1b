/** What a merchant configures in one environment: keys, connections, routing rules, settings; and the audit trail of it. */

export const name = "002-configuration";

export const sql = `
CREATE TABLE api_key (
  id           uuid PRIMARY KEY,
  merchant_id  uuid NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('secret','publishable')),
  hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  prefix       text NOT NULL,
  last4        text NOT NULL CHECK (char_length(last4) = 4),
  created_at   timestamptz NOT NULL DEFAULT app.clock(),
  revoked_at   timestamptz
);
CREATE UNIQUE INDEX api_key_one_live_of_a_kind ON api_key (merchant_id, kind) WHERE revoked_at IS NULL;

CREATE TABLE merchant_settings (
  merchant_id         uuid PRIMARY KEY,
  session_lifetime_ms bigint NOT NULL CHECK (session_lifetime_ms BETWEEN 300000 AND 86400000),
  checkout_origins    text[] NOT NULL DEFAULT '{}',
  -- The publishable key is shown to browsers, so it may be kept in clear; session creation hands it to the widget.
  publishable_key     text NOT NULL
);

CREATE TABLE connection (
  id                 uuid PRIMARY KEY,
  merchant_id        uuid NOT NULL,
  gateway            text NOT NULL CHECK (gateway ~ '^[A-Z][A-Z0-9_]*$'),
  account            text NOT NULL,
  -- The version that new attempts use; null until one was verified.
  credential_version int,
  paused             boolean NOT NULL DEFAULT false,
  created_at         timestamptz NOT NULL DEFAULT app.clock(),
  UNIQUE (merchant_id, gateway, account)
);

CREATE TABLE connection_credential (
  connection_id uuid NOT NULL REFERENCES connection (id),
  version       int NOT NULL CHECK (version >= 1),
  sealed        text NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT app.clock(),
  verified_at   timestamptz,
  PRIMARY KEY (connection_id, version)
);

-- Rows are never changed: a new rule is a new version.
CREATE TABLE routing_rule (
  merchant_id    uuid NOT NULL,
  version        int NOT NULL CHECK (version >= 1),
  connection_ids uuid[] NOT NULL,
  failover_on    text[] NOT NULL CHECK (failover_on <@ ARRAY['HARD_DECLINE','TIMEOUT','GATEWAY_ERROR']),
  created_at     timestamptz NOT NULL DEFAULT app.clock(),
  PRIMARY KEY (merchant_id, version)
);

-- Signed messages of gateways, kept as they were understood; a repeat of one is the same row.
CREATE TABLE gateway_notice (
  connection_id     uuid NOT NULL REFERENCES connection (id),
  notice_id         text NOT NULL,
  kind              text NOT NULL,
  attempt_reference text NOT NULL,
  gateway_reference text NOT NULL,
  amount_minor      bigint,
  currency          text,
  declined          jsonb,
  received_at       timestamptz NOT NULL DEFAULT app.clock(),
  processed_at      timestamptz,
  PRIMARY KEY (connection_id, notice_id)
);
CREATE INDEX gateway_notice_of_attempt ON gateway_notice (connection_id, attempt_reference);
CREATE INDEX gateway_notice_to_process ON gateway_notice (received_at) WHERE processed_at IS NULL;

CREATE TABLE audit_entry (
  id          uuid PRIMARY KEY,
  merchant_id uuid,
  actor       text NOT NULL,
  action      text NOT NULL,
  subject     text NOT NULL,
  before      jsonb,
  after       jsonb,
  request_id  text,
  created_at  timestamptz NOT NULL DEFAULT app.clock()
);
CREATE INDEX audit_entry_of_merchant ON audit_entry (merchant_id, id);

CREATE FUNCTION app.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER unchanging BEFORE UPDATE OR DELETE ON audit_entry FOR EACH ROW EXECUTE FUNCTION app.refuse_change();
CREATE TRIGGER unchanging BEFORE UPDATE OR DELETE ON routing_rule FOR EACH ROW EXECUTE FUNCTION app.refuse_change();
`;
