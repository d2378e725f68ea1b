/** How long a PayPal-Request-Id names the order that was made with it. */
import type { AttemptAtGateway } from "../connector.ts";

// "The server stores keys for 6 hours" (https://developer.paypal.com/docs/api/orders/v2/#orders_create, 2026); half an hour
// short of that, so that clocks which differ and a slow request make no difference.
const keyLifeMs = 5.5 * 60 * 60 * 1_000;

/** Whether the key of an attempt's order may be forgotten; one that is sent without its start is being made now. */
export function mayBeForgotten({ startedAt }: Pick<AttemptAtGateway, "startedAt">, nowMs: number): boolean {
  return startedAt !== undefined && nowMs - startedAt.getTime() > keyLifeMs;
}
