/** COMPOSITION ROOT of edge and worker: builds the environments, starts servers and loops, and stops them in order. */
import { once } from "node:events";
import type { AddressInfo, Server as NetServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { bundleAuthenticationPages } from "../../widget/authentication/bundle-pages.ts";
import { bundleWidget } from "../../widget/bundle.ts";
import { publishWidget } from "../../widget/publish.ts";
import { bundleRecoveryPage } from "../../widget/recovery/bundle-page.ts";
import { findOtherBrand } from "../accounts/api-keys.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { type CallingServices, type InternalService, parseServices } from "../accounts/services-file.ts";
import type { Config, ServiceConfig } from "../config/checked-config.ts";
import { ConfigError } from "../config/config.ts";
import { createBrakeTurn } from "../core/card-testing/brake-merchants.ts";
import { CircuitBreaker } from "../core/execute/circuit-breaker.ts";
import { expireOnce } from "../core/expire-sessions.ts";
import { endAgreementsOnce } from "../core/stored-cards/agreements.ts";
import { eraseCardsOnce, saveDueCardsOnce } from "../core/stored-cards/keep-card.ts";
import { recoverSessionsOnce } from "../core/submit-payment.ts";
import type { ServedParts } from "../dashboard/dashboard-parts.ts";
import { createDashboardRoutes } from "../dashboard/routes.ts";
import { dashboardServices } from "../dashboard/service-list.ts";
import { nameGatewaysIn } from "../dashboard/ui/parts/gateway-name.ts";
import { emitDueDisputesOnce } from "../disputes/due-disputes.ts";
import { readFeedOnce } from "../disputes/gateway-feeds.ts";
import { answerDueOnce } from "../disputes/respond.ts";
import { createAuthenticate } from "../edge/authenticate.ts";
import { requestIdKey } from "../edge/caller.ts";
import { createCheckoutService } from "../edge/checkout-rpc.ts";
import type { EdgeParts } from "../edge/edge-parts.ts";
import { toConnectError, toDomainError } from "../edge/error-mapping.ts";
import { createGrpcServer } from "../edge/grpc-server.ts";
import { edgeRoutes } from "../edge/meter-request.ts";
import { createPublicServer } from "../edge/public-server.ts";
import { createServiceAuthenticate } from "../edge/service-callers.ts";
import { AppleSessions } from "../edge/wallets/start-wallet-session.ts";
import { raiseWarningsOnce } from "../events/endpoint-alerts.ts";
import type { SeenAttempt } from "../events/seen-attempt.ts";
import { sendAlertsOnce } from "../events/send-alerts.ts";
import { StreamWatch } from "../events/stream-watch.ts";
import { startWebhookWorker } from "../events/webhook-worker.ts";
import { internalConnections } from "../limits.ts";
import { createProcessMetrics, type ProcessMetrics } from "../metrics/process-metrics.ts";
import { sampleWebhooksOnce } from "../metrics/sample-webhooks.ts";
import { SchemaCheck } from "../migrations/schema-check.ts";
import { auditOnce } from "../oversight/audit-sessions.ts";
import { processNotificationsOnce } from "../oversight/notifications/process-notifications.ts";
import { createOrphanTurn } from "../oversight/orphaned-authorizations.ts";
import { raiseAlarmsOnce } from "../oversight/raise-alarms.ts";
import { reconcileOnce } from "../oversight/reconcile.ts";
import { loadRecoveryFigures } from "../oversight/recovery-figures.ts";
import { firstCell } from "../platform/cells.ts";
import { createCountedClientOf, createForwardingOf, createPublicAddressOf } from "../platform/client-address.ts";
import type { Database } from "../platform/database.ts";
import { HttpDrain } from "../platform/http-server.ts";
import type { Logger } from "../platform/log.ts";
import { type Loop, runLoop, type Turn } from "../platform/loop.ts";
import { type Handover, Mailer } from "../platform/mail.ts";
import { Readiness } from "../platform/readiness.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { logMissingLimits } from "../platform/session-limits.ts";
import { type Tracing, untraced } from "../platform/telemetry.ts";
import { TlsFiles } from "../platform/tls-files.ts";
import { WatchedFile } from "../platform/watched-file.ts";
import { createRefundTurn } from "../refunds/refund-once.ts";
import { countSettledOnce } from "../reporting/analytics/count-settled.ts";
import { countLedgerOnce } from "../reporting/ledger-totals.ts";
import { raiseAlertsOnce } from "../reporting/raise-alerts.ts";
import { expireIdempotencyOnce } from "../retention/expire-idempotency-keys.ts";
import { keepPartitionsOnce } from "../retention/keep-partitions.ts";
import { sweepOldRowsOnce } from "../retention/sweep-old-rows.ts";
import { matchLinesOnce } from "../settlement/record-lines.ts";
import { readStatementsOnce } from "../settlement/statement-feed.ts";
import { version } from "../version.ts";
import { type DueLoop, dueLoopIdleMs, wakeDue } from "./due-work.ts";
import { buildEnvironment, type Environment } from "./environment.ts";
import { openDatabase } from "./open-database.ts";

// Interval of the sweep: a day more or less makes no difference.
const retentionSweepEveryMs = 60 * 60_000;

/** Something that runs until it is closed; closing waits for the work in flight. */
export type Running = { close(): Promise<void> };

export type Installation = {
  readonly config: Config & { readonly service: ServiceConfig };
  readonly log: Logger;
  readonly environments: readonly Environment[];
  readonly accounts: Database;
  /** Passes once every database has been found to be at least as new as this program. */
  readonly schema: SchemaCheck;
  readonly metrics: ProcessMetrics;
  close(): Promise<void>;
};

/**
 * Opens every environment of the configuration, and the accounts. Throws SchemaError when a database is older than this
 * program, and ConfigError when all keys in use are of another brand.
 */
export async function openInstallation(
  config: Config & { readonly service: ServiceConfig },
  log: Logger,
  metrics: ProcessMetrics = createProcessMetrics(config.brand),
  tracing: Tracing = untraced,
): Promise<Installation> {
  const { observeEnvironment } = metrics;
  const shared = {
    ...config.service,
    brand: config.brand,
    log,
    database: config.database,
    observeEnvironment,
    tracing,
  };
  const environments = joinCells(
    await Promise.all(config.service.environments.map((environment) => buildEnvironment(environment, shared))),
  );
  const accounts = openDatabase(config.service.accountsDatabaseUrl, config.database);
  void logMissingLimits(accounts.database, log);
  for (const { label, database, replica } of environments) {
    metrics.showDatabase(label, database);
    if (replica === undefined) continue;
    metrics.showDatabase(`${label}_read`, replica.database);
    metrics.showReplica(label, replica);
  }
  metrics.showDatabase("accounts", accounts.database);
  const close = async () => {
    await Promise.all(environments.map((environment) => environment.close()));
    await accounts.close();
  };
  const schema = new SchemaCheck([
    ...environments.map(({ name, label, database }) => ({
      name: label,
      oneOf: name,
      kind: "environment" as const,
      database,
    })),
    { name: "the accounts", oneOf: "accounts", kind: "accounts", database: accounts.database },
  ]);
  try {
    await schema.begin(log);
    await Promise.all(environments.map((environment) => requireBrand(environment, config.brand)));
  } catch (error) {
    await close();
    throw error;
  }
  return { config, log, environments, accounts: accounts.database, schema, metrics, close };
}

async function requireBrand({ label, database }: Environment, brand: string): Promise<void> {
  // A database that does not answer stops no start.
  const other = await findOtherBrand(database, brand).catch(() => undefined);
  if (other === undefined) return;
  throw new ConfigError(
    `SWITCHYARD_BRAND is ${brand}, but every key in ${label} begins with ${other}_ and would be refused. Set SWITCHYARD_BRAND=${other}: the brand cannot change once there are keys.`,
  );
}

function joinCells(environments: readonly Environment[]): Environment[] {
  const byName = Map.groupBy(environments, ({ name }) => name);
  return [...byName.values()].flatMap((alike) => {
    if (alike.length === 1) return alike;
    const cells = new Map<number, Environment>();
    for (const environment of alike) cells.set(environment.cell, { ...environment, cells });
    return [...cells.values()];
  });
}

function byName(environments: readonly Environment[]) {
  const first = environments.filter(({ cell }) => cell === firstCell);
  return Object.fromEntries(first.map((environment) => [environment.name, environment]));
}

/** Serves the public and the gRPC port. Rejects when a port is taken. */
export async function startEdge(installation: Installation): Promise<Running> {
  const { config, metrics } = installation;
  const { service } = config;
  const readiness = new Readiness(() => databasesAnswer(installation));
  const file = servicesOf(installation);
  const services: CallingServices = { entries: () => file?.entries ?? [], onCall: metrics.serviceCall };
  const parts = await edgeParts(installation, { readiness, services });
  const publicServer = createPublicServer({ ...parts, meter: metrics.meterOf("public", edgeRoutes) });
  const authenticate = createServiceAuthenticate(
    parts.authenticate,
    { environments: parts.environments, accounts: installation.accounts },
    services,
  );
  const tls = tlsOf(installation);
  const grpcServer = createGrpcServer(
    { ...parts, authenticate, meter: metrics.meterOf("grpc", edgeRoutes) },
    { reflection: service.grpcReflection, tls },
  );
  const ending = new HttpDrain(publicServer);
  await listen(publicServer, service.publicPort, service.host);
  await grpcServer.listen(service.grpcPort, service.host);
  const stopReading = file?.renew();
  const isReady = () => readiness.isReady();
  metrics.showPort("public", { isReady });
  metrics.showPort("grpc", { isReady, certificate: tls });
  return {
    async close() {
      readiness.drain();
      ending.begin();
      await pause(service.shutdownGraceMs);
      readiness.stop();
      stopReading?.();
      await Promise.all([ending.close(internalConnections.closeWithinMs), grpcServer.close()]);
    },
  };
}

function servicesOf({ config, log }: Installation): WatchedFile<InternalService> | undefined {
  const { servicesFile } = config.service;
  if (servicesFile === undefined) return undefined;
  return new WatchedFile(servicesFile, {
    parse: parseServices,
    onBroken: (error) => log.error({ err: error }, "the file of internal services cannot be used"),
  });
}

function tlsOf({ config, log }: Installation): TlsFiles | undefined {
  const { grpcTls } = config.service;
  if (grpcTls === undefined) return undefined;
  return new TlsFiles(grpcTls, {
    onBroken: (error) => log.error({ err: error }, "changed certificate files are not used"),
  });
}

/**
 * Reports whether live's database answers, or test's where there is no live: a failure in test must not make live's
 * edge unready, and neither must one of some of its cells. All databases must be as new as this program.
 */
export async function databasesAnswer({ environments, schema }: Installation): Promise<boolean> {
  await schema.pass();
  const live = environments.filter(({ name }) => name === "live");
  const decisive = live.length > 0 ? live : environments;
  const answers = decisive.map(({ database }) => database.query({ name: "ready", text: "SELECT 1" }, []));
  return Promise.any(answers).then(
    () => true,
    () => false,
  );
}

async function edgeParts(
  installation: Installation,
  { readiness, services }: { readiness: Readiness; services: CallingServices },
): Promise<EdgeParts> {
  const { config, environments, accounts, log } = installation;
  const served = byName(environments);
  const { apiOrigin, sandboxOrigin } = config.service;
  const appleSessions = new AppleSessions({ sandboxOrigin, observe: installation.metrics.appleSession });
  const checkout = createCheckoutService({ accounts, apiOrigin, appleSessions });
  const [files, authenticationPages, recoveryPage] = await Promise.all([
    bundleWidget(),
    bundleAuthenticationPages(),
    bundleRecoveryPage(),
  ]);
  return {
    guestServices: {
      services: dashboardServices,
      route: createDashboardRoutes({ ...dashboardParts(installation), services }),
    },
    environments: served,
    runtime: systemRuntime,
    authenticate: createAuthenticate(served, config.brand),
    customerAddressOf: createPublicAddressOf(config.trustedProxies),
    apiOrigin: config.service.apiOrigin,
    clientOf: createCountedClientOf(config.trustedProxies),
    forwardingOf: createForwardingOf(config.trustedProxies),
    style: { brand: config.brand, errorDocsUrl: config.errorDocsUrl },
    reportBug: (error, requestId) => log.error({ err: error, requestId }, "a request failed with an unexpected error"),
    meta: { brand: config.brand, version, now: () => systemRuntime.now() },
    routeCheckout: (router) => router.service(CheckoutService, checkout),
    widgetFiles: publishWidget(files, version),
    authenticationPages,
    recoveryPage,
    merchantNameOf: async ({ core }, merchantId) =>
      (await core.hold(`merchant ${merchantId}`, () => findMerchant(accounts, merchantId)))?.name ?? "",
    isReady: () => readiness.isReady(),
    draining: readiness.draining,
    stopping: readiness.stopping,
  };
}

/** Returns the parts of the dashboard's RPCs, as operators call them on the internal port. */
export function dashboardParts({ config, environments, accounts, log }: Installation): ServedParts {
  const style = { brand: config.brand, errorDocsUrl: config.errorDocsUrl };
  return {
    environments: byName(environments),
    accounts,
    runtime: systemRuntime,
    brand: config.brand,
    apiOrigin: config.service.apiOrigin,
    emulatorOrigins: config.service.emulatorOrigins,
    dashboardOrigin: config.service.dashboardOrigin,
    mailer: config.service.mailServer && new Mailer(config.service.mailServer),
    signIns: undefined,
    requestIdOf: (values) => values.get(requestIdKey),
    toConnectError: (error, requestId) => {
      const domainError = toDomainError(error);
      if (domainError.code === "internal")
        log.error({ err: error, requestId }, "a dashboard request failed with an unexpected error");
      return toConnectError(style, domainError, requestId);
    },
  };
}

// Interval at which each loop runs by itself; hints make most of them faster.
const everySecondMs = 1_000;
const everyTenSecondsMs = 10_000;
const everyMinuteMs = 60_000;
const everyTenMinutesMs = 600_000;

// A worker that starts together with its NATS finds it within this time; without NATS it works by its sweeps.
const natsPatienceMs = 3_000;

/** Runs webhook worker, recovery, expiry and the processing of gateway notifications, for every environment. */
export async function startWorker(installation: Installation): Promise<Running> {
  const { environments, config, log, metrics } = installation;
  const mailer = config.service.mailServer && new Mailer(config.service.mailServer);
  const { dashboardOrigin } = config.service;
  const shared = { log, metrics, mailer, dashboardOrigin };
  const workers = await Promise.all(environments.map((environment) => startLoops(environment, shared)));
  for (const { label, database } of environments) {
    metrics.showRecovery(label, () => loadRecoveryFigures(database));
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
  shared: {
    readonly log: Logger;
    readonly metrics: ProcessMetrics;
    readonly mailer: Mailer | undefined;
    readonly dashboardOrigin: string | undefined;
  },
): Promise<Running> {
  const { log, metrics, mailer, dashboardOrigin } = shared;
  const { core, database, stream, endpoints, label } = environment;
  const nats = environment.connectNats();
  await Promise.race([nats.connected, core.sleep(natsPatienceMs)]);
  const streamWatch = new StreamWatch({ nats, stream, log });
  metrics.addReadiness(() => ({
    // Without NATS all work continues; a fault that a person has to repair should stop a rollout.
    isReady: streamWatch.state === "in_order" || streamWatch.state === "unreachable",
    line: `${label}: ${streamWatch.problem ?? `event stream ${streamWatch.state}`}`,
  }));
  const { webhooks: figures } = metrics;
  const sampled = { database, nats, stream, environmentName: label, streamWatch, metrics: figures };
  figures.begin(label);
  const observeLoop = (loopName: string, intervalMs: number) => metrics.observeLoop(label, loopName, intervalMs);
  const loop = (of: string, intervalMs: number, turn: Turn, rests?: { idleMs: number }): Loop =>
    runLoop({ name: `${of}-${label}`, intervalMs, ...rests, log, turn, observer: observeLoop(of, intervalMs) });
  const whenDue = (of: DueLoop, turn: Turn) => loop(of, everySecondMs, turn, { idleMs: dueLoopIdleMs });
  const onHandover = (kind: Handover["kind"]) => figures.countMail(label, kind);
  const alerting = { ...endpoints, mailer, dashboardOrigin, nameGatewaysIn, onHandover };
  const readings = new CircuitBreaker();
  const due = {
    recover: whenDue("recover", async () => (await recoverSessionsOnce(core)) > 0),
    expire: whenDue("expire", () => expireOnce(core)),
    notifications: whenDue("notifications", () => processNotificationsOnce(core)),
    orphans: whenDue("orphans", createOrphanTurn(core)),
    refunds: whenDue("refunds", createRefundTurn(core)),
    "save-cards": whenDue("save-cards", () => saveDueCardsOnce(core)),
    "erase-cards": whenDue("erase-cards", () => eraseCardsOnce(core)),
    brake: whenDue("brake", createBrakeTurn({ ...core, isTest: environment.name === "test" })),
  };
  const onAttempt = (seen: SeenAttempt) => figures.countAttempt(label, seen);
  const webhooks = startWebhookWorker({
    ...endpoints,
    nats,
    stream,
    onAttempt,
    observeLoop,
    idleMs: dueLoopIdleMs,
  });
  const loops = [
    ...Object.values(due),
    loop("due", everySecondMs, () => wakeDue(database, { ...due, ...webhooks.loops }).then(() => false)),
    loop("analytics", everyMinuteMs, () => countSettledOnce(database)),
    loop("ledger", everyTenMinutesMs, () => countLedgerOnce(database)),
    loop("expire-idempotency", everyMinuteMs, () => expireIdempotencyOnce(core)),
    loop("retention", retentionSweepEveryMs, () => sweepOldRowsOnce(database)),
    loop("end-agreements", everyTenMinutesMs, () => endAgreementsOnce(core)),
    loop("alarms", everyTenSecondsMs, () => raiseAlarmsOnce(core)),
    loop("endpoint-warnings", everyMinuteMs, () => raiseWarningsOnce(endpoints)),
    loop("alerts", everyMinuteMs, () => raiseAlertsOnce({ ...endpoints, connectorOf: core.connectorOf })),
    loop("send-alerts", everyTenSecondsMs, (closing) => sendAlertsOnce(alerting, closing)),
    loop("reconcile", everyMinuteMs, (closing) => reconcileOnce(core, closing, readings)),
    loop("gateway-feeds", everyTenSecondsMs, async (closing) => {
      await emitDueDisputesOnce(core);
      const hasAnswered = await answerDueOnce(core);
      const hasMatched = await matchLinesOnce(core);
      return (
        (await readFeedOnce(core, closing)) || (await readStatementsOnce(core, closing)) || hasAnswered || hasMatched
      );
    }),
    loop("partitions", everyTenMinutesMs, () => keepPartitionsOnce(database, log).then(() => false)),
    loop("audit", everyMinuteMs, () => auditOnce(core).then(() => false)),
    loop("stream-watch", everyMinuteMs, () => streamWatch.checkOnce().then(() => false)),
    loop("webhook-figures", everyTenSecondsMs, () => sampleWebhooksOnce(sampled).then(() => false)),
  ];
  return {
    async close() {
      await Promise.all([...loops.map((one) => one.close()), webhooks.close()]);
    },
  };
}

async function listen(server: NetServer, port: number, host: string): Promise<AddressInfo> {
  server.listen(port, host);
  await once(server, "listening");
  return server.address() as AddressInfo;
}
