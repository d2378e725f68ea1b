/**
 * Counts the requests of one bucket in this process. However many arrive at once, one statement at a time takes them
 * from the bucket.
 */
import { requestRecountMs } from "../../limits.ts";
import { type Grant, type RequestLimit, RequestStock } from "./request-stock.ts";

/**
 * The decision about a request, and what its merchant has left; `counted` is false while the database does not answer.
 */
export type Verdict = {
  readonly admitted: boolean;
  readonly counted: boolean;
  readonly remaining: number;
  /** For a refused request: the milliseconds until a retry is admitted. */
  readonly waitMs: number;
};

/** The dependencies of a counter. */
export type CounterParts = {
  readonly limit: RequestLimit;
  /** Takes up to `wanted` requests from the shared bucket. */
  readonly take: (wanted: number) => Promise<Grant>;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
  readonly reportFailure: (error: unknown) => void;
};

const uncounted: Verdict = { admitted: true, counted: false, remaining: 0, waitMs: 0 };

/** One bucket, as this process admits requests from it. */
export class RequestCounter {
  readonly #parts: CounterParts;
  readonly #stock: RequestStock;
  #waiting: ((verdict: Verdict) => void)[] = [];
  #isTaking = false;
  #uncountedUntilMs = 0;

  constructor(parts: CounterParts) {
    this.#parts = parts;
    this.#stock = new RequestStock(parts.limit);
  }

  /** Counts one request. It waits for the running statement only if the stock is empty. */
  count(): Verdict | Promise<Verdict> {
    const nowMs = this.#parts.nowMs();
    if (this.#stock.spend(nowMs)) {
      this.#takeAhead(nowMs);
      return this.#admit(nowMs);
    }
    if (nowMs < this.#uncountedUntilMs) return uncounted;
    const refused = this.refusal(nowMs);
    if (refused !== undefined) return refused;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#takeAhead(nowMs);
    });
  }

  /** Returns the refusal that a request would get now, if that is known without a statement; counts nothing. */
  refusal(nowMs = this.#parts.nowMs()): Verdict | undefined {
    if (!this.#stock.isDry(nowMs) || this.#stock.holds(nowMs)) return undefined;
    return { admitted: false, counted: true, remaining: 0, waitMs: this.#stock.dryForMs(nowMs) };
  }

  #admit(nowMs: number): Verdict {
    return { admitted: true, counted: true, remaining: this.#stock.remaining(nowMs), waitMs: 0 };
  }

  #takeAhead(nowMs: number): void {
    if (this.#isTaking || nowMs < this.#uncountedUntilMs) return;
    if (this.#stock.wanted(nowMs, this.#waiting.length) > 0) void this.#takeWhileWanted();
  }

  async #takeWhileWanted(): Promise<void> {
    this.#isTaking = true;
    try {
      do await this.#takeOnce();
      while (this.#waiting.length > 0);
    } catch (error) {
      // Counting protects other merchants; it never decides about a payment. The request itself needs the failed
      // database too.
      this.#uncountedUntilMs = this.#parts.nowMs() + requestRecountMs;
      this.#parts.reportFailure(error);
      this.#answer(this.#waiting.length, uncounted);
    } finally {
      this.#isTaking = false;
    }
  }

  async #takeOnce(): Promise<void> {
    const wanted = this.#stock.wanted(this.#parts.nowMs(), this.#waiting.length);
    if (wanted > 0) this.#stock.add(await this.#parts.take(wanted), this.#parts.nowMs());
    const nowMs = this.#parts.nowMs();
    let served = 0;
    while (served < this.#waiting.length && this.#stock.spend(nowMs)) served++;
    this.#answer(served, this.#admit(nowMs));
    const refused = this.refusal(nowMs);
    if (refused !== undefined) this.#answer(this.#waiting.length, refused);
  }

  /** Answers the first `count` waiting requests. */
  #answer(count: number, verdict: Verdict): void {
    for (const resolve of this.#waiting.splice(0, count)) resolve(verdict);
  }
}
