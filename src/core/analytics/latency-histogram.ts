/** Percentiles of latencies that were counted in steps. PURE. */
import { latencyStepsPerDoubling } from "../../limits/analytics.ts";

/** How far a percentile may be off, as a part of itself: a step's end is so far from its middle. */
export const latencyErrorMost = 2 ** (1 / (2 * latencyStepsPerDoubling)) - 1;

/** The latency that this share of the counted ones stay within, in milliseconds; undefined where none is counted. */
export function percentileMs(histogram: readonly number[], share: number): number | undefined {
  const count = histogram.reduce((sum, each) => sum + each, 0);
  if (count === 0) return undefined;
  let seen = 0;
  const step = histogram.findIndex((each) => {
    seen += each;
    return seen >= share * count;
  });
  return 2 ** ((step + 0.5) / latencyStepsPerDoubling);
}

/** Several histograms as one. */
export function mergeHistograms(histograms: readonly (readonly number[])[]): number[] {
  const [first = [], ...others] = histograms;
  return others.reduce<number[]>((sum, each) => sum.map((count, step) => count + (each[step] ?? 0)), [...first]);
}
