/** Has the database make the next month's tables in time, and drop those past their time; the rules are its own (migration 018). */
import type { Database, Queryable, Statement } from "../platform/database.ts";
import type { Logger } from "../platform/log.ts";

const keepPartitions: Statement = {
  name: "keep_partitions",
  text: "SELECT kind, suffix, done FROM app.keep_partitions()",
};

type Kept = { readonly kind: PartitionKind; readonly suffix: string; readonly done: "made" | "dropped" };

/**
 * Makes the sets of tables of this month and the next where they are missing, and drops the months that the owner of the
 * database no longer keeps and in which nothing waits any more. Rejects when a table was busy for half a second; the next
 * turn tries again, and until then rows of a month without tables go into a set that takes all.
 */
export async function keepPartitionsOnce(database: Database, log: Pick<Logger, "info">): Promise<void> {
  for (const { kind, suffix, done } of await database.query<Kept>(keepPartitions, [])) {
    log.info({ kind: `${kind}${suffix}`, stage: done }, "the tables of a month");
  }
}

/** What is made and dropped together: payments with their attempts, events and deliveries; and the log of tries. */
export const partitionKinds = ["payments", "delivery_log"] as const;
type PartitionKind = (typeof partitionKinds)[number];

const selectAhead: Statement = {
  name: "select_partitions_ahead",
  text: `SELECT kind, greatest(0, extract(epoch FROM max(until_at) - app.clock()) / 86400)::float8 AS "aheadDays"
         FROM app.partition_sets GROUP BY kind`,
};

/** For how many days from now each kind of rows has tables of its own: at least 28 while all is well. */
export async function loadPartitionsAhead(queryable: Queryable): Promise<Readonly<Record<PartitionKind, number>>> {
  const rows = await queryable.query<{ kind: PartitionKind; aheadDays: number }>(selectAhead, []);
  const daysOf = (kind: PartitionKind) => rows.find((row) => row.kind === kind)?.aheadDays ?? 0;
  return { payments: daysOf("payments"), delivery_log: daysOf("delivery_log") };
}
