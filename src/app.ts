/** COMPOSITION ROOT of edge and worker: builds the environments, starts servers and loops, and stops them in the right order. */
import { once } from "node:events";
import type { AddressInfo, Server as NetServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { CheckoutService } from "../gen/payments/v1/checkout_pb.ts";
import { bundleWidget } from "../widget/bundle.ts";
import { publishWidget } from "../widget/publish.ts";
import type { Config, ServiceConfig } from "./config.ts";
import { countSettledOnce } from "./core/analytics/count-settled.ts";
import { auditOnce } from "./core/audit-sessions.ts";
import { compareOnce } from "./core/compare.ts";
import { expireIdempotencyOnce } from "./core/expire-idempotency.ts";
import { expireOnce } from "./core/expire-sessions.ts";
import { keepPartitionsOnce } from "./core/keep-partitions.ts";
import { raiseAlarmsOnce } from "./core/raise-alarms.ts";
import { reconcileOnce } from "./core/reconcile.ts";
import { loadRecoveryFigures } from "./core/recovery-figures.ts";
import { voidStraysOnce } from "./core/stray-holds.ts";
import { sweepOldRowsOnce } from "./core/sweep-old-rows.ts";
import type { DashboardParts } from "./dashboard/dashboard-parts.ts";
import { createDashboardRoutes, dashboardServices } from "./dashboard/routes.ts";
import { createAuthenticate } from "./edge/authenticate.ts";
import { requestIdKey } from "./edge/caller.ts";
import { createCheckoutService } from "./edge/checkout-rpc.ts";
import type { EdgeParts } from "./edge/edge-parts.ts";
import { toConnectError, toDomainError } from "./edge/error-mapping.ts";
import { createGrpcServer } from "./edge/grpc-server.ts";
import { edgeRoutes } from "./edge/meter-request.ts";
import { createPublicServer } from "./edge/public-server.ts";
import { createServiceAuthenticate } from "./edge/service-callers.ts";
import { buildEnvironment, type Environment, openDatabase } from "./environment.ts";
import { raiseWarningsOnce } from "./events/endpoint-notices.ts";
import { mailNoticesOnce } from "./events/mail-notices.ts";
import { listenForOutbox } from "./events/outbox-notices.ts";
import { relayOnce } from "./events/relay.ts";
import type { SeenTry } from "./events/seen-try.ts";
import { StreamWatch } from "./events/stream-watch.ts";
import { startWebhookWorker } from "./events/webhook-worker.ts";
import { retentionSweepEveryMs } from "./limits/retention.ts";
import { internalConnections } from "./limits.ts";
import { createProcessMetrics, type ProcessMetrics } from "./metrics/process-metrics.ts";
import { sampleWebhooksOnce } from "./metrics/sample-webhooks.ts";
import { SchemaCheck } from "./migrations/schema-check.ts";
import { processNoticesOnce } from "./notifications/process-notices.ts";
import { createPublicAddressOf } from "./platform/client-address.ts";
import type { Database } from "./platform/database.ts";
import { systemEntropy } from "./platform/entropy.ts";
import { HttpDrain } from "./platform/http-drain.ts";
import type { Logger } from "./platform/log.ts";
import { type Loop, runLoop, type Turn } from "./platform/loop.ts";
import { type Handover, Mailer } from "./platform/mail.ts";
import { openNats } from "./platform/nats.ts";
import { Readiness } from "./platform/readiness.ts";
import { tellMissingLimits } from "./platform/session-limits.ts";
import { type Tracing, untraced } from "./platform/telemetry.ts";
import { TlsFiles } from "./platform/tls-files.ts";
import { version } from "./version.ts";

/** Something that runs until it is closed; closing waits for the work in flight. */
export type Running = { close(): Promise<void> };

/** What edge and worker share in one process. */
export type Installation = {
  readonly config: Config & { readonly service: ServiceConfig };
  readonly log: Logger;
  readonly environments: readonly Environment[];
  readonly accounts: Database;
  /** Passes once every database was seen to be as new as this program. */
  readonly schema: SchemaCheck;
  readonly metrics: ProcessMetrics;
  close(): Promise<void>;
};

/** Opens every environment of the configuration, and the accounts beside them. Throws SchemaError when one is older than this program. */
export async function openInstallation(
  config: Config & { readonly service: ServiceConfig },
  log: Logger,
  metrics: ProcessMetrics = createProcessMetrics(config.brand),
  tracing: Tracing = untraced,
): Promise<Installation> {
  const { watchEnvironment } = metrics;
  const shared = { ...config.service, brand: config.brand, log, database: config.database, watchEnvironment, tracing };
  const environments = await Promise.all(
    config.service.environments.map((environment) => buildEnvironment(environment, shared)),
  );
  const accounts = await openDatabase(config.service.accountsDatabaseUrl, [], config.database);
  void tellMissingLimits(accounts.database, log);
  for (const { name, database, replica } of environments) {
    metrics.showDatabase(name, database);
    if (replica === undefined) continue;
    metrics.showDatabase(`${name}_read`, replica.database);
    metrics.showReplica(name, replica);
  }
  metrics.showDatabase("accounts", accounts.database);
  const close = async () => {
    await Promise.all(environments.map((environment) => environment.close()));
    await accounts.close();
  };
  const schema = new SchemaCheck([
    ...environments.map(({ name, database }) => ({ name, kind: "environment" as const, database })),
    { name: "the accounts", kind: "accounts", database: accounts.database },
  ]);
  await schema.begin(log).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return { config, log, environments, accounts: accounts.database, schema, metrics, close };
}

/** Serves the public and the gRPC port. Rejects when a port is taken. */
export async function startEdge(installation: Installation): Promise<Running> {
  const { config, environments, metrics } = installation;
  const { service } = config;
  const readiness = new Readiness(() => databasesAnswer(installation));
  const parts = await edgeParts(installation, readiness);
  const publicServer = createPublicServer({ ...parts, meter: metrics.meterOf("public", edgeRoutes) });
  const services = environments.flatMap(({ name, config: { keys } }) =>
    keys.internalServices.map((key) => ({ ...key, environment: name })),
  );
  const authenticate = createServiceAuthenticate(parts.authenticate, parts.environments, services);
  const tls = tlsOf(installation);
  const grpcServer = createGrpcServer(
    { ...parts, authenticate, meter: metrics.meterOf("grpc", edgeRoutes) },
    { reflection: service.grpcReflection, tls },
  );
  const ending = new HttpDrain(publicServer);
  await listen(publicServer, service.publicPort, service.host);
  await grpcServer.listen(service.grpcPort, service.host);
  const isReady = () => readiness.isReady();
  metrics.showPort("public", { isReady });
  metrics.showPort("grpc", { isReady, certificate: tls });
  return {
    async close() {
      readiness.drain();
      ending.begin();
      await pause(service.drainNoticeMs);
      readiness.stop();
      await Promise.all([ending.close(internalConnections.closeWithinMs), grpcServer.close()]);
    },
  };
}

function tlsOf({ config, log }: Installation): TlsFiles | undefined {
  const { grpcTls } = config.service;
  if (grpcTls === undefined) return undefined;
  return new TlsFiles(grpcTls, {
    onBroken: (error) => log.error({ err: error }, "changed certificate files are not used"),
  });
}

/** Whether live's database answers, or where there is no live, test's: what ails test turns no customer away. All are as new as this program. */
export async function databasesAnswer({ environments, schema }: Installation): Promise<boolean> {
  await schema.pass();
  const live = environments.filter(({ name }) => name === "live");
  const decisive = live.length > 0 ? live : environments;
  const answers = decisive.map(({ database }) => database.query({ name: "ready", text: "SELECT 1" }, []));
  return (await Promise.allSettled(answers)).every(({ status }) => status === "fulfilled");
}

async function edgeParts(installation: Installation, readiness: Readiness): Promise<EdgeParts> {
  const { config, environments, accounts, log } = installation;
  const byName = Object.fromEntries(environments.map((environment) => [environment.name, environment]));
  const checkout = createCheckoutService({ accounts });
  const files = await bundleWidget();
  return {
    guestServices: { services: dashboardServices, route: createDashboardRoutes(dashboardParts(installation)) },
    environments: byName,
    entropy: systemEntropy,
    authenticate: createAuthenticate(byName, config.brand),
    customerAddressOf: createPublicAddressOf(config.trustedProxies),
    style: { brand: config.brand, errorDocsUrl: config.errorDocsUrl },
    reportBug: (error, requestId) => log.error({ err: error, requestId }, "a request met a bug"),
    meta: { brand: config.brand, version, now: () => systemEntropy.now() },
    routeCheckout: (router) => router.service(CheckoutService, checkout),
    widgetFiles: publishWidget(files, version),
    isReady: () => readiness.isReady(),
    draining: readiness.draining,
    stopping: readiness.stopping,
  };
}

/** What the dashboard's rpcs are built from, as operators call them on the internal port. */
export function dashboardParts({ config, environments, accounts, log }: Installation): DashboardParts {
  const style = { brand: config.brand, errorDocsUrl: config.errorDocsUrl };
  return {
    environments: Object.fromEntries(environments.map((environment) => [environment.name, environment])),
    accounts,
    entropy: systemEntropy,
    brand: config.brand,
    apiOrigin: config.service.apiOrigin,
    dashboardOrigin: config.service.dashboardOrigin,
    mailer: config.service.mailServer && new Mailer(config.service.mailServer),
    signIns: undefined,
    requestIdOf: (values) => values.get(requestIdKey),
    toConnectError: (error, requestId) => {
      const domainError = toDomainError(error);
      if (domainError.code === "internal") log.error({ err: error, requestId }, "a dashboard request met a bug");
      return toConnectError(style, domainError, requestId);
    },
  };
}

// How often each loop looks by itself; hints make most of them faster.
const everySecondMs = 1_000;
const everyTenSecondsMs = 10_000;
const everyMinuteMs = 60_000;
const everyTenMinutesMs = 600_000;
const relayEveryMs = 2_000;
// Through a pooler nobody can be told of a new row: a look is one statement on an index, and a webhook waits this long at most.
const relayUntoldEveryMs = 250;

// A worker that starts beside its NATS finds it within this; without NATS it works all the same, by its sweeps.
const natsPatienceMs = 3_000;

/** Runs relay, webhook worker, recovery, expiry and the processing of notices, for every environment. */
export async function startWorker(installation: Installation): Promise<Running> {
  const { environments, config, log, metrics } = installation;
  const mailer = config.service.mailServer && new Mailer(config.service.mailServer);
  const shared = { log, metrics, mailer };
  const workers = await Promise.all(environments.map((environment) => startLoops(environment, shared)));
  for (const { name, database } of environments) {
    metrics.showRecovery(name, () => loadRecoveryFigures(database));
  }
  return {
    async close() {
      await Promise.all(workers.map((loops) => loops.close()));
      mailer?.close();
    },
  };
}

async function startLoops(
  environment: Environment,
  { log, metrics, mailer }: { log: Logger; metrics: ProcessMetrics; mailer: Mailer | undefined },
): Promise<Running> {
  const { core, database, stream, endpoints, config, name } = environment;
  const nats = openNats({ login: config.nats, name: `worker-${name}`, log });
  await Promise.race([nats.connected, core.sleep(natsPatienceMs)]);
  const relay = { database, nats, stream, environmentName: name, tracing: core.tracing };
  const watch = new StreamWatch({ nats, stream, log });
  metrics.tellReadiness(() => ({
    // Without NATS all work goes on; what a person has to put right should stop a rollout.
    isReady: watch.state === "in_order" || watch.state === "unreachable",
    line: `${name}: ${watch.problem ?? `event stream ${watch.state}`}`,
  }));
  const { webhooks: figures } = metrics;
  const sampled = { database, nats, stream, environmentName: name, watch, metrics: figures };
  figures.begin(name);
  const watchLoop = (loopName: string, intervalMs: number) => metrics.watchLoop(name, loopName, intervalMs);
  const loop = (of: string, intervalMs: number, turn: Turn, failedRestMs?: number): Loop =>
    runLoop({ name: `${of}-${name}`, intervalMs, failedRestMs, log, turn, watch: watchLoop(of, intervalMs) });
  const { sessions } = database;
  const relayLoop = loop("relay", sessions ? relayEveryMs : relayUntoldEveryMs, () => relayOnce(relay), relayEveryMs);
  const loops = [
    relayLoop,
    loop("reconcile", everySecondMs, async () => (await reconcileOnce(core)) > 0),
    loop("expire", everySecondMs, () => expireOnce(core)),
    loop("analytics", everyMinuteMs, () => countSettledOnce(database)),
    loop("expire-idempotency", everyMinuteMs, () => expireIdempotencyOnce(core)),
    loop("retention", retentionSweepEveryMs, () => sweepOldRowsOnce(database)),
    loop("notices", everySecondMs, () => processNoticesOnce(core)),
    loop("strays", everySecondMs, (closing) => voidStraysOnce(core, closing)),
    loop("alarms", everyTenSecondsMs, () => raiseAlarmsOnce(core)),
    loop("endpoint-warnings", everyMinuteMs, () => raiseWarningsOnce(endpoints)),
    loop("compare", everyMinuteMs, (closing) => compareOnce(core, closing)),
    loop("partitions", everyTenMinutesMs, () => keepPartitionsOnce(database, log).then(() => false)),
    loop("audit", everyMinuteMs, () => auditOnce(core).then(() => false)),
    loop("stream-watch", everyMinuteMs, () => watch.checkOnce().then(() => false)),
    loop("webhook-figures", everyTenSecondsMs, () => sampleWebhooksOnce(sampled).then(() => false)),
  ];
  if (sessions) {
    const onNotice = () => relayLoop.wake();
    loops.push(loop("outbox-notices", everySecondMs, (closing) => listenForOutbox({ sessions, closing, onNotice })));
  }
  if (mailer) {
    const onHandover = (kind: Handover["kind"]) => figures.countMail(name, kind);
    const mailing = { ...endpoints, mailer, onHandover };
    loops.push(loop("notice-mail", everyTenSecondsMs, (closing) => mailNoticesOnce(mailing, closing)));
  }
  const onTry = (seen: SeenTry) => figures.countTry(name, seen);
  const webhooks = startWebhookWorker({ ...endpoints, nats, stream, onTry, watchLoop });
  return {
    async close() {
      await Promise.all([...loops.map((one) => one.close()), webhooks.close()]);
      await nats.close();
    },
  };
}

async function listen(server: NetServer, port: number, host: string): Promise<AddressInfo> {
  server.listen(port, host);
  await once(server, "listening");
  return server.address() as AddressInfo;
}
