import { describe, expect, it } from "vitest";
import { rangeOf } from "./axis-range.ts";

describe("rangeOf()", () => {
  it("begins at zero, and a rate ends at the whole", () => {
    expect(rangeOf(5, 100, {})).toEqual([0, 108]);
    expect(rangeOf(null, null, {})).toEqual([0, 1]);
    expect(rangeOf(0, 0.99, { isRate: true })).toEqual([0, 1]);
  });

  it.each([
    [0.92, 0.95],
    [0.94, 0.94],
    [0.4, 0.97],
    [0, 1],
    [0, 0.02],
  ])("shows three points of difference among rates from %d to %d on a twentieth of the axis or more", (low, high) => {
    const [begin, end] = rangeOf(low, high, { isRate: true, isClose: true });
    expect(0.03 / (end - begin)).toBeGreaterThanOrEqual(0.05);
    expect(end).toBeGreaterThanOrEqual(high);
    expect(begin).toBeGreaterThanOrEqual(0);
    expect(end).toBeLessThanOrEqual(1);
  });

  it("keeps every rate in the chart unless they are more than fifty points apart", () => {
    expect(rangeOf(0.6, 0.95, { isClose: true })[0]).toBeLessThan(0.6);
    expect(rangeOf(0.1, 0.95, { isClose: true })[0]).toBeGreaterThan(0.1);
  });
});
