/** A merchant who captures later, and what else may happen to the hold, as the dice draw them. */
import type { Dice } from "./dice.ts";

/** An order of the merchant, repeated until it is answered. */
export type PlannedOrder = {
  /** Time after the payment is held. */
  readonly afterMs: number;
  readonly type: "capture" | "cancel";
  /** The amount of a capture; absent: the whole amount. */
  readonly amountMinor?: number;
};

export type LaterSchedule = {
  /** Time for which every gateway surely holds. Ours ends after half of it. */
  readonly holdLifeMs: number;
  readonly orders: readonly PlannedOrder[];
  /** An act of a person at the gateway; only in runs without orders. */
  readonly byHand:
    | { readonly afterMs: number; readonly type: "capture" | "void"; readonly amountMinor: number }
    | undefined;
};

const minuteMs = 60_000;
const laterRuns = 0.12;

/** Draws the later capture of a run of this price; undefined in most runs. */
export function drawLater(dice: Dice, priceMinor: number): LaterSchedule | undefined {
  if (!dice.chance(laterRuns)) return undefined;
  const holdLifeMs = dice.between(minuteMs, dice.pick([4 * minuteMs, 80 * minuteMs]));
  const orders = dice.chance(0.2) ? [] : drawOrders(dice, { heldMs: holdLifeMs / 2, priceMinor });
  const byHand =
    orders.length === 0 && dice.chance(0.7)
      ? {
          afterMs: dice.between(0, dice.pick([minuteMs, holdLifeMs])),
          type: dice.pick(["capture", "void"] as const),
          amountMinor: dice.between(1, priceMinor),
        }
      : undefined;
  return { holdLifeMs, orders, byHand };
}

function drawOrders(dice: Dice, { heldMs, priceMinor }: { heldMs: number; priceMinor: number }): PlannedOrder[] {
  // Soon, or at the moment when the time is over.
  const afterMs = dice.chance(0.25)
    ? Math.round(heldMs) + dice.between(-1_500, 1_500)
    : dice.between(0, dice.pick([10, 5_000, minuteMs]));
  const soon = () => Math.max(0, afterMs + dice.between(0, dice.pick([5, 40, 2_000, minuteMs])));
  const part = () => dice.between(1, priceMinor);
  const capture = (atMs: number, amountMinor?: number): PlannedOrder => ({
    type: "capture",
    afterMs: Math.max(0, atMs),
    ...(amountMinor !== undefined && { amountMinor }),
  });
  const cancel = (atMs: number): PlannedOrder => ({ type: "cancel", afterMs: Math.max(0, atMs) });
  return [
    ...dice.weighted<readonly PlannedOrder[]>([
      [3, [capture(afterMs)]],
      [3, [capture(afterMs, part())]],
      [2, [cancel(afterMs)]],
      // Either of the two wins.
      [3, [capture(afterMs, part()), cancel(soon())]],
      [2, [cancel(afterMs), capture(soon())]],
      [2, [capture(afterMs, part()), capture(soon(), part())]],
      [1, [capture(afterMs), capture(soon()), cancel(soon())]],
    ]),
  ];
}
