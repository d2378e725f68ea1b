/** Plans a draft rule over a merchant's current connections. */

import { candidatesIn, type Plan, planRoute } from "../core/decide/plan-route.ts";
import { type CasedRoute, followCases, type PaymentFacts } from "../core/decide/routing-cases.ts";
import { candidateOf, providerOfRule, type RouteParts, type RuleContent } from "../core/record/routing-rules.ts";
import { type PayingWallet, planWallet } from "../core/wallets/plan-wallet.ts";
import type { Connection } from "../gateways/connections.ts";
import type { ConnectionId } from "../platform/ids.ts";

/** A plan, and how it was chosen; `routedBy` is absent for a rule without cases and splits. */
export type DraftPlan = Plan &
  Pick<ReturnType<typeof followCases>, "routedBy"> & {
    /** The connections of the plan, also those that are left out. */
    readonly connectionIds: readonly ConnectionId[];
  };

/**
 * Returns the plan that a payment would get. Circuit breakers are ignored: each serving process has its own, and their
 * state changes by the second. `wallet` paid in place of a card. A connection that is not the merchant's is not in the plan.
 */
export function planDraft(
  parts: RouteParts,
  draft: RuleContent & { readonly version: number; readonly connections: readonly Connection[] },
  payment: PaymentFacts,
  wallet?: PayingWallet,
): DraftPlan {
  const all = draft.connections.map((connection) => candidateOf(parts, connection, payment));
  const candidates = candidatesIn(all, draft.connectionIds);
  const provider = draft.connections.find(({ id }) => id === draft.providerId);
  const cased: CasedRoute = { ...draft, candidates, all, provider: provider && providerOfRule(parts, provider) };
  const { route, routedBy } = followCases(cased, payment);
  const connectionIds = route.candidates.map(({ connectionId }) => connectionId);
  const plan = wallet ? planWallet(route, wallet, { canAsk: true }) : planRoute(route);
  return { ...plan, connectionIds, ...(routedBy && { routedBy }) };
}
