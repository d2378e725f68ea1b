/** Webhooks as metrics: of the database, the stream, and this worker's delivery attempts and mails. */
import type { Registry } from "prom-client";
import type { SeenAttempt } from "../events/seen-attempt.ts";
import { attemptOutcomes } from "../events/seen-attempt.ts";
import { type StreamState, streamStates } from "../events/stream-watch.ts";
import type { Backlog, WebhookFigures } from "../events/webhook-figures.ts";
import type { Handover } from "../platform/mail.ts";
import { createMetricMaker, type MetricMaker } from "./metric-maker.ts";

/** The state of a worker's stream; without a lag while NATS does not answer. */
export type StreamFigures = {
  readonly isConnected: boolean;
  readonly state: StreamState;
  readonly lag: { readonly pending: number; readonly unacknowledged: number } | undefined;
};

/** Receives the figures of one environment at a time. */
export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>;

// The longest delivery attempt takes 15 s (events/egress.ts); a good endpoint answers well below one.
const durationBucketsSeconds = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
// Milliseconds normally; then the sweep's 10 s, and the pauses of the schedule up to its end after 75 hours.
const takenBucketsSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 300, 1_800, 7_200, 36_000, 86_400, 270_000];

/** Registers the metrics under the brand's name. Labels are from closed lists in the code. */
export function createWebhookMetrics(registry: Registry, brand: string) {
  const make = createMetricMaker([registry], brand, ["environment"]);
  const gauges = { ...createFigureGauges(make), ...createStreamGauges(make) };
  const [attempts, mails] = [createDeliveryMetrics(make), createMailMetrics(make)];
  return {
    ...gauges,
    countAttempt: attempts.count,
    countMail: mails.count,
    /** Shows every counter at 0 from the start, so that the first failure is an increase too. */
    begin(environment: string): void {
      attempts.begin(environment);
      mails.begin(environment);
    },
  };
}

type Maker = MetricMaker<"environment">;

function createFigureGauges({ gauge }: Maker) {
  const backlog = <Label extends string>(name: string, help: string, ...labels: Label[]) => {
    const waiting = gauge(name, help, ...labels);
    const oldest = gauge(`${name}_age_seconds`, "Age of the oldest of them; 0 if there is none.", ...labels);
    return (shown: Record<"environment" | Label, string>, value: Backlog) => {
      waiting.set(shown, value.waiting);
      oldest.set(shown, value.oldestSeconds);
    };
  };
  const setUnpublished = backlog(
    "outbox_unpublished",
    "Events that went out without JetStream, which has not accepted them since; 10000 stands for more.",
  );
  const setNotFannedOut = backlog(
    "events_not_fanned_out",
    "Events whose deliveries are not recorded; 10000 stands for more.",
  );
  const setUnsettled = backlog(
    "events_unsettled",
    "Events that an older transaction keeps from event streams; 10000 stands for more.",
  );
  const setDue = backlog(
    "webhook_deliveries_due",
    "Due deliveries, at most 1000 of each endpoint. Those of healthy endpoints should be posted soon.",
    "endpoint_class",
  );
  const endpoints = gauge(
    "webhook_endpoints",
    "Endpoints by state; failing: the circuit breaker is open.",
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
      setUnsettled({ environment }, figures.unsettled);
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
    "Whether the worker is connected to NATS; without it webhooks are posted later.",
  );
  const streamState = gauge("event_stream_state", "1 for the current state of the event stream.", "state");
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

function createDeliveryMetrics({ counter, histogram }: Maker) {
  const attempts = counter(
    "webhook_delivery_attempts_total",
    "Delivery attempts of this worker by outcome, and by the state of the endpoint's circuit breaker before the attempt.",
    "outcome",
    "endpoint_class",
  );
  const exhausted = counter(
    "webhook_deliveries_exhausted_total",
    "Deliveries that this worker gave up after the last delivery attempt.",
  );
  const disabled = counter(
    "webhook_endpoints_disabled_total",
    "Endpoints that this worker disabled, by reason.",
    "reason",
  );
  const deliveryDuration = histogram(
    "webhook_delivery_attempt_duration_seconds",
    "Duration of this worker's delivery attempts, to the end of the response.",
    durationBucketsSeconds,
  );
  const acceptedAfter = histogram(
    "webhook_delivery_seconds",
    "Time from an event to its first 2xx response.",
    takenBucketsSeconds,
    "endpoint_class",
  );

  return {
    begin(environment: string): void {
      for (const outcome of attemptOutcomes) {
        for (const endpoint_class of ["healthy", "failing"]) attempts.inc({ environment, outcome, endpoint_class }, 0);
      }
      exhausted.inc({ environment }, 0);
      for (const reason of ["GONE", "FAILING"]) disabled.inc({ environment, reason }, 0);
    },

    count(environment: string, seen: SeenAttempt): void {
      const endpoint_class = seen.endpointClass;
      attempts.inc({ environment, outcome: seen.outcome, endpoint_class });
      deliveryDuration.observe({ environment }, seen.durationMs / 1_000);
      if (seen.acceptedAfterMs !== undefined)
        acceptedAfter.observe({ environment, endpoint_class }, seen.acceptedAfterMs / 1_000);
      if (seen.exhausted) exhausted.inc({ environment });
      if (seen.disabledReason !== null) disabled.inc({ environment, reason: seen.disabledReason });
    },
  };
}

const mailOutcomes: readonly Handover["kind"][] = ["taken", "refused", "failed"];

function createMailMetrics({ counter }: Maker) {
  const mails = counter(
    "alert_mails_total",
    "Alert mails by the result at the mail server; failed ones are retried.",
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
