/** The run's own view of the database: what is open, and time that is moved up where nobody wants to wait for it. */
import { Client } from "pg";
import { decodeId } from "../../platform/ids.ts";

/** Sessions that are not done; undefined while the database cannot be asked. */
export async function countOpen(databaseUrl: string): Promise<number | undefined> {
  const text = "SELECT count(*)::int AS count FROM payment_session WHERE phase <> 'DONE'";
  const answer = await withDatabase(databaseUrl, (client) => client.query<{ count: number }>(text)).catch(
    () => undefined,
  );
  return answer?.rows[0]?.count;
}

/** Moves one session's expiry up, as if its page had been open that long. What the database does not take is left. */
export function expireIn(databaseUrl: string): (sessionId: string, ms: number) => Promise<void> {
  const text = `
    UPDATE payment_session SET expires_at = app.clock() + $2 * interval '1 ms' WHERE id = $1 AND phase = 'IDLE'`;
  return async (sessionId, ms) => {
    const values = [decodeId("ps", sessionId), ms];
    await withDatabase(databaseUrl, (client) => client.query(text, values)).catch(() => {});
  };
}

/** Moves the expiry of everything up that nobody submitted. */
export async function expireUnsubmitted(databaseUrl: string): Promise<void> {
  const text = `
    UPDATE payment_session SET expires_at = app.clock() WHERE phase = 'IDLE' AND expires_at > app.clock()`;
  await withDatabase(databaseUrl, (client) => client.query(text));
}

/** Makes the hourly comparison with the gateways' records due, and gives the moment after which its pass begins. */
export async function makeComparisonDue(databaseUrl: string): Promise<Date> {
  const text = `
    WITH earlier AS (UPDATE comparison_run SET started_at = started_at - interval '1 hour')
    SELECT app.clock() AS now`;
  const { rows } = await withDatabase(databaseUrl, (client) => client.query<{ now: Date }>(text));
  return rows[0]!.now;
}

/** What the passes since then have come to; undefined until one is finished. */
export async function readComparison(
  databaseUrl: string,
  since: Date,
): Promise<Readonly<Record<string, number>> | undefined> {
  const text = `
    SELECT attempts, read, by_notices AS "by notices", could_not_tell AS "could not tell", mismatches, strays
    FROM comparison_run WHERE started_at >= $1 AND finished_at IS NOT NULL`;
  const { rows } = await withDatabase(databaseUrl, (client) => client.query<Record<string, number>>(text, [since]));
  return rows[0];
}

/** Connects for one piece of work: the database may have been restarted since the last one. */
export async function withDatabase<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A connection that breaks is told twice; the query's own rejection is enough.
  client.on("error", () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
