/** Computes percentiles of latencies that were counted in steps. PURE. */

// Steps of a latency between 1 and 2 ms, between 2 and 4 ms and so on: the middle of a step is off by at most 9 %.
const latencyStepsPerDoubling = 4;
/** Number of steps: up to 2^16 ms, beyond the longest submission; longer latencies count in the last one. */
export const latencySteps = 64;

/** Largest relative error of a percentile: the distance of a step's end from its middle. */
export const latencyErrorMax = 2 ** (1 / (2 * latencyStepsPerDoubling)) - 1;

/**
 * Returns the latency in milliseconds that this share of the counted ones do not exceed; undefined where none is
 * counted.
 */
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

export function mergeHistograms(histograms: readonly (readonly number[])[]): number[] {
  const sum: number[] = [...(histograms[0] ?? [])];
  for (const other of histograms.slice(1)) for (let step = 0; step < sum.length; step++) sum[step]! += other[step] ?? 0;
  return sum;
}
