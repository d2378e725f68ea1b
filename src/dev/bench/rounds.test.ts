import { describe, expect, it } from "vitest";
import type { Contestant } from "./contestant.ts";
import { intervalOf, playRounds, ratioOf, spreadOf } from "./rounds.ts";

describe("playRounds()", () => {
  it("plays each contestant once to warm up, then forwards and backwards", async () => {
    const played: string[] = [];
    const contestantOf = (name: string, requestsPerSecond: number): Contestant => ({
      name,
      async play(seconds) {
        played.push(`${name}${seconds}`);
        return { requestsPerSecond: requestsPerSecond * played.length, failures: 0, p50Ms: 1 };
      },
    });
    let steps = 0;
    const options = { rounds: 2, seconds: 3, warmUp: 1, onPlayed: () => steps++ };
    const turns = await playRounds([contestantOf("a", 1), contestantOf("b", 2)], options);
    expect(played).toEqual(["a1", "b1", "a3", "b3", "b3", "a3"]);
    expect(steps).toBe(6);
    expect(ratioOf(turns, "a", "b")).toEqual({ median: (3 / 8 + 6 / 10) / 2, min: 3 / 8, max: 6 / 10 });
  });
});

describe("spreadOf()", () => {
  it.each([
    [[3], 3],
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
  ])("finds the median of %j", (figures, median) => {
    expect(spreadOf(figures).median).toBe(median);
  });
});

describe("intervalOf()", () => {
  // https://en.wikipedia.org/wiki/Order_statistic: of 20 figures, the sixth and the fifteenth enclose the median with 95.9 %.
  it.each([
    [20, 6, 15],
    [7, 1, 7],
    [6, 1, 6],
    [3, 1, 3],
  ])("of %i figures are those of rank %i and %i", (count, from, to) => {
    // 11 is prime, and each figure comes once.
    const figures = Array.from({ length: count }, (_, index) => ((index * 11) % count) + 1);
    expect(intervalOf(figures)).toEqual({ median: (count + 1) / 2, from, to });
  });
});
