/** The sentences of the attempt trail. PURE. */
import type { PaymentSession, PlannedConnection } from "../rows/entities.ts";

/** Returns the reason for a provider's authentication before the first gateway that needs one. */
export function becauseProviderFirst({ ruleVersion }: Pick<PaymentSession, "ruleVersion">): string {
  return `Rule version ${ruleVersion} asks for authentication first.`;
}

/** Returns the reason for a provider's authentication after a gateway's decline. */
export function becauseAsked({ gateway }: Pick<PlannedConnection, "gateway">): string {
  return `${gateway} asked for authentication.`;
}

/** Returns the reason for the attempt at a plan's first gateway. */
export function becauseFirst({ ruleVersion, routedBy }: Pick<PaymentSession, "ruleVersion" | "routedBy">): string {
  const byCase = routedBy?.case === undefined ? "default plan" : `plan of the case “${routedBy.case}”`;
  const { arm, percent, draw } = routedBy?.split ?? {};
  const ofArm = arm === undefined ? "" : `variant ${arm} of the `;
  const drawn = arm === undefined ? "" : ` It drew ${draw} of 100, and variant B gets 1 to ${percent}.`;
  return `First of ${ofArm || "the "}${routedBy ? byCase : "plan"} by rule version ${ruleVersion}.${drawn}`;
}
