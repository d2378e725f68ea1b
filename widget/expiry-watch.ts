/** Watches the time of a session whose customer has not paid: a word before its end, and a look when it is over. */

import type { Clock } from "./checkout.ts";

/** Whom the watch tells. */
export type ExpiryWatchParts = {
  readonly clock: Clock;
  /** Aborted when the widget lets go of the session. */
  readonly closed: AbortSignal;
  readonly onSoon: () => void;
  /** Asks the service, which alone decides; the watch asks again while the session stays open. */
  readonly onOver: () => Promise<void>;
};

// Enough to find a card and type it in.
const warnBeforeMs = 120_000;
// The service ends what is over every second; a busy one takes a little longer.
const endsAfterMs = 2_000;
// Its answer may not come at once; nothing is lost by waiting, because it takes no card any more.
const askAgainMs = 5_000;

/** One session's time. Tells of its nearing end once. */
export class ExpiryWatch {
  readonly #parts: ExpiryWatchParts;
  #overAt: number | undefined;
  #turn: AbortController | undefined;
  #warned = false;
  #isOver = false;

  constructor(parts: ExpiryWatchParts) {
    this.#parts = parts;
    parts.closed.addEventListener("abort", () => this.pause());
  }

  /** What the service says is left; a computer that slept has a later answer than its own clock. */
  set(leftMs: number | undefined): void {
    this.#overAt = leftMs === undefined ? undefined : this.#parts.clock.now() + leftMs;
    if (this.#turn && !this.#isOver) this.watch();
  }

  /** Goes on watching, from where the session's time now is. */
  watch(): void {
    this.pause();
    if (this.#parts.closed.aborted) return;
    this.#turn = new AbortController();
    void this.#follow(this.#turn.signal);
  }

  /** While a payment runs its session does not expire. */
  pause(): void {
    this.#turn?.abort();
    this.#turn = undefined;
  }

  async #follow(paused: AbortSignal): Promise<void> {
    const { clock, onSoon, onOver } = this.#parts;
    const overAt = this.#overAt;
    if (overAt === undefined) return;
    await clock.wait(overAt - warnBeforeMs - clock.now(), paused);
    if (paused.aborted) return;
    if (!this.#warned) onSoon();
    this.#warned = true;
    await clock.wait(overAt + endsAfterMs - clock.now(), paused);
    while (!paused.aborted) {
      this.#isOver = true;
      await onOver();
      await clock.wait(askAgainMs, paused);
    }
  }
}
