/** A shop that captures held payments later: orders them whole or in part, cancels them, does both at once, or forgets them. */
import { setTimeout as pause } from "node:timers/promises";
import type { Dice } from "../dice.ts";
import type { Heard } from "./browser.ts";
import type { OrderRecord } from "./records.ts";
import type { RefundingShop } from "./refunds.ts";

/** The name under which the captures that shops wait for are counted. */
export const capturesInFlight = "capture in flight";

/** The parts of an order's record that its shop's orders fill in. */
export type LaterOrder = Pick<OrderRecord, "key" | "heldVia"> & {
  readonly captures: number[];
  captured: number | undefined;
  cancelled: boolean;
  heard: string[];
};
type Held = { readonly sessionId: string; readonly amountMinor: number };

const callsMax = 25;
// Past a session's own half hour, as captureBy has to be, and within what the run moves the clocks at its end: a hold that
// is neither captured nor cancelled ends with the run.
const captureByMs = 40 * 60_000;

export function fieldsOfLater(): { readonly capture: "manual"; readonly captureBy: string } {
  return { capture: "manual", captureBy: new Date(Date.now() + captureByMs).toISOString() };
}

/** Orders what the shop wants of a payment that is held, or about to be. Returns the captured amount, if it is captured. */
export async function settleLater(
  shop: RefundingShop,
  dice: Dice,
  order: LaterOrder,
  held: Held,
): Promise<number | undefined> {
  // If Adyen keeps an error for a part, only a person can end it: docs/capture-later.md, "Gateways".
  const part = order.heldVia === undefined || order.heldVia === "ADYEN" ? undefined : dice.between(1, held.amountMinor);
  const partly = () => capture(shop, dice, order, { ...held, part });
  const wholly = () => capture(shop, dice, order, { ...held, part: undefined });
  const cancelled = () => cancel(shop, dice, order, held);
  const manner = dice.weighted([
    [35, [wholly]],
    [25, [partly]],
    [15, [cancelled]],
    [8, [partly, cancelled]],
    [7, [partly, wholly]],
    [10, []],
  ] as readonly (readonly [number, readonly (() => Promise<void>)[]])[]);
  shop.tally.add(capturesInFlight, manner.length);
  await Promise.all(manner.map((act) => act().finally(() => shop.tally.add(capturesInFlight, -1))));
  return order.heard.includes("SUCCEEDED") ? order.captured : undefined;
}

async function capture(
  shop: RefundingShop,
  dice: Dice,
  order: LaterOrder,
  { sessionId, amountMinor, part }: Held & { readonly part: number | undefined },
): Promise<void> {
  const ordered = part ?? amountMinor;
  order.captures.push(ordered);
  const body = part === undefined ? {} : { amountMinor: part };
  await untilAnswered(shop, dice, { what: "capture", sessionId, body }, ({ status, json }) => {
    if (status !== 200) return;
    order.captured = ordered;
    if (json.status !== "CREATED") order.heard.push(String(json.status));
  });
}

async function cancel(shop: RefundingShop, dice: Dice, order: LaterOrder, { sessionId }: Held): Promise<void> {
  await untilAnswered(shop, dice, { what: "cancel", sessionId, body: {} }, ({ status, json }) => {
    if (status !== 200) return;
    order.cancelled = true;
    order.heard.push(String(json.status));
  });
}

type Call = { readonly what: "capture" | "cancel"; readonly sessionId: string; readonly body: object };

/** Repeats an order until it is accepted or refused for good; a payment that is not held yet may be held later. */
async function untilAnswered(
  shop: RefundingShop,
  dice: Dice,
  { what, sessionId, body }: Call,
  hear: (answer: Heard) => void,
): Promise<void> {
  for (let call = 0; call < callsMax; call++) {
    const answer = await shop.browser.call(what, {
      url: `${dice.pick(shop.edges)}/api/v1/payment-sessions/${sessionId}/${what}`,
      bearer: shop.secretKey,
      body,
    });
    if (answer !== undefined) hear(answer);
    const isProcessing = answer?.status === 200 && answer.json.status === "CREATED";
    const isOver = answer !== undefined && answer.status < 500 && answer.json.code !== "not_held";
    if (isOver && !isProcessing) return;
    await pause(dice.between(100, 2_000));
  }
}
