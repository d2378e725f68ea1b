-- What a merchant configures in one environment: keys, settings, connections and routing rules; unclassified decline codes;
-- and the audit trail of changes.

CREATE TABLE api_key (
  id           uuid PRIMARY KEY,
  -- The first of the keys that a roll replaces in turn. A refund by a restricted key is counted under it.
  key_id       uuid NOT NULL,
  merchant_id  uuid NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('secret','publishable','restricted')),
  hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  prefix       text NOT NULL,
  last4        text NOT NULL CHECK (char_length(last4) = 4),
  -- Of a restricted key: what it may do, until when, and what it may refund in a day (UTC), in minor units by currency.
  -- Without a cap there is no limit. A currency that a cap omits refunds nothing.
  name         text CHECK (char_length(name) BETWEEN 1 AND 80),
  rights       text[] CHECK (cardinality(rights) BETWEEN 1 AND 32),
  expires_at   timestamptz,
  refund_cap   jsonb CHECK (jsonb_typeof(refund_cap) = 'object'),
  created_at   timestamptz NOT NULL DEFAULT app.clock(),
  -- When a roll has made the next key, and when this one ends by that.
  replaced_at  timestamptz,
  ends_at      timestamptz,
  revoked_at   timestamptz,
  -- To within a minute or two.
  last_used_at timestamptz,
  CHECK ((kind = 'restricted') = (name IS NOT NULL) AND (kind = 'restricted') = (rights IS NOT NULL)),
  CHECK (kind = 'restricted' OR expires_at IS NULL AND refund_cap IS NULL),
  CHECK ((replaced_at IS NULL) = (ends_at IS NULL) AND ends_at <= replaced_at + interval '168 hours')
);
CREATE UNIQUE INDEX api_key_one_current_of_a_kind ON api_key (merchant_id, kind)
  WHERE kind <> 'restricted' AND revoked_at IS NULL AND replaced_at IS NULL;
CREATE UNIQUE INDEX api_key_one_current ON api_key (merchant_id, key_id) WHERE revoked_at IS NULL AND replaced_at IS NULL;
CREATE INDEX api_key_of_merchant ON api_key (merchant_id, key_id);

CREATE TABLE merchant_settings (
  merchant_id         uuid PRIMARY KEY,
  session_lifetime_ms bigint NOT NULL CHECK (session_lifetime_ms BETWEEN 300000 AND 86400000),
  checkout_origins    text[] NOT NULL DEFAULT '{}',
  -- The publishable key is shown to browsers, so it may be kept in clear; session creation hands it to the widget.
  publishable_key     text NOT NULL,
  -- The text for customers' card statements, of sessions that name none of their own.
  statement_descriptor text CHECK (char_length(statement_descriptor) BETWEEN 5 AND 22),
  -- Addresses that get the merchant's alerts, and the topics of those that are not sent.
  alert_addresses    text[] NOT NULL DEFAULT '{}' CHECK (cardinality(alert_addresses) <= 10),
  -- Those of them that have confirmed it. The others get only the request to confirm.
  confirmed_addresses text[] NOT NULL DEFAULT '{}' CHECK (confirmed_addresses <@ alert_addresses),
  -- How often addresses were removed. That ends earlier requests to confirm, so that none is valid for an address that
  -- was removed and set again; a change of the list asks again.
  alert_address_removals int NOT NULL DEFAULT 0,
  muted_alerts       text[] NOT NULL DEFAULT '{}'
    CHECK (muted_alerts <@ ARRAY['GATEWAY_UNHEALTHY','CREDENTIALS_REFUSED','APPROVAL_RATE','ENDPOINT_FAILING','UNVERIFIED','HOLDS_EXPIRING','PAID_MORE_THAN_ONCE','CARD_TESTING',
      'AGREEMENTS_UNCHARGEABLE','RENEWALS_STOPPED','CARDS_NOT_ERASED','APPLE_PAY_ENDING','DISPUTES','SETTLEMENT']),
  -- The incoming address of a chat with the secret that signs its messages, sealed; and the host to show.
  alert_chat_sealed  text,
  alert_chat_host    text,
  -- How much each member of a role may refund per day (UTC), in minor units by role and currency. What is absent has no limit.
  refund_limits      jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(refund_limits) = 'object'),
  -- The cell in which the merchant's new sessions are made, once it has left this one. It never comes back.
  moved_to           smallint CHECK (moved_to BETWEEN 1 AND 61),
  -- The cells that it has left, which keep its earlier sessions, and when it came here.
  former_cells       smallint[] NOT NULL DEFAULT '{}',
  moved_here_at      timestamptz,
  -- What happens to a second payment of one order: it is taken with an alert, or refused (orders.sql). And since when.
  repeated_orders    text NOT NULL DEFAULT 'WARN' CHECK (repeated_orders IN ('WARN','REFUSE')),
  repeated_orders_at timestamptz,
  -- What checkouts offer of Apple Pay and Google Pay (MerchantWallets in src/accounts/merchant-wallets.ts); null for neither.
  wallets            jsonb CHECK (jsonb_typeof(wallets) = 'object'),
  -- The rest of their set-up, which no checkout reads: the domain file, and the key with which Apple knows the merchant, sealed.
  wallet_set_up      jsonb CHECK (jsonb_typeof(wallet_set_up) = 'object'),
  CHECK ((alert_chat_sealed IS NULL) = (alert_chat_host IS NULL))
);

CREATE TABLE connection (
  id                 uuid PRIMARY KEY,
  merchant_id        uuid NOT NULL,
  gateway            text NOT NULL CHECK (gateway ~ '^[A-Z][A-Z0-9_]*$'),
  account            text NOT NULL,
  -- The version that new attempts use; null until one was verified.
  credential_version int,
  -- Orders the connections of the default rule (src/core/record/default-rule.ts).
  first_verified_at  timestamptz,
  paused             boolean NOT NULL DEFAULT false,
  -- The merchant as the account's acquirer knows it (AcquirerData in src/gateways/authentication-provider.ts).
  acquirer           jsonb,
  created_at         timestamptz NOT NULL DEFAULT app.clock(),
  UNIQUE (merchant_id, gateway, account)
);

CREATE TABLE connection_credential (
  connection_id uuid NOT NULL REFERENCES connection (id),
  version       int NOT NULL CHECK (version >= 1),
  sealed        text NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT app.clock(),
  verified_at   timestamptz,
  -- The gateway's own name of the account that it opens; null where it may not read that.
  gateway_account text,
  -- When the gateway refused it, before any attempt used it. The sealed value is deleted then.
  dropped_at    timestamptz,
  PRIMARY KEY (connection_id, version)
);

-- Rows are never changed: a new rule is a new version.
CREATE TABLE routing_rule (
  merchant_id    uuid NOT NULL,
  version        int NOT NULL CHECK (version >= 1),
  connection_ids uuid[] NOT NULL,
  failover_on    text[] NOT NULL CHECK (failover_on <@ ARRAY['HARD_DECLINE','TIMEOUT','GATEWAY_ERROR']),
  -- Whether a gateway that allows it gets a payment that it declined once more.
  retries_same_gateway boolean NOT NULL DEFAULT false,
  -- When the cryptogram of a wallet may go to another gateway (CryptogramResend in src/core/rows/entities.ts).
  cryptogram_resend text NOT NULL DEFAULT 'UNANSWERED' CHECK (cryptogram_resend IN ('NOT_SENT','UNANSWERED','DECLINED')),
  -- The payments for which gateways may ask for the customer.
  authentication text NOT NULL DEFAULT 'AS_NEEDED' CHECK (authentication IN ('AS_NEEDED','ALWAYS','NEVER')),
  -- The connection of the provider that authenticates customers for gateways that import its proof.
  provider_id    uuid,
  -- Exemptions, and the other choices about authentication (AuthenticationPolicy in src/core/rows/entities.ts); null for the defaults.
  policy         jsonb,
  -- The cases with plans of their own, and the merchant's card ranges (RoutingCases in src/core/rows/entities.ts); null for none.
  cases          jsonb,
  -- The share of the default plan's payments that goes by another plan (Split in src/core/rows/entities.ts); null for none.
  split          jsonb,
  created_at     timestamptz NOT NULL DEFAULT app.clock(),
  -- Null for the rule that a demo begins with.
  set_by         text,
  -- The older version that this one repeats.
  restored_from  int CHECK (restored_from BETWEEN 1 AND version - 1),
  PRIMARY KEY (merchant_id, version)
);

CREATE TABLE unclassified_code (
  merchant_id   uuid        NOT NULL,
  gateway       text        NOT NULL,
  gateway_code  text        NOT NULL CHECK (char_length(gateway_code) <= 100),
  attempts      bigint      NOT NULL DEFAULT 1 CHECK (attempts >= 1),
  first_seen_at timestamptz NOT NULL DEFAULT app.clock(),
  last_seen_at  timestamptz NOT NULL DEFAULT app.clock(),
  session_id    uuid        NOT NULL,
  attempt_id    uuid        NOT NULL,
  PRIMARY KEY (merchant_id, gateway, gateway_code)
);

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
-- Finds old rows, which lie in the order of their times.
CREATE INDEX audit_entry_by_age ON audit_entry USING brin (created_at);

-- What only new sessions use is changed in the cell that makes them: here the change would have no effect. LL002 is the
-- service's own code (src/edge/error-mapping.ts).
CREATE FUNCTION app.guard_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM merchant_settings m WHERE m.merchant_id = NEW.merchant_id AND m.moved_to IS NOT NULL) THEN
    RAISE EXCEPTION 'the merchant has moved to another cell' USING ERRCODE = 'LL002'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_moved BEFORE UPDATE ON merchant_settings FOR EACH ROW
  WHEN (OLD.moved_to IS NOT NULL) EXECUTE FUNCTION app.guard_moved();
CREATE TRIGGER guard_moved BEFORE INSERT ON api_key FOR EACH ROW EXECUTE FUNCTION app.guard_moved();
CREATE TRIGGER guard_moved BEFORE INSERT ON routing_rule FOR EACH ROW EXECUTE FUNCTION app.guard_moved();

-- What a key may do never changes: a wider key is a new key. Its end only moves earlier, and a revocation stays.
CREATE FUNCTION app.guard_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE may_change text[] := '{replaced_at,ends_at,revoked_at,last_used_at}';
BEGIN
  IF to_jsonb(NEW) - may_change <> to_jsonb(OLD) - may_change THEN
    PERFORM app.refuse('a key keeps its rights: a wider key is a new key'); END IF;
  IF OLD.revoked_at IS DISTINCT FROM NEW.revoked_at AND OLD.revoked_at IS NOT NULL
    OR OLD.replaced_at IS DISTINCT FROM NEW.replaced_at AND OLD.replaced_at IS NOT NULL
    OR OLD.ends_at IS NOT NULL AND (NEW.ends_at <= OLD.ends_at) IS NOT TRUE THEN
    PERFORM app.refuse('a key ends no later than it did, and a revocation stays'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_key BEFORE UPDATE ON api_key FOR EACH ROW EXECUTE FUNCTION app.guard_key();

-- A key that a roll makes has what the one before it has.
CREATE FUNCTION app.guard_rolled_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM api_key k WHERE k.merchant_id = NEW.merchant_id AND k.key_id = NEW.key_id AND k.id <> NEW.id
      AND (k.kind, k.name, k.rights, k.expires_at, k.refund_cap)
        IS DISTINCT FROM (NEW.kind, NEW.name, NEW.rights, NEW.expires_at, NEW.refund_cap)) THEN
    PERFORM app.refuse('a roll keeps name, rights, end and cap of a key'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_rolled_key BEFORE INSERT ON api_key FOR EACH ROW EXECUTE FUNCTION app.guard_rolled_key();

-- Refunds use the newest credentials of the connection that captured. Another account does not know its payments.
CREATE FUNCTION app.guard_account() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE known text;
BEGIN
  SELECT v.gateway_account INTO known FROM connection_credential v
  WHERE v.connection_id = NEW.id AND v.version <> NEW.credential_version AND v.verified_at IS NOT NULL AND v.gateway_account IS NOT NULL
  ORDER BY v.version DESC LIMIT 1;
  IF known <> (SELECT v.gateway_account FROM connection_credential v WHERE v.connection_id = NEW.id AND v.version = NEW.credential_version) THEN
    PERFORM app.refuse('the credentials of a connection open one account'); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_account BEFORE UPDATE OF credential_version ON connection FOR EACH ROW EXECUTE FUNCTION app.guard_account();

CREATE TRIGGER unchanging BEFORE UPDATE OR DELETE ON audit_entry FOR EACH ROW EXECUTE FUNCTION app.refuse_change();
CREATE TRIGGER unchanging BEFORE UPDATE OR DELETE ON routing_rule FOR EACH ROW EXECUTE FUNCTION app.refuse_change();
