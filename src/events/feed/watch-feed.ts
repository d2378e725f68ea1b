/** A stream of events: those behind its start, then each new one, with heartbeats, until it ends. */
import type { FeedReader } from "./feed-reader.ts";
import type { FeedEvent } from "./read-feed.ts";

/** A message of a stream, and the cursor behind it. */
export type FeedMessage = { readonly cursor: string } & (
  | { readonly type: "event"; readonly event: FeedEvent }
  | {
      readonly type: "heartbeat";
      readonly settledAt: Date | undefined;
      readonly caughtUp: boolean;
      readonly delayed: boolean;
    }
  | { readonly type: "ending"; readonly reason: EndingReason }
);

type EndingReason = "AGE" | "STOPPING" | "SCOPE";

export type Watching = {
  /** The caller left, or its deadline passed. */
  readonly signal: AbortSignal;
  /** The server stops. */
  readonly draining: AbortSignal;
  readonly ageMs: number;
  readonly heartbeatMs: number;
  /** Runs before each heartbeat; false if the caller may now read something else. Throws if it may no longer read. */
  readonly isSame: () => Promise<boolean>;
};

/** Waits until something wakes it. */
class Waker {
  #isWoken = false;
  #failure: unknown;
  #end: (() => void) | undefined;

  readonly wake = (failure?: unknown): void => {
    this.#failure ??= failure;
    this.#isWoken = true;
    this.#end?.();
  };

  async wait(ms: number): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(0, ms));
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isWoken = false;
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** Yields until the stream ends. At most two pages are in memory: the current one and the next. */
export async function* watchFeed(reader: FeedReader, watching: Watching): AsyncGenerator<FeedMessage> {
  const { signal, draining, ageMs, heartbeatMs } = watching;
  const waker = new Waker();
  const stop = () => waker.wake();
  for (const one of [signal, draining]) one.addEventListener("abort", stop);
  const endsAt = performance.now() + ageMs;
  let beatAt = 0;
  let wasCaughtUp = false;
  try {
    while (!signal.aborted) {
      const reason = draining.aborted ? "STOPPING" : performance.now() >= endsAt ? "AGE" : undefined;
      if (reason !== undefined) return yield { type: "ending", reason, cursor: reader.cursor };
      if (performance.now() >= beatAt || reader.isCaughtUp !== wasCaughtUp) {
        if (performance.now() >= beatAt) {
          if (!(await watching.isSame())) return yield { type: "ending", reason: "SCOPE", cursor: reader.cursor };
          beatAt = performance.now() + heartbeatMs;
        }
        wasCaughtUp = reader.isCaughtUp;
        yield { type: "heartbeat", cursor: reader.cursor, ...standingOf(reader) };
      }
      let isQuiet = reader.isCaughtUp;
      for (const cell of reader.cells) {
        for (const event of await cell.next(waker)) {
          isQuiet = false;
          cell.pass(event);
          if (event.body !== null) yield { type: "event", event, cursor: reader.cursor };
        }
      }
      if (isQuiet && reader.isCaughtUp) await waker.wait(Math.min(beatAt, endsAt) - performance.now());
    }
  } finally {
    for (const { tail } of reader.cells) tail.leave(waker);
    for (const one of [signal, draining]) one.removeEventListener("abort", stop);
  }
}

function standingOf({ cells, isCaughtUp }: FeedReader) {
  const times = cells.map(({ tail }) => tail.settledAt?.getTime());
  const known = times.every((time) => time !== undefined);
  return {
    caughtUp: isCaughtUp,
    settledAt: isCaughtUp && known ? new Date(Math.min(...times)) : undefined,
    delayed: cells.some(({ tail }) => tail.isDelayed),
  };
}
