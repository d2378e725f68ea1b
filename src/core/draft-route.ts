/** A rule that was not set, or not yet, over a merchant's connections as they are now. */
import type { Amount } from "../gateways/amounts.ts";
import type { Connection } from "../gateways/connections.ts";
import { candidateOf, type RouteParts } from "./load-route.ts";
import { type Plan, planRoute } from "./routing.ts";
import type { RuleContent } from "./routing-rules.ts";

/**
 * The plan that a payment would get. Circuit breakers are left out: each serving process has its own, and what they say
 * changes by the second. A connection that is not the merchant's is not in the plan.
 */
export function planDraft(
  parts: RouteParts,
  draft: RuleContent & { readonly version: number; readonly connections: readonly Connection[] },
  payment: Amount,
): Plan {
  const candidates = draft.connectionIds.flatMap((id) => {
    const connection = draft.connections.find((each) => each.id === id);
    return connection === undefined ? [] : [candidateOf(parts, connection, payment)];
  });
  return planRoute({ version: draft.version, failoverOn: draft.failoverOn, candidates });
}
