/**
 * Makes the database create the next month's tables in time and drop old ones, by the rules in
 * src/migrations/environment/partitions.sql.
 */
import type { Database, Queryable, Statement } from "../platform/database.ts";
import type { Logger } from "../platform/log.ts";

const keepPartitions: Statement = {
  name: "keep_partitions",
  text: "SELECT kind, suffix, done FROM app.keep_partitions()",
};

type Kept = { readonly kind: PartitionKind; readonly suffix: string; readonly done: "made" | "dropped" };

/**
 * Creates missing partitions of this month and the next, and drops months that the owner of the database no longer
 * keeps and in which nothing waits. Rejects when a table was busy for half a second. The next turn retries, and until
 * then rows of a month without partitions go into the default partitions.
 */
export async function keepPartitionsOnce(database: Database, log: Pick<Logger, "info">): Promise<void> {
  for (const { kind, suffix, done } of await database.query<Kept>(keepPartitions, [])) {
    log.info({ kind: `${kind}${suffix}`, stage: done }, "the tables of a month were created or dropped");
  }
}

/**
 * The sets of tables that are created and dropped together: payments with their attempts, events and deliveries; and
 * the log of delivery attempts.
 */
const partitionKinds = ["payments", "delivery_log"] as const;
type PartitionKind = (typeof partitionKinds)[number];

const selectAhead: Statement = {
  name: "select_partitions_ahead",
  text: `SELECT kind, greatest(0, extract(epoch FROM max(until_at) - app.clock()) / 86400)::float8 AS "aheadDays"
         FROM app.partition_sets GROUP BY kind`,
};

/** Loads the number of days from now for which each kind of rows has partitions: normally at least 28. */
export async function loadPartitionsAhead(queryable: Queryable): Promise<Readonly<Record<PartitionKind, number>>> {
  const rows = await queryable.query<{ kind: PartitionKind; aheadDays: number }>(selectAhead, []);
  const daysOf = (kind: PartitionKind) => rows.find((row) => row.kind === kind)?.aheadDays ?? 0;
  return { payments: daysOf("payments"), delivery_log: daysOf("delivery_log") };
}
