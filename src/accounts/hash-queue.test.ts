import { describe, expect, it } from "vitest";
import { type Hasher, HashQueue } from "./hash-queue.ts";

const hashesAtOnce = 2;
const strangersWaitingMax = 32;
const waitingOfMemberMax = 2;

function openQueue() {
  const queue = new HashQueue();
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string, kind: Hasher["kind"], of = name) =>
    queue.run({ kind, name: of }, async () => {
      started.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  return { queue, started, end: (name: string) => ends.get(name)!(), begin };
}
const names = (count: number, prefix: string) => Array.from({ length: count }, (_, index) => `${prefix} ${index}`);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("HashQueue", () => {
  it("runs a few at once, queues a few, and refuses strangers beyond them for a moment", async () => {
    const { begin, started, end } = openQueue();
    const flood = names(hashesAtOnce + strangersWaitingMax + 5, "stranger");
    const results = flood.map((name) =>
      begin(name, "stranger").then(
        () => "done",
        ({ code, retryAfterMs }) => [code, retryAfterMs > 0],
      ),
    );
    await turn();
    expect(started).toEqual(flood.slice(0, hashesAtOnce));
    expect(await Promise.all(results.slice(-5))).toEqual(Array(5).fill(["unavailable", true]));
    for (const name of flood.slice(0, -5)) {
      end(name);
      await turn();
    }
    expect(await Promise.all(results.slice(0, -5))).toEqual(Array(flood.length - 5).fill("done"));
  });

  it("reserves places for members that strangers cannot fill, and alternates between kinds", async () => {
    const { begin, started, end, queue } = openQueue();
    const strangers = names(hashesAtOnce + strangersWaitingMax, "stranger");
    for (const name of strangers) void begin(name, "stranger");
    await turn();
    expect(() => queue.requireRoom({ kind: "stranger", name: "late" })).toThrow("Many people sign in");
    void begin("member", "member");
    end(strangers[0]!);
    await turn();
    expect(started.at(-1)).toBe("member");
    void begin("another member", "member");
    end(strangers[1]!);
    await turn();
    expect(started.at(-1)).toBe(strangers[2]);
    end(strangers[2]!);
    await turn();
    expect(started.at(-1)).toBe("another member");
  });

  it("runs one at a time for each name, and refuses more than a few queued ones", async () => {
    const { begin, started, end, queue } = openQueue();
    const [first, ...behind] = names(1 + waitingOfMemberMax, "of one member");
    for (const name of [first!, ...behind]) void begin(name, "member", "one");
    await turn();
    expect(started).toEqual([first]);
    expect(() => queue.requireRoom({ kind: "member", name: "one" })).toThrow("being checked for you");
    void begin("another", "member");
    await turn();
    expect(started).toEqual([first, "another"]);
    void begin("third", "member");
    end(first!);
    await turn();
    // Names that have waited longest come first; the other of the same name waits behind the third.
    expect(started).toEqual([first, "another", behind[0]]);
    end("another");
    await turn();
    expect(started.at(-1)).toBe("third");
  });

  it("reserves places for known browsers during a flood of strangers", async () => {
    const { begin, started, end } = openQueue();
    const strangers = names(hashesAtOnce + strangersWaitingMax, "stranger");
    for (const name of strangers) void begin(name, "stranger");
    await turn();
    void begin("known", "browser");
    end(strangers[0]!);
    await turn();
    expect(started.at(-1)).toBe("known");
  });

  it("continues after work that fails", async () => {
    const { begin, started, queue } = openQueue();
    const failing = names(hashesAtOnce, "failing").map((name) =>
      queue.run({ kind: "stranger", name }, () => Promise.reject(new Error())),
    );
    await Promise.allSettled(failing);
    void begin("next", "stranger");
    await turn();
    expect(started).toEqual(["next"]);
  });
});
