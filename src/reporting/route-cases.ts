/** Simulates a plan with every possible answer of its gateways. It calls no gateway. PURE. */

import type { FailoverRule, Failure } from "../core/decide/failover.ts";
import { decideNext } from "../core/decide/next-step.ts";
import type { AuthenticationRule, PlannedConnection, WithoutBrowser } from "../core/rows/entities.ts";

/** The answers of a gateway that lead to different next steps. */
const routeAnswers = [
  "APPROVED",
  "HARD_DECLINE",
  "SOFT_DECLINE",
  "FRAUD",
  "SCHEME_RULE",
  "SAME_CARD_FAILS",
  "AUTHENTICATION_REQUIRED",
  "UNCLASSIFIED",
  "TIMEOUT",
  "GATEWAY_ERROR",
  "CAPTURE_REFUSED",
  "VAULT_UNAVAILABLE",
  "TRY_AGAIN",
] as const;
type RouteAnswer = (typeof routeAnswers)[number];

const failureOf: Record<Exclude<RouteAnswer, "APPROVED">, Omit<Failure, "gateway">> = {
  HARD_DECLINE: { kind: "HARD_DECLINE" },
  SOFT_DECLINE: { kind: "SOFT_DECLINE" },
  FRAUD: { kind: "FRAUD", stop: "fraud" },
  SCHEME_RULE: { kind: "HARD_DECLINE", stop: "scheme_rule" },
  SAME_CARD_FAILS: { kind: "HARD_DECLINE", stop: "same_card_fails" },
  AUTHENTICATION_REQUIRED: { kind: "SOFT_DECLINE", stop: "authentication_required" },
  UNCLASSIFIED: { kind: "SOFT_DECLINE", stop: "unclassified" },
  TIMEOUT: { kind: "TIMEOUT" },
  GATEWAY_ERROR: { kind: "GATEWAY_ERROR" },
  CAPTURE_REFUSED: { kind: "GATEWAY_ERROR", captureRefused: true },
  VAULT_UNAVAILABLE: { kind: "GATEWAY_ERROR", noCard: "vault_unavailable" },
  TRY_AGAIN: { kind: "SOFT_DECLINE" },
};

/** A gateway of a case, with the step that follows its answer. */
type RouteStep = {
  readonly at: PlannedConnection;
  readonly action: "capture" | "failover" | "authenticate" | "retry" | "stop";
  readonly because: string;
};

/** The gateways that are tried, in order, and the payment's end. */
export type RouteCase = {
  readonly answer: RouteAnswer;
  readonly steps: readonly RouteStep[];
  readonly status: "SUCCEEDED" | "DECLINED" | "DEGRADED" | "CANNOT_KNOW";
};

/** Returns a case for each answer, which all gateways give in time. */
export function routeCases(plan: readonly PlannedConnection[], rule: FailoverRule): RouteCase[] {
  return routeAnswers.map((answer) => routeCase(plan, rule, answer));
}

function routeCase(plan: readonly PlannedConnection[], rule: FailoverRule, answer: RouteAnswer): RouteCase {
  const [first] = plan;
  if (first === undefined) return { answer, steps: [], status: "DEGRADED" };
  if (answer === "APPROVED") {
    const because = `${first.gateway} holds the amount, and the capture is ordered there.`;
    return { answer, steps: [{ at: first, action: "capture", because }], status: "SUCCEEDED" };
  }
  const failure = failureOf[answer];
  const steps: RouteStep[] = [];
  for (const [index, at] of plan.entries()) {
    const left = { plan: plan.slice(index + 1), withinBudget: true };
    const repeat = at.authentication && at;
    const isRetried = steps.some((step) => step.action === "retry");
    const again = answer === "TRY_AGAIN" && !isRetried ? at : undefined;
    const described = { gateway: at.gateway, ...failure, repeat };
    const first = decideNext({ ...described, again }, rule, left);
    steps.push({ at, action: first.action, because: first.because });
    const { action, because } = first.action === "retry" ? decideNext(described, rule, left) : first;
    if (first.action === "retry") steps.push({ at, action, because });
    if (action === "authenticate") return { answer, steps, status: "CANNOT_KNOW" };
    if (action === "stop") break;
  }
  const isDecline = ["HARD_DECLINE", "SOFT_DECLINE", "FRAUD"].includes(failure.kind);
  return { answer, steps, status: isDecline ? "DECLINED" : "DEGRADED" };
}

/**
 * Returns what a rule means for customer authentication at the gateways of a plan, one sentence each, and what cannot be
 * known in advance.
 */
export function describeAuthentication(
  plan: readonly PlannedConnection[],
  rule: AuthenticationRule = "AS_NEEDED",
  withoutBrowser: WithoutBrowser = "DECLINE",
): string[] {
  if (rule === "NEVER") {
    return [
      "No gateway may ask for the customer.",
      "If a bank requires authentication, it declines, and the payment ends as declined (authentication required).",
    ];
  }
  const provided = plan.filter(({ provider }) => provider !== undefined);
  const name = provided[0]?.provider?.name;
  const when = rule === "ALWAYS" ? "before any gateway is called" : "when a gateway asks for it";
  const own = namesOf(plan.filter(({ authentication, provider }) => authentication !== undefined && !provider));
  const none = namesOf(plan.filter(({ authentication }) => authentication === undefined));
  const asked =
    rule === "ALWAYS" ? "Told to authenticate each payment" : "Deciding for each payment whether to authenticate";
  return [
    ...(name === undefined ? [] : [`${name} authenticates ${when}; its proof goes to ${namesOf(provided)}.`]),
    ...(own === "" ? [] : [`${asked}: ${own}.`]),
    ...(none === ""
      ? []
      : [
          `Without authentication: ${none}. If a bank requires it, the payment ends as declined (authentication required).`,
        ]),
    ...(own === "" && name === undefined
      ? []
      : [
          "Whether a bank asks, and whether its customer passes, cannot be known in advance. A customer who fails, cancels or does not finish ends the payment as declined (authentication failed).",
        ]),
    ...(rule === "ALWAYS" ? [withoutBrowserInWords[withoutBrowser]] : []),
  ];
}

const withoutBrowserInWords: Record<WithoutBrowser, string> = {
  DECLINE:
    "A payment whose page sends no data of its browser is declined (authentication required), and no gateway is called.",
  PAY: "A payment whose page sends no data of its browser is made without authentication.",
};

function namesOf(plan: readonly PlannedConnection[]): string {
  return [...new Set(plan.map(({ gateway }) => gateway))].join(", ");
}
