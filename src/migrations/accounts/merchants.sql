-- What belongs to both environments: merchants, and the operators who may administer the installation.

CREATE TABLE merchant (
  id         uuid PRIMARY KEY,
  name       text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE operator_token (
  id         uuid PRIMARY KEY,
  label      text NOT NULL,
  hash       bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz
);
