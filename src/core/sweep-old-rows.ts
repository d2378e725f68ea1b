/** Removes an environment's rows that are kept for a time and that nothing else ends. Payments and their events are not among them. */
import {
  auditRetentionMs,
  comparisonRetentionMs,
  countsRetentionMs,
  endpointNoticeRetentionMs,
  noticeRetentionMs,
  retentionSweepRows,
  strayHoldRetentionMs,
} from "../limits/retention.ts";
import type { Database, Statement } from "../platform/database.ts";

/** A table, the moment from which its rows' time runs, and which of them may go at all. */
type Kept = { readonly table: string; readonly since: string; readonly forMs: number; readonly only?: string };

const kept: readonly Kept[] = [
  { table: "gateway_notice", since: "received_at", forMs: noticeRetentionMs, only: "processed_at IS NOT NULL" },
  { table: "stray_hold", since: "ended_at", forMs: strayHoldRetentionMs },
  { table: "comparison_run", since: "started_at", forMs: comparisonRetentionMs, only: "finished_at IS NOT NULL" },
  { table: "endpoint_notice", since: "created_at", forMs: endpointNoticeRetentionMs },
  { table: "audit_entry", since: "created_at", forMs: auditRetentionMs },
  { table: "analytics_payment", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_attempt", since: "starts_at", forMs: countsRetentionMs },
  { table: "analytics_decline", since: "starts_at", forMs: countsRetentionMs },
];

// The clock is a subselect, so that an index over the column has a bound.
const sweeps = kept.map(({ table, since, forMs, only = "true" }): { statement: Statement; forMs: number } => ({
  forMs,
  statement: {
    name: `sweep_${table}`,
    text: `
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${since} < (SELECT app.clock()) - $1 * interval '1 ms' AND ${only}
        LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1 AS removed`,
  },
}));

/** One turn; true when there is more to remove. Durable on return. */
export async function sweepOldRowsOnce(database: Database): Promise<boolean> {
  let isMore = false;
  for (const { statement, forMs } of sweeps) {
    const removed = await database.query(statement, [forMs, retentionSweepRows]);
    isMore ||= removed.length === retentionSweepRows;
  }
  return isMore;
}
