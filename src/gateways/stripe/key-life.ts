/** How long an idempotency key of Stripe's names what was done with it. */
import { ageOfAttemptMs } from "../attempt-age.ts";

// Keys are removed once they are at least 24 h old (https://docs.stripe.com/api/idempotent_requests, 2026); an hour short
// of that, so that clocks which differ and a slow request make no difference.
const keyLifeMs = 23 * 60 * 60 * 1_000;

/** Whether the keys of an attempt may be forgotten, by the time in its id; an id that has none is taken for a new one. */
export function mayBeForgotten(attemptReference: string, nowMs: number): boolean {
  return ageOfAttemptMs(attemptReference, nowMs) > keyLifeMs;
}
