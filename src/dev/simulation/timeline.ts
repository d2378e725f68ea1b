/** Simulated time: a queue of events, run one after the other, and a clock that jumps from each to the next. */
import type { Dice } from "./dice.ts";

type Event = { readonly atMs: number; readonly order: number; readonly run: () => Promise<void> | void };

const ordersMax = 2 ** 30;

/** Simultaneous events run in an order that the dice choose: every interleaving is possible, and each repeats. */
export class Timeline {
  readonly #dice: Dice;
  readonly #queue: Event[] = [];
  #nowMs = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Milliseconds since the run began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: Event["run"]): void {
    const event = { atMs: this.#nowMs + delayMs, order: this.#dice.between(0, ordersMax), run };
    const later = this.#queue.findIndex((other) => isBefore(event, other));
    this.#queue.splice(later === -1 ? this.#queue.length : later, 0, event);
  }

  /** Runs the next event and all of its immediate consequences; false when none is left. */
  async runNext(): Promise<boolean> {
    const event = this.#queue.shift();
    if (event === undefined) return false;
    this.#nowMs = event.atMs;
    await event.run();
    await everyContinuation();
    return true;
  }
}

function isBefore(left: Event, right: Event): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
}

// Continuations of a settled promise are microtasks, and all of them run before the next turn of the event loop.
function everyContinuation(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
