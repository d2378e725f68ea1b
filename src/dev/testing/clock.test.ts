import { describe, expect, it } from "vitest";
import { HandClock } from "./clock.ts";

describe("HandClock", () => {
  it("stands still until it is moved", async () => {
    const clock = new HandClock("2026-02-03T04:05:06.000Z");
    expect(clock.now().toISOString()).toBe("2026-02-03T04:05:06.000Z");
    await clock.advance(1_500);
    expect(clock.now().toISOString()).toBe("2026-02-03T04:05:07.500Z");
  });

  it("wakes sleepers in the order of their ends, each at its own moment", async () => {
    const clock = new HandClock();
    const start = clock.now().getTime();
    const woken: [string, number][] = [];
    const sleep = async (name: string, ms: number) => {
      await clock.sleep(ms);
      woken.push([name, clock.now().getTime() - start]);
    };
    const both = [sleep("late", 200), sleep("early", 100).then(() => sleep("chained", 50)), sleep("never", 1_000)];
    await clock.advance(500);
    await Promise.all(both.slice(0, 2));
    expect(woken).toEqual([
      ["early", 100],
      ["chained", 150],
      ["late", 200],
    ]);
  });

  it("ends a sleep that is aborted", async () => {
    const abort = new AbortController();
    const sleep = new HandClock().sleep(100, abort.signal);
    abort.abort(new Error("stopping"));
    await expect(sleep).rejects.toThrow("stopping");
  });
});
