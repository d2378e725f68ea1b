/** The retry schedule of webhooks. Pure: it depends on the attempt's number, the answer and a random fraction. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * The pause before each attempt; the first is made at once. Short pauses bridge a restart, long ones a weekend: the
 * last attempt is made 75 hours after the first.
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

/** Number of attempts of a delivery before a person has to request more. */
export const triesMax = pausesMs.length;

/** The step after a failed attempt: another one after a pause, or none. */
export type NextAttempt = { readonly type: "retry"; readonly pauseMs: number } | { readonly type: "exhausted" };

/**
 * Plans the step after the failed attempt number `tries` (1 for the first). `retryAfterMs` is the pause that a 429 or
 * 503 answer requested: honoured from the scheduled pause up to twice as long. `random` is a fraction in [0, 1).
 */
export function planNextAttempt(failed: {
  tries: number;
  retryAfterMs?: number | undefined;
  random: number;
}): NextAttempt {
  const pauseMs = pausesMs[failed.tries];
  if (pauseMs === undefined) return { type: "exhausted" };
  if (failed.retryAfterMs !== undefined) {
    return { type: "retry", pauseMs: Math.min(Math.max(failed.retryAfterMs, pauseMs), 2 * pauseMs) };
  }
  return { type: "retry", pauseMs: Math.round(pauseMs * (1 + jitter * (2 * failed.random - 1))) };
}

/**
 * Parses the `Retry-After` header of an answer; undefined when it has no readable value. The value is seconds or an
 * HTTP date (RFC 9110, 10.2.3). It is honoured only with 429 and 503.
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
