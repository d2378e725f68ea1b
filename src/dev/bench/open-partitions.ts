/**
 * Creates the partitions of past months if payments are partitioned by time, as the product creates those of coming
 * months.
 */
import type { Client } from "pg";

// As app.keep_partitions() does, for the months before this one.
const makePastMonths = `
  SELECT app.make_set(r.kind, '_rest', to_char(m AT TIME ZONE 'UTC', '_YYYY_MM'),
    format('FOR VALUES FROM (%L) TO (%L)', app.first_id_at(m), app.first_id_at(m + interval '1 month')))
  FROM app.retention r, (SELECT date_trunc('month', app.clock(), 'UTC') AS this_month) AS now,
    generate_series(this_month - $1 * interval '1 month', this_month, interval '1 month', 'UTC') AS m
  WHERE NOT EXISTS (SELECT FROM app.partition_sets s WHERE s.kind = r.kind AND s.from_at = m)
  ORDER BY m, r.kind`;

/** Creates this many months back from the current one; nothing if payments are in whole tables. */
export async function openPartitions(client: Client, { months }: { months: number }): Promise<void> {
  const { rows } = await client.query("SELECT to_regclass('app.partition_sets') IS NOT NULL AS has");
  if (rows[0].has) await client.query(makePastMonths, [months]);
}
