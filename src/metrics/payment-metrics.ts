/** Payments as metrics: what gateways answer and how fast, what follows, how sessions end, and what is under way here. */
import type { PaymentWatch } from "../core/payment-watch.ts";
import { type GatewayOutcome, gateways } from "../gateways/connector.ts";
import type { GatewayWatch } from "../gateways/watched-connector.ts";
import { closedLabel, type MetricMaker } from "./metric-maker.ts";

/** What one environment of this process has at hand, asked for each scrape. */
export type PaymentState = {
  readonly submissionsInFlight: () => number;
  /** The gateway of each connection that is left out now. */
  readonly failingGateways: () => readonly string[];
};

/** Who is told of an environment's payments. */
export type EnvironmentWatch = { readonly gateway: GatewayWatch; readonly payments: PaymentWatch };

// A good gateway answers within a second; our own deadline is 14 s at most.
const bucketsSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 14];

/** Every outcome of an attempt, and what can be behind it. */
const causesOf = {
  held: ["none"],
  declined: ["HARD_DECLINE", "SOFT_DECLINE", "FRAUD"],
  notProcessed: [
    ...["connection_refused", "rate_limited", "credentials_refused", "request_refused", "token_unusable"],
    ...["vault_unavailable", "stopped"],
  ],
  unknown: ["TIMEOUT", "GATEWAY_ERROR", "lost_at_vault"],
} satisfies Record<GatewayOutcome["type"], readonly string[]>;
const operations = ["authorize", "capture", "void", "look_up", "verify"];
const answers = [
  ...["done", "accepted", "refused", "unknown", "alreadyCaptured", "absent"],
  ...["held", "heldOther", "captured", "voided", "declined", "cannotTell"],
];
const statuses = ["SUCCEEDED", "DECLINED", "DEGRADED", "EXPIRED"] as const;

const shownGateway = closedLabel(gateways);
const shownOutcome = closedLabel(Object.keys(causesOf));
const shownCause = closedLabel(Object.values(causesOf).flat());
const shownOperation = closedLabel(operations);
const shownAnswer = closedLabel(answers);
const shownStatus = closedLabel(statuses);

/** Registers the metrics; what it returns begins to count one environment. */
export function createPaymentMetrics(make: MetricMaker) {
  const counters = createCounters(make);
  const states = new Map<string, PaymentState>();
  showStates(make, states);
  return function watchEnvironment(environment: string, state: PaymentState): EnvironmentWatch {
    states.set(environment, state);
    begin(counters, environment);
    return {
      gateway({ gateway: name, operation: asked, outcome, because, durationMs }) {
        const [gateway, operation] = [shownGateway(name), shownOperation(asked)];
        counters.duration.observe({ environment, gateway, operation }, durationMs / 1_000);
        if (operation === "authorize") {
          const labels = { environment, gateway, outcome: shownOutcome(outcome), because: shownCause(because) };
          counters.attempts.inc(labels);
        } else {
          counters.answers.inc({ environment, gateway, operation, answer: shownAnswer(outcome) });
        }
      },
      payments: {
        settled: (status) => counters.settled.inc({ environment, status: shownStatus(status) }),
        failedOver: (from) => counters.failovers.inc({ environment, gateway: shownGateway(from) }),
      },
    };
  };
}

// Shown from the first moment on, at 0: the first failure is an increase, too.
function begin({ settled, attempts, failovers }: ReturnType<typeof createCounters>, environment: string): void {
  for (const status of statuses) settled.inc({ environment, status }, 0);
  for (const gateway of gateways) {
    failovers.inc({ environment, gateway }, 0);
    for (const [outcome, causes] of Object.entries(causesOf)) {
      for (const because of causes) attempts.inc({ environment, gateway, outcome, because }, 0);
    }
  }
}

function createCounters({ counter, histogram }: MetricMaker) {
  return {
    attempts: counter(
      "attempts_total",
      "Answered attempts of this process by gateway and outcome; because: the failure kind, or why nothing was processed.",
      ...["environment" as const, "gateway" as const, "outcome" as const, "because" as const],
    ),
    answers: counter(
      "gateway_answers_total",
      "Answers to captures, voids, look-ups and verifications; unknown ones are asked again.",
      ...["environment" as const, "gateway" as const, "operation" as const, "answer" as const],
    ),
    duration: histogram(
      "gateway_call_duration_seconds",
      "How long a gateway took to answer, or we to give up waiting; with the way through the vault.",
      bucketsSeconds,
      ...["environment" as const, "gateway" as const, "operation" as const],
    ),
    failovers: counter(
      "failovers_total",
      "Attempts at this gateway after which the payment went on at another one.",
      ...["environment" as const, "gateway" as const],
    ),
    settled: counter(
      "sessions_settled_total",
      "Sessions that this process brought to their final status.",
      ...["environment" as const, "status" as const],
    ),
  };
}

function showStates({ collected }: MetricMaker, states: ReadonlyMap<string, PaymentState>): void {
  collected(
    "submissions_in_flight",
    "Submitted payments that this process works on now; 256 are its most.",
    ["environment"],
    () =>
      [...states].map(([environment, { submissionsInFlight }]) => ({
        labels: { environment },
        value: submissionsInFlight(),
      })),
  );
  collected(
    "circuits_open",
    "Connections to this gateway that this process leaves out because their last calls all failed.",
    ["environment", "gateway"],
    () =>
      [...states].flatMap(([environment, { failingGateways }]) => {
        const failing = failingGateways().map(shownGateway);
        return [...gateways, "other"].map((gateway) => ({
          labels: { environment, gateway },
          value: failing.filter((one) => one === gateway).length,
        }));
      }),
  );
}
