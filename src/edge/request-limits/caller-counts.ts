/** Counts the calls of one session or one address in this process only: several processes multiply the bound. PURE. */
import { keepNewest } from "./keep-newest.ts";
import type { Verdict } from "./request-counter.ts";
import type { RequestLimit } from "./request-stock.ts";

// Sessions, and addresses, that one process counts, some hundred bytes each; beyond this number the one idle for
// longest is dropped.
const requestCallersMax = 20_000;

/** A token bucket for each subject, all of one size. */
export class CallerCounts {
  readonly limit: RequestLimit;
  /** The time when a subject's bucket is full again; ordered by the last count. */
  readonly #fullAtMs = new Map<string, number>();

  constructor(limit: RequestLimit) {
    this.limit = limit;
  }

  /** Counts one call at a time of a monotonic clock. A refused call takes nothing from the bucket. */
  count(subject: string, nowMs: number): Verdict {
    const { perSecond, burst } = this.limit;
    const refillMs = 1000 / perSecond;
    const fullAtMs = Math.max(this.#fullAtMs.get(subject) ?? 0, nowMs) + refillMs;
    const waitMs = fullAtMs - nowMs - burst * refillMs;
    if (waitMs > 0) return { admitted: false, counted: true, remaining: 0, waitMs };
    keepNewest(this.#fullAtMs, [subject, fullAtMs], requestCallersMax);
    const remaining = Math.floor(burst - (fullAtMs - nowMs) / refillMs);
    return { admitted: true, counted: true, remaining, waitMs: 0 };
  }
}
