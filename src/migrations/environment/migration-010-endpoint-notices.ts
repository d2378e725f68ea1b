/** What an endpoint's owner is told: a notice once for each kind and failing episode, and the addresses it is mailed to. */

export const name = "010-endpoint-notices";

export const sql = `
CREATE TABLE endpoint_notice (
  id              uuid PRIMARY KEY,
  merchant_id     uuid NOT NULL,
  endpoint_id     uuid NOT NULL REFERENCES endpoint (id),
  kind            text NOT NULL
    CHECK (kind IN ('FAILING_24_HOURS','FAILING_72_HOURS','DISABLED_FAILING','DISABLED_GONE')),
  -- The endpoint's own failing_since: names the episode, which a 2xx answer ends.
  failing_since   timestamptz NOT NULL,
  -- What the endpoint answered last, or why there was no answer.
  status_code     int,
  no_answer       text,
  created_at      timestamptz NOT NULL DEFAULT app.clock(),
  acknowledged_at timestamptz,
  acknowledged_by text,
  -- When it may be mailed next: retry time and end of the lease in one. Null when nothing more is mailed.
  mail_at         timestamptz DEFAULT app.clock(),
  mail_tries      int NOT NULL DEFAULT 0,
  -- The addresses whose server has taken it.
  mailed_to       text[] NOT NULL DEFAULT '{}',
  UNIQUE (endpoint_id, kind, failing_since),
  CHECK (status_code IS NULL OR no_answer IS NULL),
  CHECK ((acknowledged_at IS NULL) = (acknowledged_by IS NULL))
);
CREATE INDEX endpoint_notice_of_merchant ON endpoint_notice (merchant_id, id);
CREATE INDEX endpoint_notice_to_mail ON endpoint_notice (mail_at) WHERE mail_at IS NOT NULL;
CREATE INDEX endpoint_failing ON endpoint (failing_since) WHERE failing_since IS NOT NULL AND status = 'ENABLED';

-- Who is told of trouble with the merchant's endpoints.
ALTER TABLE merchant_settings ADD COLUMN notice_addresses text[] NOT NULL DEFAULT '{}'
  CHECK (cardinality(notice_addresses) <= 10);
`;
