/** A routing rule while somebody changes it: what is different from the one in use, and which version that began at. */
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import {
  type RoutingRule,
  type RoutingRule_FailoverSwitch,
  RoutingRuleService,
} from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { useScope } from "../scope.ts";

/** What a rule says. */
export type RuleContent = {
  readonly connectionIds: readonly string[];
  readonly failoverOn: readonly RoutingRule_FailoverSwitch[];
};

/** What is on the page, and how it came there. */
export type RuleDraft = RuleContent & {
  /** The version that the change began at; 0 for none. */
  readonly base: number;
  readonly isChanged: boolean;
  change(content: Partial<RuleContent>): void;
  discard(): void;
  /** Goes on from a newer version, with the change as it is. */
  rebase(version: number): void;
};

/** The rule in use until something is changed. */
export function useRuleDraft(rule: RoutingRule | undefined): RuleDraft {
  const [changed, setChanged] = useState<RuleContent & { base: number }>();
  const saved = {
    connectionIds: rule?.connectionIds ?? [],
    failoverOn: rule?.failoverOn ?? [],
    base: rule?.version ?? 0,
  };
  const current = changed ?? saved;
  return {
    ...current,
    isChanged: changed !== undefined && !saysSame(changed, saved),
    change: (content) => setChanged({ ...current, ...content }),
    discard: () => setChanged(undefined),
    rebase: (base) => setChanged({ ...current, base }),
  };
}

function saysSame(one: RuleContent, other: RuleContent): boolean {
  const switches = (content: RuleContent) => [...content.failoverOn].sort().join();
  return one.connectionIds.join() === other.connectionIds.join() && switches(one) === switches(other);
}

// Of whoever set it, the audit trail's name has the id too.
const actorId = / \(\w+\)$/;

/** Who set a version, as the page names them. */
export function whoSet({ setBy }: RoutingRule): string {
  return setBy?.replace(actorId, "") ?? "set-up of the installation";
}

/** One payment to try a rule on. */
export type Trial = { readonly amountMinor: bigint; readonly currency: string };

/**
 * What a rule would do to a payment, and what it changes; without a rule the one in use. Nothing is asked about a rule
 * without gateways.
 */
export function useRouteTest(rule: RuleContent | undefined, { amountMinor, currency }: Trial) {
  const { merchantId, environment } = useScope();
  const draft = rule && { connectionIds: [...rule.connectionIds], failoverOn: [...rule.failoverOn] };
  return useQuery(
    RoutingRuleService.method.testRoute,
    { merchantId, environment, amountMinor, currency, ...(draft && { draft }) },
    { enabled: draft?.connectionIds.length !== 0, placeholderData: keepPreviousData, retry: false },
  );
}
