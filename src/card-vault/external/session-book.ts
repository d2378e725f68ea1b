/** Stores which session of the external vault belongs to which of ours, for as long as a card of it may be sent. */
import { vaultSessionLifetimeMs } from "../../limits.ts";
import type { Database, Queryable, Statement } from "../../platform/database.ts";

// Rows of sessions that were never created, or whose end was not reported, are deleted two at a time with each new one.
const insert: Statement = {
  name: "insert_vault_session",
  text: `
    WITH lapsed AS (
      DELETE FROM vault_session WHERE session_id IN (
        SELECT session_id FROM vault_session WHERE expires_at <= (SELECT app.clock())
        ORDER BY expires_at LIMIT 2 FOR UPDATE SKIP LOCKED))
    INSERT INTO vault_session (session_id, vault_session, expires_at)
    VALUES ($1, $2, app.clock() + $3 * interval '1 ms')`,
};

/** Stores the vault's session of a session that is about to be created. Durable on return. */
export async function recordVaultSession(
  database: Database,
  { sessionId, vaultSession }: { sessionId: string; vaultSession: string },
): Promise<void> {
  await database.query(insert, [sessionId, vaultSession, vaultSessionLifetimeMs]);
}

const select: Statement = {
  name: "select_vault_session",
  text: `SELECT vault_session AS "vaultSession" FROM vault_session WHERE session_id = $1`,
};

/** Returns the vault's session; undefined for one that has ended, or was opened under another mode. */
export async function findVaultSession(queryable: Queryable, sessionId: string): Promise<string | undefined> {
  const [row] = await queryable.query<{ vaultSession: string }>(select, [sessionId]);
  return row?.vaultSession;
}

const remove: Statement = { name: "delete_vault_session", text: "DELETE FROM vault_session WHERE session_id = $1" };

/** Deletes the vault's session: from now on no token is accepted for the session. */
export async function forgetVaultSession(database: Database, sessionId: string): Promise<void> {
  await database.query(remove, [sessionId]);
}
