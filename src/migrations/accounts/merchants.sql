-- What belongs to both environments: merchants, and the operators who may administer the installation.

CREATE TABLE merchant (
  id         uuid PRIMARY KEY,
  name       text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The cell of each environment in which the merchant's new sessions are made.
  test_cell  smallint NOT NULL DEFAULT 1 CHECK (test_cell BETWEEN 1 AND 61),
  live_cell  smallint NOT NULL DEFAULT 1 CHECK (live_cell BETWEEN 1 AND 61)
);

CREATE TABLE operator_token (
  id         uuid PRIMARY KEY,
  label      text NOT NULL,
  hash       bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz
);
