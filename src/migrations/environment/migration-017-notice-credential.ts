/** With which of a connection's credentials a notice was signed, so that a test notice verifies those and no others. */

export const name = "017-notice-credential";

export const sql = `
-- Null for what came before this was kept.
ALTER TABLE gateway_notice ADD COLUMN credential_version int,
  ADD FOREIGN KEY (connection_id, credential_version) REFERENCES connection_credential (connection_id, version);
`;
