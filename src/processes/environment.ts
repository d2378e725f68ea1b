/** Builds one environment, test or live: its database, its stream, its vault client, its connectors. The only `if live`. */
import { setTimeout as pause } from "node:timers/promises";
import { MikroORM } from "@mikro-orm/core";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import { Pool, type PoolConfig } from "pg";
import type { CardVault } from "../card-vault/card-vault.ts";
import { SaasVault } from "../card-vault/external/external-vault.ts";
import { openSelfHostedVault } from "../card-vault/own/self-hosted-vault.ts";
import type { Config, EnvironmentConfig, EnvironmentName, ServiceConfig } from "../config/checked-config.ts";
import { CircuitBreaker } from "../core/circuit-breaker.ts";
import type { Core } from "../core/core.ts";
import { AttemptEntity, PaymentSessionEntity, RoutingRuleEntity } from "../core/entities.ts";
import type { EdgeEnvironment } from "../edge/caller.ts";
import { RequestLimits } from "../edge/request-limits/request-limits.ts";
import { takeRequests } from "../edge/request-limits/shared-bucket.ts";
import { describeForEvent } from "../edge/session-messages.ts";
import { Egress, type EgressRule } from "../events/egress.ts";
import type { EndpointContext } from "../events/endpoints.ts";
import { notifyOutboxListeners } from "../events/outbox-signals.ts";
import { type EventStream, eventStreamOf } from "../events/streams.ts";
import { adyenTestOrigin } from "../gateways/adyen/api.ts";
import { AdyenConnector } from "../gateways/adyen/connector.ts";
import { createBinder } from "../gateways/connections.ts";
import type { Connector } from "../gateways/connector.ts";
import { emulatorHosts } from "../gateways/gateway-origins.ts";
import { type GatewayObserver, observeConnector } from "../gateways/observed-connector.ts";
import { paypalOrigins } from "../gateways/paypal/api.ts";
import { PayPalConnector } from "../gateways/paypal/connector.ts";
import { SandboxAConnector } from "../gateways/sandbox/a/connector.ts";
import { SandboxBConnector } from "../gateways/sandbox/b/connector.ts";
import { stripeOrigin } from "../gateways/stripe/api.ts";
import { StripeConnector } from "../gateways/stripe/connector.ts";
import { connectionWaitMs, databaseConnectionsMax, databaseSilenceMs } from "../limits.ts";
import type { EnvironmentObserver, PaymentState } from "../metrics/payment-metrics.ts";
import { takeNotification } from "../oversight/notifications/intake.ts";
import { Database } from "../platform/database.ts";
import { databaseLogin, databaseTls } from "../platform/database-address.ts";
import { unreachable } from "../platform/errors.ts";
import type { Logger } from "../platform/log.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { ReadReplica } from "../platform/read-replica.ts";
import { systemRuntime } from "../platform/runtime.ts";
import type { Secret } from "../platform/secrets.ts";
import { logMissingLimits, sessionLimits } from "../platform/session-limits.ts";
import type { Tracing } from "../platform/telemetry.ts";

/** One environment, as edge and worker use it. */
export type Environment = EdgeEnvironment & {
  readonly config: EnvironmentConfig;
  /** The read replica, if there is one; `reads` then uses it. */
  readonly replica: ReadReplica | undefined;
  readonly stream: EventStream;
  readonly endpoints: EndpointContext;
  /** Closes its connections; requests and submissions in flight must have ended. */
  close(): Promise<void>;
};

/** The settings that the environments of one process share. */
type Shared = ServiceConfig & {
  readonly brand: string;
  readonly log: Logger;
  readonly database: DatabaseWay;
  /** Starts to record metrics of an environment's payments. */
  readonly observeEnvironment: (name: EnvironmentName, state: PaymentState) => EnvironmentObserver;
  readonly tracing: Tracing;
};

/** Opens one environment. No connection is made before it is used, except to monitor a read replica. */
export async function buildEnvironment(config: EnvironmentConfig, shared: Shared): Promise<Environment> {
  const log = shared.log.child({ environment: config.name });
  const { database, replica, close: closeDatabases } = await openDatabases(config, { way: shared.database, log });
  const http = new GatewayHttp();
  const { tracing } = shared;
  const vault = openVault(config, {
    database,
    http,
    log,
    tracing,
    emulatorHosts: emulatorHosts(shared.emulatorOrigins),
  });
  const circuitBreaker = new CircuitBreaker();
  const inFlight: Core["inFlight"] = new Set();
  const observer = shared.observeEnvironment(config.name, {
    submissionsInFlight: () => inFlight.size,
    failingGateways: () => circuitBreaker.failingGateways(systemRuntime.now()),
  });
  const connectors = buildConnectors(config, shared, { http, vault, observer: observer.gateway });
  const connectorOf = (gateway: string) => connectors.get(gateway);
  const egress = new Egress(egressRule(config, shared));
  if (shared.loopbackWebhooks) log.warn("webhooks may lead to this machine");
  const core: Core = {
    database,
    runtime: systemRuntime,
    log,
    tracing,
    clientSecretKeys: config.keys.clientSecret,
    sealing: config.keys.sealing,
    pageTokenKey: config.keys.pageToken,
    vault,
    connectorOf,
    bind: createBinder({ database, ring: config.keys.sealing, connectorOf }),
    circuitBreaker,
    observer: observer.payments,
    creations: new Map(),
    outbox: {
      runtime: systemRuntime,
      environmentName: config.name,
      hintRelay: () => notifyOutboxListeners(database),
      tracing,
    },
    describeSession: describeForEvent,
    timing: shared.timing,
    inFlight,
    sleep: (ms, signal) => pause(ms, undefined, signal && { signal }).catch(() => {}),
  };
  return {
    config,
    name: config.name,
    core,
    database,
    reads: replica ?? database,
    replica,
    requestLimits: requestLimitsOn(database, shared.requestLimit, log),
    anyOriginWhenNoneRegistered: config.name === "test",
    takeNotification: (connectionId, read) =>
      takeNotification({ database, sealing: config.keys.sealing, connectorOf }, connectionId, read),
    stream: eventStreamOf(config.name, shared.streamReplicas),
    endpoints: {
      database,
      runtime: systemRuntime,
      log,
      tracing,
      egress,
      sealing: config.keys.sealing,
      environmentName: config.name,
      signingSecretPrefix: `${shared.brand}_${config.name}_whsec_`,
    },
    async close() {
      await Promise.all(core.inFlight);
      vault.close();
      await Promise.all([http.close(), egress.close(), closeDatabases()]);
    },
  };
}

/** Opens the environment's database, and its read replica where it has one, which is monitored from now on. */
async function openDatabases(config: EnvironmentConfig, { way, log }: { way: DatabaseWay; log: Logger }) {
  const entities = [PaymentSessionEntity, AttemptEntity, RoutingRuleEntity];
  const primary = await openDatabase(config.databaseUrl, entities, { ...way, directUrl: config.databaseDirectUrl });
  const { database } = primary;
  void logMissingLimits(database, log);
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

/** Opens the vault of this environment's mode. No connection is made before it is used. */
function openVault(
  { vault, keys, name }: EnvironmentConfig,
  ways: { database: Database; http: GatewayHttp; log: Logger; tracing: Tracing; emulatorHosts: readonly string[] },
): CardVault {
  switch (vault.mode) {
    case "self_hosted": {
      const { origin, grpcAddress: address, grpcTls: tls } = vault;
      const { log, tracing } = ways;
      const signing = { ...keys.signing, environment: name };
      return openSelfHostedVault({ origin, address, tls, signing, log, tracing });
    }
    case "saas":
      return new SaasVault({ ...ways, settings: vault, environment: name, nowMs: () => systemRuntime.now().getTime() });
    default:
      return unreachable(vault);
  }
}

function requestLimitsOn(
  database: Database,
  limit: ServiceConfig["requestLimit"],
  log: Logger,
): RequestLimits | undefined {
  if (limit === undefined) return undefined;
  return new RequestLimits({
    limit,
    take: (bucket, wanted) => takeRequests(database, { bucket, limit, wanted }),
    nowMs: () => performance.now(),
    reportFailure: (error) => log.warn({ err: error }, "requests are let in uncounted for a moment"),
  });
}

/**
 * Builds a connector for every gateway that this installation can reach, by its identifier. Sandbox gateways exist
 * where the operator enables them; live then has no real ones, so a demo never takes real money.
 */
function buildConnectors(
  config: EnvironmentConfig,
  shared: ServiceConfig,
  ways: { http: GatewayHttp; vault: CardVault; observer: GatewayObserver },
): ReadonlyMap<string, Connector> {
  const { sandboxOrigin, emulatorOrigins } = shared;
  const at = (origin: string) => ({ http: ways.http, forwarder: ways.vault, origin, environment: config.name });
  const sandbox =
    sandboxOrigin === undefined
      ? []
      : [new SandboxAConnector(at(sandboxOrigin)), new SandboxBConnector(at(sandboxOrigin))];
  const emulators = config.name === "test" ? emulatorOrigins : {};
  const real =
    config.name === "live" && sandboxOrigin !== undefined
      ? []
      : [
          new StripeConnector(at(emulators.STRIPE ?? stripeOrigin)),
          new AdyenConnector(at(emulators.ADYEN ?? adyenTestOrigin)),
          new PayPalConnector(at(emulators.PAYPAL ?? paypalOrigins[config.name])),
        ];
  return new Map(
    [...sandbox, ...real].map((connector) => [connector.gateway, observeConnector(connector, ways.observer)]),
  );
}

// TLS ports only, as firewalls of merchants expect it (webhook guide).
const livePorts = [443, 8443];

function egressRule(config: EnvironmentConfig, shared: ServiceConfig): EgressRule {
  const openings = shared.loopbackWebhooks ? ["127.0.0.0/8", "::1/128"] : [];
  const strict = config.name === "live" && !shared.loopbackWebhooks;
  return { httpsOnly: strict, ports: strict ? livePorts : undefined, openings };
}

type Entity = typeof PaymentSessionEntity | typeof AttemptEntity | typeof RoutingRuleEntity;

/** The way to a database: directly or through a pooler, and the number of connections of one process. */
export type DatabaseWay = Config["database"] & {
  /** The URL past the pooler, for uses that hold a connection for long. */
  readonly directUrl?: Secret | undefined;
};

const straight: DatabaseWay = { pooler: "none", connectionsMax: databaseConnectionsMax };

/** Opens the ORM on one database, and the payment path's Database on the ORM's own pool. */
export async function openDatabase(
  url: Secret,
  entities: readonly Entity[],
  { pooler, connectionsMax, directUrl }: DatabaseWay = straight,
): Promise<{ orm: MikroORM; database: Database; close(): Promise<void> }> {
  const isPooled = pooler === "transaction";
  const orm = await MikroORM.init({
    driver: PostgreSqlDriver,
    clientUrl: url.expose(),
    entities: [...entities],
    discovery: { warnWhenNoEntities: false },
    pool: { min: 0, max: connectionsMax },
    driverOptions: { ...databaseTls(url.expose()), ...(isPooled ? {} : sessionLimits), ...lasting, pipeline: true },
  });
  const pool: Pool = await orm.driver.getConnection().getNativeClient();
  const sessions = directUrl && openPool(directUrl, { max: sessionsMax });
  // Even where the pooler keeps names: it cannot hold a connection for one client.
  const isBetween = isPooled || sessions !== undefined;
  return {
    orm,
    database: new Database(pool, isBetween ? { keepsNames: !isPooled, sessions } : undefined),
    close: async () => void (await Promise.all([orm.close(true), sessions?.end()])),
  };
}

const lasting = {
  query_timeout: databaseSilenceMs,
  connectionTimeoutMillis: connectionWaitMs,
  keepAlive: true,
} as const;

// One connection listens; the other is for its successor while the first one closes.
const sessionsMax = 2;

/** Opens a replica without the ORM, which would connect at once: an unavailable replica must not stop anything. */
function openReplica(url: Secret, { pooler, connectionsMax }: DatabaseWay): Database {
  const isPooled = pooler === "transaction";
  const pool = openPool(url, { ...(isPooled ? {} : sessionLimits), max: connectionsMax, pipeline: true });
  return new Database(pool, isPooled ? { sessions: undefined } : undefined);
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
