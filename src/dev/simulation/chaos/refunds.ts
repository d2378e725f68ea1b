/** A shop that refunds some of its orders, each refund repeated under its key until it is answered. */
import { setTimeout as pause } from "node:timers/promises";
import type { Dice } from "../dice.ts";
import type { Browser } from "./browser.ts";
import type { Tally } from "./tally.ts";

/** The name under which the refunds that shops wait for are counted. */
export const refundsInFlight = "refund in flight";

export type RefundingShop = {
  readonly browser: Browser;
  readonly tally: Tally;
  readonly secretKey: string;
  readonly edges: readonly string[];
};
type Order = { readonly key: string; readonly refunded: string[] };
type Paid = { readonly sessionId: string; readonly amountMinor: number };

const refundingShops = 0.6;
const callsMax = 20;

/**
 * Refunds the order whole, in part, or with two simultaneous refunds of which only one fits; some orders not at all.
 */
export async function refundSome(shop: RefundingShop, dice: Dice, order: Order, paid: Paid): Promise<void> {
  if (!dice.chance(refundingShops)) return;
  const most = Math.floor(paid.amountMinor / 2) + 1;
  const amounts = dice.pick<readonly (number | undefined)[]>([[undefined], [most], [most, most], [undefined, most]]);
  shop.tally.add(refundsInFlight, amounts.length);
  const asked = amounts.map((amountMinor, index) =>
    refund(shop, dice, { order, ...paid, key: `${order.key}-refund-${index + 1}`, amountMinor }),
  );
  await Promise.all(asked);
}

type Asked = {
  readonly order: Order;
  readonly sessionId: string;
  readonly key: string;
  readonly amountMinor: number | undefined;
};

async function refund(shop: RefundingShop, dice: Dice, { order, sessionId, key, amountMinor }: Asked): Promise<void> {
  for (let call = 0; call < callsMax; call++) {
    const answer = await shop.browser.call("refund", {
      url: `${dice.pick(shop.edges)}/api/v1/payment-sessions/${sessionId}/refunds`,
      bearer: shop.secretKey,
      headers: { "idempotency-key": key },
      body: amountMinor === undefined ? {} : { amountMinor },
    });
    if (answer?.status === 201) order.refunded.push(String(answer.json.refundId));
    // 422 and 409: the amount is more than is left, or the capture failed.
    if (answer?.status === 201 || answer?.status === 422 || answer?.status === 409) break;
    await pause(dice.between(100, 2_000));
  }
  shop.tally.add(refundsInFlight, -1);
}
