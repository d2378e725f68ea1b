import type { Dice } from "./dice.ts";

/** The actions of a customer at one challenge, in milliseconds after it began. */
export type CustomerPlan = {
  readonly answer: "pass" | "fail" | "leave";
  readonly answersAtMs: number;
  /** Times of returns after the answer; a lost return is none. */
  readonly returnsAfterMs: readonly number[];
  /** The time at which the customer presses Cancel; undefined for never. */
  readonly cancelsAtMs: number | undefined;
};

const minuteMs = 60_000;

/** Draws a customer: most answer within two minutes and come back. */
export function drawCustomer(dice: Dice): CustomerPlan {
  const answersAtMs = dice.weighted([
    [6, dice.between(500, 20_000)],
    [3, dice.between(20_000, 2 * minuteMs)],
    [2, dice.between(9.5 * minuteMs, 10.5 * minuteMs)],
    [1, dice.between(10.5 * minuteMs, 20 * minuteMs)],
  ]);
  return {
    answer: dice.weighted([
      [7, "pass"],
      [2, "fail"],
      [1, "leave"],
    ]),
    answersAtMs,
    returnsAfterMs: dice.pick([[], [10], [200], [200, 200], [10, 5_000]]),
    // Often at the moment of the answer.
    cancelsAtMs: dice.chance(0.3) ? answersAtMs + dice.pick([-2_000, -50, 0, 20, 250, 2_000]) : undefined,
  };
}
