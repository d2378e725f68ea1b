/** Deletes expired rows: cards past their fifteen minutes and counters past their window. */
import type { Database, Statement } from "../platform/database.ts";
import { sweepRowsMax } from "./vault-limits.ts";

const statements: readonly Statement[] = [
  sweep("card", "token_hash", "expires_at"),
  sweep("card_session", "environment, session_id", "expires_at"),
  sweep("tokenize_count", "environment, counted_by, subject, window_ends", "window_ends"),
];

/**
 * Deletes at most `sweepRowsMax` rows a table and returns the number deleted; any number of vault processes may run it
 * at once.
 */
export async function expireOnce(database: Database): Promise<number> {
  let deleted = 0;
  for (const statement of statements) {
    const [{ rows } = { rows: 0 }] = await database.query<{ rows: number }>(statement, [sweepRowsMax]);
    deleted += rows;
  }
  return deleted;
}

function sweep(table: string, key: string, endColumn: string): Statement {
  return {
    name: `vault_sweep_${table}`,
    text: `WITH gone AS (
      DELETE FROM ${table} WHERE (${key}) IN (
        SELECT ${key} FROM ${table} WHERE ${endColumn} <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1)
    SELECT count(*) AS rows FROM gone`,
  };
}
