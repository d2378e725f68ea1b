/** The pages that may show a merchant's checkout. */
import { DomainError } from "../platform/errors.ts";
import type { EdgeEnvironment } from "./caller.ts";

/**
 * Throws `origin_not_allowed` for a page that the merchant has not registered. A call without an Origin comes from no
 * browser page, so there is nothing to check. An empty list allows any page in test and none in live.
 */
export function requireAllowedOrigin(
  environment: Pick<EdgeEnvironment, "anyOriginWhenNoneRegistered">,
  registered: readonly string[],
  origin: string | null,
): void {
  if (origin === null || registered.includes(origin)) return;
  if (registered.length === 0 && environment.anyOriginWhenNoneRegistered) return;
  throw new DomainError(
    "origin_not_allowed",
    "This page's origin is not among the merchant's checkout origins; register it with `switchyard origins set`.",
  );
}
