/** Builds one environment, test or live: its database, its keys, its core. The only place that knows which is which. */
import { MikroORM } from "@mikro-orm/core";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import type { Pool } from "pg";
import type { EnvironmentConfig } from "./config.ts";
import { AttemptEntity, PaymentSessionEntity, RoutingRuleEntity } from "./core/entities.ts";
import type { EdgeEnvironment } from "./edge/caller.ts";
import { selfHostedVault } from "./gateways/vault-description.ts";
import { databaseConnectionsMax, idempotencyWaitMs, statementTimeoutMs } from "./limits.ts";
import { Database } from "./platform/database.ts";
import { systemEntropy } from "./platform/entropy.ts";
import type { Secret } from "./platform/secrets.ts";

/** One environment, as edge and worker use it. */
export type Environment = EdgeEnvironment & {
  readonly orm: MikroORM;
  /** Closes its connections; requests in flight must have ended. */
  close(): Promise<void>;
};

/** Opens one environment. No connection is made before the first query. */
export async function buildEnvironment(
  config: EnvironmentConfig,
  shared: { readonly vaultOrigin: string },
): Promise<Environment> {
  const { orm, database } = await openDatabase(config.databaseUrl, [
    PaymentSessionEntity,
    AttemptEntity,
    RoutingRuleEntity,
  ]);
  const signing = { ...config.keys.signing, environment: config.name };
  return {
    name: config.name,
    orm,
    database,
    anyOriginWhenNoneRegistered: config.name === "test",
    core: {
      database,
      entropy: systemEntropy,
      clientSecretKeys: config.keys.clientSecret,
      sealing: config.keys.sealing,
      pageTokenKey: config.keys.pageToken,
      describeVault: selfHostedVault({ signing, vaultOrigin: shared.vaultOrigin }),
    },
    close: () => orm.close(true),
  };
}

/** The ORM on one database, and the payment path's Database on the ORM's own pool. */
export async function openDatabase(
  url: Secret,
  entities: readonly (typeof PaymentSessionEntity | typeof AttemptEntity | typeof RoutingRuleEntity)[],
): Promise<{ orm: MikroORM; database: Database }> {
  let pool: Pool | undefined;
  const orm = await MikroORM.init({
    driver: PostgreSqlDriver,
    clientUrl: url.expose(),
    entities: [...entities],
    discovery: { warnWhenNoEntities: false },
    pool: { min: 0, max: databaseConnectionsMax },
    driverOptions: {
      statement_timeout: statementTimeoutMs,
      lock_timeout: idempotencyWaitMs,
      onPoolCreated: (created: Pool) => {
        pool = created;
      },
    },
  });
  if (pool === undefined) throw new Error("the ORM made no connection pool");
  return { orm, database: new Database(pool) };
}
