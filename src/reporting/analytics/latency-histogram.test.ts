import { describe, expect, it } from "vitest";
import { latencyDigits, latencyErrorMax, mergeHistograms, percentileMs, readHistogram } from "./latency-histogram.ts";

// 1 to 2 ms, 2 to 4 ms and so on, in four steps each.
const latencyStepsPerDoubling = 4;
const latencySteps = 64;

function countIn(latencies: readonly number[]): number[] {
  const histogram = new Array<number>(latencySteps).fill(0);
  for (const ms of latencies) {
    const step = Math.floor(latencyStepsPerDoubling * Math.log2(Math.max(1, ms)));
    histogram[Math.min(latencySteps - 1, step)]!++;
  }
  return histogram;
}

describe("percentileMs()", () => {
  it("has at most the stated error, however the latencies are distributed", () => {
    const spreads = [
      Array.from({ length: 1_000 }, (_, index) => 1.5 + index),
      Array.from({ length: 1_000 }, (_, index) => 1.01 ** index),
      [120, 121, 122, 123, 10_000],
      [7],
    ];
    for (const latencies of spreads) {
      for (const share of [0.5, 0.95]) {
        const exact = latencies[Math.ceil(share * latencies.length) - 1]!;
        const found = percentileMs(countIn(latencies), share)!;
        if (exact < 2 ** (latencySteps / latencyStepsPerDoubling)) {
          expect(Math.max(found / exact, exact / found) - 1).toBeLessThanOrEqual(latencyErrorMax + 1e-9);
        }
      }
    }
    expect(latencyErrorMax).toBeCloseTo(0.09, 2);
  });

  it("returns undefined for no latencies", () => {
    expect(percentileMs(countIn([]), 0.5)).toBeUndefined();
    expect(percentileMs([], 0.5)).toBeUndefined();
  });
});

describe("readHistogram()", () => {
  it("reads as many latencies of each step as twelve digits can count", () => {
    const most = 10 ** latencyDigits - 1;
    for (const counts of [[0], [7], [0, 0, 12], [most, 0, most], countIn([1, 90_000])]) {
      const sum = counts.reduce((all, count, step) => all + BigInt(count) * 10n ** BigInt(latencyDigits * step), 0n);
      expect(readHistogram(String(sum))).toEqual(counts);
    }
  });
});

describe("mergeHistograms()", () => {
  it("returns the counts of all latencies in one histogram", () => {
    const [one, other] = [
      [3, 70, 800],
      [5, 5_000],
    ];
    expect(mergeHistograms([countIn(one!), countIn(other!)])).toEqual(countIn([...one!, ...other!]));
    expect(mergeHistograms([[0], [1, 2], [3]])).toEqual([4, 2]);
    expect(mergeHistograms([])).toEqual([]);
  });
});
