/**
 * Counts the requests of one bucket in this process. However many arrive at once, one statement at a time takes them
 * from the bucket. Requests beyond the bucket's are refused, or wait in a fair order.
 */
import { requestRecountMs, turnWithinMs, waitingRequestsMax } from "../limits.ts";
import { type Caller, FairQueue, type Waiting } from "./fair-queue.ts";
import { type Grant, type RequestLimit, RequestStock } from "./request-stock.ts";

/**
 * The decision about a request, and what its subject has left; `counted` is false while the bucket does not answer.
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
  /** Waits until the bucket has refilled: requests beyond it then wait in a fair order. Without it they are refused. */
  readonly pause?: ((ms: number) => Promise<unknown>) | undefined;
};

// A process that was granted something leaves the next refill to others, or the quickest would take every one.
const restAfterGrant = 1.5;

const uncounted: Verdict = { admitted: true, counted: false, remaining: 0, waitMs: 0 };
const anyone: Caller = { network: undefined, session: "" };

/** One bucket, as this process admits requests from it. */
export class RequestCounter {
  readonly #parts: CounterParts;
  readonly #stock: RequestStock;
  readonly #queue = new FairQueue<Verdict>();
  #isTaking = false;
  #uncountedUntilMs = 0;

  constructor(parts: CounterParts) {
    this.#parts = parts;
    this.#stock = new RequestStock(parts.limit);
  }

  /** Counts one request. It waits only if the stock is empty, or others wait. */
  count(caller = anyone): Verdict | Promise<Verdict> {
    const nowMs = this.#parts.nowMs();
    if (this.#queue.size === 0 && this.#stock.spend(nowMs)) {
      this.#takeAhead(nowMs);
      return this.#admit(nowMs);
    }
    if (nowMs < this.#uncountedUntilMs) return uncounted;
    const refused = this.refusal(nowMs);
    if (refused !== undefined) return refused;
    return new Promise((resolve) => {
      this.#queue.join(caller, nowMs, resolve);
      if (this.#stock.isDry(nowMs)) answer(this.#queue.takeBehind(waitingRequestsMax), this.#refuse(nowMs));
      this.#takeAhead(nowMs);
    });
  }

  /** Reports whether a request would have to wait for others now. */
  isContended(nowMs = this.#parts.nowMs()): boolean {
    return this.#queue.size > 0 || (this.#stock.isDry(nowMs) && !this.#stock.holds(nowMs));
  }

  /** Returns the refusal that a request would get now, if that is known without a statement; counts nothing. */
  refusal(nowMs = this.#parts.nowMs()): Verdict | undefined {
    if (!this.#stock.isDry(nowMs) || this.#stock.holds(nowMs)) return undefined;
    const isWorthWaiting = this.#parts.pause !== undefined && this.#stock.dryForMs(nowMs) < turnWithinMs;
    return isWorthWaiting ? undefined : this.#refuse(nowMs, 0);
  }

  #admit(nowMs: number): Verdict {
    return { admitted: true, counted: true, remaining: this.#stock.remaining(nowMs), waitMs: 0 };
  }

  /** Returns a refusal until the bucket has refilled, and what waits has had its turn. */
  #refuse(nowMs: number, waiting = this.#queue.size): Verdict {
    const turnsMs = (waiting * 1_000) / this.#parts.limit.perSecond;
    return { admitted: false, counted: true, remaining: 0, waitMs: this.#stock.dryForMs(nowMs) + turnsMs };
  }

  #takeAhead(nowMs: number): void {
    if (this.#isTaking || nowMs < this.#uncountedUntilMs) return;
    if (this.#queue.size > 0 || this.#stock.wanted(nowMs, 0) > 0) void this.#takeWhileWanted();
  }

  async #takeWhileWanted(): Promise<void> {
    this.#isTaking = true;
    try {
      do await this.#takeOnce();
      while (this.#queue.size > 0);
    } catch (error) {
      // Counting protects other subjects; it never decides about a payment. The request itself needs the failed
      // database too.
      this.#uncountedUntilMs = this.#parts.nowMs() + requestRecountMs;
      this.#parts.reportFailure(error);
      answer(this.#queue.takeFirst(this.#queue.size), uncounted);
    } finally {
      this.#isTaking = false;
    }
  }

  async #takeOnce(): Promise<void> {
    const { take, nowMs: now, pause } = this.#parts;
    const wanted = this.#stock.wanted(now(), this.#queue.size);
    const granted = wanted > 0 ? await take(wanted) : undefined;
    if (granted) this.#stock.add(granted, now());
    const nowMs = now();
    let served = 0;
    while (served < this.#queue.size && this.#stock.spend(nowMs)) served++;
    answer(this.#queue.takeFirst(served), this.#admit(nowMs));
    const refused = this.refusal(nowMs);
    if (refused) answer(this.#queue.takeFirst(this.#queue.size), refused);
    if (pause === undefined || this.#queue.size === 0 || !this.#stock.isDry(nowMs)) return;
    answer(this.#queue.takeBehind(waitingRequestsMax), this.#refuse(nowMs));
    await pause(this.#stock.dryForMs(nowMs) * (granted?.granted ? restAfterGrant : 1));
    answer(this.#queue.takeSince(now() - turnWithinMs), this.#refuse(now()));
  }
}

function answer(waiting: readonly Waiting<Verdict>[], verdict: Verdict): void {
  for (const one of waiting) one.answer(verdict);
}
