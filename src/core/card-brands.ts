/** The card brands that a session can be paid with, as far as its gateways state them for all their accounts. */
import type { Core } from "./core.ts";
import { loadRoute } from "./load-route.ts";
import { planRoute } from "./routing.ts";

/**
 * Loads the networks that at least one planned gateway accepts. Empty when nothing is planned or a gateway leaves the
 * networks to the account.
 */
export async function loadCardBrands(
  core: Core,
  payment: { merchantId: string; amountMinor: number; currency: string },
): Promise<string[]> {
  const { plan } = planRoute(await loadRoute(core, payment));
  const taken = new Set<string>();
  for (const { gateway } of plan) {
    const brands = core.connectorOf(gateway)?.cardBrands;
    if (brands === undefined) return [];
    for (const brand of brands) taken.add(brand);
  }
  return [...taken];
}
