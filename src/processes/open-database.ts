/** Opens the databases of a process: the pools, directly or through a pooler, with the limits of each connection. */
import { Pool } from "pg";
import type { Config, EnvironmentConfig } from "../config/checked-config.ts";
import { connectionWaitMs, databaseConnectionsMax, databaseSilenceMs } from "../limits.ts";
import { Database } from "../platform/database.ts";
import { databaseLogin } from "../platform/database-address.ts";
import type { Logger } from "../platform/log.ts";
import { ReadReplica } from "../platform/read-replica.ts";
import type { Secret } from "../platform/secrets.ts";
import { logMissingLimits, sessionLimits } from "../platform/session-limits.ts";

/** The way to a database: directly or through a pooler, and the number of connections of one process. */
export type DatabaseWay = Config["database"];

const straight: DatabaseWay = { pooler: "none", connectionsMax: databaseConnectionsMax };

// Firewalls and address translators drop a connection that is silent for some minutes, the strictest after 350 s.
const firstKeepAliveMs = 60_000;

const lasting = {
  query_timeout: databaseSilenceMs,
  connectionTimeoutMillis: connectionWaitMs,
  // A new connection plans every statement again: the first payment on it takes three times as long.
  idleTimeoutMillis: 0,
  keepAlive: true,
  keepAliveInitialDelayMillis: firstKeepAliveMs,
} as const;

/** Opens a database without connecting: one that does not answer must not stop the start of others. */
export function openDatabase(url: Secret, { pooler, connectionsMax }: DatabaseWay = straight) {
  const isPooled = pooler === "transaction";
  // The URL is passed in parts: the driver interprets `sslmode` in a URL differently. The driver has no separate option
  // for the last one.
  const options = `-c transaction_timeout=${sessionLimits.transaction_timeout}`;
  const login = { ...databaseLogin(url.expose()), ...(isPooled ? {} : { ...sessionLimits, options }) };
  const pool = new Pool({ ...login, ...lasting, max: connectionsMax, pipeline: true });
  // An idle connection is replaced. The holder of a connection gets the error with its next statement. If it had no
  // listener, the error of a connection that breaks meanwhile would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return { database: new Database(pool, { isPooled }), close: () => pool.end() };
}

/** Opens an environment's database, and its read replica where it has one, which is monitored from now on. */
export function openEnvironmentDatabases(
  config: Pick<EnvironmentConfig, "databaseUrl" | "databaseReadUrl">,
  { way, log }: { way: DatabaseWay; log: Logger },
) {
  const primary = openDatabase(config.databaseUrl, way);
  const { database } = primary;
  void logMissingLimits(database, log);
  void database.namePartitions();
  if (config.databaseReadUrl === undefined) return { ...primary, replica: undefined };
  const nowMs = () => performance.now();
  const reading = openDatabase(config.databaseReadUrl, way);
  const replica = new ReadReplica({ primary: database, replica: reading.database, log, nowMs });
  replica.watch(log);
  const close = async () => {
    await replica.close();
    await Promise.all([reading.close(), primary.close()]);
  };
  return { database, replica, close };
}
