import { beforeEach, describe, expect, it } from "vitest";
import { turnWithinMs, waitingRequestsMax } from "../limits.ts";
import { RequestCounter, type Verdict } from "./request-counter.ts";
import type { Grant } from "./request-stock.ts";

const limit = { perSecond: 100, burst: 200 };

let nowMs: number;
let failures: unknown[];
let requested: { wanted: number; answer: (granted: number, left?: number) => void; fail: (error: Error) => void }[];
beforeEach(() => {
  nowMs = 0;
  failures = [];
  requested = [];
});

/** Opens a counter whose bucket answers when the test says so. */
function openCounter(readClock = () => nowMs): RequestCounter {
  const take = (wanted: number) =>
    new Promise<Grant>((resolve, reject) => {
      requested.push({ wanted, answer: (granted, left = 0) => resolve({ wanted, granted, left }), fail: reject });
    });
  return new RequestCounter({ limit, take, nowMs: readClock, reportFailure: (error) => failures.push(error) });
}

function countMany(counter: RequestCounter, requests: number): Promise<Verdict[]> {
  return Promise.all(Array.from({ length: requests }, () => counter.count()));
}

const admittedOf = (verdicts: readonly Verdict[]) => verdicts.filter(({ admitted }) => admitted).length;

describe("RequestCounter", () => {
  it("joins waiting requests into one statement for all of them", async () => {
    const counter = openCounter();
    const verdicts = countMany(counter, 50);
    expect(requested.map(({ wanted }) => wanted)).toEqual([21]);
    requested[0]?.answer(21, 179);
    await new Promise(setImmediate);
    expect(requested.map(({ wanted }) => wanted)).toEqual([21, 49]);
    requested[1]?.answer(49, 130);
    expect(admittedOf(await verdicts)).toBe(50);
  });

  it("answers at once from its stock, and refills before it is empty", async () => {
    const counter = openCounter();
    const first = counter.count();
    requested[0]?.answer(21, 179);
    await first;
    await new Promise(setImmediate);
    for (let request = 0; request < 15; request++) expect(counter.count()).toMatchObject({ admitted: true });
    expect(requested.map(({ wanted }) => wanted)).toEqual([21, 15]);
    expect(counter.count()).toMatchObject({ admitted: true });
    expect(requested.length).toBe(2);
  });

  it("refuses requests beyond the bucket's, and sends no statement until it has refilled", async () => {
    const counter = openCounter();
    const verdicts = countMany(counter, 10);
    requested[0]?.answer(4);
    const answered = await verdicts;
    expect(answered.map(({ admitted }) => admitted)).toEqual([...Array(4).fill(true), ...Array(6).fill(false)]);
    expect(answered.at(-1)).toMatchObject({ remaining: 0, waitMs: 200 });
    nowMs = 199;
    expect(admittedOf(await countMany(counter, 1_000))).toBe(0);
    expect(requested.length).toBe(1);
    nowMs = 200;
    const later = counter.count();
    expect(requested.length).toBe(2);
    requested[1]?.answer(21, 0);
    expect(await later).toMatchObject({ admitted: true });
  });

  it("also answers a request during which the bucket stops being empty", async () => {
    const counter = openCounter(() => nowMs++);
    const verdicts = countMany(counter, 2);
    requested[0]?.answer(1);
    await verdicts;
    const { waitMs } = counter.refusal()!;
    nowMs += Math.ceil(waitMs) - 2;
    expect(await counter.count()).toMatchObject({ admitted: false, waitMs: 1 });
    const later = counter.count();
    requested[1]?.answer(21, 0);
    expect(await later).toMatchObject({ admitted: true });
  });

  it("predicts a refusal only while it is certain", async () => {
    const counter = openCounter();
    expect(counter.refusal()).toBeUndefined();
    const verdicts = countMany(counter, 2);
    requested[0]?.answer(1);
    await verdicts;
    expect(counter.refusal()).toMatchObject({ admitted: false, waitMs: 200 });
    nowMs = 200;
    expect(counter.refusal()).toBeUndefined();
  });

  it("admits requests uncounted while the bucket does not answer, and retries once a second", async () => {
    const counter = openCounter();
    const verdicts = countMany(counter, 3);
    requested[0]?.fail(new Error("down"));
    expect(await verdicts).toEqual(Array(3).fill({ admitted: true, counted: false, remaining: 0, waitMs: 0 }));
    nowMs = 999;
    expect(await counter.count()).toMatchObject({ admitted: true, counted: false });
    expect([requested.length, failures.length]).toEqual([1, 1]);
    nowMs = 1_000;
    const counted = counter.count();
    requested[1]?.answer(21, 179);
    expect(await counted).toMatchObject({ admitted: true, counted: true });
  });
});

describe("RequestCounter with a fair order", () => {
  const heavy = { network: "heavy", session: "s" };
  const light = { network: "light", session: "s" };
  let pauses: { ms: number; end: () => void }[];
  beforeEach(() => {
    pauses = [];
  });

  function openOrdered(ofLimit = limit): RequestCounter {
    const take = (wanted: number) =>
      new Promise<Grant>((resolve, reject) => {
        requested.push({ wanted, answer: (granted, left = 0) => resolve({ wanted, granted, left }), fail: reject });
      });
    const pause = (ms: number) => new Promise<void>((end) => pauses.push({ ms, end }));
    return new RequestCounter({ limit: ofLimit, take, pause, nowMs: () => nowMs, reportFailure: () => {} });
  }

  const settle = () => new Promise(setImmediate);
  /** Ends the pause when its time has come. */
  async function passTime(): Promise<void> {
    const { ms, end } = pauses.shift()!;
    nowMs += ms;
    end();
    await settle();
  }

  /** Makes calls, and returns what has been answered so far. */
  function call(counter: RequestCounter, caller: typeof heavy, calls: number): (boolean | undefined)[] {
    const answered: (boolean | undefined)[] = Array(calls).fill(undefined);
    answered.forEach((_, index) => {
      void Promise.resolve(counter.count(caller)).then(({ admitted }) => {
        answered[index] = admitted;
      });
    });
    return answered;
  }

  it("lets calls beyond the bucket wait, and admits the callers that have called least first", async () => {
    const counter = openOrdered();
    const heavies = call(counter, heavy, 30);
    requested[0]?.answer(2);
    await settle();
    expect([heavies.filter(Boolean).length, pauses.map(({ ms }) => ms)]).toEqual([2, [300]]);
    expect(counter.isContended()).toBe(true);
    const lights = call(counter, light, 5);
    await passTime();
    requested[1]?.answer(6);
    await settle();
    expect([lights, heavies.filter(Boolean).length]).toEqual([Array(5).fill(true), 3]);
  });

  it("pauses longer after a grant than after none, so that another process gets the next refill", async () => {
    call(openOrdered(), heavy, 5);
    requested[0]?.answer(1);
    await settle();
    await passTime();
    requested[1]?.answer(0, 0);
    await settle();
    expect(pauses.map(({ ms }) => ms)).toEqual([200]);
  });

  it("refuses the callers that have called most once too many wait, with the time until all have had their turn", async () => {
    const counter = openOrdered();
    const heavies = call(counter, heavy, waitingRequestsMax + 2);
    requested[0]?.answer(2);
    await settle();
    expect(heavies.filter((one) => one === false)).toHaveLength(0);
    const lights = call(counter, light, 10);
    await settle();
    expect(heavies.filter((one) => one === false)).toHaveLength(10);
    expect(lights).toEqual(Array(10).fill(undefined));
    expect(await counter.count(heavy)).toMatchObject({ admitted: false, waitMs: 2_760 });
  });

  it("refuses what has waited for five seconds", async () => {
    const heavies = call(openOrdered(), heavy, 3);
    requested[0]?.answer(0);
    await settle();
    nowMs = turnWithinMs;
    pauses.shift()?.end();
    await settle();
    expect(heavies).toEqual([false, false, false]);
  });

  it("refuses at once where the bucket refills later than a call may wait", async () => {
    const counter = openOrdered({ perSecond: 0.1, burst: 5 });
    const heavies = call(counter, heavy, 7);
    requested[0]?.answer(2);
    await settle();
    requested[1]?.answer(0);
    await settle();
    expect([heavies.filter(Boolean).length, pauses]).toEqual([2, []]);
    expect(heavies.filter((one) => one === false)).toHaveLength(5);
  });

  it("admits everything that waits when the bucket stops answering", async () => {
    const heavies = call(openOrdered(), heavy, 3);
    requested[0]?.answer(0);
    await settle();
    await passTime();
    requested[1]?.fail(new Error("down"));
    await settle();
    expect(heavies).toEqual([true, true, true]);
  });
});
