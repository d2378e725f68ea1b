/** The time during which a PayPal-Request-Id names the order that was created with it. */
import type { AttemptAtGateway } from "../connector.ts";

// "The server stores keys for 6 hours" (https://developer.paypal.com/docs/api/orders/v2/#orders_create, 2026); half an hour
// short of that, so that the time since the rows were read and a slow request make no difference.
const keyLifeMs = 5.5 * 60 * 60 * 1_000;

/**
 * Reports whether PayPal may have forgotten the key of an attempt's order; an attempt without an age is being made now.
 */
export function mayBeForgotten({ ageMs }: Pick<AttemptAtGateway, "ageMs">): boolean {
  return ageMs !== undefined && ageMs > keyLifeMs;
}
