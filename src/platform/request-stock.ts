/** The requests of one subject that one process may admit without a statement, and when it refills them. PURE. */
import { requestStockLifetimeMs, requestStockMs, requestStockShare } from "../limits.ts";

/** A bucket holds `burst` requests when it is full and fills at `perSecond`. */
export type RequestLimit = { readonly perSecond: number; readonly burst: number };

/** The shared bucket's grant for `wanted` requests, and what is left in it; between 0 and 1 if it granted less. */
export type Grant = { readonly wanted: number; readonly granted: number; readonly left: number };

/** Returns the most requests that a process holds, besides those that are waiting for it. */
export function stockSize({ perSecond, burst }: RequestLimit): number {
  return Math.max(1, Math.floor(Math.min((perSecond * requestStockMs) / 1000, burst * requestStockShare)));
}

/**
 * The stock, its expiry, and how long the bucket is empty. Every time is in milliseconds of one monotonic clock.
 */
export class RequestStock {
  readonly #limit: RequestLimit;
  readonly #size: number;
  #held = 0;
  #lapsesAtMs = 0;
  /** The bucket was empty: until then it would grant less than a full stock, so no statement is sent. */
  #dryUntilMs = 0;
  #bucket = { left: 0, atMs: 0 };

  constructor(limit: RequestLimit) {
    this.#limit = limit;
    this.#size = stockSize(limit);
  }

  /** Reports whether there is a request to spend; drops expired ones. */
  holds(nowMs: number): boolean {
    if (nowMs >= this.#lapsesAtMs) this.#held = 0;
    return this.#held > 0;
  }

  /** Spends one request; false if there is none. */
  spend(nowMs: number): boolean {
    if (!this.holds(nowMs)) return false;
    this.#held--;
    return true;
  }

  /**
   * Returns the number to take from the bucket when `waiting` requests wait: 0 while there is enough, or while it is
   * empty.
   */
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

  /** Returns the milliseconds until a request is admitted again. */
  dryForMs(nowMs: number): number {
    return Math.max(0, this.#dryUntilMs - nowMs);
  }

  /**
   * Returns the requests left as far as this process knows: its own, and the bucket's at the last statement, refilled
   * since.
   */
  remaining(nowMs: number): number {
    const { left, atMs } = this.#bucket;
    const refilled = left + ((nowMs - atMs) / 1000) * this.#limit.perSecond;
    return this.#held + Math.floor(Math.min(refilled, this.#limit.burst - this.#held));
  }
}
