import { describe, expect, it } from "vitest";
import { CallerCounts } from "./caller-counts.ts";

const subjectsMax = 20_000;

const limit = { perSecond: 2, burst: 3 };

describe("CallerCounts", () => {
  it("admits a burst, then one call in each refill, and says when to retry", () => {
    const counts = new CallerCounts(limit);
    expect([2, 1, 0].map(() => counts.count("a", 1_000).remaining)).toEqual([2, 1, 0]);
    expect(counts.count("a", 1_100)).toEqual({ admitted: false, counted: true, remaining: 0, waitMs: 400 });
    expect(counts.count("a", 1_500).admitted).toBe(true);
    expect(counts.count("a", 1_500).admitted).toBe(false);
    expect(counts.count("b", 1_500)).toEqual({ admitted: true, counted: true, remaining: 2, waitMs: 0 });
  });

  it("takes nothing from the bucket for a refused call", () => {
    const counts = new CallerCounts(limit);
    for (let call = 0; call < 1_000; call++) counts.count("a", 0);
    expect(counts.count("a", 500).admitted).toBe(true);
  });

  it("remembers a bounded number of subjects, and forgets the one that was idle for longest", () => {
    const counts = new CallerCounts({ perSecond: 1, burst: 1 });
    for (let subject = 0; subject <= subjectsMax; subject++) counts.count(`${subject}`, 0);
    expect([counts.count(`${subjectsMax}`, 0).admitted, counts.count("0", 0).admitted]).toEqual([false, true]);
  });
});
