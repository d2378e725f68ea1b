/** Computes percentiles of latencies that were counted in steps. PURE. */

// Steps of a latency between 1 and 2 ms, between 2 and 4 ms and so on: the middle of a step is off by at most 9 %.
const latencyStepsPerDoubling = 4;

/**
 * Decimal digits of each of the 64 steps (`app.latency_step`) in the number that holds a stored histogram; those of the first step are
 * the last.
 */
export const latencyDigits = 12;

/** Reads a stored histogram, or a sum of some. Missing steps are 0. */
export function readHistogram(digits: string): number[] {
  return Array.from({ length: Math.ceil(digits.length / latencyDigits) }, (_, step) => {
    const end = digits.length - step * latencyDigits;
    return Number(digits.slice(Math.max(0, end - latencyDigits), end));
  });
}

/** Largest relative error of a percentile: the distance of a step's end from its middle. */
export const latencyErrorMax = 2 ** (1 / (2 * latencyStepsPerDoubling)) - 1;

/**
 * Returns the latency in milliseconds that this share of the counted ones do not exceed; undefined if none is counted.
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
  const length = Math.max(0, ...histograms.map((each) => each.length));
  const sum = new Array<number>(length).fill(0);
  for (const each of histograms) for (let step = 0; step < each.length; step++) sum[step]! += each[step]!;
  return sum;
}
