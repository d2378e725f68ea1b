/** An edited routing rule: its differences from the rule in use, and its base version. */
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import type { AcquirerExemption_Kind } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import {
  type CardRange_Type,
  RoutingRule_CryptogramResend as CryptogramResend,
  RoutingRule_FailoverSwitch as FailoverSwitch,
  type RoutingRule,
  RoutingRule_Authentication,
  RoutingRuleService,
  RoutingRule_WithoutBrowser as WithoutBrowser,
} from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { useScope } from "../scope.ts";
import {
  type CasesContent,
  casesContentOf,
  noCases,
  problemsOfCases,
  problemsOfSplit,
  type SplitContent,
  splitContentOf,
  textOfCases,
} from "./routing-case-draft.ts";

export type RuleContent = {
  readonly connectionIds: readonly string[];
  readonly failoverOn: readonly FailoverSwitch[];
  readonly authentication: RoutingRule_Authentication;
  /** The connection of the provider of authentication; empty for none. */
  readonly providerId?: string | undefined;
  readonly policy?: Policy | undefined;
  readonly cases?: CasesContent | undefined;
  readonly split?: SplitContent | undefined;
  readonly retriesSameGateway?: boolean | undefined;
  readonly cryptogramResend?: CryptogramResend | undefined;
};

export type Policy = {
  readonly exemptions: readonly AcquirerExemption_Kind[];
  readonly stopsIfUnavailable: boolean;
  readonly forbidsSecondChallenge: boolean;
  readonly withoutBrowser: WithoutBrowser;
  readonly savingAsRule: boolean;
};

export const noPolicy: Policy = {
  exemptions: [],
  stopsIfUnavailable: false,
  forbidsSecondChallenge: false,
  withoutBrowser: WithoutBrowser.DECLINE,
  savingAsRule: false,
};

export type RuleDraft = RuleContent & {
  /** The version that the edit began with; 0 for none. */
  readonly base: number;
  readonly isChanged: boolean;
  /** True while the default rule is in force, which can be saved as it is. */
  readonly isDefault: boolean;
  /** New in each version and after each discard, so that a form with this key shows the new state. */
  readonly origin: string;
  change(content: Partial<RuleContent>): void;
  discard(): void;
  /** Rebases the edit on a newer version, unchanged. */
  rebase(version: number): void;
};

/** Returns the rule in use until something is changed. */
export function useRuleDraft(rule: RoutingRule | undefined): RuleDraft {
  const [changed, setChanged] = useState<RuleContent & { base: number }>();
  const [discards, setDiscards] = useState(0);
  const saved = {
    connectionIds: rule?.connectionIds ?? [],
    // A first rule fails over on all failures that allow it, as the service's interface promises.
    failoverOn: rule?.failoverOn ?? [FailoverSwitch.HARD_DECLINE, FailoverSwitch.TIMEOUT, FailoverSwitch.GATEWAY_ERROR],
    authentication: rule?.authentication ?? RoutingRule_Authentication.AS_NEEDED,
    providerId: rule?.providerId ?? "",
    policy: rule?.policy,
    cases: keyed(rule, discards),
    split: rule?.split,
    retriesSameGateway: rule?.retriesSameGateway ?? false,
    cryptogramResend: resendOf(rule),
    base: rule?.version ?? 0,
  };
  const current = changed ?? saved;
  return {
    ...current,
    origin: `${rule?.version}-${discards}`,
    isDefault: rule?.version === 0,
    isChanged: changed !== undefined && !saysSame(changed, saved),
    change: (content) => setChanged({ ...current, ...content }),
    discard: () => {
      setChanged(undefined);
      setDiscards(discards + 1);
    },
    rebase: (base) => setChanged({ ...current, base }),
  };
}

/** Returns the cases of a rule, each with a key that is new in each version and after each discard: its form closes then. */
function keyed(rule: RoutingRule | undefined, discards: number): CasesContent {
  const { list, cardRanges } = rule?.cases ?? noCases;
  return { list: list.map((one, index) => ({ ...one, key: `${rule?.version}-${discards}-${index}` })), cardRanges };
}

/** Returns the problems that keep the rule from being saved, one sentence each. */
export function problemsOf({ connectionIds, cases = noCases, split }: RuleContent): string[] {
  return [
    ...(connectionIds.length === 0 ? ["Add at least one gateway."] : []),
    ...problemsOfSplit(split, connectionIds, "of the order"),
    ...problemsOfCases(cases),
  ];
}

function saysSame(one: RuleContent, other: RuleContent): boolean {
  const switches = (content: RuleContent) => [...content.failoverOn].sort().join();
  const isSameOrder = one.connectionIds.join() === other.connectionIds.join();
  const isSameAuthentication =
    one.authentication === other.authentication &&
    (one.providerId ?? "") === (other.providerId ?? "") &&
    wordsOf(one.policy) === wordsOf(other.policy);
  const textOfSplit = ({ split }: RuleContent) => JSON.stringify(splitContentOf(split));
  const isSameCases = textOfCases(one.cases) === textOfCases(other.cases) && textOfSplit(one) === textOfSplit(other);
  const isSameRetry = (one.retriesSameGateway ?? false) === (other.retriesSameGateway ?? false);
  const isSameResend = resendOf(one) === resendOf(other);
  return (
    isSameOrder &&
    isSameRetry &&
    isSameResend &&
    switches(one) === switches(other) &&
    isSameAuthentication &&
    isSameCases
  );
}

function wordsOf(policy = noPolicy): string {
  const { exemptions, stopsIfUnavailable, forbidsSecondChallenge, withoutBrowser, savingAsRule } = policy;
  return [[...exemptions].sort().join(), stopsIfUnavailable, forbidsSecondChallenge, withoutBrowser, savingAsRule].join(
    " ",
  );
}

export function resendOf(content: Pick<RuleContent, "cryptogramResend"> | undefined): CryptogramResend {
  return content?.cryptogramResend || CryptogramResend.UNANSWERED;
}

export function contentOf(content: RuleContent) {
  const { connectionIds, failoverOn, authentication, providerId, policy = noPolicy, cases = noCases } = content;
  return {
    cases: casesContentOf(cases),
    split: splitContentOf(content.split),
    retriesSameGateway: content.retriesSameGateway ?? false,
    cryptogramResend: resendOf(content),
    connectionIds: [...connectionIds],
    failoverOn: [...failoverOn],
    authentication,
    providerId: providerId ?? "",
    policy: { ...policy, exemptions: [...policy.exemptions] },
  };
}

// The audit trail's name of an author includes their id.
const actorId = / \(\w+\)$/;

export function whoSet({ setBy }: RoutingRule): string {
  return setBy?.replace(actorId, "") ?? "set-up of the installation";
}

/** A payment to test a rule on. Facts that are empty are unknown. */
export type Trial = { readonly amountMinor: bigint; readonly currency: string; readonly facts?: TrialFacts };

/** A payment that any rule can be tested on: the changes of a rule do not depend on it. */
export const anyPayment: Trial = { amountMinor: 4900n, currency: "EUR" };

export type TrialFacts = {
  readonly cardBrand: string;
  readonly cardType: CardRange_Type;
  readonly issuingCountry: string;
  readonly billingCountry: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The arm where the plan is split: A or B. */
  readonly arm: string;
};

/** Simulates a rule on a payment; without a rule the one in use. A rule without gateways is not sent. */
export function useRouteTest(rule: RuleContent | undefined, { amountMinor, currency, facts }: Trial) {
  const { merchantId, environment } = useScope();
  const draft = rule && contentOf(rule);
  return useQuery(
    RoutingRuleService.method.testRoute,
    { merchantId, environment, amountMinor, currency, ...(draft && { draft }), ...(facts && { facts }) },
    { enabled: rule === undefined || problemsOf(rule).length === 0, placeholderData: keepPreviousData, retry: false },
  );
}
