import { describe, expect, it } from "vitest";
import { hashesAtOnce, hashesWaitingMax } from "../limits/sign-in.ts";
import { type Hasher, HashQueue } from "./hash-queue.ts";

/** A queue, and work in it that ends when it is told to. */
function scene() {
  const queue = new HashQueue();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string, hasher: Hasher) =>
    queue.run(hasher, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  return { queue, begun, end: (name: string) => ends.get(name)!(), begin };
}
const names = (count: number, prefix: string) => Array.from({ length: count }, (_, index) => `${prefix} ${index}`);
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("HashQueue", () => {
  it("runs a few at once, lets a few wait, and refuses strangers beyond them for a moment", async () => {
    const { begin, begun, end } = scene();
    const flood = names(hashesAtOnce + hashesWaitingMax.stranger + 5, "stranger");
    const results = flood.map((name) =>
      begin(name, "stranger").then(
        () => "done",
        ({ code, retryAfterMs }) => [code, retryAfterMs > 0],
      ),
    );
    await turn();
    expect(begun).toEqual(flood.slice(0, hashesAtOnce));
    expect(await Promise.all(results.slice(-5))).toEqual(Array(5).fill(["unavailable", true]));
    for (const name of flood.slice(0, -5)) {
      end(name);
      await turn();
    }
    expect(await Promise.all(results.slice(0, -5))).toEqual(Array(flood.length - 5).fill("done"));
  });

  it("has places for members that strangers cannot fill, and takes them first", async () => {
    const { begin, begun, end, queue } = scene();
    const strangers = names(hashesAtOnce + hashesWaitingMax.stranger, "stranger");
    for (const name of strangers) void begin(name, "stranger");
    await turn();
    expect(() => queue.requireRoom("stranger")).toThrow("Many people sign in");
    void begin("member", "member");
    end(strangers[0]!);
    await turn();
    expect(begun.at(-1)).toBe("member");
  });

  it("goes on after work that fails", async () => {
    const { begin, begun, queue } = scene();
    const failing = names(hashesAtOnce, "failing").map(() => queue.run("stranger", () => Promise.reject(new Error())));
    await Promise.allSettled(failing);
    void begin("next", "stranger");
    await turn();
    expect(begun).toEqual(["next"]);
  });
});
