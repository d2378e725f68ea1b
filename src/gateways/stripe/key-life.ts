/** How long an idempotency key of Stripe's names what was done with it. */
import type { AttemptAtGateway } from "../connector.ts";

// Keys are removed once they are at least 24 h old (https://docs.stripe.com/api/idempotent_requests, 2026); an hour short
// of that, so that clocks which differ and a slow request make no difference.
const keyLifeMs = 23 * 60 * 60 * 1_000;

/** Whether the keys of an attempt may be forgotten; one that is sent without its start is being made now. */
export function mayBeForgotten({ startedAt }: Pick<AttemptAtGateway, "startedAt">, nowMs: number): boolean {
  return startedAt !== undefined && nowMs - startedAt.getTime() > keyLifeMs;
}
