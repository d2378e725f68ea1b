/** Makes room for rows of past days where the tables are partitioned by time; does nothing where they are not. */
import type { Client } from "pg";

/** So many days back from now, in every partitioned table. */
export async function openPartitions(client: Client, { days }: { days: number }): Promise<void> {
  const { rows } = await client.query("SELECT relkind FROM pg_class WHERE oid = 'payment_session'::regclass");
  if (rows[0].relkind !== "p") return;
  await client.query("SELECT app.ensure_partitions(app.clock() - $1 * interval '1 day', app.clock())", [days]);
}
