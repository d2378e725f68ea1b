/** Compares the approval rates of two arms, with the range in which chance leaves them. PURE. */

import type { Arm, RoutingRule } from "../../core/rows/entities.ts";
import type { ConnectionId } from "../../platform/ids.ts";
import type { ArmCosts, ArmCounts } from "./load-counts.ts";

export type Counted = { readonly count: number; readonly of: number };

/** An estimate, and the ends of its interval of 95 %. */
export type Estimate = { readonly value: number; readonly low: number; readonly high: number };

// The normal distribution has 95 % within this many standard deviations.
const z = 1.959964;

/**
 * Returns a rate with Wilson's interval; undefined without a payment. It holds for few payments and for rates near 0 and
 * 1, too (Wilson, Probable inference, 1927).
 */
export function rateOf({ count, of }: Counted): Estimate | undefined {
  if (of === 0) return undefined;
  const value = count / of;
  const denominator = 1 + z ** 2 / of;
  const center = (value + z ** 2 / (2 * of)) / denominator;
  const margin = (z / denominator) * Math.sqrt((value * (1 - value)) / of + z ** 2 / (4 * of ** 2));
  return { value, low: Math.max(0, center - margin), high: Math.min(1, center + margin) };
}

/**
 * Returns the second rate minus the first, with Newcombe's interval, which combines their Wilson intervals; undefined
 * without payments on both sides (Newcombe, Interval estimation for the difference between independent proportions, 1998,
 * method 10).
 */
export function differenceOf(first: Counted, second: Counted): Estimate | undefined {
  const [one, other] = [rateOf(first), rateOf(second)];
  if (one === undefined || other === undefined) return undefined;
  const value = other.value - one.value;
  const below = Math.hypot(other.value - other.low, one.high - one.value);
  const above = Math.hypot(other.high - other.value, one.value - one.low);
  return { value, low: value - below, high: value + above };
}

/** The difference that a comparison is meant to find, as a share: five points. */
const soughtDifference = 0.05;

// Four of five comparisons find the difference: the normal distribution has 80 % below this many standard deviations.
const zPower = 0.841621;

/**
 * Returns how many payments of both arms a difference in approval needs to be found, by the normal approximation of two
 * proportions. Until the rate is known well, it is the one of its interval that needs the most payments.
 */
export function paymentsNeeded({ percent, ended }: { percent: number; ended: Counted }): number {
  const { low, high } = rateOf(ended) ?? { low: 0, high: 1 };
  const rate = Math.min(Math.max(low, 0.5), high);
  const share = percent / 100;
  const variance = (rate * (1 - rate)) / (share * (1 - share));
  return Math.ceil(((z + zPower) / soughtDifference) ** 2 * variance);
}

export function mayBeChance({ low, high }: Estimate): boolean {
  return low <= 0 && high >= 0;
}

/** Returns what a difference in approval between variant A and variant B means, in one sentence. */
export function describeDifference(a: Counted, b: Counted): string {
  const difference = differenceOf(a, b);
  if (a.of + b.of === 0) return "No payment has ended yet.";
  if (difference === undefined) return `No payment of variant ${a.of === 0 ? "A" : "B"} has ended yet.`;
  const points = (share: number) => (100 * share).toFixed(1);
  const { low, high } = difference;
  if (mayBeChance(difference)) {
    return `Chance alone may explain it: the approval rate of variant B is between ${points(-low)} points lower and ${points(high)} points higher (95% confidence).`;
  }
  const [least, most] = low > 0 ? [low, high] : [-high, -low];
  return `Variant ${low > 0 ? "B" : "A"} approves more: by ${points(least)} to ${points(most)} points (95% confidence).`;
}

export type ComparedArm = {
  readonly connectionIds: readonly ConnectionId[];
  readonly counts: readonly ArmCounts[];
  readonly costs: readonly ArmCosts[];
};

/** A split and its two arms. The same share of the same two plans in the same case is one comparison. */
export type SplitComparison = {
  /** Undefined for the default plan. */
  readonly case: string | undefined;
  readonly percent: number;
  readonly rules: readonly RoutingRule[];
  readonly arms: Readonly<Record<Arm, ComparedArm>>;
};

/** Returns the approved payments of an arm, captured or released, of all that ended. */
export function approvedOf({ counts }: ComparedArm): Counted {
  const sum = (name: "succeeded" | "released" | "declined" | "degraded") =>
    counts.reduce((all, row) => all + row[name], 0);
  const approved = sum("succeeded") + sum("released");
  return { count: approved, of: approved + sum("declined") + sum("degraded") };
}
