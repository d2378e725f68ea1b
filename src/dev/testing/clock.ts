/** A clock that a test moves by hand; time stands still until it does. */

type Sleeper = { readonly wakeAt: number; readonly wake: () => void };

// Some fixed moment, so that a failing test prints the same times again.
const defaultStart = "2026-01-01T00:00:00.000Z";

/** Time for one test. Sleeps end in the order of their ends, as the test moves past them. */
export class HandClock {
  #nowMs: number;
  #sleepers: Sleeper[] = [];

  constructor(start: string = defaultStart) {
    this.#nowMs = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#nowMs);
  }

  /** Resolves once the clock has moved on by `durationMs`; rejects when the signal is aborted first. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const sleeper = { wakeAt: this.#nowMs + durationMs, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal.reason);
      });
    });
  }

  /** Moves on, waking sleepers at their own moments and letting each run before the next. */
  async advance(durationMs: number): Promise<void> {
    const end = this.#nowMs + durationMs;
    for (let next = this.#earliest(end); next !== undefined; next = this.#earliest(end)) {
      this.#nowMs = Math.max(this.#nowMs, next.wakeAt);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
      await new Promise(setImmediate);
    }
    this.#nowMs = end;
  }

  #earliest(end: number): Sleeper | undefined {
    const due = this.#sleepers.filter((sleeper) => sleeper.wakeAt <= end);
    return due.sort((left, right) => left.wakeAt - right.wakeAt)[0];
  }
}
