/** Starts the roles of one process from its environment variables. */

import type { Config, Role, VaultRoleConfig } from "../config/checked-config.ts";
import { readConfig } from "../config/config.ts";
import { authenticationCards } from "../gateways/sandbox/authentication-cards.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { createProcessMetrics, type ProcessMetrics } from "../metrics/process-metrics.ts";
import { startMetrics } from "../metrics/start-metrics.ts";
import { SchemaCheck } from "../migrations/schema-check.ts";
import type { Database } from "../platform/database.ts";
import { createLogger, type Logger } from "../platform/log.ts";
import { logLastWords, scrubOutput } from "../platform/process-output.ts";
import { logMissingLimits } from "../platform/session-limits.ts";
import { type Tracing, untraced } from "../platform/telemetry.ts";
import { TlsFiles } from "../platform/tls-files.ts";
import { adyenTestNumbers } from "../sandbox/adyen/emulator-cards.ts";
import { startSandbox } from "../sandbox/main.ts";
import { paypalSecureNumbers, paypalTestNumbers } from "../sandbox/paypal/emulator-cards.ts";
import { stripeTestNumbers } from "../sandbox/stripe/emulator-cards.ts";
import { countCards } from "../vault/card-store.ts";
import { startVault } from "../vault/main.ts";
import { vaultRoutes } from "../vault/public-http.ts";
import type { VaultObserver } from "../vault/vault-config.ts";
import { sweepIntervalMs } from "../vault/vault-limits.ts";
import { version } from "../version.ts";
import { startDashboard } from "./dashboard.ts";
import { openInstallation, type Running, startEdge, startWorker } from "./installation.ts";
import { openDatabase } from "./open-database.ts";

/** Running roles, and the time for which they still accept calls after closing begins. */
export type Serving = Running & { readonly graceMs: number };

/** Starts roles. Resolves when every role accepts work. Closing stops them in the reverse order of their start. */
export async function serve(roles: readonly Role[]): Promise<Serving> {
  scrubOutput();
  const config = readConfig(roles);
  const log = createLogger({ name: roles.join("+"), level: config.logLevel });
  for (const problem of config.warnings) log.warn({ problem }, "a setting needs to be corrected");
  logLastWords(log);
  const metrics = createProcessMetrics(config.brand);
  metrics.setVersion(version);
  const tracing = await openTracing(roles, config, log);
  // Closed last, so the spans of work that a stop waits for are sent too.
  const started: Running[] = [tracing];
  if (config.sandbox) started.push(await startSandbox(config.sandbox));
  if (config.vault) started.push(await startVaultRole(config.vault, config, { log, metrics, tracing }));
  if (config.service) {
    const installation = await openInstallation({ ...config, service: config.service }, log, metrics, tracing);
    started.push(installation);
    const sides: Running[] = [];
    if (roles.includes("edge")) sides.push(await startEdge(installation));
    if (config.dashboard) sides.push(await startDashboard(installation, config.dashboard));
    if (roles.includes("worker")) sides.push(await startWorker(installation));
    // All at once, so balancers learn first that the edge stops.
    started.push({ close: async () => void (await Promise.all(sides.map((side) => side.close()))) });
  }
  const { metricsPort: port } = config;
  const host = config.service?.host ?? config.vault?.host ?? "127.0.0.1";
  // Closed last, so metrics show the stop of the process.
  if (port !== undefined) started.unshift(await startMetrics(metrics, { port, host, log }));
  return {
    // The sum, because a process with both closes one after the other.
    graceMs: (config.service?.shutdownGraceMs ?? 0) + (config.vault?.shutdownGraceMs ?? 0),
    async close() {
      for (const running of started.toReversed()) await running.close();
    },
  };
}

/** Opens tracing. The tracer is loaded only where there is a collector. */
async function openTracing(roles: readonly Role[], config: Config, log: Logger): Promise<Tracing> {
  const { tracesEndpoint: endpoint, tracesRatio: ratio } = config;
  if (endpoint === undefined) return untraced;
  const { openOtlpTracing } = await import("../platform/otlp-tracing.ts");
  return openOtlpTracing({ endpoint, ratio, log, service: { name: config.brand, role: roles.join("+"), version } });
}

/** Our own test cards, and those of gateways that can be connected with test credentials. */
const testNumbers: ReadonlySet<string> = new Set([
  ...[...testCards, ...authenticationCards].map((card) => card.number),
  ...stripeTestNumbers,
  ...adyenTestNumbers,
  ...paypalTestNumbers,
  ...paypalSecureNumbers,
]);

async function startVaultRole(
  vault: VaultRoleConfig,
  config: Config,
  { log: logger, metrics, tracing }: { log: Logger; metrics: ProcessMetrics; tracing: Tracing },
): Promise<Running> {
  const { database, close } = await openDatabase(vault.databaseUrl, [], config.database);
  void logMissingLimits(database, logger);
  await new SchemaCheck([{ name: "the vault", kind: "vault", database }])
    .begin(logger)
    .catch(async (error: unknown) => {
      await close();
      throw error;
    });
  const keys = vault.environments.flatMap(({ name, verification }) =>
    verification.map((key) => ({ environment: name, ...key })),
  );
  const onBroken = (error: unknown) => logger.error({ err: error }, "changed certificate files are not used");
  const grpcTls = vault.grpcTls && new TlsFiles(vault.grpcTls, { onBroken });
  if (grpcTls) metrics.showCertificate("vault", grpcTls);
  const running = await startVault({
    publicListen: { host: vault.host, port: vault.publicPort },
    publicOrigin: vault.publicOrigin,
    grpcListen: { host: vault.host, port: vault.grpcPort },
    grpcTls,
    database,
    logger,
    environments: vault.environments.map(({ name, ring }) => ({
      environment: name,
      ring,
      testCards: name === "test" ? testNumbers : undefined,
    })),
    grantKeys: keys,
    serviceTokenKeys: keys,
    trustedProxies: config.trustedProxies,
    sandboxHosts: vault.emulatorHosts,
    errorsUrl: config.errorDocsUrl,
    nodeOptions: vault.nodeOptions,
    observer: observeVault(vault, database, metrics),
    shutdownGraceMs: vault.shutdownGraceMs,
    tracing,
  });
  metrics.showPort("vault", running);
  return {
    async close() {
      await running.close();
      await close();
    },
  };
}

function observeVault({ environments }: VaultRoleConfig, database: Database, metrics: ProcessMetrics): VaultObserver {
  const { vault } = metrics;
  const names = environments.map(({ name }) => name);
  vault.begin(names);
  metrics.showDatabase("vault", database);
  metrics.beforeScrape("vault_cards", {
    async work() {
      const counts = await countCards(database);
      for (const name of names) vault.setHeld(name, counts.get(name) ?? 0);
    },
    forget: vault.forgetHeld,
  });
  return {
    requests: metrics.meterOf("vault", vaultRoutes),
    tokenized: vault.tokenized,
    forwarded: vault.forwarded,
    swept: metrics.observeLoop("vault", "vault-sweeper", sweepIntervalMs),
  };
}
