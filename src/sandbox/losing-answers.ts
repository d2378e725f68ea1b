/** The connection between the merchant's side and an acquirer, on which a capture, a refund or an answer may be lost. */
import type { Issuer } from "./issuer.ts";
import type { Ledger } from "./ledger.ts";
import type { Route } from "./routes.ts";

type Parts = { readonly ledger: Ledger; readonly issuer: Issuer };

/**
 * Wraps a route for captures whose first request, or its answer, is lost if the card says so. It comes before the
 * acquirer's memory of keys: a request that never arrived is not remembered, and a repeat gets the answer that was
 * lost.
 */
export function losingCaptures({ ledger, issuer }: Parts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const authorization = ledger.record(request.parameters.id ?? "");
      return (await issuer.carryCapture(authorization, () => route.handle(request))) ?? "hang_up";
    },
  };
}

/** Wraps a route for refunds in the same way: the answer to the first one is lost if the card says so. */
export function losingRefunds({ ledger, issuer }: Parts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const authorization = ledger.record(request.parameters.id ?? "");
      return (await issuer.carryRefund(authorization, () => route.handle(request))) ?? "hang_up";
    },
  };
}
