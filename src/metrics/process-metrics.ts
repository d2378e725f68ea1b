/** Every metric of one process, for all of its roles: one registry, and the updates before a scrape. */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { RecoveryFigures } from "../oversight/recovery-figures.ts";
import { createDatabaseMetrics } from "./database-metrics.ts";
import { createLoopMetrics } from "./loop-metrics.ts";
import { createMetricMaker } from "./metric-maker.ts";
import { createPaymentMetrics } from "./payment-metrics.ts";
import { createRecoveryMetrics } from "./recovery-metrics.ts";
import { createRefreshes } from "./refreshes.ts";
import { createReplicaMetrics } from "./replica-metrics.ts";
import { createRequestMetrics, type Surface } from "./request-metrics.ts";
import { createVaultMetrics } from "./vault-metrics.ts";
import { createWebhookMetrics } from "./webhook-metrics.ts";

/** A role's line in `GET /ready`. */
export type ReadyLine = { readonly isReady: boolean; readonly line: string };

/** A port that balancers probe. */
export type ShownPort = {
  readonly isReady: () => Promise<boolean>;
  readonly certificate?: { readonly validUntil: Date } | undefined;
};

export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;

/** Registers every metric under the brand's name; one without values has no series. */
export function createProcessMetrics(brand: string) {
  const registry = new Registry();
  const make = createMetricMaker(registry, brand);
  const refreshes = createRefreshes(make);
  const readiness: (() => ReadyLine)[] = [];
  const ready = make.gauge(
    "ready",
    "Whether this process is ready for traffic on that port, as /readyz reports.",
    "surface",
  );
  const expiry = make.gauge(
    "certificate_expires_timestamp_seconds",
    "When the certificate that this process uses on that port expires.",
    "surface",
  );
  const showCertificate = (surface: Surface, certificate: { readonly validUntil: Date }): void => {
    refreshes.add(`${surface}_certificate`, {
      work: async () => expiry.set({ surface }, certificate.validUntil.getTime() / 1_000),
      forget: () => expiry.remove({ surface }),
    });
  };
  const build = make.gauge("build_info", "1, with the version of this process.", "version");
  const recovery = createRecoveryMetrics(registry, brand);
  return {
    registry,
    meterOf: createRequestMetrics(make),
    observeEnvironment: createPaymentMetrics(make),
    vault: createVaultMetrics(make),
    showDatabase: createDatabaseMetrics(make),
    showReplica: createReplicaMetrics(make),
    observeLoop: createLoopMetrics(make),
    webhooks: createWebhookMetrics(registry, brand),
    setVersion: (version: string) => build.set({ version }, 1),
    /** Shows the readiness of a port, and the expiry of its certificate if it has one. */
    showPort(surface: Surface, { isReady, certificate }: ShownPort): void {
      refreshes.add(`${surface}_port`, {
        work: async () => ready.set({ surface }, Number(await isReady())),
        // A balancer that probes now gets no answer either.
        forget: () => ready.set({ surface }, 0),
      });
      if (certificate) showCertificate(surface, certificate);
    },
    /** Shows the expiry of a port's certificate. */
    showCertificate,
    /** Shows the state of an environment's payments and work queue in its database. */
    showRecovery(environment: string, load: () => Promise<RecoveryFigures>): void {
      refreshes.add(`recovery_${environment}`, {
        work: async () => recovery.set(environment, await load()),
        forget: () => recovery.forget(environment),
      });
    },
    /**
     * Runs the work before each scrape, under a name given by the code; if it throws, the scrape continues without its
     * figures.
     */
    beforeScrape: refreshes.add,
    /** Adds a line to GET /ready. */
    addReadiness: (line: () => ReadyLine) => void readiness.push(line),
    refresh: refreshes.run,
    readiness: () => {
      const lines = readiness.map((line) => line());
      return { isReady: lines.every(({ isReady }) => isReady), lines: lines.map(({ line }) => line) };
    },
  };
}

/** Adds the process figures of Node.js and the operating system: delay of the event loop, heap, CPU, open files. */
export function addProcessFigures({ registry }: Pick<ProcessMetrics, "registry">): void {
  collectDefaultMetrics({ register: registry });
}
