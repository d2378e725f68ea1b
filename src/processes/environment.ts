/**
 * Builds one cell of an environment, test or live: its database, its stream, its vault client, its connectors. An `if live` is only
 * here and in connectors.ts.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { CardVault } from "../card-vault/card-vault.ts";
import { SaasVault } from "../card-vault/external/external-vault.ts";
import { openSelfHostedVault } from "../card-vault/own/vault-rpc.ts";
import type { EnvironmentConfig, ServiceConfig } from "../config/checked-config.ts";
import type { Core } from "../core/core.ts";
import { returnTokenOf } from "../core/customer-actions.ts";
import { CircuitBreaker } from "../core/execute/circuit-breaker.ts";
import { GatewaySlots } from "../core/execute/gateway-slots.ts";
import { returnPathOf } from "../edge/authentication-routes.ts";
import type { EdgeEnvironment } from "../edge/caller.ts";
import { RequestLimits, takeRequests } from "../edge/request-limits/request-limits.ts";
import { describeForEvent } from "../edge/session-messages.ts";
import { Egress, type EgressRule } from "../events/egress.ts";
import type { EndpointContext } from "../events/endpoints.ts";
import { createPublisher } from "../events/publish.ts";
import { type EventStream, eventStreamOf } from "../events/streams.ts";
import { createBinder } from "../gateways/connections.ts";
import { emulatorHosts } from "../gateways/gateway-origins.ts";
import type { EnvironmentObserver, PaymentState } from "../metrics/payment-metrics.ts";
import { takeNotification } from "../oversight/notifications/intake.ts";
import { nameOfCell } from "../platform/cells.ts";
import type { Database } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import { createHold } from "../platform/hold.ts";
import type { Logger } from "../platform/log.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import type { ReadReplica } from "../platform/read-replica.ts";
import { runtimeOfCell, systemRuntime } from "../platform/runtime.ts";
import type { Tracing } from "../platform/telemetry.ts";
import { buildConnectors, buildProviders } from "./connectors.ts";
import { type DatabaseWay, openEnvironmentDatabases } from "./open-database.ts";

/** A cell of an environment, as edge and worker use it. */
export type Environment = Omit<EdgeEnvironment, "cells"> & {
  readonly config: EnvironmentConfig;
  /** Its name in logs, metrics and NATS. */
  readonly label: string;
  readonly cells?: ReadonlyMap<number, Environment> | undefined;
  /** The read replica, if there is one; `reads` then uses it. */
  readonly replica: ReadReplica | undefined;
  readonly stream: EventStream;
  /** Opens the connection to NATS, once; until then events are committed and not published. */
  readonly connectNats: () => NatsLink;
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
  readonly observeEnvironment: (name: string, state: PaymentState) => EnvironmentObserver;
  readonly tracing: Tracing;
};

// A change of routing, or the pause of a connection, reaches each edge as late as this.
const changesReachMs = 1_000;

/** Opens one cell of an environment. No connection is made before it is used, except to monitor a read replica. */
export async function buildEnvironment(config: EnvironmentConfig, shared: Shared): Promise<Environment> {
  const label = nameOfCell(config.name, config.cell);
  const runtime = runtimeOfCell(config.cell);
  const log = shared.log.child({ environment: label });
  const {
    database,
    replica,
    close: closeDatabases,
  } = openEnvironmentDatabases(config, {
    way: shared.database,
    log,
  });
  const http = new GatewayHttp();
  const { tracing } = shared;
  const vault = openVault(config, {
    apiOrigin: shared.apiOrigin,
    database,
    http,
    log,
    tracing,
    emulatorHosts: config.name === "test" ? emulatorHosts(shared.emulatorOrigins.test) : [],
  });
  const circuitBreaker = new CircuitBreaker();
  const inFlight: Core["inFlight"] = new Set();
  const observer = shared.observeEnvironment(label, {
    submissionsInFlight: () => inFlight.size,
    failingGateways: () => circuitBreaker.failingGateways(systemRuntime.now()),
  });
  const connectors = buildConnectors(config.name, shared, { http, forwarder: vault, observer: observer.gateway });
  const connectorOf = (gateway: string) => connectors.get(gateway);
  const providers = buildProviders(config.name, shared, { http, forwarder: vault, observer: observer.gateway });
  const providerOf = (name: string) => providers.get(name);
  const egress = new Egress(egressRule(config, shared));
  const stream = eventStreamOf(label, shared.streamReplicas);
  const nats = connectOnce({ login: config.nats, name: label, log });
  if (shared.loopbackWebhooks) log.warn("webhooks to loopback addresses are allowed");
  const core: Core = {
    database,
    hold: createHold(changesReachMs),
    runtime,
    log,
    tracing,
    clientSecretKeys: config.keys.clientSecret,
    sealing: config.keys.sealing,
    pageTokenKey: config.keys.pageToken,
    vault,
    connectorOf,
    bind: createBinder({ database, ring: config.keys.sealing, connectorOf }),
    providerOf,
    bindProvider: createBinder({ database, ring: config.keys.sealing, connectorOf: providerOf }),
    returnUrlOf: (returning) =>
      `${shared.apiOrigin}${returnPathOf(config.name, returnTokenOf(config.keys, returning))}`,
    circuitBreaker,
    observer: observer.payments,
    creations: new Map(),
    known: new Map(),
    outbox: {
      runtime,
      environmentName: config.name,
      publish: createPublisher({ stream, environmentName: config.name, tracing }, nats.link),
      tracing,
    },
    describeSession: describeForEvent,
    timing: shared.timing,
    inFlight,
    renewals: new Set(),
    repeats: GatewaySlots.forRepeats(),
    sleep: (ms, signal) => pause(ms, undefined, signal && { signal }).catch(() => {}),
  };
  return {
    config,
    name: config.name,
    cell: config.cell,
    label,
    core,
    database,
    reads: replica ?? database,
    replica,
    requestLimits: requestLimitsOn(database, shared.requestLimit, log),
    anyOriginWhenNoneRegistered: config.name === "test",
    takeNotification: (connectionId, read) =>
      takeNotification({ database, sealing: config.keys.sealing, connectorOf }, connectionId, read),
    stream,
    connectNats: nats.connect,
    endpoints: {
      database,
      runtime,
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
      await Promise.all([nats.link()?.close(), http.close(), egress.close(), closeDatabases()]);
    },
  };
}

function connectOnce(options: Parameters<typeof openNats>[0]) {
  let link: NatsLink | undefined;
  const connect = () => {
    link ??= openNats(options);
    return link;
  };
  return { connect, link: () => link };
}

/** Opens the vault of this environment's mode. No connection is made before it is used. */
function openVault(
  { vault, keys, name }: EnvironmentConfig,
  ways: {
    apiOrigin: string;
    database: Database;
    http: GatewayHttp;
    log: Logger;
    tracing: Tracing;
    emulatorHosts: readonly string[];
  },
): CardVault {
  switch (vault.mode) {
    case "self_hosted": {
      const { origin, grpcAddress: address, grpcTls: tls } = vault;
      const { apiOrigin, log, tracing } = ways;
      const signing = { ...keys.signing, environment: name };
      const { cardToken } = keys;
      return openSelfHostedVault({ origin, apiOrigin, address, tls, signing, cardToken, log, tracing });
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
    pause,
    reportFailure: (error) =>
      log.warn({ err: error }, "the request limit cannot be checked; requests are admitted without it"),
  });
}

// TLS ports only, as firewalls of merchants expect it (webhook guide).
const livePorts = [443, 8443];

function egressRule(config: EnvironmentConfig, shared: ServiceConfig): EgressRule {
  const openings = shared.loopbackWebhooks ? ["127.0.0.0/8", "::1/128"] : [];
  const strict = config.name === "live" && !shared.loopbackWebhooks;
  return { httpsOnly: strict, ports: strict ? livePorts : undefined, openings };
}
