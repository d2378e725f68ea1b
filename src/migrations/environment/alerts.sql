-- What merchants' people are alerted to: an alert opens once for each matter, and is sent when it opens and when it is over.

CREATE TABLE alert (
  id              uuid PRIMARY KEY,
  merchant_id     uuid NOT NULL,
  kind            text NOT NULL CHECK (kind IN (
    'FAILING_24_HOURS','FAILING_72_HOURS','DISABLED_FAILING','DISABLED_GONE',
    'GATEWAY_UNHEALTHY','CREDENTIALS_REFUSED','APPROVAL_RATE_LOW','GATEWAY_UNVERIFIED','ENDPOINT_UNVERIFIED','HOLDS_EXPIRING','PAID_MORE_THAN_ONCE','CARD_TESTING',
    'AGREEMENTS_UNCHARGEABLE','RENEWALS_STOPPED','CARDS_NOT_ERASED','APPLE_PAY_ENDING','DISPUTE_OPENED','DISPUTE_DUE','DISPUTES_UNREADABLE',
    'SETTLEMENT_OVERDUE','PAYOUT_REMAINDER','SETTLEMENT_UNREADABLE')),
  -- What it is about, if that is not the merchant as a whole.
  endpoint_id     uuid REFERENCES endpoint (id),
  connection_id   uuid,
  gateway         text,
  dispute_id      uuid,
  -- Since when. Of an endpoint that fails its own failing_since, which names the episode that a 2xx answer ends.
  since           timestamptz NOT NULL,
  -- What happened, in sentences; null where kind, endpoint and answer say it.
  detail          text CHECK (char_length(detail) BETWEEN 1 AND 1000),
  -- Of holds: the latest end of those that the alert is about.
  covers_until    timestamptz,
  -- What the endpoint answered last, or why there was no answer.
  status_code     int,
  no_answer       text,
  created_at      timestamptz NOT NULL DEFAULT app.clock(),
  -- When the matter was over.
  over_at         timestamptz,
  acknowledged_at timestamptz,
  acknowledged_by text,
  -- When it may be sent next: retry time and end of the lease in one. Null when nothing more is sent.
  send_at         timestamptz DEFAULT app.clock(),
  send_attempts   int NOT NULL DEFAULT 0,
  -- The addresses that have accepted it, and later those that have accepted its end; `chat` is the merchant's chat.
  sent_to         text[] NOT NULL DEFAULT '{}',
  end_sent_to     text[] NOT NULL DEFAULT '{}',
  UNIQUE (endpoint_id, kind, since),
  CHECK (status_code IS NULL OR no_answer IS NULL),
  CHECK ((kind = 'HOLDS_EXPIRING') = (covers_until IS NOT NULL)),
  CHECK ((kind IN ('FAILING_24_HOURS','FAILING_72_HOURS','DISABLED_FAILING','DISABLED_GONE')) = (detail IS NULL)),
  CHECK ((kind IN ('DISPUTE_OPENED','DISPUTE_DUE')) = (dispute_id IS NOT NULL)),
  CHECK ((acknowledged_at IS NULL) = (acknowledged_by IS NULL))
);
CREATE INDEX alert_of_merchant ON alert (merchant_id, id);
CREATE INDEX alert_to_send ON alert (send_at) WHERE send_at IS NOT NULL;
CREATE INDEX alert_of_dispute ON alert (dispute_id, kind) WHERE dispute_id IS NOT NULL;
CREATE INDEX alert_open ON alert (merchant_id, kind) WHERE over_at IS NULL;
-- One open alert for each matter. An endpoint that fails has one of each kind and episode instead.
CREATE UNIQUE INDEX alert_one_open ON alert (merchant_id, kind, endpoint_id, connection_id, gateway, dispute_id) NULLS NOT DISTINCT
  WHERE over_at IS NULL AND detail IS NOT NULL;
