/** Plans which gateways a payment may be tried at, and in which order. PURE. */
import { attemptsMax } from "../limits.ts";
import type { FailoverSwitch, PlannedConnection, SkippedConnection } from "./entities.ts";

/** A connection of the rule as it stands when the payment is submitted. */
export type Candidate = {
  readonly connectionId: string;
  readonly gateway: string;
  /** Absent while no credentials were verified. */
  readonly credentialVersion?: number | undefined;
  readonly paused: boolean;
  /** Why the gateway cannot take this amount, when it cannot. */
  readonly notPayable?: string | undefined;
};

/** The newest routing rule of a merchant, its connections by priority. */
export type Route = {
  readonly version: number;
  readonly failoverOn: readonly FailoverSwitch[];
  readonly candidates: readonly Candidate[];
};

/** The order of gateways, the first of priority 1, and what was left out with its reason. */
export type Plan = { readonly plan: readonly PlannedConnection[]; readonly skipped: readonly SkippedConnection[] };

/** At most five connections, by the rule's order; priorities keep the rule's numbers, so a skipped one leaves a gap. */
export function planRoute(route: Route): Plan {
  const plan: PlannedConnection[] = [];
  const skipped: SkippedConnection[] = [];
  route.candidates.forEach((candidate, index) => {
    const { connectionId, gateway, credentialVersion } = candidate;
    const because = whyNot(candidate, plan.length);
    if (because !== undefined || credentialVersion === undefined) {
      skipped.push({ gateway, connectionId, because: because ?? notVerified });
    } else {
      plan.push({ priority: index + 1, gateway, connectionId, credentialVersion });
    }
  });
  return { plan, skipped };
}

const notVerified = "Its credentials have not been verified.";

function whyNot(candidate: Candidate, planned: number): string | undefined {
  if (candidate.credentialVersion === undefined) return notVerified;
  if (candidate.paused) return "It is paused.";
  if (candidate.notPayable !== undefined) return candidate.notPayable;
  if (planned === attemptsMax) return `A plan holds at most ${attemptsMax} gateways.`;
  return undefined;
}
