import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHold } from "./hold.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const counting = () => {
  let reads = 0;
  return async () => ++reads;
};

describe("createHold()", () => {
  it("reads a key once in its time, also for concurrent callers, and then again", async () => {
    const [hold, read] = [createHold(1_000), counting()];
    expect(await Promise.all([hold("a", read), hold("a", read)])).toEqual([1, 1]);
    vi.advanceTimersByTime(999);
    expect(await hold("a", read)).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await hold("a", read)).toBe(2);
  });

  it("reads each key by itself, and counts the time of a read from its beginning", async () => {
    const [hold, a, b] = [createHold(1_000), counting(), counting()];
    const slow = Promise.withResolvers<number>();
    const waiting = hold("a", () => slow.promise);
    vi.advanceTimersByTime(600);
    expect(await hold("b", b)).toBe(1);
    slow.resolve(7);
    expect([await waiting, await hold("a", a)]).toEqual([7, 7]);
    vi.advanceTimersByTime(400);
    expect([await hold("a", a), await hold("b", b)]).toEqual([1, 1]);
  });

  it("holds no failure", async () => {
    const [hold, read] = [createHold(1_000), counting()];
    const failing = hold("a", () => Promise.reject(new Error("down")));
    await expect(failing).rejects.toThrow("down");
    expect(await hold("a", read)).toBe(1);
  });

  it("holds nothing that differs between two", async () => {
    const [one, other, read] = [createHold(1_000), createHold(1_000), counting()];
    expect([await one("a", read), await other("a", read)]).toEqual([1, 2]);
    expect([await createHold(0)("a", read), await createHold(0)("a", read)]).toEqual([3, 4]);
  });
});
