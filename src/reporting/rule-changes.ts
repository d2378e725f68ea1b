/** Describes the differences between two routing rules in sentences. PURE. */

import type { RuleContent } from "../core/record/routing-rules.ts";
import type {
  AuthenticationPolicy,
  AuthenticationRule,
  CryptogramResend,
  FailoverSwitch,
} from "../core/rows/entities.ts";
import { type Exemption, exemptions } from "../gateways/authentication.ts";
import { describeCases, describeSplit } from "./case-changes.ts";

const switchInWords: Record<FailoverSwitch, string> = {
  HARD_DECLINE: "declines",
  TIMEOUT: "timeouts",
  GATEWAY_ERROR: "gateway errors",
};

/**
 * Returns one sentence for each difference, none if the rules are equal. `nameOf` returns the display name of a
 * connection.
 */
export function describeRuleChanges(
  before: RuleContent | undefined,
  after: RuleContent,
  nameOf: (connectionId: string) => string,
): string[] {
  const [old, new_] = [before?.connectionIds ?? [], after.connectionIds];
  const added = new_.filter((id) => !old.includes(id));
  const removed = old.filter((id) => !new_.includes(id));
  const stayed = old.filter((id) => new_.includes(id));
  // A connection that only moves up because another one left does not count as moved.
  const reordered = new_.filter((id) => stayed.includes(id)).filter((id, index) => stayed[index] !== id);
  const moved = reordered.filter((id) => old.indexOf(id) !== new_.indexOf(id));
  return [
    ...added.map((id) => `${nameOf(id)} is added with priority ${new_.indexOf(id) + 1}.`),
    ...removed.map((id) => `${nameOf(id)} is removed.`),
    ...moved.map((id) => `${nameOf(id)} moves from priority ${old.indexOf(id) + 1} to ${new_.indexOf(id) + 1}.`),
    ...describeSwitches(before?.failoverOn ?? [], after.failoverOn),
    ...describeRetry(before?.retriesSameGateway, after.retriesSameGateway),
    ...describeResend(before?.cryptogramResend, after.cryptogramResend),
    ...describeAuthentication(before?.authentication, after.authentication),
    ...describePolicy(before?.policy, after.policy),
    ...describeProvider(before?.providerId ?? undefined, after.providerId ?? undefined, nameOf),
    ...describeSplit(before?.split, after.split, nameOf),
    ...describeCases(before?.cases, after.cases, nameOf),
  ];
}

function describeRetry(before = false, after = false): string[] {
  if (before === after) return [];
  return [after ? "A gateway that asks to try again gets the payment once more." : "No gateway gets a payment twice."];
}

const resendInWords: Record<CryptogramResend, string> = {
  NOT_SENT: "A wallet’s cryptogram goes to another gateway only if no network can have seen it.",
  UNANSWERED: "A wallet’s cryptogram goes to another gateway also if the first one did not answer.",
  DECLINED: "A wallet’s cryptogram goes to another gateway also after a decline.",
};

function describeResend(before: CryptogramResend = "UNANSWERED", after: CryptogramResend = "UNANSWERED"): string[] {
  return before === after ? [] : [resendInWords[after]];
}

function describeProvider(
  before: string | undefined,
  after: string | undefined,
  nameOf: (connectionId: string) => string,
): string[] {
  if (before === after) return [];
  if (after === undefined) return ["No provider authenticates customers; each gateway does so itself."];
  return [`${nameOf(after)} authenticates customers for the gateways that import its proof.`];
}

const exemptionInWords: Record<Exemption, string> = {
  LOW_VALUE: "low value",
  RISK_ANALYSIS: "risk analysis",
};

const noPolicy: AuthenticationPolicy = { exemptions: [], stopsIfUnavailable: false, forbidsSecondChallenge: false };

function describePolicy(old: AuthenticationPolicy | null | undefined, new_: AuthenticationPolicy | null | undefined) {
  const [before, after] = [old ?? noPolicy, new_ ?? noPolicy];
  const changed = <Value>(one: Value, other: Value, sentence: string) => (one === other ? [] : [sentence]);
  return [
    ...exemptions.flatMap((kind) => {
      const isAsked = after.exemptions.includes(kind);
      const words = isAsked ? "Gateways ask" : "No gateway asks";
      return changed(
        before.exemptions.includes(kind),
        isAsked,
        `${words} for the exemption for ${exemptionInWords[kind]}.`,
      );
    }),
    ...changed(
      before.stopsIfUnavailable,
      after.stopsIfUnavailable,
      after.stopsIfUnavailable
        ? "Payments stop where the provider cannot authenticate first."
        : "Payments go on where the provider cannot authenticate first.",
    ),
    ...changed(
      before.forbidsSecondChallenge,
      after.forbidsSecondChallenge,
      after.forbidsSecondChallenge
        ? "A customer is asked once in a payment at most."
        : "A customer may be asked a second time, by another gateway.",
    ),
    ...changed(
      before.withoutBrowser ?? "DECLINE",
      after.withoutBrowser ?? "DECLINE",
      after.withoutBrowser === "PAY"
        ? "A payment that has to be authenticated is made without where the page sends no data of its browser."
        : "A payment that has to be authenticated is declined where the page sends no data of its browser.",
    ),
    ...changed(
      before.savingAsRule ?? false,
      after.savingAsRule ?? false,
      after.savingAsRule
        ? "Payments that begin an agreement are authenticated as any other."
        : "Payments that begin an agreement are always authenticated.",
    ),
  ];
}

const authenticationInWords: Record<AuthenticationRule, string> = {
  AS_NEEDED: "Gateways ask for customer authentication as needed.",
  ALWAYS: "Gateways have to authenticate the customer of every payment.",
  NEVER: "No gateway may ask for customer authentication.",
};

function describeAuthentication(before: AuthenticationRule = "AS_NEEDED", after: AuthenticationRule = "AS_NEEDED") {
  return before === after ? [] : [authenticationInWords[after]];
}

function describeSwitches(before: readonly FailoverSwitch[], after: readonly FailoverSwitch[]): string[] {
  return (Object.keys(switchInWords) as FailoverSwitch[]).flatMap((name) => {
    if (before.includes(name) === after.includes(name)) return [];
    const words = switchInWords[name];
    return after.includes(name)
      ? [`After ${words}, the next gateway is tried.`]
      : [`${capitalized(words)} end the payment.`];
  });
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
