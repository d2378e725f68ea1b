/** The time during which an idempotency key of Stripe's names the request that it was used for. */
import type { AttemptAtGateway } from "../connector.ts";

// Keys are removed once they are at least 24 h old (https://docs.stripe.com/api/idempotent_requests, 2026); an hour short
// of that, so that the time since the rows were read and a slow request make no difference.
const keyLifeMs = 23 * 60 * 60 * 1_000;

/** Reports whether Stripe may have forgotten the keys of an attempt; an attempt without an age is being made now. */
export function mayBeForgotten({ ageMs }: Pick<AttemptAtGateway, "ageMs">): boolean {
  return ageMs !== undefined && ageMs > keyLifeMs;
}
