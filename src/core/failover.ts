/** Decides what follows an attempt that did not hold: the next gateway, or the end of the plan. PURE. */
import type { FailoverSwitch, FailureKind, PlannedConnection, Stop } from "./entities.ts";

/** What the flow does next, with the sentence that the trail shows. */
export type NextStep =
  | { readonly action: "failover"; readonly to: PlannedConnection; readonly because: string }
  | { readonly action: "stop"; readonly because: string };

/** Why no gateway can be given the card: each would get it from the same vault. */
export type NoCard = "vault_unavailable" | "token_unusable";

/** An attempt's failure as far as failover is concerned. */
export type Failure = {
  readonly gateway: string;
  readonly kind: FailureKind;
  readonly stop?: Stop | undefined;
  readonly noCard?: NoCard | undefined;
  /** It held, and would not let the money be taken. */
  readonly captureRefused?: boolean | undefined;
};

/** What the merchant has set for failover. */
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
  vault_unavailable: "the card vault could not be used, and no gateway gets the card without it",
  token_unusable: "the card vault keeps this card no longer, and no gateway gets it without the vault",
};

// A soft decline has no switch of its own: it is a decline, and follows the one for declines.
const switchOf: Record<Exclude<FailureKind, "FRAUD">, FailoverSwitch> = {
  HARD_DECLINE: "HARD_DECLINE",
  SOFT_DECLINE: "HARD_DECLINE",
  TIMEOUT: "TIMEOUT",
  GATEWAY_ERROR: "GATEWAY_ERROR",
};

/** How a trail's sentence begins that is about a card which no gateway could be given: it says nothing of the gateway. */
export const noCardBeginnings: readonly string[] = Object.values(noCardInWords).map(capitalized);

/** The next connection of the plan, unless a stop, a missing card, the rule, the plan's end or the budget forbids it: in this order. */
export function decideNext(
  failure: Failure,
  rule: FailoverRule,
  left: { readonly plan: readonly PlannedConnection[]; readonly withinBudget: boolean },
): NextStep {
  const named = `rule version ${rule.version}`;
  const stop = failure.kind === "FRAUD" ? "fraud" : failure.stop;
  if (stop !== undefined)
    return { action: "stop", because: `${capitalized(stopInWords[stop])}, whatever ${named} says.` };
  if (failure.noCard !== undefined)
    return { action: "stop", because: `${capitalized(noCardInWords[failure.noCard])}, whatever ${named} says.` };
  const what = failure.captureRefused ? "a capture refused for good" : kindInWords[failure.kind];
  const happened = `${what} at ${failure.gateway}`;
  const [to] = left.plan;
  if (failure.kind === "FRAUD" || !rule.failoverOn.includes(switchOf[failure.kind])) {
    return { action: "stop", because: `${capitalized(named)} does not fail over after ${happened}.` };
  }
  if (to === undefined)
    return { action: "stop", because: `The plan of ${named} has no gateway left after ${happened}.` };
  if (!left.withinBudget) {
    return {
      action: "stop",
      because: `The time for this payment was over after ${happened}; ${named} is not followed further.`,
    };
  }
  return { action: "failover", to, because: `${capitalized(named)} fails over to ${to.gateway} after ${happened}.` };
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
