/** Plans which gateways a payment may be tried at, and in which order. PURE. */
import { attemptsMax, breakerCalls, breakerOpenMs, breakerWindowMs } from "../limits.ts";
import type { FailoverSwitch, PlannedConnection, SkippedConnection } from "./entities.ts";

/** A connection of the rule as it stands when the payment is submitted. */
export type Candidate = {
  readonly connectionId: string;
  readonly gateway: string;
  /** Absent while no credentials were verified. */
  readonly credentialVersion?: number | undefined;
  readonly paused: boolean;
  /** The circuit breaker has it left out for now. */
  readonly failing: boolean;
  /** Why the gateway cannot take this amount or be given the card, when it cannot. */
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

/**
 * At most five connections, by the rule's order; priorities keep the rule's numbers, so a skipped one leaves a gap.
 * A failing connection is left out only while there is another: a poor chance is better than none.
 */
export function planRoute(route: Route): Plan {
  const mayWait = route.candidates.some((candidate) => !candidate.failing && whyNever(candidate) === undefined);
  const plan: PlannedConnection[] = [];
  const skipped: SkippedConnection[] = [];
  route.candidates.forEach((candidate, index) => {
    const { connectionId, gateway, credentialVersion } = candidate;
    const because = whyNever(candidate) ?? (mayWait ? whyNotNow(candidate) : undefined) ?? whyNoMore(plan.length);
    if (because !== undefined || credentialVersion === undefined) {
      skipped.push({ gateway, connectionId, because: because ?? notVerified });
    } else {
      plan.push({ priority: index + 1, gateway, connectionId, credentialVersion });
    }
  });
  return { plan, skipped };
}

const notVerified = "Its credentials have not been verified.";

function whyNever({ credentialVersion, paused, notPayable }: Candidate): string | undefined {
  if (credentialVersion === undefined) return notVerified;
  return paused ? "It is paused." : notPayable;
}

function whyNotNow({ failing }: Candidate): string | undefined {
  if (!failing) return undefined;
  const seconds = (durationMs: number) => `${durationMs / 1_000} s`;
  return `Its last ${breakerCalls} calls failed within ${seconds(breakerWindowMs)}, so the circuit breaker leaves it out for ${seconds(breakerOpenMs)}.`;
}

function whyNoMore(planned: number): string | undefined {
  return planned === attemptsMax ? `A plan holds at most ${attemptsMax} gateways.` : undefined;
}
