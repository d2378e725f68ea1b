/** Plans a payment by a wallet. PURE. */
import type { WalletCredential, WalletName } from "../../platform/card-token.ts";
import { leftOut } from "../decide/because.ts";
import { type Candidate, type Plan, planAsked, planRoute, type Route } from "../decide/plan-route.ts";

/** A wallet's credential; its name and network are unknown until the vault has answered. */
export type PayingWallet = {
  readonly credential: WalletCredential;
  readonly name?: WalletName | undefined;
  readonly network?: string | undefined;
};

const wallets: readonly WalletName[] = ["apple_pay", "google_pay"];

/**
 * Plans a NETWORK_TOKEN at the gateways that take it, without authentication, proof and exemption: the device has authenticated the
 * customer. A PAN has no security code, so each payment with one is authenticated, whatever the rule says.
 */
export function planWallet(route: Route, wallet: PayingWallet, { canAsk }: { readonly canAsk: boolean }): Plan {
  if (wallet.credential === "PAN") {
    const always = routeOfPan(route);
    return planAsked(always, { canAsk }) ?? planRoute(always, { canAsk });
  }
  const candidates = route.candidates.map((one) => {
    const whyNot = whyNoToken(one, wallet);
    return whyNot === undefined ? one : { ...one, notPayable: one.notPayable ?? whyNot }; // rule:token-takers
  });
  return planRoute({ ...route, candidates, authentication: "NEVER", policy: undefined, provider: undefined }); // rule:device-authenticates
}

/** Returns the route of a PAN, by which it is planned anew where its merchant brakes. */
export function routeOfPan(route: Route): Route {
  const policy = route.policy && { ...route.policy, exemptions: [], withoutBrowser: "DECLINE" as const };
  return { ...route, policy, authentication: "ALWAYS" };
}

/** Returns why a gateway does not get a device's number. */
function whyNoToken({ gateway, acceptsNetworkToken }: Candidate, { name, network }: PayingWallet): string | undefined {
  if (acceptsNetworkToken === undefined) return leftOut.takesNoToken({ gateway });
  const possible = name === undefined ? wallets : [name];
  if (!possible.every((one) => acceptsNetworkToken.wallets.includes(one)))
    return leftOut.takesOtherWallets({ gateway });
  if (network !== undefined && !acceptsNetworkToken.networks.includes(network))
    return leftOut.takesOtherNetworks({ gateway });
  return undefined;
}
