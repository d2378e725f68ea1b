/** The connection between the merchant's side and an acquirer, on which a capture or its answer may be lost. */
import type { Issuer } from "./issuer.ts";
import type { Ledger } from "./ledger.ts";
import type { Route } from "./routes.ts";

/**
 * Wraps a route for captures whose first request, or its answer, is lost if the card says so. It comes before the
 * acquirer's memory of keys: a request that never arrived is not remembered, and a repeat gets the answer that was
 * lost.
 */
export function losingCaptures({ ledger, issuer }: { ledger: Ledger; issuer: Issuer }, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const authorization = ledger.record(request.parameters.id ?? "");
      return (await issuer.carryCapture(authorization, () => route.handle(request))) ?? "hang_up";
    },
  };
}
