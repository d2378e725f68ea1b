/** The requests of one merchant that one process may let in without asking anybody, and when it asks for more. PURE. */
import { requestStockLifetimeMs, requestStockMs, requestStockShare } from "../../limits.ts";

/** A bucket holds `burst` requests when it is full and fills at `perSecond`. */
export type RequestLimit = { readonly perSecond: number; readonly burst: number };

/** What the shared bucket gave of what was wanted, and what is left in it; between 0 and 1 when it gave less. */
export type Grant = { readonly wanted: number; readonly granted: number; readonly left: number };

/** How many requests a process holds at most, beside those that are waiting for it. */
export function stockSize({ perSecond, burst }: RequestLimit): number {
  return Math.max(1, Math.floor(Math.min((perSecond * requestStockMs) / 1000, burst * requestStockShare)));
}

/** What is held, until when, and since when the bucket is dry. Every moment is in milliseconds of one clock that never goes back. */
export class RequestStock {
  readonly #limit: RequestLimit;
  readonly #size: number;
  #held = 0;
  #lapsesAtMs = 0;
  /** The bucket was empty: until then it would give less than a full stock, and is not asked. */
  #dryUntilMs = 0;
  #bucket = { left: 0, atMs: 0 };

  constructor(limit: RequestLimit) {
    this.#limit = limit;
    this.#size = stockSize(limit);
  }

  /** Whether there is a request to spend; what lapsed is dropped. */
  holds(nowMs: number): boolean {
    if (nowMs >= this.#lapsesAtMs) this.#held = 0;
    return this.#held > 0;
  }

  /** Takes one request out; false when there is none. */
  spend(nowMs: number): boolean {
    if (!this.holds(nowMs)) return false;
    this.#held--;
    return true;
  }

  /** How many to ask the bucket for when so many requests wait: 0 while there is enough, or while it is dry. */
  wanted(nowMs: number, waiting: number): number {
    const isEnough = waiting === 0 && this.#held > this.#size / 4;
    if (isEnough || this.isDry(nowMs)) return 0;
    return Math.min(this.#size - this.#held + waiting, this.#limit.burst);
  }

  add({ wanted, granted, left }: Grant, nowMs: number): void {
    this.#held += granted;
    this.#lapsesAtMs = nowMs + requestStockLifetimeMs;
    this.#bucket = { left, atMs: nowMs };
    if (granted < wanted) this.#dryUntilMs = nowMs + ((this.#size - left) / this.#limit.perSecond) * 1000;
  }

  isDry(nowMs: number): boolean {
    return nowMs < this.#dryUntilMs;
  }

  /** After how many milliseconds a request is welcome again. */
  dryForMs(nowMs: number): number {
    return Math.max(0, this.#dryUntilMs - nowMs);
  }

  /** Requests left as far as this process knows: its own, and what the bucket had when it was last asked, refilled since. */
  remaining(nowMs: number): number {
    const { left, atMs } = this.#bucket;
    const refilled = left + ((nowMs - atMs) / 1000) * this.#limit.perSecond;
    return this.#held + Math.floor(Math.min(refilled, this.#limit.burst - this.#held));
  }
}
