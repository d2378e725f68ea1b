/** Recent health of a merchant's connections, from the rows of their attempts. */

import { noCardBeginnings } from "../core/decide/because.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { ConnectionId, MerchantId } from "../platform/ids.ts";
import { shownKind } from "./analytics/counted-facts.ts";
import { firstIdAt } from "./past-payments.ts";

/** Longest time from the creation of a session to its last attempt: a day until it is submitted, and then recovery. */
export const sessionLongestMs = 25 * 60 * 60_000;
// Most sessions, newest first, from which a gateway's health is read: these give a steady figure for a merchant with
// more in an hour.
const healthSessionsMax = 5_000;

/** The answers of one connection, for attempts that reached its gateway or were meant to. */
export type ConnectionHealth = {
  readonly connectionId: ConnectionId;
  readonly attempts: number;
  readonly approved: number;
  readonly declined: number;
  readonly timeouts: number;
  readonly errors: number;
  readonly latencyP50Ms: number;
  readonly latencyP95Ms: number;
  readonly lastAskedAt: Date;
};

// Reads by the merchant's index from the newest id down, then by key: OFFSET 0 keeps the planner from reading every
// attempt. A card that no gateway could get says nothing about a gateway. A gateway that asked for authentication has
// no result yet, and a customer who did not authenticate counts as declined.
const selectHealth: Statement = {
  name: "select_connection_health",
  text: `
    WITH answered AS (
      SELECT a.connection_id, a.started_at, ${shownKind} AS failure_kind,
        extract(epoch FROM a.answered_at - a.started_at) * 1000 AS latency_ms
      FROM (SELECT id FROM payment_session WHERE merchant_id = $1 AND amount_minor > 0 AND id >= $2 ORDER BY id DESC LIMIT $3) s
      CROSS JOIN LATERAL (SELECT * FROM attempt WHERE session_id = s.id OFFSET 0) a
      WHERE a.answered_at IS NOT NULL AND a.status NOT IN ('AUTHORIZING', 'AWAITING_CUSTOMER') AND a.started_at >= $5 AND NOT coalesce(a.next_because LIKE ANY ($4::text[]), false))
    SELECT connection_id AS "connectionId", count(*)::int AS attempts,
      (count(*) FILTER (WHERE failure_kind IS NULL))::int AS approved,
      (count(*) FILTER (WHERE failure_kind IN ('HARD_DECLINE', 'SOFT_DECLINE', 'FRAUD')))::int AS declined,
      (count(*) FILTER (WHERE failure_kind = 'TIMEOUT'))::int AS timeouts,
      (count(*) FILTER (WHERE failure_kind = 'GATEWAY_ERROR'))::int AS errors,
      round(percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms))::int AS "latencyP50Ms",
      round(percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms))::int AS "latencyP95Ms",
      max(started_at) AS "lastAskedAt"
    FROM answered GROUP BY connection_id ORDER BY connection_id`,
};

/**
 * Loads the health from attempts since a given time, in the merchant's newest sessions. A connection without attempts
 * is missing.
 */
export async function loadConnectionHealth(
  queryable: Queryable,
  { merchantId, since }: { merchantId: MerchantId; since: Date },
): Promise<ConnectionHealth[]> {
  const patterns = noCardBeginnings.map((beginning) => `${beginning}%`);
  const firstId = firstIdAt(new Date(since.getTime() - sessionLongestMs));
  return queryable.query<ConnectionHealth>(selectHealth, [merchantId, firstId, healthSessionsMax, patterns, since]);
}
