/**
 * The limits of every session of ours at the server, so that a stuck one blocks no others. A connection sets them
 * itself; a pooler passes nothing on, so behind one they are the role's, which `migrate` sets.
 */
import type { Pool } from "pg";
import { idempotencyWaitMs, idleInTransactionMs, statementTimeoutMs, transactionTimeoutMs } from "../limits.ts";
import type { Database } from "./database.ts";
import type { Logger } from "./log.ts";

/** The limits in milliseconds, by PostgreSQL's names. */
export const sessionLimits = {
  statement_timeout: statementTimeoutMs,
  lock_timeout: idempotencyWaitMs,
  idle_in_transaction_session_timeout: idleInTransactionMs,
  transaction_timeout: transactionTimeoutMs,
} as const;

/** Returns SQL that gives a role, already quoted, these limits; the user who runs it must administer the role. */
export function limitSessionsOf(role: string): string[] {
  return Object.entries(sessionLimits).map(([name, limitMs]) => `ALTER ROLE ${role} SET ${name} = ${limitMs}`);
}

/** Returns the limits that sessions of this pool lack, as NAME=milliseconds. */
export async function findMissingLimits(pool: Pool): Promise<readonly string[]> {
  const wanted = Object.entries(sessionLimits);
  const { rows } = await pool.query<{ name: string; ms: number }>(
    "SELECT name, setting::int AS ms FROM pg_settings WHERE name = ANY ($1)",
    [wanted.map(([name]) => name)],
  );
  const found = new Map(rows.map(({ name, ms }) => [name, ms]));
  return wanted
    .filter(([name, limitMs]) => !((found.get(name) ?? 0) > 0 && found.get(name)! <= limitMs))
    .map(([name, limitMs]) => `${name}=${limitMs}`);
}

/** Logs, behind a pooler, the limits that sessions lack. The next real statement reports an error of this query. */
export async function logMissingLimits(database: Database, log: Pick<Logger, "warn">): Promise<void> {
  if (!database.isPooled) return;
  const missing = await findMissingLimits(database.pool).catch(() => []);
  if (missing.length === 0) return;
  const remedy = `ALTER ROLE … SET ${missing.join(", SET ")}, as an administrator of the role; then RECONNECT in the pooler`;
  log.warn({ problem: remedy }, "a stuck statement or transaction is not stopped: the database role lacks limits");
}
