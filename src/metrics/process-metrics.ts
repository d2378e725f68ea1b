/** Every metric of one process, for all of its roles: one registry, and the updates before a scrape. */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { RecoveryFigures } from "../oversight/recovery-figures.ts";
import type { Database } from "../platform/database.ts";
import type { LoopObserver } from "../platform/loop.ts";
import type { ReadReplica } from "../platform/read-replica.ts";
import { walletChecks, walletRefusals } from "../platform/wallets.ts";
import { closedLabel, createMetricMaker, type MetricMaker } from "./metric-maker.ts";
import { createPaymentMetrics } from "./payment-metrics.ts";
import { createRecoveryMetrics } from "./recovery-metrics.ts";
import { createRefreshes } from "./refreshes.ts";
import { createRequestMetrics, createServiceMetrics, type Surface } from "./request-metrics.ts";
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
  const make = createMetricMaker([registry], brand);
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
    serviceCall: createServiceMetrics(make),
    observeEnvironment: createPaymentMetrics(make),
    vault: createVaultMetrics(make),
    appleSession: createAppleSessionMetrics(make),
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
    /** Runs the work before each scrape; if it throws, the scrape continues without its figures. */
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

function createDatabaseMetrics({ collected, collectedCounter }: MetricMaker) {
  const databases = new Map<string, Database>();
  const show = (name: string, help: string, read: (database: Database) => number) =>
    collected(name, help, ["database"], () =>
      [...databases].map(([database, of]) => ({ labels: { database }, value: read(of) })),
    );
  show("database_connections_used", "Connections of this process that run a statement or a transaction.", ({ pool }) =>
    Math.max(0, pool.totalCount - pool.idleCount),
  );
  show("database_connections_idle", "Open connections of this process that are idle.", ({ pool }) => pool.idleCount);
  show("database_connections_most", "Most connections that this process opens.", ({ pool }) => pool.options.max ?? 0);
  show("database_waiting", "Callers in this process that wait for a connection.", ({ pool }) => pool.waitingCount);
  collectedCounter(
    "database_transactions_repeated_total",
    "Transactions of this process that were retried after a deadlock or a serialization failure.",
    ["database"],
    () => [...databases].map(([database, { repeats }]) => ({ labels: { database }, value: repeats })),
  );
  /** `name`: accounts, vault, or a cell of an environment (`live`, `live-2`), with `_read` for its replica. */
  return function showDatabase(name: string, database: Database): void {
    databases.set(name, database);
  };
}

// Their turns last as long as the process or a connection, so that the age of the last turn would mean nothing.
const lastingLoops: ReadonlySet<string> = new Set(["event-intake"]);

type Watched = { readonly environment: string; readonly loop: string; readonly intervalMs: number; lastAt: number };

/** Registers the metrics; returns a function that observes one loop, under the name that the code gives it. */
function createLoopMetrics({ collected, counter }: MetricMaker) {
  const watched: Watched[] = [];
  const failures = counter(
    "loop_failures_total",
    "Turns of a background loop that failed; the log says why.",
    "environment",
    "loop",
  );
  const show = (name: string, help: string, read: (one: Watched) => number) =>
    collected(name, help, ["environment", "loop"], () =>
      watched.map((one) => ({ labels: { environment: one.environment, loop: one.loop }, value: read(one) })),
    );
  show(
    "loop_turn_age_seconds",
    "Time since a background loop of this process last ended a turn without an error.",
    ({ lastAt }) => (performance.now() - lastAt) / 1_000,
  );
  show("loop_interval_seconds", "Interval at which that loop runs.", ({ intervalMs }) => intervalMs / 1_000);

  return function observeLoop(environment: string, loop: string, intervalMs: number): LoopObserver {
    const one = { environment, loop, intervalMs, lastAt: performance.now() };
    if (!lastingLoops.has(loop)) watched.push(one);
    failures.inc({ environment, loop }, 0);
    return (end) => {
      if (end === "ended") one.lastAt = performance.now();
      else failures.inc({ environment, loop });
    };
  };
}

function createReplicaMetrics({ collected }: MetricMaker) {
  const replicas = new Map<string, ReadReplica>();
  const labels: "environment"[] = ["environment"];
  collected("replica_in_use", "Whether this process reads lists and analytics from the read replica.", labels, () =>
    [...replicas].map(([environment, { state }]) => ({ labels: { environment }, value: Number(state === "in_use") })),
  );
  collected(
    "replica_lag_seconds",
    "Lag of the read replica, to within five seconds; absent while the replica does not answer.",
    labels,
    () =>
      [...replicas].flatMap(([environment, { lagMs }]) =>
        lagMs === undefined ? [] : [{ labels: { environment }, value: lagMs / 1_000 }],
      ),
  );
  return function showReplica(environment: string, replica: ReadReplica): void {
    replicas.set(environment, replica);
  };
}

// The same buckets as for gateways, because the vault waits for them.
const bucketsSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 14];

const shownEnvironment = closedLabel(["test", "live"]);
const results = [...["2xx", "3xx", "4xx", "5xx"], ...["never_sent", "timed_out", "no_answer", "no_card", "refused"]];
const shownResult = closedLabel(results);
const shownWallet = closedLabel(["apple_pay", "google_pay"]);
const shownWalletResult = closedLabel(["taken", ...walletChecks, ...walletRefusals]);

/** Registers the metrics; returns the observer of the vault's events, and shows the number of cards kept. */
function createVaultMetrics({ counter, histogram, gauge }: MetricMaker) {
  const tokenized = counter("cards_tokenized_total", "Cards that were tokenized.", "environment");
  const wallets = counter(
    "wallet_tokens_total",
    "Tokens of wallets by result: taken, or the check that refused the token.",
    "environment",
    "wallet",
    "result",
  );
  const forwarded = counter(
    "vault_forwards_total",
    "Requests with a card by result: the gateway's status, or the reason why there is none.",
    "environment",
    "result",
  );
  const duration = histogram(
    "vault_forward_duration_seconds",
    "Duration of a request with a card in the vault, including the gateway's response.",
    bucketsSeconds,
    "environment",
  );
  const held = gauge(
    "vault_cards_held",
    "Cards in the vault, each for at most fifteen minutes; 10000 stands for more.",
    "environment",
  );
  return {
    begin(environments: readonly string[]): void {
      for (const environment of environments) {
        tokenized.inc({ environment }, 0);
        for (const result of results) forwarded.inc({ environment, result }, 0);
      }
    },
    tokenized: (environment: string) => tokenized.inc({ environment: shownEnvironment(environment) }),
    walletToken(environment: string, wallet: string, result: string): void {
      const shown = { environment: shownEnvironment(environment), wallet: shownWallet(wallet) };
      wallets.inc({ ...shown, result: shownWalletResult(result) });
    },
    forwarded(environment: string, result: string, durationMs: number): void {
      const shown = shownEnvironment(environment);
      forwarded.inc({ environment: shown, result: shownResult(result) });
      duration.observe({ environment: shown }, durationMs / 1_000);
    },
    setHeld: (environment: string, cards: number) => held.set({ environment: shownEnvironment(environment) }, cards),
    forgetHeld: () => held.reset(),
  };
}

/** Registers the metric; returns a function that records one sheet of Apple Pay. */
function createAppleSessionMetrics({ histogram }: MetricMaker) {
  const duration = histogram(
    "apple_session_duration_seconds",
    "Time until Apple gave the session that opens a sheet, or refused it, or did not answer.",
    [0.1, 0.25, 0.5, 1, 2, 3, 5],
    "environment",
    "end",
  );
  const shownEnd = closedLabel(["given", "refused", "no_answer"]);
  return (environment: string, end: string, durationMs: number): void =>
    duration.observe({ environment: shownEnvironment(environment), end: shownEnd(end) }, durationMs / 1_000);
}
