/** Every metric of one process, whichever roles it has: one registry, and what must be done before it is shown. */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { RecoveryFigures } from "../core/recovery-figures.ts";
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

/** What a role tells `GET /ready`. */
export type ReadyLine = { readonly isReady: boolean; readonly line: string };

/** A port that balancers ask. */
export type ShownPort = {
  readonly isReady: () => Promise<boolean>;
  readonly certificate?: { readonly validUntil: Date } | undefined;
};

/** Where the roles of a process tell what is counted. */
export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;

/** Registers every metric under the brand's name; one that nobody tells anything has no series. */
export function createProcessMetrics(brand: string) {
  const registry = new Registry();
  const make = createMetricMaker(registry, brand);
  const refreshes = createRefreshes(make);
  const readiness: (() => ReadyLine)[] = [];
  const ready = make.gauge("ready", "Whether this process wants traffic on that port, as /readyz answers.", "surface");
  const expiry = make.gauge(
    "certificate_expires_timestamp_seconds",
    "When the certificate ends that this process shows on that port.",
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
    watchEnvironment: createPaymentMetrics(make),
    vault: createVaultMetrics(make),
    showDatabase: createDatabaseMetrics(make),
    showReplica: createReplicaMetrics(make),
    watchLoop: createLoopMetrics(make),
    webhooks: createWebhookMetrics(registry, brand),
    setVersion: (version: string) => build.set({ version }, 1),
    /** Shows what /readyz of a port answers, and when its certificate ends where it has one. */
    showPort(surface: Surface, { isReady, certificate }: ShownPort): void {
      refreshes.add(`${surface}_port`, {
        work: async () => ready.set({ surface }, Number(await isReady())),
        // A balancer that asks now hears nothing either.
        forget: () => ready.set({ surface }, 0),
      });
      if (certificate) showCertificate(surface, certificate);
    },
    /** Shows when the certificate of a port ends. */
    showCertificate,
    /** Shows how an environment's payments and work list stand in its database. */
    showRecovery(environment: string, load: () => Promise<RecoveryFigures>): void {
      refreshes.add(`recovery_${environment}`, {
        work: async () => recovery.set(environment, await load()),
        forget: () => recovery.forget(environment),
      });
    },
    /** Has the work done before each scrape, under a name of the code's own; where it throws, the scrape goes on without its figures. */
    beforeScrape: refreshes.add,
    /** Adds a line to GET /ready. */
    tellReadiness: (line: () => ReadyLine) => void readiness.push(line),
    refresh: refreshes.run,
    readiness: () => {
      const lines = readiness.map((line) => line());
      return { isReady: lines.every(({ isReady }) => isReady), lines: lines.map(({ line }) => line) };
    },
  };
}

/** Adds what Node.js and the operating system tell of the process: delay of the event loop, heap, CPU, open files. */
export function addProcessFigures({ registry }: Pick<ProcessMetrics, "registry">): void {
  collectDefaultMetrics({ register: registry });
}
