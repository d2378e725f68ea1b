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

/** Returns turns that the test ends one by one. */
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
});
