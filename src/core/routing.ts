/** Plans the gateways for a payment and their order. PURE. */
import { attemptsMax, breakerCalls, breakerOpenMs, breakerWindowMs } from "../limits.ts";
import type { FailoverSwitch, PlannedConnection, SkippedConnection } from "./entities.ts";

/** A connection of the rule at the time when the payment is submitted. */
export type Candidate = {
  readonly connectionId: string;
  readonly gateway: string;
  /** Absent until credentials have been verified. */
  readonly credentialVersion?: number | undefined;
  readonly paused: boolean;
  /** True while the circuit breaker leaves it out. */
  readonly failing: boolean;
  /** The reason why the gateway cannot take this amount or get the card; absent when it can. */
  readonly notPayable?: string | undefined;
};

/** The newest routing rule of a merchant, with its connections by priority. */
export type Route = {
  readonly version: number;
  readonly failoverOn: readonly FailoverSwitch[];
  readonly candidates: readonly Candidate[];
};

/** The gateways in order of priority, and the connections that were left out with their reasons. */
export type Plan = { readonly plan: readonly PlannedConnection[]; readonly skipped: readonly SkippedConnection[] };

/**
 * Plans at most five connections in the rule's order. Priorities keep the rule's numbers, so a skipped connection
 * leaves a gap. A failing connection is left out only while there is another: a poor chance is better than none.
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
