/** Plans a payment whose merchant brakes, or whose customer's network was declined too often. */

import type { CardFingerprint } from "../../platform/card-token.ts";
import type { Statement } from "../../platform/database.ts";
import type { MerchantId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { type Plan, planAsked, type Route } from "../decide/plan-route.ts";
import type { Brake } from "../rows/entities.ts";

/** A plan, and the brakes that it follows. */
export type BrakedPlan = { readonly plan: Plan; readonly brakes: readonly Brake[] };

// 13 months is as long as a card is remembered. The ids begin with the time of their session's creation.
const selectApproved: Statement = {
  name: "select_approved_card",
  text: `
    SELECT EXISTS (
      SELECT FROM payment_session
      WHERE merchant_id = $1 AND card_fingerprint = ANY ($2::uuid[]) AND status = 'SUCCEEDED'
        AND id >= (SELECT app.first_id_at(app.clock() - interval '13 months'))) AS "isKnown"`,
};

/** Reports whether the merchant has approved this card, by any version of its fingerprint. */
async function isApproved(
  { database }: Pick<Core, "database">,
  merchantId: MerchantId,
  card: CardFingerprint,
): Promise<boolean> {
  const [row] = await database.query<{ isKnown: boolean }>(selectApproved, [merchantId, card.versions]);
  return row?.isKnown === true;
}

/**
 * Returns the plan of a payment while its merchant brakes. `plan` is the plan of the route without brakes. A card that
 * the merchant has approved keeps it, and so does one that no gateway and no provider can authenticate. A page that
 * leaves out its browser is declined as under ALWAYS.
 */
export async function planWhileBraking(
  core: Pick<Core, "database">,
  route: Route,
  paying: { merchantId: MerchantId; card: CardFingerprint; canAsk: boolean; plan: Plan },
): Promise<BrakedPlan> {
  const { merchantId, card, canAsk, plan } = paying;
  if (await isApproved(core, merchantId, card)) return { plan, brakes: ["KNOWN_CARD"] }; // rule:approved-card-known
  return { plan: planAsked(route, { canAsk }) ?? plan, brakes: ["NEW_CARD"] };
}

/**
 * Returns the plan of a payment whose network was declined too often: its customer is authenticated. If nothing in the
 * plan can challenge the customer, a card that the merchant has approved is paid as planned, which reveals nothing to a
 * tester. Undefined for every other one.
 */
export async function planPastNetwork(
  core: Pick<Core, "database">,
  route: Route,
  paying: BrakedPlan & { merchantId: MerchantId; card: CardFingerprint; canAsk: boolean },
): Promise<BrakedPlan | undefined> {
  const { merchantId, card, canAsk, plan, brakes } = paying;
  const asked = planAsked(route, { canAsk: true });
  if (asked) return canAsk ? { plan: asked, brakes: [...brakes, "NETWORK"] } : undefined;
  return (await isApproved(core, merchantId, card)) ? { plan, brakes } : undefined;
}
