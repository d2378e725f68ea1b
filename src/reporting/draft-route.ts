/** Plans a draft rule over a merchant's current connections. */

import { type Plan, planRoute } from "../core/next-step.ts";
import { candidateOf, providerOfRule, type RouteParts, type RuleContent } from "../core/routing-rules.ts";
import type { Amount } from "../gateways/amounts.ts";
import type { Connection } from "../gateways/connections.ts";

/**
 * Returns the plan that a payment would get. Circuit breakers are ignored: each serving process has its own, and their
 * state changes by the second. A connection that is not the merchant's is not in the plan.
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
  const provider = draft.connections.find(({ id }) => id === draft.providerId);
  return planRoute({ ...draft, candidates, provider: provider && providerOfRule(parts, provider) });
}
