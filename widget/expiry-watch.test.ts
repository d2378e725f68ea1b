import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HandClock } from "../src/dev/testing/clock.ts";
import { ExpiryWatch } from "./expiry-watch.ts";

let hand: HandClock;
let closing: AbortController;
let calls: string[];
let watch: ExpiryWatch;

beforeEach(() => {
  hand = new HandClock();
  closing = new AbortController();
  calls = [];
  watch = new ExpiryWatch({
    clock: {
      now: () => hand.now().getTime(),
      wait: (durationMs, signal) => hand.sleep(durationMs, signal).catch(() => undefined),
    },
    closed: closing.signal,
    onSoon: () => calls.push("soon"),
    onOver: async () => void calls.push("over"),
  });
  watch.watch();
});
afterEach(() => closing.abort());

const pass = (seconds: number) => hand.advance(seconds * 1_000);

describe("ExpiryWatch", () => {
  it("warns two minutes before the end, and asks after it until the service answers", async () => {
    watch.set(600_000);
    await pass(479);
    expect(calls).toEqual([]);
    await pass(2);
    expect(calls).toEqual(["soon"]);
    await pass(120);
    expect(calls).toEqual(["soon"]);
    await pass(7);
    expect(calls).toEqual(["soon", "over", "over"]);
  });

  it("follows the service's later answer, and warns once", async () => {
    watch.set(60_000);
    await pass(1);
    watch.set(600_000);
    await pass(595);
    expect(calls).toEqual(["soon"]);
    await pass(10);
    expect(calls).toEqual(["soon", "over"]);
  });

  it("asks no sooner while the service answers that no time is left", async () => {
    watch.set(0);
    await pass(3);
    watch.set(0);
    await pass(3);
    watch.set(0);
    expect(calls).toEqual(["soon", "over"]);
    await pass(1);
    expect(calls).toEqual(["soon", "over", "over"]);
  });

  it("is silent while a payment runs, without an expiry, and after the widget is closed", async () => {
    await pass(10_000);
    watch.set(1_000);
    watch.pause();
    await pass(60);
    expect(calls).toEqual([]);
    watch.watch();
    await pass(1);
    closing.abort();
    await pass(60);
    watch.watch();
    await pass(60);
    expect(calls).toEqual(["soon", "over"]);
  });
});
