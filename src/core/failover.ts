/** Decides what follows a failed attempt: the next gateway, or the end of the plan. PURE. */
import type { FailoverSwitch, FailureKind, PlannedConnection, Stop } from "./entities.ts";

/** The decision after a failed attempt, with the sentence that the attempt trail shows. */
export type FailoverDecision =
  | { readonly action: "failover"; readonly to: PlannedConnection; readonly because: string }
  | { readonly action: "stop"; readonly because: string };

/** The reason why no gateway can get the card: each would get it from the same vault. */
export type NoCard = "vault_unavailable" | "token_unusable";

/** The parts of an attempt's failure that failover depends on. */
export type Failure = {
  readonly gateway: string;
  readonly kind: FailureKind;
  readonly stop?: Stop | undefined;
  readonly noCard?: NoCard | undefined;
  /** True when the gateway held the amount but refused to capture it. */
  readonly captureRefused?: boolean | undefined;
};

/** The merchant's settings for failover. */
export type FailoverRule = { readonly version: number; readonly failoverOn: readonly FailoverSwitch[] };

const kindInWords: Record<FailureKind, string> = {
  HARD_DECLINE: "a hard decline",
  SOFT_DECLINE: "a soft decline",
  FRAUD: "a fraud-class decline",
  TIMEOUT: "a timeout",
  GATEWAY_ERROR: "a gateway error",
};

const stopInWords: Record<Stop, string> = {
  fraud: "a fraud-class decline is never retried on another gateway",
  scheme_rule: "the card scheme forbids trying this card again",
  same_card_fails: "the same card fails at every gateway",
  authentication_required: "the customer has to authenticate, which another gateway does not change",
  unclassified: "a decline that is not classified is never retried",
};

const noCardInWords: Record<NoCard, string> = {
  vault_unavailable: "the card vault could not be used, and no gateway can get the card without it",
  token_unusable: "the card vault no longer keeps this card, and no gateway can get it without the vault",
};

// A soft decline has no separate switch: it follows the one for declines.
const switchOf: Record<Exclude<FailureKind, "FRAUD">, FailoverSwitch> = {
  HARD_DECLINE: "HARD_DECLINE",
  SOFT_DECLINE: "HARD_DECLINE",
  TIMEOUT: "TIMEOUT",
  GATEWAY_ERROR: "GATEWAY_ERROR",
};

/**
 * The beginnings of sentences in the attempt trail about a card that no gateway could get. They say nothing about the
 * gateway.
 */
export const noCardBeginnings: readonly string[] = Object.values(noCardInWords).map(capitalized);

/**
 * Returns the next connection of the plan unless a stop, a missing card, the rule, the end of the plan or the time
 * budget forbids it; they are checked in this order.
 */
export function decideNext(
  failure: Failure,
  rule: FailoverRule,
  left: { readonly plan: readonly PlannedConnection[]; readonly withinBudget: boolean },
): FailoverDecision {
  const named = `rule version ${rule.version}`;
  const stop = failure.kind === "FRAUD" ? "fraud" : failure.stop; // rule:stop-ends-plan
  if (stop !== undefined)
    return { action: "stop", because: `${capitalized(stopInWords[stop])}, whatever ${named} says.` };
  if (failure.noCard !== undefined)
    return { action: "stop", because: `${capitalized(noCardInWords[failure.noCard])}, whatever ${named} says.` };
  const what = failure.captureRefused ? "a permanently refused capture" : kindInWords[failure.kind];
  const happened = `${what} at ${failure.gateway}`;
  const [to] = left.plan;
  // rule:stop-ends-plan
  if (failure.kind === "FRAUD" || !rule.failoverOn.includes(switchOf[failure.kind])) {
    return { action: "stop", because: `${capitalized(named)} does not fail over after ${happened}.` };
  }
  if (to === undefined)
    return { action: "stop", because: `The plan of ${named} has no gateway left after ${happened}.` };
  if (!left.withinBudget) {
    return {
      action: "stop",
      because: `The time for this payment ran out after ${happened}; ${named} is not followed further.`,
    };
  }
  return { action: "failover", to, because: `${capitalized(named)} fails over to ${to.gateway} after ${happened}.` };
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
