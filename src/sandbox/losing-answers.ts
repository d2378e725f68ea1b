/** The connection between the merchant's side and an acquirer, on which a capture, a refund or an answer may be lost. */
import type { Issuer } from "./issuer.ts";
import type { Authorization, Ledger } from "./ledger.ts";
import type { Route, SandboxRequest } from "./routes.ts";

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

/** Wraps a route that answers a dispute: the first answer of the gateway's is lost if the card says so. */
export function losingResponses(
  ledger: Ledger,
  paymentOf: (request: SandboxRequest) => Authorization | undefined,
  route: Route,
): Route {
  return {
    ...route,
    async handle(request) {
      const answer = await route.handle(request);
      const payment = paymentOf(request);
      return payment?.disputed?.answer && ledger.losesAnswer(payment) ? "hang_up" : answer;
    },
  };
}
