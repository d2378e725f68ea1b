/**
 * A shop that charges its subscribers without them: its schedulers fire twice, under one key or two, and repeat
 * requests without an answer.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Dice } from "../dice.ts";
import { newOrder, type Order } from "./order.ts";
import type { RefundingShop } from "./refunds.ts";

/** A shop with everything that was ordered in it. */
type Shop = RefundingShop & { readonly orders: Order[] };

const renewalsMax = 5;
const callsMax = 20;
const looksMax = 20;

/** The fields of a payment that begins an agreement, and the customer's consent to it. */
export const agreementFields = {
  saveCard: { agreement: { type: "UNSCHEDULED", text: "Charged when you order more." } },
};
export const agreementConsent = { saveCard: { template: "agreement", locale: "en" } };

/** Charges the agreement that a payment has begun, a few times, one renewal after the other. */
export async function renewSome(shop: Shop, dice: Dice, { key }: Order, sessionId: string): Promise<void> {
  const agreementId = await findAgreement(shop, dice, sessionId);
  if (agreementId === undefined) return;
  for (let nth = 1; nth <= dice.between(1, renewalsMax); nth++) {
    const renewal = { agreementId, renewalRef: `${key}-renewal-${nth}`, amountMinor: dice.between(1, 200_000) };
    const manner = dice.weighted([
      [30, [[1]]],
      [20, [[1, 1]]],
      [25, [[1, 2]]],
      [25, [[1], [2]]],
    ] as readonly (readonly [number, readonly (readonly number[])[]])[]);
    for (const keys of manner) await Promise.all(keys.map((of) => charge(shop, dice, renewal, of)));
  }
}

/** The card is stored after the payment has ended; never, where the gateway or the vault did not store it. */
async function findAgreement(shop: Shop, dice: Dice, sessionId: string): Promise<string | undefined> {
  for (let look = 0; look < looksMax; look++) {
    const url = `${dice.pick(shop.edges)}/api/v1/payment-sessions/${sessionId}`;
    const { agreementId } = (await shop.browser.call("read", { url, bearer: shop.secretKey }))?.json ?? {};
    if (typeof agreementId === "string") return agreementId;
    await pause(dice.between(500, 2_000));
  }
  return undefined;
}

type Renewal = { readonly agreementId: string; readonly renewalRef: string; readonly amountMinor: number };

/** Charges under one key until the answer is final. Orders differ, so that only the renewal's name prevents a second charge. */
async function charge(shop: Shop, dice: Dice, { agreementId, ...renewal }: Renewal, nth: number): Promise<void> {
  const orderRef = `${renewal.renewalRef}-key-${nth}`;
  const known = shop.orders.find(({ key }) => key === orderRef);
  const order = known ?? newOrder(orderRef, orderRef);
  if (known === undefined) shop.orders.push(order);
  for (let call = 0; call < callsMax; call++) {
    const answer = await shop.browser.call("charge", {
      url: `${dice.pick(shop.edges)}/api/v1/agreements/${agreementId}/payment-sessions`,
      bearer: shop.secretKey,
      headers: { "idempotency-key": orderRef },
      body: { ...renewal, currency: "EUR", orderRef },
    });
    if (answer?.status === 201) {
      const { sessionId, status } = answer.json;
      order.submitted = true;
      order.created.push(String(sessionId));
      if (status !== "CREATED") return void order.heard.push(String(status));
    }
    // Paid, not allowed, or being charged under another key.
    else if (answer !== undefined && answer.status < 500 && answer.status !== 429) return;
    await pause(dice.between(100, 2_000));
  }
}
