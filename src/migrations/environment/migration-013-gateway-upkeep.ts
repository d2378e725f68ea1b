/** Credentials that were refused when they were to replace others, and decline codes that nobody has classified. */

export const name = "013-gateway-upkeep";

export const sql = `
-- What was sealed is gone then: the gateway refused it, and no attempt has used it.
ALTER TABLE connection_credential ADD COLUMN dropped_at timestamptz;

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
`;
