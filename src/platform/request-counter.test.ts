import { beforeEach, describe, expect, it } from "vitest";
import { turnWithinMs, waitingRequestsMax } from "../limits.ts";
import { FairQueue, type Grant, RequestCounter, RequestStock, stockSize, type Verdict } from "./request-counter.ts";

const limit = { perSecond: 100, burst: 200 };

let nowMs: number;
let failures: unknown[];
let requested: { wanted: number; answer: (granted: number, left?: number) => void; fail: (error: Error) => void }[];
beforeEach(() => {
  nowMs = 0;
  failures = [];
  requested = [];
});

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
  /** Lets time pass until the counter takes from the bucket again. Returns the milliseconds. */
  async function passTime(): Promise<number> {
    const fromMs = nowMs;
    while (pauses.length > 0) {
      const { ms, end } = pauses.shift()!;
      nowMs += ms;
      end();
      await settle();
    }
    return nowMs - fromMs;
  }

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
    expect(heavies.filter(Boolean)).toHaveLength(1);
    expect(counter.isContended()).toBe(true);
    const lights = call(counter, light, 5);
    expect(await passTime()).toBeCloseTo(300);
    expect(lights.filter(Boolean)).toHaveLength(1);
    requested[1]?.answer(6);
    await settle();
    await passTime();
    expect([lights, heavies.filter(Boolean).length]).toEqual([Array(5).fill(true), 3]);
  });

  it("spreads what an empty bucket grants over the time until the next grant", async () => {
    const heavies = call(openOrdered(), heavy, 100);
    requested[0]?.answer(0);
    await settle();
    await passTime();
    requested[1]?.answer(60);
    await settle();
    const admitted = [heavies.filter(Boolean).length];
    while (pauses.length > 0) {
      const { ms, end } = pauses.shift()!;
      nowMs += ms;
      end();
      await settle();
      admitted.push(heavies.filter(Boolean).length - admitted.reduce((sum, one) => sum + one));
    }
    expect(admitted).toEqual([...Array(30).fill(2), 0]);
  });

  it("pauses longer after a grant than after none, so that another process gets the next refill", async () => {
    call(openOrdered(), heavy, 5);
    requested[0]?.answer(1);
    await settle();
    expect(await passTime()).toBeCloseTo(300);
    requested[1]?.answer(0, 0);
    await settle();
    expect(await passTime()).toBeCloseTo(200);
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

/** Spends until nothing is left; returns the number spent. */
function spendAll(stock: RequestStock, nowMs: number): number {
  let spent = 0;
  while (stock.spend(nowMs)) spent++;
  return spent;
}

describe("stockSize()", () => {
  it("is a fifth of a second of the rate, at most a tenth of the burst, and never zero", () => {
    expect(stockSize(limit)).toBe(20);
    expect(stockSize({ perSecond: 1_000, burst: 200 })).toBe(20);
    expect(stockSize({ perSecond: 50, burst: 1_000 })).toBe(10);
    expect(stockSize({ perSecond: 1, burst: 5 })).toBe(1);
  });
});

describe("RequestStock", () => {
  it("spends what it was granted, and no more", () => {
    const stock = new RequestStock(limit);
    expect(stock.spend(0)).toBe(false);
    stock.add({ wanted: 20, granted: 20, left: 180 }, 0);
    expect(spendAll(stock, 1)).toBe(20);
  });

  it("requests more when a quarter is left, and for waiting requests", () => {
    const stock = new RequestStock(limit);
    expect(stock.wanted(0, 0)).toBe(20);
    expect(stock.wanted(0, 7)).toBe(27);
    stock.add({ wanted: 20, granted: 20, left: 180 }, 0);
    expect(stock.wanted(0, 0)).toBe(0);
    for (let spent = 0; spent < 15; spent++) stock.spend(0);
    expect(stock.wanted(0, 0)).toBe(15);
  });

  it("never requests more than the burst", () => {
    expect(new RequestStock(limit).wanted(0, 5_000)).toBe(200);
  });

  it("drops what was not spent for ten seconds", () => {
    const stock = new RequestStock(limit);
    stock.add({ wanted: 20, granted: 20, left: 180 }, 0);
    expect(stock.spend(9_999)).toBe(true);
    expect(stock.spend(10_000)).toBe(false);
  });

  it("requests no more after an empty bucket until it can grant a whole stock again", () => {
    const stock = new RequestStock(limit);
    stock.add({ wanted: 20, granted: 3, left: 0.5 }, 1_000);
    expect(spendAll(stock, 1_000)).toBe(3);
    expect(stock.dryForMs(1_000)).toBe(195);
    expect(stock.wanted(1_194, 9)).toBe(0);
    expect(stock.wanted(1_195, 9)).toBe(29);
  });

  it("knows what is left: its own and the bucket's, refilled since, and never more than the burst", () => {
    const stock = new RequestStock(limit);
    stock.add({ wanted: 20, granted: 20, left: 100.4 }, 0);
    expect(stock.remaining(0)).toBe(120);
    expect(stock.remaining(250)).toBe(145);
    expect(stock.remaining(60_000)).toBe(200);
  });
});

describe("FairQueue", () => {
  /** Adds calls such as `n1 s1`, and returns the queue; each answers with its own name. */
  function queueOf(calls: readonly string[], nowMs = 0, queue = new FairQueue<(name: string) => void>()) {
    for (const call of calls) {
      const [network] = call.split(" ");
      queue.join({ network, session: call }, nowMs, (tell) => tell(call));
    }
    return queue;
  }

  function namesOf(taken: readonly { answer: (tell: (name: string) => void) => void }[]): string[] {
    const names: string[] = [];
    for (const one of taken) one.answer((name) => names.push(name));
    return names;
  }

  it("takes networks by their calls, sessions within a network by theirs, and otherwise as they came", () => {
    const queue = queueOf(["a 1", "a 1", "a 2", "a 3", "b 1", "b 2", "c 1"]);
    expect(namesOf(queue.takeFirst(4))).toEqual(["c 1", "b 1", "b 2", "a 2"]);
    expect(namesOf(queue.takeFirst(9))).toEqual(["a 3", "a 1", "a 1"]);
  });

  it("counts calls that were taken: a network gains nothing by new sessions", () => {
    const queue = queueOf(["a 1", "a 2", "a 3"]);
    queue.takeFirst(3);
    expect(namesOf(queueOf(["a 4", "b 1", "b 1"], 1, queue).takeFirst(3))).toEqual(["b 1", "b 1", "a 4"]);
  });

  it("forgets calls after ten seconds, but not of what still waits", () => {
    const queue = queueOf(["a 1", "a 2", "a 3"]);
    expect(namesOf(queueOf(["b 1", "b 2", "a 4"], 10_000, queue).takeFirst(9))).toEqual([
      ...["a 4", "b 1", "b 2"],
      ...["a 1", "a 2", "a 3"],
    ]);
  });

  it("takes what is behind, and what has waited too long", () => {
    const queue = queueOf(["b 1"], 5, queueOf(["a 1", "a 2", "a 3"]));
    expect(namesOf(queue.takeBehind(3))).toEqual(["a 3"]);
    expect(namesOf(queue.takeBehind(3))).toEqual([]);
    expect(namesOf(queue.takeSince(4))).toEqual(["a 1", "a 2"]);
    expect([queue.size, namesOf(queue.takeFirst(9))]).toEqual([1, ["b 1"]]);
  });
});
