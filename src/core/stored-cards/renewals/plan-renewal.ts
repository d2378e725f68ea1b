/** Plans a renewal: the gateways of the rule that can continue the agreement's chain (S8 of docs/subscriptions.md). PURE. */
import type { StoredCardUse } from "../../../gateways/connector.ts";
import { leftOut } from "../../decide/because.ts";
import { type Candidate, type Plan, planRoute, type Route } from "../../decide/plan-route.ts";
import type { Agreement } from "../stored-rows.ts";

/** The names of a chain that decide who can continue it. */
export type ChainNames = Pick<Agreement, "ownConnectionId" | "networkTransactionId">;

/**
 * The agreements that a gateway continues: only those of its own account, or any by its network transaction id; absent,
 * none.
 */
export type Continues = "own" | "network" | undefined;

/** Returns why an account cannot continue an agreement's chain; undefined if it can. */
export function whyNotContinued(
  { connectionId, gateway }: Pick<Candidate, "connectionId" | "gateway">,
  { ownConnectionId, networkTransactionId }: ChainNames,
  continues: Continues,
): string | undefined {
  const isContinued = continues === "own" ? ownConnectionId === connectionId : networkTransactionId != null;
  if (continues !== undefined && isContinued) return undefined;
  if (continues === undefined) return leftOut.continuesNone({ gateway });
  return continues === "own" ? leftOut.continuesOwn({ gateway }) : leftOut.noNetworkId; // rule:renewal-chain
}

/**
 * Plans as for any payment, without the gateways that cannot continue the chain. A renewal has no customer present, so
 * it has no authentication and requests no exemption.
 */
export function planRenewal(route: Route, chain: ChainNames, continues: (gateway: string) => Continues): Plan {
  const candidates = route.candidates.map((candidate) => {
    const notPayable = candidate.notPayable ?? whyNotContinued(candidate, chain, continues(candidate.gateway));
    return { ...candidate, notPayable };
  });
  return planRoute({ ...route, candidates, authentication: "NEVER", policy: undefined }, { canAsk: false });
}

/** Returns how an attempt's request continues the chain; undefined if its gateway cannot. */
export function chainAt(
  { connectionId }: { readonly connectionId: string },
  chain: ChainNames & Pick<Agreement, "network" | "networkDate" | "linkId" | "ownCustomer" | "ownMethod">,
  continues: Continues,
): Extract<StoredCardUse, { type: "renewal" }>["chain"] | undefined {
  const { ownConnectionId, ownCustomer, ownMethod, networkTransactionId, network, networkDate, linkId } = chain;
  if (continues === "own") {
    const isOwn = ownConnectionId === connectionId && ownCustomer != null && ownMethod != null;
    return isOwn ? { type: "own", customer: ownCustomer, method: ownMethod } : undefined;
  }
  if (continues === undefined || networkTransactionId == null) return undefined;
  return {
    type: "network",
    transactionId: networkTransactionId,
    network: network ?? undefined,
    date: networkDate == null ? undefined : new Date(networkDate),
    linkId: linkId ?? undefined,
  };
}
