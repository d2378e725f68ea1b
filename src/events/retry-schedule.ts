/** When a webhook is tried again. Pure: the try's number, the answer and a random fraction decide. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * The pause before each try; the first goes out at once. Short ones ride out a restart, the long ones a weekend:
 * the last try comes 75 hours after the first.
 */
const pausesMs = [
  0,
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
] as const;

/** Deliveries that failed together must not come back together. */
const jitter = 0.1;

/** How many tries a delivery gets before a person has to ask for more. */
export const triesMax = pausesMs.length;

/** What follows a failed try: another one after a pause, or none. */
export type NextTry = { readonly kind: "retry"; readonly pauseMs: number } | { readonly kind: "exhausted" };

/**
 * Plans what follows the failed try number `tries` (1 for the first).
 * `retryAfterMs` is what a 429 or 503 answer asked for: honoured from the scheduled pause up to twice as long.
 * `random` is a fraction in [0, 1).
 */
export function planNextTry(failed: { tries: number; retryAfterMs?: number | undefined; random: number }): NextTry {
  const pauseMs = pausesMs[failed.tries];
  if (pauseMs === undefined) return { kind: "exhausted" };
  if (failed.retryAfterMs !== undefined) {
    return { kind: "retry", pauseMs: Math.min(Math.max(failed.retryAfterMs, pauseMs), 2 * pauseMs) };
  }
  return { kind: "retry", pauseMs: Math.round(pauseMs * (1 + jitter * (2 * failed.random - 1))) };
}

/**
 * What the `Retry-After` header of an answer asks for, or undefined when it asks for nothing that can be read.
 * Seconds or an HTTP date (RFC 9110, 10.2.3); only 429 and 503 mean it for us.
 */
export function parseRetryAfterMs(answer: {
  statusCode: number;
  retryAfter: string | undefined;
  now: Date;
}): number | undefined {
  if (answer.statusCode !== 429 && answer.statusCode !== 503) return undefined;
  const text = answer.retryAfter?.trim();
  if (text === undefined || text === "") return undefined;
  const pauseMs = /^[0-9]+$/.test(text) ? Number(text) * second : Date.parse(text) - answer.now.getTime();
  return pauseMs > 0 ? pauseMs : undefined;
}
