/**
 * What bounds every session of ours at the server, so that a stuck one holds nobody up. A connection brings it along; a
 * pooler takes nothing along, so there it is the role's own, which `migrate` sets.
 */
import type { Pool } from "pg";
import { idempotencyWaitMs, idleInTransactionMs, statementTimeoutMs } from "../limits.ts";
import type { Database } from "./database.ts";
import type { Logger } from "./log.ts";

/** In milliseconds, by the names that PostgreSQL has for them. */
export const sessionLimits = {
  statement_timeout: statementTimeoutMs,
  lock_timeout: idempotencyWaitMs,
  idle_in_transaction_session_timeout: idleInTransactionMs,
} as const;

/** SQL that gives a role, quoted already, these limits; whoever runs it administers the role. */
export function limitSessionsOf(role: string): string[] {
  return Object.entries(sessionLimits).map(([name, limitMs]) => `ALTER ROLE ${role} SET ${name} = ${limitMs}`);
}

/** The limits that sessions of this pool lack, as NAME=milliseconds; none when all are as they should be, or lower. */
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

/** Behind a pooler, says in the log what sessions lack. Whatever stops the question is seen by the next real statement. */
export async function tellMissingLimits(database: Database, log: Pick<Logger, "warn">): Promise<void> {
  if (database.sessions === database.pool) return;
  const missing = await findMissingLimits(database.pool).catch(() => []);
  if (missing.length === 0) return;
  const remedy = `ALTER ROLE … SET ${missing.join(", SET ")}, as whoever administers the role; then RECONNECT in the pooler`;
  log.warn({ problem: remedy }, "a stuck statement or transaction is not stopped: the database role lacks limits");
}
