import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HandClock } from "../src/testing/clock.ts";
import { ExpiryWatch } from "./expiry-watch.ts";

let hand: HandClock;
let closing: AbortController;
let told: string[];
let watch: ExpiryWatch;

beforeEach(() => {
  hand = new HandClock();
  closing = new AbortController();
  told = [];
  watch = new ExpiryWatch({
    clock: {
      now: () => hand.now().getTime(),
      wait: (durationMs, signal) => hand.sleep(durationMs, signal).catch(() => undefined),
    },
    closed: closing.signal,
    onSoon: () => told.push("soon"),
    onOver: async () => void told.push("over"),
  });
  watch.watch();
});
afterEach(() => closing.abort());

const pass = (seconds: number) => hand.advance(seconds * 1_000);

describe("ExpiryWatch", () => {
  it("warns two minutes before the end, and asks when it is over until somebody answers", async () => {
    watch.set(600_000);
    await pass(479);
    expect(told).toEqual([]);
    await pass(2);
    expect(told).toEqual(["soon"]);
    await pass(120);
    expect(told).toEqual(["soon"]);
    await pass(7);
    expect(told).toEqual(["soon", "over", "over"]);
  });

  it("believes the later answer of the service, and warns once", async () => {
    watch.set(60_000);
    await pass(1);
    watch.set(600_000);
    await pass(595);
    expect(told).toEqual(["soon"]);
    await pass(10);
    expect(told).toEqual(["soon", "over"]);
  });

  it("asks no sooner while the service answers that nothing is left", async () => {
    watch.set(0);
    await pass(3);
    watch.set(0);
    await pass(3);
    watch.set(0);
    expect(told).toEqual(["soon", "over"]);
    await pass(1);
    expect(told).toEqual(["soon", "over", "over"]);
  });

  it("is silent while a payment runs, without an end, and when the widget has let go", async () => {
    await pass(10_000);
    watch.set(1_000);
    watch.pause();
    await pass(60);
    expect(told).toEqual([]);
    watch.watch();
    await pass(1);
    closing.abort();
    await pass(60);
    watch.watch();
    await pass(60);
    expect(told).toEqual(["soon", "over"]);
  });
});
