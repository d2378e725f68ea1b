/** The sentences of the attempt trail, and those that say why a plan leaves a gateway out. PURE. */
import type { Exemption } from "../../gateways/authentication.ts";
import { attemptsMax, breakerCalls, breakerOpenMs, breakerWindowMs } from "../../limits.ts";
import { amountInWords } from "../../platform/money.ts";
import type { Block, BlockKind } from "../card-testing/blocked.ts";
import type { Brake, FailureKind, PaymentSession, PlannedConnection, Refusal, Stop } from "../rows/entities.ts";

type Gateway = Pick<PlannedConnection, "gateway">;
type Rule = { readonly version: number };

/** The version of the rule of a merchant that has saved none. */
export const defaultRuleVersion = 0;

function nameOf({ version }: Rule): string {
  return version === defaultRuleVersion ? "the default rule" : `rule version ${version}`;
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** The parts of a failure that a sentence names. */
type Failure = Gateway & {
  readonly kind: FailureKind;
  readonly refusal?: Refusal | undefined;
  readonly gatewayCode?: string | undefined;
  readonly captureRefused?: boolean | undefined;
};

const kindInWords: Record<FailureKind, string> = {
  HARD_DECLINE: "a hard decline",
  SOFT_DECLINE: "a soft decline",
  FRAUD: "a fraud-class decline",
  TIMEOUT: "a timeout",
  GATEWAY_ERROR: "a gateway error",
};

const refusalInWords: Record<Refusal, string> = {
  REQUEST: "refused the request",
  CREDENTIALS: "refused the credentials",
  NO_ANSWER: "did not answer",
};

const stopInWords: Record<Stop, string> = {
  fraud: "A fraud-class decline is never retried on another gateway",
  scheme_rule: "The card scheme forbids trying this card again",
  same_card_fails: "The same card fails at every gateway",
  authentication_required: "The customer has to authenticate, which another gateway does not change",
  authentication_failed: "The customer did not authenticate",
  unclassified: "A decline that is not classified is never retried",
  order_being_paid: "Another session pays the order",
};

const noCardInWords = {
  vault_unavailable: "The card vault could not be used, and no gateway can get the card without it",
  token_unusable: "The card vault no longer keeps this card, and no gateway can get it without the vault",
};

/** The reason why no gateway can get the card: each would get it from the same vault. */
export type NoCard = keyof typeof noCardInWords;

/** The beginnings of sentences about a card that no gateway could get. They say nothing about the gateway. */
export const noCardBeginnings: readonly string[] = Object.values(noCardInWords);

const exemptionInWords: Record<Exemption, string> = { LOW_VALUE: "low value", RISK_ANALYSIS: "risk analysis" };

function describe({ gateway, kind, captureRefused, refusal, gatewayCode }: Failure): string {
  if (captureRefused) return `a permanently refused capture at ${gateway}`;
  if (refusal === undefined) return `${kindInWords[kind]} at ${gateway}`;
  return `${gateway} ${refusalInWords[refusal]}${gatewayCode === undefined ? "" : ` (${gatewayCode})`}`;
}

function first({ ruleVersion, routedBy }: Pick<PaymentSession, "ruleVersion" | "routedBy">): string {
  const byCase = routedBy?.case === undefined ? "default plan" : `plan of the case “${routedBy.case}”`;
  const { arm, percent, draw } = routedBy?.split ?? {};
  const ofArm = arm === undefined ? "" : `variant ${arm} of the `;
  const drawn = arm === undefined ? "" : ` It drew ${draw} of 100, and variant B gets 1 to ${percent}.`;
  return `First of ${ofArm || "the "}${routedBy ? byCase : "plan"} by ${nameOf({ version: ruleVersion ?? defaultRuleVersion })}.${drawn}`;
}

/** Why an attempt or an authentication was made, and what follows it. Those that begin with `and` follow another sentence. */
export const because = {
  first,
  failedOver: (rule: Rule, { gateway }: Gateway, failure: Failure) =>
    `${capitalized(nameOf(rule))} fails over to ${gateway} after ${describe(failure)}.`,
  retried: (rule: Rule, { gateway }: Gateway) => `${gateway} asked to try again, which ${nameOf(rule)} does once.`,
  repeated: ({ gateway }: Gateway) => `${gateway} asks for authentication, so it gets the payment once more with it.`,
  andAuthenticatedBy: (provider: string) => ` ${provider} authenticates the customer first.`,
  proven: (provider: string) => `${provider} has authenticated the customer.`,
  unproven: (provider: string, { gateway }: Gateway) =>
    `${provider} has no answer for this card, so ${gateway} authenticates itself.`,
  orderPaidBy: (payer: string) => `The order is paid by ${payer}, so the hold is voided and nothing else is tried.`,
  foundAfterRestore: "Found at the gateway after a restore.",
  andGetsProof: (provider: string) => ` It gets the proof of ${provider}.`,
  andGetsNoProof: (reason: string) => ` It gets no proof: ${reason}.`,
  andAsksFor: (exemption: Exemption) => ` The request asks for an exemption: ${exemptionInWords[exemption]}.`,

  providerFirst: ({ ruleVersion }: Pick<PaymentSession, "ruleVersion">) =>
    `${capitalized(nameOf({ version: ruleVersion ?? defaultRuleVersion }))} asks for authentication first.`,
  askedForAuthentication: ({ gateway }: Gateway) => `${gateway} asked for authentication.`,
  askedForCustomer: ({ gateway }: Gateway) => `${gateway} asked for the customer.`,
  frictionless: ({ gateway }: Gateway) => `${gateway} authenticated without the customer.`,

  stopped: (rule: Rule, stop: Stop) => `${stopInWords[stop]}, whatever ${nameOf(rule)} says.`,
  noCard: (rule: Rule, noCard: NoCard) => `${noCardInWords[noCard]}, whatever ${nameOf(rule)} says.`,
  neverAuthenticated: (rule: Rule) =>
    `The customer has to authenticate, and ${nameOf(rule)} asks for no authentication.`,
  notFollowed: (rule: Rule, failure: Failure) =>
    `${capitalized(nameOf(rule))} does not fail over after ${describe(failure)}.`,
  planIsOver: (rule: Rule, failure: Failure) =>
    `The plan of ${nameOf(rule)} has no gateway left after ${describe(failure)}.`,
  timeIsOver: (rule: Rule, failure: Failure) =>
    `The time for this payment ran out after ${describe(failure)}; ${nameOf(rule)} is not followed further.`,
  newCardDeclined: (failure: Failure) =>
    `After ${describe(failure)} no other gateway gets the card: the merchant brakes against card testing, and never had an approval of it.`,
  cryptogramDeclined: (rule: Rule, failure: Failure) =>
    `After ${describe(failure)} the wallet’s cryptogram counts as used, and ${nameOf(rule)} sends it to no other gateway.`,
  cryptogramUnanswered: (rule: Rule, failure: Failure) =>
    `After ${describe(failure)} a network may have seen the wallet’s cryptogram, and ${nameOf(rule)} sends it to no other gateway.`,
  cryptogramHeld: ({ gateway }: Gateway) =>
    `${gateway} refused the capture for good, and the wallet’s cryptogram was used for its hold.`,
  cryptogramSeen: ({ gateway }: Gateway) =>
    `The look-up shows that ${gateway} used the wallet’s cryptogram, so it goes to no other gateway.`,
  andUsesCryptogramAgain: " It sends the wallet’s cryptogram a second time, which a network may refuse.",
  andLooksUpFirst: ({ gateway }: Gateway) => ` First ${gateway} is looked up: a cryptogram is used once.`,
  cardIsForgotten: ({ gateway }: Gateway) =>
    `${gateway} refused the capture for good, and the card was forgotten with the hold.`,
  notAuthenticated: "The customer did not authenticate, and nothing else is tried.",
  andMayStillHold: ({ gateway }: Gateway) => ` ${gateway} may still hold, so it gets voids until it no longer can.`,
  givenUp: "A person gave up the attempt: none of its money is kept.",
  capturedUnordered: ({ gateway, currency }: Gateway & { readonly currency: string }, capturedMinor: number) =>
    `${gateway} has captured ${amountInWords(capturedMinor, currency)}, which was not ordered here. It counts as the order.`,
  otherAmount: (captured: string, { currency, ...minor }: { made: number; ordered: number; currency: string }) =>
    `${captured} ${amountInWords(minor.made, currency)}, and ${amountInWords(minor.ordered, currency)} was ordered. What was captured counts.`,
};

/** Why a hold ends without a capture, by the session's decline code. */
export const holdEnded = {
  capture_cancelled: "The merchant cancelled the payment, so its hold is voided.",
  capture_expired: "The time for a capture is over, so the hold is voided.",
} as const;

const blockedInWords: Record<BlockKind, string> = {
  CARD: "The card",
  EMAIL: "The customer’s e-mail address",
  NETWORK: "The customer’s network",
};

const seconds = (durationMs: number) => `${durationMs / 1_000} s`;

/** Why a plan leaves out a gateway or the provider, or a rule's case could not be checked. */
export const leftOut = {
  noConnector: ({ gateway }: Gateway) => `This installation has no connector for ${gateway}.`,
  noProvider: (provider: string) => `This installation has no provider ${provider}.`,
  notVerified: "Its credentials have not been verified.",
  paused: "It is paused.",
  failing: `Its last ${breakerCalls} calls failed within ${seconds(breakerWindowMs)}, so the circuit breaker leaves it out for ${seconds(breakerOpenMs)}.`,
  providerFailing: "Its last calls failed, so the circuit breaker leaves it out.",
  continuesOwn: ({ gateway }: Gateway) => `${gateway} continues only agreements that began in its account.`,
  continuesNone: ({ gateway }: Gateway) => `${gateway} charges no stored cards.`,
  noNetworkId: "The agreement has no network transaction id.",
  setsUpNone: ({ gateway }: Gateway) => `${gateway} stores no card without a payment.`,
  takesNoToken: ({ gateway }: Gateway) => `${gateway} takes no device’s number from a wallet.`,
  takesOtherWallets: ({ gateway }: Gateway) => `${gateway} takes no device’s number from this wallet.`,
  takesOtherNetworks: ({ gateway }: Gateway) => `${gateway} takes no device’s number of this network.`,
  planFull: `A plan holds at most ${attemptsMax} gateways.`,
  holdsNothing: "It holds no amount for a later capture.",
  holdsTooShort: (days: number) => `It holds for ${days} days, which is not until captureBy.`,
  noBrowser:
    "Each payment has to be authenticated, and the page sent no data of a browser that can show the bank’s page.",
  cannotAuthenticate:
    "Each payment has to be authenticated, and it neither authenticates customers nor gets a provider’s proof.",
  stoppedWithoutProvider: "The rule stops a payment without its provider.",
  submissions: "The card was submitted too often within an hour, so no gateway gets it.",
  declines: "The card was declined too often within a day, so no gateway gets it.",
  blocked: ({ kind, reason }: Pick<Block, "kind" | "reason">) =>
    `${blockedInWords[kind]} is on the block list, so no gateway gets the payment: “${reason}”.`,
  network:
    "Too many cards of the customer’s network were declined within an hour, and the customer cannot be authenticated, so no gateway gets the card.",
  importsNoProof: "No gateway of the plan imports its proof and has its acquirer's data.",
  unknownFacts: (facts: readonly string[]) => `Unknown: ${facts.join(" and ")}.`,
};

/** Why a gateway gets no proof, as `andGetsNoProof` says it. */
export const withoutProof = {
  imports: ({ gateway }: Gateway) => `${gateway} imports none`,
  acceptsOwn: "its acquirer accepts only an authentication with its own data",
};

/** A sentence for each brake: its effect on a payment. */
export const brakeInWords: Record<Brake, string> = {
  NEW_CARD:
    "The merchant braked against card testing, and had no approval of this card: the customer is authenticated where that is possible, no gateway follows a decline, and the browser gets no reason of it.",
  KNOWN_CARD:
    "The merchant braked against card testing, and had an approval of this card: only the reason of a decline is kept from the browser.",
  NETWORK:
    "Too many cards of the customer’s network were declined within an hour, so the customer has to be authenticated.",
};
