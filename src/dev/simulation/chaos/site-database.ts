/** The run's own access to the database: counts unfinished sessions, and moves times forward to save waiting. */
import { Client } from "pg";
import { decodeId } from "../../../platform/ids.ts";

/** Number of unfinished sessions; undefined while the database is not available. */
export async function countOpen(databaseUrl: string): Promise<number | undefined> {
  const text = "SELECT count(*)::int AS count FROM payment_session WHERE phase <> 'DONE'";
  const answer = await withDatabase(databaseUrl, (client) => client.query<{ count: number }>(text)).catch(
    () => undefined,
  );
  return answer?.rows[0]?.count;
}

/** Moves a session's expiry forward. Changes that the database refuses are skipped. */
export function expireIn(ownerUrl: string): (sessionId: string, ms: number) => Promise<void> {
  const text = `
    UPDATE payment_session SET expires_at = app.clock() + $2 * interval '1 ms' WHERE id = $1 AND phase = 'IDLE'`;
  return async (sessionId, ms) => {
    const values = [decodeId("ps", sessionId), ms];
    await withDatabase(ownerUrl, (client) => client.query(text, values)).catch(() => {});
  };
}

export async function expireUnsubmitted(ownerUrl: string): Promise<void> {
  const text = `
    UPDATE payment_session SET expires_at = app.clock() WHERE phase = 'IDLE' AND expires_at > app.clock()`;
  await withDatabase(ownerUrl, (client) => client.query(text));
}

/** Moves the database's clock forward for good, as the owner. Returns the time after which it stands. */
export async function moveClock(ownerUrl: string, aheadMs: number): Promise<string> {
  const text = `CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$SELECT clock_timestamp() + interval '${aheadMs} ms'$$`;
  return withDatabase(ownerUrl, async (client) => {
    await client.query(text);
    return (await client.query<{ now: Date }>("SELECT app.clock() AS now")).rows[0]!.now.toISOString();
  });
}

export async function isCustomerAsked(databaseUrl: string): Promise<boolean> {
  const text = "SELECT FROM authentication WHERE status = 'AWAITING_CUSTOMER' LIMIT 1";
  return withDatabase(databaseUrl, async (client) => (await client.query(text)).rowCount !== 0);
}

/** Makes the hourly reconciliation with the gateways due, and returns the time after which its pass begins. */
export async function makeReconciliationDue(databaseUrl: string): Promise<Date> {
  const text = `
    WITH earlier AS (UPDATE reconciliation_run SET started_at = started_at - interval '1 hour')
    SELECT app.clock() AS now`;
  const { rows } = await withDatabase(databaseUrl, (client) => client.query<{ now: Date }>(text));
  return rows[0]!.now;
}

/** Returns the result of the passes since then; undefined until one is finished. */
export async function readReconciliation(
  databaseUrl: string,
  since: Date,
): Promise<Readonly<Record<string, number>> | undefined> {
  const text = `
    SELECT attempts, read, by_notifications AS "by notifications", inconclusive AS "inconclusive", mismatches, orphans
    FROM reconciliation_run WHERE started_at >= $1 AND finished_at IS NOT NULL`;
  const { rows } = await withDatabase(databaseUrl, (client) => client.query<Record<string, number>>(text, [since]));
  return rows[0];
}

/** Connects for one task: the database may have been restarted since the last one. */
export async function withDatabase<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A broken connection is reported twice; the rejection of the query is enough.
  client.on("error", () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
