/** A merchant who refunds, and gateways that refund, as the dice draw them. */
import type { Dice } from "./dice.ts";

/** A request of the merchant, repeated under the same key until it is answered. */
export type PlannedRefund = {
  readonly key: string;
  /** Time after the payment has succeeded. */
  readonly afterMs: number;
  /** Absent: everything that is left. */
  readonly amountMinor?: number;
};

/** The behaviour of one account at a gateway when it is to refund. */
export type RefundBehaviour = {
  /**
   * `takeOn` makes it later. `keepError` and `makeAndKeepError` answer the first key of each refund with an error for as
   * long as they remember it.
   */
  readonly onRefund: "make" | "takeOn" | "takeOnAndFail" | "refuse" | "keepError" | "makeAndKeepError";
  /** Time until a refund that was taken on is made. */
  readonly takesMs: number;
  /** Time until a refund that was made fails: the bank returns the money. Never if it is 0. */
  readonly returnsAfterMs: number;
  /** Refunds more than was captured, as a gateway whose own check is late. */
  readonly allowsMore: boolean;
};

/** The behaviour in a run whose merchant asks for none. */
export const noRefunds: RefundBehaviour = { onRefund: "refuse", takesMs: 0, returnsAfterMs: 0, allowsMore: false };

export type RefundSchedule = {
  readonly requests: readonly PlannedRefund[];
  readonly byHand: { readonly afterMs: number; readonly amountMinor: number } | undefined;
  /** The behaviours, indexed like the accounts. */
  readonly behaviours: readonly RefundBehaviour[];
  /** Time after the first request during which the gateways' answers to refunds are lost. */
  readonly unheardMs: number;
  readonly restore: { readonly backupAtMs: number; readonly atMs: number } | undefined;
};

const minuteMs = 60_000;
/** Time for which a simulated gateway remembers the key of a refund: short, so that many runs outlive it. */
export const refundKeyLifeMs = 20 * minuteMs;
const refundingRuns = 0.06;

/** Draws the refunds of a run of this price and of so many accounts; undefined in most runs. */
export function drawRefunds(dice: Dice, accounts: number, priceMinor: number): RefundSchedule | undefined {
  if (!dice.chance(refundingRuns)) return undefined;
  return {
    requests: drawRequests(dice, priceMinor),
    byHand: dice.chance(0.25)
      ? { afterMs: dice.between(0, dice.pick([2_000, minuteMs])), amountMinor: dice.between(1, priceMinor) }
      : undefined,
    behaviours: Array.from({ length: accounts }, () => drawBehaviour(dice)),
    unheardMs: dice.chance(0.3) ? dice.between(5 * minuteMs, 2 * refundKeyLifeMs) : 0,
    restore: dice.chance(0.25) ? drawRestore(dice) : undefined,
  };
}

function drawRequests(dice: Dice, priceMinor: number): PlannedRefund[] {
  const afterMs = dice.between(0, dice.pick([10, 5_000, minuteMs]));
  const part = () => dice.between(1, priceMinor);
  const request = (key: string, atMs: number, amountMinor?: number): PlannedRefund => ({
    key,
    afterMs: atMs,
    ...(amountMinor !== undefined && { amountMinor }),
  });
  const later = () => afterMs + dice.between(1, dice.pick([100, minuteMs, 2 * refundKeyLifeMs]));
  const requests = dice.weighted<readonly PlannedRefund[]>([
    [3, [request("whole", afterMs)]],
    [2, [request("part", afterMs, part())]],
    // Two simultaneous refunds, of which only one fits.
    [
      4,
      [request("one", afterMs, priceMinor - part() + 1), request("other", afterMs + dice.between(0, 30), priceMinor)],
    ],
    [3, [request("first", afterMs, part()), request("rest", later())]],
    [2, [request("first", afterMs, part()), request("second", later(), part()), request("third", later(), part())]],
  ]);
  // The same key is used again, also long after its life.
  return dice.chance(0.3) ? [...requests, { ...requests[0]!, afterMs: later() }] : [...requests];
}

function drawBehaviour(dice: Dice): RefundBehaviour {
  return {
    onRefund: dice.weighted<RefundBehaviour["onRefund"]>([
      [10, "make"],
      [3, "takeOn"],
      [1, "takeOnAndFail"],
      [1, "refuse"],
      [2, "keepError"],
      [2, "makeAndKeepError"],
    ]),
    takesMs: dice.between(1_000, dice.pick([5_000, 2 * refundKeyLifeMs])),
    returnsAfterMs: dice.chance(0.15) ? dice.between(1_000, refundKeyLifeMs) : 0,
    allowsMore: dice.chance(0.5),
  };
}

/** Draws a backup about when the payment succeeds, and a restore that loses seconds to half an hour. */
function drawRestore(dice: Dice): RefundSchedule["restore"] {
  const backupAtMs = dice.between(1_000, dice.pick([10_000, 2 * minuteMs]));
  return {
    backupAtMs,
    atMs: backupAtMs + dice.between(1_000, dice.pick([20_000, 10 * minuteMs, 1.5 * refundKeyLifeMs])),
  };
}
