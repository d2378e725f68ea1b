/** Refusals of payments that a restore has lost, and that gateways remember: nothing may be captured after them. PURE. */
import type { Moment } from "./invariants.ts";
import type { SimulatedGateway } from "./simulated-gateway.ts";

/**
 * Returns the references that gateways remember as refused right after a restore; none if the restored rows name a
 * winner, or if money was taken or may be on its way, because its capture was ordered earlier.
 */
export function lostRefusals(
  { observed: { session }, authorizations, capturesOnTheirWay }: Moment,
  gateways: readonly SimulatedGateway[],
): readonly string[] {
  const isTaken = authorizations.some(({ captures }) => captures > 0);
  const isOnItsWay = [...capturesOnTheirWay.values()].some((count) => count > 0);
  if (session.status !== "CREATED" || session.winner_attempt_id !== null || isTaken || isOnItsWay) return [];
  const references = authorizations.map(({ attemptReference }) => attemptReference);
  return references.filter((reference) => isRefused(reference, gateways));
}

/** Reports whether a gateway that can be read answers that an attempt was a fraud or was not authenticated. */
export function isRefused(reference: string, gateways: readonly SimulatedGateway[]): boolean {
  const found = gateways.map((gateway) => (gateway.shape.canRead ? gateway.lookUp(reference) : undefined));
  return found.some(
    (one) =>
      one?.state === "declined" && (one.declined?.kind === "FRAUD" || one.declined?.stop === "authentication_failed"),
  );
}
