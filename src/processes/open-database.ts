/** Opens the databases of a process: the pools, directly or through a pooler, with the limits of each connection. */
import { MikroORM } from "@mikro-orm/core";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import { Pool, type PoolConfig } from "pg";
import type { Config, EnvironmentConfig } from "../config/checked-config.ts";
import { AttemptEntity, PaymentSessionEntity, RoutingRuleEntity } from "../core/rows/entities.ts";
import { connectionWaitMs, databaseConnectionsMax, databaseSilenceMs } from "../limits.ts";
import { Database } from "../platform/database.ts";
import { databaseLogin, databaseTls } from "../platform/database-address.ts";
import type { Logger } from "../platform/log.ts";
import { ReadReplica } from "../platform/read-replica.ts";
import type { Secret } from "../platform/secrets.ts";
import { logMissingLimits, sessionLimits } from "../platform/session-limits.ts";

type Entity = typeof PaymentSessionEntity | typeof AttemptEntity | typeof RoutingRuleEntity;

/** The way to a database: directly or through a pooler, and the number of connections of one process. */
export type DatabaseWay = Config["database"];

const straight: DatabaseWay = { pooler: "none", connectionsMax: databaseConnectionsMax };

/** Opens the ORM on one database, and the payment path's Database on the ORM's own pool. */
export async function openDatabase(
  url: Secret,
  entities: readonly Entity[],
  { pooler, connectionsMax }: DatabaseWay = straight,
): Promise<{ database: Database; close(): Promise<void> }> {
  const isPooled = pooler === "transaction";
  const orm = await MikroORM.init({
    driver: PostgreSqlDriver,
    clientUrl: url.expose(),
    entities: [...entities],
    discovery: { warnWhenNoEntities: false },
    // It would ask the server at once: a cell that does not answer must not stop the others' start.
    ensureDatabase: false,
    pool: { min: 0, max: connectionsMax },
    driverOptions: { ...databaseTls(url.expose()), ...(isPooled ? {} : sessionLimits), ...lasting, pipeline: true },
  });
  const pool: Pool = await orm.driver.getConnection().getNativeClient();
  return {
    database: new Database(pool, { isPooled }),
    async close() {
      await orm.close(true);
      // The ORM ends only a pool that it has used itself.
      if (!pool.ending) await pool.end();
    },
  };
}

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

/** Opens an environment's database, and its read replica where it has one, which is monitored from now on. */
export async function openEnvironmentDatabases(
  config: Pick<EnvironmentConfig, "databaseUrl" | "databaseReadUrl">,
  { way, log }: { way: DatabaseWay; log: Logger },
) {
  const entities = [PaymentSessionEntity, AttemptEntity, RoutingRuleEntity];
  const primary = await openDatabase(config.databaseUrl, entities, way);
  const { database } = primary;
  void logMissingLimits(database, log);
  void database.namePartitions();
  if (config.databaseReadUrl === undefined) return { ...primary, replica: undefined };
  const nowMs = () => performance.now();
  const replica = new ReadReplica({ primary: database, replica: openReplica(config.databaseReadUrl, way), log, nowMs });
  replica.watch(log);
  const close = async () => {
    await replica.close();
    await Promise.all([replica.database.pool.end(), primary.close()]);
  };
  return { database, replica, close };
}

/** Opens a replica without the ORM, which would connect at once: an unavailable replica must not stop anything. */
function openReplica(url: Secret, { pooler, connectionsMax }: DatabaseWay): Database {
  const isPooled = pooler === "transaction";
  const pool = openPool(url, { ...(isPooled ? {} : sessionLimits), max: connectionsMax, pipeline: true });
  return new Database(pool, { isPooled });
}

function openPool(url: Secret, options: PoolConfig): Pool {
  // The URL is passed in parts: the driver interprets `sslmode` in a URL differently.
  const pool = new Pool({ ...databaseLogin(url.expose()), ...lasting, ...options });
  // An idle connection is replaced. The holder of a connection gets the error with its next statement. Without a
  // listener of its own, the error of a connection that breaks meanwhile would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
