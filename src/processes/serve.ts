/** Starts the roles of one process from its environment variables. */

import type { Config, Role } from "../config/checked-config.ts";
import { readConfig } from "../config/config.ts";
import { createProcessMetrics } from "../metrics/process-metrics.ts";
import { startMetrics } from "../metrics/start-metrics.ts";
import { createLogger, type Logger } from "../platform/log.ts";
import { logLastWords, scrubOutput } from "../platform/process-output.ts";
import { type Tracing, untraced } from "../platform/telemetry.ts";
import { version } from "../version.ts";
import type { Running } from "./installation.ts";

/** Running roles, and the time for which they still accept calls after closing begins. */
export type Serving = Running & { readonly graceMs: number };

/**
 * Starts roles. Resolves when every role accepts work. Closing stops them in the reverse order of their start. A process
 * loads only the code of its roles: the sandbox alone starts in a fifth of the time of all.
 */
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
  if (config.sandbox) {
    const { startSandbox } = await import("../sandbox/main.ts");
    started.push(await startSandbox(config.sandbox));
  }
  if (config.vault) {
    const { startVaultRole } = await import("./vault.ts");
    started.push(await startVaultRole(config.vault, config, { log, metrics, tracing }));
  }
  if (config.service) {
    const { openInstallation, startEdge, startWorker } = await import("./installation.ts");
    const installation = await openInstallation({ ...config, service: config.service }, log, metrics, tracing);
    started.push(installation);
    for (const environment of installation.environments) environment.connectNats();
    const sides: Running[] = [];
    if (roles.includes("edge")) sides.push(await startEdge(installation));
    if (config.dashboard) {
      const { startDashboard } = await import("./dashboard.ts");
      sides.push(await startDashboard(installation, config.dashboard));
    }
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

/** Opens tracing. The tracer is loaded only if there is a collector. */
async function openTracing(roles: readonly Role[], config: Config, log: Logger): Promise<Tracing> {
  const { tracesEndpoint: endpoint, tracesRatio: ratio } = config;
  if (endpoint === undefined) return untraced;
  const { openOtlpTracing } = await import("../platform/otlp-tracing.ts");
  return openOtlpTracing({ endpoint, ratio, log, service: { name: config.brand, role: roles.join("+"), version } });
}
