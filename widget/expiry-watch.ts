/** Tracks the expiry of a session whose customer has not paid: warns before its end, and loads its status after it. */

import type { Clock } from "./checkout.ts";

/** The callbacks of the watch. */
export type ExpiryWatchParts = {
  readonly clock: Clock;
  /** Aborted when the widget releases the session. */
  readonly closed: AbortSignal;
  readonly onSoon: () => void;
  /** Asks the service, which alone decides; called again while the session stays open. */
  readonly onOver: () => Promise<void>;
};

// Long enough to find a card and type it in.
const warnBeforeMs = 120_000;
// The service expires sessions every second; a busy one takes a little longer.
const endsAfterMs = 2_000;
// The answer may be late; waiting costs nothing, because the session no longer accepts a card.
const askAgainMs = 5_000;

/** Watches the expiry of a session, and warns of its end once. */
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

  /** Sets the time left by the service, which is right even if the computer slept. */
  set(leftMs: number | undefined): void {
    this.#overAt = leftMs === undefined ? undefined : this.#parts.clock.now() + leftMs;
    if (this.#turn && !this.#isOver) this.watch();
  }

  /** Resumes the watch with the session's current time. */
  watch(): void {
    this.pause();
    if (this.#parts.closed.aborted) return;
    this.#turn = new AbortController();
    void this.#follow(this.#turn.signal);
  }

  /** Pauses while a payment runs, because its session does not expire. */
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
