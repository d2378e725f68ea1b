/** Webhooks as metrics: figures of the database, the stream's state, and what this worker's own tries and mails came to. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { SeenTry } from "../events/seen-try.ts";
import { tryOutcomes } from "../events/seen-try.ts";
import { type StreamState, streamStates } from "../events/stream-watch.ts";
import type { Backlog, WebhookFigures } from "../events/webhook-figures.ts";
import type { Handover } from "../platform/mail.ts";

/** What a worker knows of its stream; no lag while NATS does not answer. */
export type StreamFigures = {
  readonly isConnected: boolean;
  readonly state: StreamState;
  readonly lag: { readonly pending: number; readonly unacknowledged: number } | undefined;
};

/** Takes what is to be shown, for one environment at a time. */
export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>;

// The longest try is 15 s (events/egress.ts); a good endpoint answers well below one.
const tryBucketsSeconds = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
// Milliseconds when all is well; then the sweep's 10 s, and the pauses of the schedule up to its end after 75 hours.
const takenBucketsSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 300, 1_800, 7_200, 36_000, 86_400, 270_000];

/** Registers the metrics under the brand's name. Labels are of the code's own closed lists, so their number is bounded. */
export function createWebhookMetrics(registry: Registry, brand: string) {
  const make = metricMaker(registry, brand);
  const gauges = { ...createFigureGauges(make), ...createStreamGauges(make) };
  const [tries, mails] = [createTryMetrics(make), createMailMetrics(make)];
  return {
    ...gauges,
    countTry: tries.count,
    countMail: mails.count,
    /** Shows every counter from the first moment on, at 0: the first failure is an increase, too. */
    begin(environment: string): void {
      tries.begin(environment);
      mails.begin(environment);
    },
  };
}

type Maker = ReturnType<typeof metricMaker>;

/** Makes metrics that have the brand in their names and are told apart by environment. */
function metricMaker(registry: Registry, brand: string) {
  const describe = <Label extends string>(name: string, help: string, labels: Label[]) => ({
    name: `${brand}_${name}`,
    help,
    labelNames: ["environment" as const, ...labels],
    registers: [registry],
  });
  return {
    gauge: <Label extends string>(name: string, help: string, ...labels: Label[]) =>
      new Gauge(describe(name, help, labels)),
    counter: <Label extends string>(name: string, help: string, ...labels: Label[]) =>
      new Counter(describe(name, help, labels)),
    histogram: <Label extends string>(name: string, help: string, buckets: number[], ...labels: Label[]) =>
      new Histogram({ ...describe(name, help, labels), buckets }),
  };
}

function createFigureGauges({ gauge }: Maker) {
  const backlog = <Label extends string>(name: string, help: string, ...labels: Label[]) => {
    const waiting = gauge(name, help, ...labels);
    const oldest = gauge(`${name}_age_seconds`, "How long the oldest of them waits; 0 when there is none.", ...labels);
    return (shown: Record<"environment" | Label, string>, value: Backlog) => {
      waiting.set(shown, value.waiting);
      oldest.set(shown, value.oldestSeconds);
    };
  };
  const setUnpublished = backlog("outbox_unpublished", "Events that JetStream has not taken; 10000 stands for more.");
  const setNotFannedOut = backlog("events_not_fanned_out", "Events without their deliveries; 10000 stands for more.");
  const setDue = backlog(
    "webhook_deliveries_due",
    "Deliveries whose time has come, at most 1000 of each endpoint. Only at healthy endpoints they should be gone soon.",
    "endpoint_class",
  );
  const endpoints = gauge(
    "webhook_endpoints",
    "Endpoints by their state; failing: its breaker is open.",
    "endpoint_class",
  );
  const sampled = gauge(
    "webhook_figures_timestamp_seconds",
    "When the worker last read the figures from the database.",
  );

  return {
    setFigures(environment: string, figures: WebhookFigures): void {
      setUnpublished({ environment }, figures.unpublished);
      setNotFannedOut({ environment }, figures.notFannedOut);
      for (const [endpoint_class, value] of Object.entries(figures.due)) setDue({ environment, endpoint_class }, value);
      for (const [endpoint_class, count] of Object.entries(figures.endpoints)) {
        endpoints.set({ environment, endpoint_class }, count);
      }
      sampled.setToCurrentTime({ environment });
    },
  };
}

function createStreamGauges({ gauge }: Maker) {
  const connected = gauge(
    "nats_connected",
    "Whether the worker has a connection to NATS; webhooks go out without, later.",
  );
  const streamState = gauge("event_stream_state", "1 for the state in which the worker has found its stream.", "state");
  const pending = gauge("event_consumer_pending", "Messages in the stream that the webhook workers have not fetched.");
  const unacknowledged = gauge("event_consumer_unacknowledged", "Messages fetched and not yet acknowledged.");

  return {
    setStream(environment: string, { isConnected, state, lag }: StreamFigures): void {
      connected.set({ environment }, Number(isConnected));
      for (const each of streamStates) streamState.set({ environment, state: each }, Number(each === state));
      pending.remove({ environment });
      unacknowledged.remove({ environment });
      if (lag === undefined) return;
      pending.set({ environment }, lag.pending);
      unacknowledged.set({ environment }, lag.unacknowledged);
    },
  };
}

function createTryMetrics({ counter, histogram }: Maker) {
  const tries = counter(
    "webhook_tries_total",
    "Recorded tries of this worker by how they ended, and by the endpoint's breaker before it.",
    "outcome",
    "endpoint_class",
  );
  const exhausted = counter(
    "webhook_deliveries_exhausted_total",
    "Deliveries that this worker gave up, after all tries.",
  );
  const disabled = counter(
    "webhook_endpoints_disabled_total",
    "Endpoints disabled for what this worker heard.",
    "because",
  );
  const tryDuration = histogram(
    "webhook_try_duration_seconds",
    "Duration of this worker's tries, to the end of the answer.",
    tryBucketsSeconds,
  );
  const takenAfter = histogram(
    "webhook_delivery_seconds",
    "From the event of an outcome to its first 2xx answer.",
    takenBucketsSeconds,
    "endpoint_class",
  );

  return {
    begin(environment: string): void {
      for (const outcome of tryOutcomes) {
        for (const endpoint_class of ["healthy", "failing"]) tries.inc({ environment, outcome, endpoint_class }, 0);
      }
      exhausted.inc({ environment }, 0);
      for (const because of ["GONE", "FAILING"]) disabled.inc({ environment, because }, 0);
    },

    count(environment: string, seen: SeenTry): void {
      const endpoint_class = seen.endpointClass;
      tries.inc({ environment, outcome: seen.outcome, endpoint_class });
      tryDuration.observe({ environment }, seen.durationMs / 1_000);
      if (seen.takenAfterMs !== undefined)
        takenAfter.observe({ environment, endpoint_class }, seen.takenAfterMs / 1_000);
      if (seen.exhausted) exhausted.inc({ environment });
      if (seen.disabledBecause !== null) disabled.inc({ environment, because: seen.disabledBecause });
    },
  };
}

const mailOutcomes: readonly Handover["kind"][] = ["taken", "refused", "failed"];

function createMailMetrics({ counter }: Maker) {
  const mails = counter(
    "notice_mails_total",
    "Mails of notices by what the mail server made of them; what failed is tried again.",
    "outcome",
  );
  return {
    begin(environment: string): void {
      for (const outcome of mailOutcomes) mails.inc({ environment, outcome }, 0);
    },

    count(environment: string, outcome: Handover["kind"]): void {
      mails.inc({ environment, outcome });
    },
  };
}
