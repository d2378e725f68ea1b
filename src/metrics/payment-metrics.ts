/** Payments as metrics: gateways' answers and durations, failovers, ends of sessions, and payments in progress here. */
import type { PaymentObserver } from "../core/core.ts";
import { providers } from "../gateways/authentication-provider.ts";
import { type GatewayOutcome, gateways } from "../gateways/connector.ts";
import { type GatewayObserver, gatewayOperations } from "../gateways/observed-connector.ts";
import { closedLabel, type MetricMaker } from "./metric-maker.ts";

/** The state of one environment of this process, read at each scrape. */
export type PaymentState = {
  readonly submissionsInFlight: () => number;
  /** Returns the gateway of each connection that is excluded now. */
  readonly failingGateways: () => readonly string[];
};

export type EnvironmentObserver = { readonly gateway: GatewayObserver; readonly payments: PaymentObserver };

// A good gateway answers within a second; our own deadline is 14 s at most.
const bucketsSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 14];

/** Every outcome of an attempt, and its possible causes. */
const causesOf = {
  held: ["none"],
  actionNeeded: ["none"],
  declined: ["HARD_DECLINE", "SOFT_DECLINE", "FRAUD"],
  notProcessed: [
    ...["connection_refused", "rate_limited", "credentials_refused", "request_refused", "token_unusable"],
    ...["vault_unavailable", "stopped"],
  ],
  unknown: ["TIMEOUT", "GATEWAY_ERROR", "lost_at_vault"],
} satisfies Record<GatewayOutcome["type"], readonly string[]>;
const answers = [
  ...["done", "accepted", "refused", "unknown", "alreadyCaptured", "absent"],
  ...["held", "heldOther", "captured", "voided", "declined", "inconclusive"],
  ...["actionNeeded", "notAnswered", "notProcessed", "waiting", "answered", "failed"],
  ...["ready", "challenge", "ended", "unavailable"],
  ...["pending", "succeeded", "cannotTell"],
];
const giveUps = ["CANCELLED", "ABANDONED"];
const statuses = ["SUCCEEDED", "DECLINED", "DEGRADED", "EXPIRED"] as const;

const shownGateway = closedLabel([...gateways, ...providers]);
const shownOutcome = closedLabel(Object.keys(causesOf));
const shownCause = closedLabel(Object.values(causesOf).flat());
const shownOperation = closedLabel(gatewayOperations);
const shownAnswer = closedLabel(answers);
const shownGiveUp = closedLabel(giveUps);
const shownStatus = closedLabel(statuses);

export function createPaymentMetrics(make: MetricMaker) {
  const counters = createCounters(make);
  const states = new Map<string, PaymentState>();
  showStates(make, states);
  return function observeEnvironment(environment: string, state: PaymentState): EnvironmentObserver {
    states.set(environment, state);
    begin(counters, environment);
    return {
      gateway({ gateway: name, operation: called, outcome, reason, durationMs }) {
        const [gateway, operation] = [shownGateway(name), shownOperation(called)];
        counters.duration.observe({ environment, gateway, operation }, durationMs / 1_000);
        if (operation === "authorize") {
          const labels = { environment, gateway, outcome: shownOutcome(outcome), reason: shownCause(reason) };
          counters.attempts.inc(labels);
        } else {
          counters.answers.inc({ environment, gateway, operation, answer: shownAnswer(outcome) });
        }
      },
      payments: {
        settled: (status) => counters.settled.inc({ environment, status: shownStatus(status) }),
        failedOver: (from) => counters.failovers.inc({ environment, gateway: shownGateway(from) }),
        gaveUp: (at, as) => counters.giveUps.inc({ environment, gateway: shownGateway(at), reason: shownGiveUp(as) }),
      },
    };
  };
}

// Shown at 0 from the start, so that the first failure is an increase too.
function begin(
  { settled, attempts, failovers, giveUps: given }: ReturnType<typeof createCounters>,
  environment: string,
): void {
  for (const status of statuses) settled.inc({ environment, status }, 0);
  for (const gateway of gateways) {
    failovers.inc({ environment, gateway }, 0);
    for (const reason of giveUps) given.inc({ environment, gateway, reason }, 0);
    for (const [outcome, causes] of Object.entries(causesOf)) {
      for (const reason of causes) attempts.inc({ environment, gateway, outcome, reason }, 0);
    }
  }
}

function createCounters({ counter, histogram }: MetricMaker) {
  return {
    attempts: counter(
      "attempts_total",
      "Attempts of this process by gateway and outcome; reason: the failure kind, or why nothing was processed.",
      ...["environment" as const, "gateway" as const, "outcome" as const, "reason" as const],
    ),
    answers: counter(
      "gateway_answers_total",
      "Responses to captures, voids, look-ups, completions and verifications, looks at customers' actions (ask_action), refunds (refund, look_up_refund, list_refunds), erasures of stored cards (erase_method), and calls to providers of authentication (prepare, authenticate, result); calls with an unknown outcome are repeated.",
      ...["environment" as const, "gateway" as const, "operation" as const, "answer" as const],
    ),
    duration: histogram(
      "gateway_call_duration_seconds",
      "Time until a gateway responded or the call timed out, including the way through the vault.",
      bucketsSeconds,
      ...["environment" as const, "gateway" as const, "operation" as const],
    ),
    failovers: counter(
      "failovers_total",
      "Attempts at this gateway after which the payment failed over to another one.",
      ...["environment" as const, "gateway" as const],
    ),
    giveUps: counter(
      "actions_given_up_total",
      "Customers' actions that ended without an answer: CANCELLED by the customer, or ABANDONED at the deadline.",
      ...["environment" as const, "gateway" as const, "reason" as const],
    ),
    settled: counter(
      "sessions_settled_total",
      "Sessions that this process settled.",
      ...["environment" as const, "status" as const],
    ),
  };
}

function showStates({ collected }: MetricMaker, states: ReadonlyMap<string, PaymentState>): void {
  collected(
    "submissions_in_flight",
    "Submitted payments in progress in this process. From 256 on, it takes over no sessions of other processes.",
    ["environment"],
    () =>
      [...states].map(([environment, { submissionsInFlight }]) => ({
        labels: { environment },
        value: submissionsInFlight(),
      })),
  );
  collected(
    "circuits_open",
    "Connections to this gateway whose circuit breaker is open in this process, because their last calls all failed.",
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
