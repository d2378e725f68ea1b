/** Plans a payment: the gateways of a rule in their order, and those left out, each with its reason. PURE. */

import { type Exemption, exemptions } from "../../gateways/authentication.ts";
import type { NetworkTokens } from "../../gateways/network-tokens.ts";
import { attemptsMax } from "../../limits.ts";
import type { ConnectionId } from "../../platform/ids.ts";
import type {
  AuthenticationPolicy,
  AuthenticationRule,
  CryptogramResend,
  PlannedConnection,
  PlannedProvider,
  SkippedConnection,
} from "../rows/entities.ts";
import { leftOut, withoutProof } from "./because.ts";
import type { FailoverRule } from "./failover.ts";

/** A connection of the rule at the time when the payment is submitted. */
export type Candidate = {
  readonly connectionId: ConnectionId;
  readonly gateway: string;
  /** Absent until credentials have been verified. */
  readonly credentialVersion?: number | undefined;
  readonly paused: boolean;
  /** True if the gateway runs authentication. */
  readonly authenticates?: boolean | undefined;
  /** True if the gateway imports a provider's proof. */
  readonly imports?: boolean | undefined;
  /** The merchant's acquirer of this account accepts any authentication, or its own only; absent without its data. */
  readonly accepts?: "any" | "own" | undefined;
  /** The exemptions that its acquirer asks for at this amount. */
  readonly exemptions?: readonly Exemption[] | undefined;
  /** The wallets and networks whose device numbers it takes. */
  readonly acceptsNetworkToken?: NetworkTokens | undefined;
  /** True while the circuit breaker leaves it out. */
  readonly failing: boolean;
  /** The reason why the gateway cannot take this amount or get the card; absent when it can. */
  readonly notPayable?: string | undefined;
};

/** Returns the candidates with these ids, in the order of the ids. */
export function candidatesIn(candidates: readonly Candidate[], connectionIds: readonly ConnectionId[]): Candidate[] {
  return connectionIds.flatMap((id) => candidates.find(({ connectionId }) => connectionId === id) ?? []);
}

/** The newest routing rule of a merchant, with its connections by priority. */
export type Route = FailoverRule & {
  readonly policy?: AuthenticationPolicy | null | undefined;
  /** The rule for sending a wallet's cryptogram to another gateway; absent: UNANSWERED. */
  readonly cryptogramResend?: CryptogramResend | undefined;
  readonly candidates: readonly Candidate[];
  /** The rule's provider of authentication, or why it cannot be used now. */
  readonly provider?: (PlannedProvider & { readonly whyNot?: string | undefined }) | undefined;
};

/** The gateways in order of priority, and the connections that were left out with their reasons. */
export type Plan = {
  readonly plan: readonly PlannedConnection[];
  readonly skipped: readonly SkippedConnection[];
  /** The code with which the payment is declined before any gateway is called. */
  readonly declineCode?: "authentication_required" | undefined;
};

/**
 * Plans at most five connections in the rule's order. Priorities keep the rule's numbers, so a skipped connection
 * leaves a gap. A failing connection is left out only while there is another: a poor chance is better than none.
 * `canAsk` is false if the page cannot show an action: then no gateway and no provider can challenge the customer.
 */
export function planRoute(route: Route, { canAsk = true }: { readonly canAsk?: boolean } = {}): Plan {
  const isAlways = route.authentication === "ALWAYS";
  if (!isAlways) return planAll(route, canAsk);
  if (canAsk) return planAuthenticated(route); // rule:always-authenticated
  if (route.policy?.withoutBrowser === "PAY") return planAll({ ...route, authentication: "NEVER" }, canAsk);
  const skipped = route.candidates.map((candidate) => ({
    gateway: candidate.gateway,
    connectionId: candidate.connectionId,
    because: whyNever(candidate) ?? leftOut.noBrowser,
  }));
  return { plan: [], skipped, declineCode: "authentication_required" };
}

/**
 * Plans as under ALWAYS whatever the rule says, and requests no exemption. Undefined if no gateway and no provider can
 * challenge the customer. If a provider that has to be available is down, gateways authenticate in its place, unless
 * the rule itself says ALWAYS: then it stops such a payment.
 */
export function planAsked(route: Route, { canAsk }: { readonly canAsk: boolean }): Plan | undefined {
  const policy = route.policy && { ...route.policy, exemptions: [] };
  const always = { ...route, policy, authentication: "ALWAYS" } as const;
  if (planAuthenticated(always).plan.length > 0) return planRoute(always, { canAsk });
  if (!policy?.stopsIfUnavailable || route.authentication === "ALWAYS") return undefined;
  return planAsked({ ...route, policy: { ...policy, stopsIfUnavailable: false } }, { canAsk });
}

/** Plans the connections that can authenticate the customer or take a proof. */
function planAuthenticated(route: Route): Plan {
  const planned = planAll(route, true);
  const unable = planned.plan.filter(({ authentication, provider }) => !authentication && !provider);
  if (unable.length === 0) return planned;
  // Planned again: a connection that is left out may give its place to another.
  const candidates = route.candidates.map((candidate) =>
    unable.some(({ connectionId }) => connectionId === candidate.connectionId)
      ? { ...candidate, notPayable: leftOut.cannotAuthenticate }
      : candidate,
  );
  return planAuthenticated({ ...route, candidates });
}

function planAll(route: Route, canAsk: boolean): Plan {
  const mayWait = route.candidates.some((candidate) => !candidate.failing && whyNever(candidate) === undefined);
  const plan: PlannedConnection[] = [];
  const skipped: SkippedConnection[] = [];
  route.candidates.forEach((candidate, index) => {
    const { connectionId, gateway, credentialVersion } = candidate;
    const because =
      whyNever(candidate) ??
      (mayWait && candidate.failing ? leftOut.failing : undefined) ??
      (plan.length === attemptsMax ? leftOut.planFull : undefined);
    if (because !== undefined || credentialVersion === undefined) {
      skipped.push({ gateway, connectionId, because: because ?? leftOut.notVerified });
    } else {
      const authentication = candidate.authenticates ? wishes[route.authentication ?? "AS_NEEDED"] : undefined;
      const exemption = exemptions.find(
        (kind) => route.policy?.exemptions.includes(kind) && candidate.exemptions?.includes(kind),
      );
      plan.push({
        priority: index + 1,
        gateway,
        connectionId,
        credentialVersion,
        ...(authentication && { authentication }),
        ...(exemption && { exemption }),
        ...(route.policy?.forbidsSecondChallenge && { onlyFirstChallenge: true }),
      });
    }
  });
  return withProvider(route, { plan, skipped }, canAsk);
}

/**
 * Names the provider at the steps whose gateways get its proof. The customer is authenticated with the data of the first
 * gateway that imports and has them; a page that cannot show an action has no provider.
 */
function withProvider(route: Route, planned: Plan, canAsk: boolean): Plan {
  const { provider, authentication, candidates } = route;
  if (provider === undefined || !canAsk || authentication === "NEVER") return planned;
  const isFirst = authentication === "ALWAYS";
  const stops = isFirst && route.policy?.stopsIfUnavailable === true;
  const { whyNot, ...named } = provider;
  const { name: gateway, connectionId } = named;
  const skip = (because: string): Plan => {
    const skipped = [...planned.skipped, { gateway, connectionId, because }];
    if (!stops) return { ...planned, skipped };
    const stopped = planned.plan.map(({ gateway, connectionId }) => {
      return { gateway, connectionId, because: leftOut.stoppedWithoutProvider };
    });
    return { plan: [], skipped: [...skipped, ...stopped] };
  };
  if (whyNot !== undefined) return skip(whyNot);
  const of = (step: PlannedConnection) => candidates.find((one) => one.connectionId === step.connectionId);
  const source = planned.plan.find((step) => of(step)?.imports && of(step)?.accepts);
  if (source === undefined) return skip(leftOut.importsNoProof);
  const plan = planned.plan.map((unstopped): PlannedConnection => {
    const step = stops ? { ...unstopped, stopsIfUnavailable: true as const } : unstopped;
    const candidate = of(step);
    if (!candidate?.imports) return { ...step, withoutProof: withoutProof.imports(step) };
    if (candidate.accepts === "own" && unstopped !== source) {
      return { ...step, withoutProof: withoutProof.acceptsOwn };
    }
    return { ...step, provider: named, ...(isFirst && { providerFirst: true }) };
  });
  return { ...planned, plan };
}

const wishes: Record<AuthenticationRule, PlannedConnection["authentication"]> = {
  AS_NEEDED: "as_needed",
  ALWAYS: "always",
  NEVER: undefined,
};

function whyNever({ credentialVersion, paused, notPayable }: Candidate): string | undefined {
  if (credentialVersion === undefined) return leftOut.notVerified;
  return paused ? leftOut.paused : notPayable;
}
