import { afterEach, describe, expect, it, vi } from "vitest";
import { type Loop, runLoop } from "./loop.ts";

let loop: Loop | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await loop?.close();
});

// Longer than any test: a second turn is caused by a hint or not at all.
const intervalMs = 3_600_000;
const log = { error: vi.fn() };

function countedTurns() {
  const ends: ((again: boolean) => void)[] = [];
  const starts = [Promise.withResolvers<void>()];
  const turn = () => {
    starts.at(-1)?.resolve();
    starts.push(Promise.withResolvers<void>());
    return new Promise<boolean>((resolve) => ends.push(resolve));
  };
  return { turn, ends, started: (turnNumber: number) => starts[turnNumber - 1]?.promise };
}

describe("runLoop()", () => {
  it("runs the first turn at once and the next when it is woken", async () => {
    const { turn, ends, started } = countedTurns();
    loop = runLoop({ name: "test", intervalMs, log, turn });
    await started(1);
    ends[0]?.(false);
    await new Promise(setImmediate);
    loop.wake();
    await started(2);
    ends[1]?.(false);
  });

  it("keeps a hint that arrives during a turn", async () => {
    const { turn, ends, started } = countedTurns();
    loop = runLoop({ name: "test", intervalMs, log, turn });
    await started(1);
    loop.wake();
    ends[0]?.(false);
    await started(2);
    ends[1]?.(false);
  });

  it("runs the next turn at once when there is more to do", async () => {
    const { turn, ends, started } = countedTurns();
    loop = runLoop({ name: "test", intervalMs, log, turn });
    await started(1);
    ends[0]?.(true);
    await started(2);
    ends[1]?.(false);
  });

  it("rests a whole interval after a failure, whatever hints arrive", async () => {
    vi.useFakeTimers();
    let turns = 0;
    const turn = () => Promise.reject(new Error(`turn ${++turns}`));
    loop = runLoop({ name: "test", intervalMs: 1_000, log, turn });
    await vi.advanceTimersByTimeAsync(0);
    loop.wake();
    await vi.advanceTimersByTimeAsync(800);
    expect(turns).toBe(1);
    await vi.advanceTimersByTimeAsync(400);
    expect(turns).toBe(2);
    expect(log.error).toHaveBeenCalledWith({ loop: "test", err: new Error("turn 1") }, "a turn failed");
  });

  it("closes when the running turn has ended, and starts no other", async () => {
    const { turn, ends, started } = countedTurns();
    loop = runLoop({ name: "test", intervalMs, log, turn });
    await started(1);
    let closed = false;
    const closing = loop.close().then(() => {
      closed = true;
    });
    await new Promise(setImmediate);
    expect(closed).toBe(false);
    ends[0]?.(true);
    await closing;
    expect(ends).toHaveLength(1);
  });

  it("signals a waiting turn that it is closing", async () => {
    const turn = (closing: AbortSignal) =>
      new Promise<boolean>((resolve) => {
        closing.addEventListener("abort", () => resolve(false));
      });
    loop = runLoop({ name: "test", intervalMs, log, turn });
    await loop.close();
  });

  it("rests longer from turn to turn with nothing to do, and as at first after a hint, work or a failure", async () => {
    vi.useFakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const startedAt = Date.now();
    const at: number[] = [];
    const results = new Map<number, () => boolean>();
    const turn = async () => {
      at.push(Date.now() - startedAt);
      return results.get(at.length)?.() ?? false;
    };
    loop = runLoop({ name: "test", intervalMs: 1_000, idleMs: 3_000, log, turn });
    const rests = () => at.slice(1).map((time, index) => time - at[index]!);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(rests().slice(0, 6)).toEqual([1_000, 1_500, 2_250, 3_000, 3_000, 3_000]);
    const restsAfter = async (change: () => void) => {
      const before = at.length;
      change();
      await vi.advanceTimersByTimeAsync(9_000);
      return rests().slice(before, before + 3);
    };
    expect(await restsAfter(() => loop?.wake())).toEqual([1_000, 1_500, 2_250]);
    const again = () => results.set(at.length + 1, () => true);
    expect(await restsAfter(again)).toEqual([0, 1_000, 1_500]);
    const failing = () =>
      results.set(at.length + 1, () => {
        throw new Error("down");
      });
    expect(await restsAfter(failing)).toEqual([1_000, 1_000, 1_500]);
    vi.restoreAllMocks();
  });
});
