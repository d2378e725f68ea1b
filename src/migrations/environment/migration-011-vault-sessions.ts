/** Which session of an external vault belongs to which of ours: a token counts in its own session only. */

export const name = "011-vault-sessions";

export const sql = `
-- No foreign key: the vault is asked first, and a session that is then not created leaves a row that lapses.
CREATE TABLE vault_session (
  session_id    uuid        PRIMARY KEY,
  vault_session text        NOT NULL CHECK (char_length(vault_session) BETWEEN 1 AND 128),
  expires_at    timestamptz NOT NULL
);
CREATE INDEX vault_session_to_expire ON vault_session (expires_at);
`;
