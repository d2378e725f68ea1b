/** Connections to databases as metrics, read from the pools themselves at each scrape. */
import type { Database } from "../platform/database.ts";
import type { MetricMaker } from "./metric-maker.ts";

export function createDatabaseMetrics({ collected, collectedCounter }: MetricMaker) {
  const databases = new Map<string, Database>();
  const show = (name: string, help: string, read: (database: Database) => number) =>
    collected(name, help, ["database"], () =>
      [...databases].map(([database, of]) => ({ labels: { database }, value: read(of) })),
    );
  show("database_connections_used", "Connections of this process that run a statement or a transaction.", ({ pool }) =>
    Math.max(0, pool.totalCount - pool.idleCount),
  );
  show("database_connections_idle", "Open connections of this process that are idle.", ({ pool }) => pool.idleCount);
  show("database_connections_most", "Most connections that this process opens.", ({ pool }) => pool.options.max ?? 0);
  show("database_waiting", "Callers in this process that wait for a connection.", ({ pool }) => pool.waitingCount);
  collectedCounter(
    "database_transactions_repeated_total",
    "Transactions of this process that were retried after a deadlock or a serialization failure.",
    ["database"],
    () => [...databases].map(([database, { repeats }]) => ({ labels: { database }, value: repeats })),
  );
  /** `name`: accounts, vault, or a cell of an environment (`live`, `live-2`), with `_read` for its replica. */
  return function showDatabase(name: string, database: Database): void {
    databases.set(name, database);
  };
}
