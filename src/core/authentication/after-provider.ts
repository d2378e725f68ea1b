/**
 * Decides from rows alone what a session does while a provider authenticates its customer, and which gateway gets the
 * proof. PURE.
 */

import type { ProviderEnd } from "../../gateways/authentication-provider.ts";
import type { AttemptId, AuthenticationId } from "../../platform/ids.ts";
import { because } from "../decide/because.ts";
import type {
  Attempt,
  Authentication,
  AuthenticationStatus,
  PlannedConnection,
  PlannedProvider,
} from "../rows/entities.ts";
import { type Payment, type Planned, plannedAt } from "../rows/payment.ts";
import { hasOfferedAll, lookTimeMs, mayAsk } from "./after-authentication.ts";

/** A step of a session whose customer a provider authenticates. */
export type ProviderStep =
  | { readonly type: "openProvider"; readonly provider: PlannedProvider; readonly because: string }
  | { readonly type: "prepareProvider"; readonly authentication: Authentication }
  | { readonly type: "endDeviceCheck"; readonly authentication: Authentication }
  | { readonly type: "askProvider"; readonly authentication: Authentication }
  | { readonly type: "lookAtProvider"; readonly authentication: Authentication }
  | {
      readonly type: "giveUpProvider";
      readonly authentication: Authentication;
      readonly as: "CANCELLED" | "ABANDONED";
    }
  | { readonly type: "wait"; readonly until: Date };

/** Returns the provider's authentication of a session, of which there is at most one. */
export function providedOf(authentications: readonly Authentication[]): Authentication | undefined {
  return authentications.find(({ provider }) => provider != null);
}

/**
 * Returns the step of a session whose provider's authentication is open. `unsentId` is the authentication whose request
 * this process has committed and not yet sent; the request of any other process may have been sent and is never
 * repeated.
 */
export function stepOfProvider(
  { session, readAt }: Payment,
  authentication: Authentication,
  unsentId: AttemptId | AuthenticationId | undefined,
): ProviderStep {
  const { status, deadlineAt } = authentication;
  if (session.unrecordedCheckAt) return { type: "giveUpProvider", authentication, as: "ABANDONED" };
  if (authentication.cancelAskedAt) return { type: "giveUpProvider", authentication, as: "CANCELLED" };
  // The payment ends, even if the same failure repeats until then.
  if (deadlineAt.getTime() + lookTimeMs <= readAt.getTime()) {
    return { type: "giveUpProvider", authentication, as: "ABANDONED" };
  }
  if (status === "PREPARING") return { type: "prepareProvider", authentication };
  if (status === "REQUESTING") {
    // rule:provider-asked-once
    return { type: authentication.id === unsentId ? "askProvider" : "lookAtProvider", authentication };
  }
  const lookAt = authentication.nextLookAt ?? deadlineAt;
  const isDue = lookAt <= readAt;
  if (status === "AWAITING_CUSTOMER" && isDue) return { type: "lookAtProvider", authentication };
  if (deadlineAt <= readAt) return { type: "giveUpProvider", authentication, as: "ABANDONED" };
  if (isDue) return { type: "endDeviceCheck", authentication };
  return { type: "wait", until: new Date(Math.min(lookAt.getTime(), deadlineAt.getTime())) };
}

type ProvidedEnd = Extract<
  AuthenticationStatus,
  "AUTHENTICATED" | "ATTEMPTED" | "EXEMPTED" | "UNAVAILABLE" | "FAILED" | "REJECTED" | "CANCELLED" | "ABANDONED"
>;

// Codes of EMV 3DS 2.2, challengeCancel: the customer cancelled; the time ran out, at the bank or at its app.
const cancelled = "01";
const timedOut = ["04", "05", "08"];

/** Returns the status with which the bank's answer ends an authentication of this status. */
export function endOfProvided(
  { result, challengeCancel, proof }: ProviderEnd,
  { status }: Pick<Authentication, "status">,
): ProvidedEnd {
  switch (result.transStatus) {
    case "Y":
      return proof ? "AUTHENTICATED" : "UNAVAILABLE";
    case "A":
      return proof ? "ATTEMPTED" : "UNAVAILABLE";
    case "I":
      // A bank that challenges the customer no longer exempts anything.
      return status === "REQUESTING" ? "EXEMPTED" : "UNAVAILABLE";
    case "N":
      if (challengeCancel === cancelled) return "CANCELLED";
      return timedOut.includes(challengeCancel ?? "") ? "ABANDONED" : "FAILED";
    case "R":
      return "REJECTED";
    default:
      return "UNAVAILABLE";
  }
}

const refusals: readonly AuthenticationStatus[] = ["FAILED", "REJECTED", "CANCELLED", "ABANDONED"];

/** Reports whether a provider's authentication ended so that nothing follows it. */
export function isRefusedByProvider(authentications: readonly Authentication[]): boolean {
  const provided = providedOf(authentications);
  return provided !== undefined && refusals.includes(provided.status); // rule:provider-refusal-ends-payment
}

/**
 * Reports whether an attempt's gateway has to do without its own authentication because a provider comes first and has
 * not been called yet.
 */
export function isLeftToProvider(
  { session, authentications }: Pick<Payment, "session" | "authentications">,
  attempt: Pick<Attempt, "connectionId">,
): boolean {
  return plannedAt(session, attempt)?.provider !== undefined && providedOf(authentications) === undefined;
}

/** Returns the authentication whose proof a gateway gets, with the sentence that says so; or why it gets none. */
export function proofFor(
  session: Planned,
  authentications: readonly Authentication[],
  to: Pick<PlannedConnection, "connectionId" | "gateway">,
): { readonly authenticationId?: AuthenticationId; readonly and: string } {
  const provided = providedOf(authentications);
  if (provided?.status !== "AUTHENTICATED" && provided?.status !== "ATTEMPTED") return { and: "" };
  const step = plannedAt(session, to);
  if (step?.provider !== undefined) {
    return { authenticationId: provided.id, and: because.andGetsProof(provided.provider ?? "") };
  }
  return { and: step?.withoutProof === undefined ? "" : because.andGetsNoProof(step.withoutProof) };
}

/**
 * Returns the provider that authenticates before this step of the plan; undefined if none does, or one has. A gateway
 * that asks for an exemption is called without.
 */
export function providerBefore(
  { session, authentications }: Pick<Payment, "authentications"> & { readonly session: Planned },
  to: PlannedConnection,
): PlannedProvider | undefined {
  if (to.exemption !== undefined || providedOf(authentications) !== undefined) return undefined;
  // A gateway that takes no proof authenticates itself: its customer gets no second challenge.
  if (!to.providerFirst || hasOfferedAll({ session, authentications }, to)) return undefined;
  return to.provider;
}

/** Reports whether the payment stops before this step, because its provider could not authenticate the customer. */
export function isStoppedUnavailable(authentications: readonly Authentication[], to: PlannedConnection): boolean {
  return to.stopsIfUnavailable === true && providedOf(authentications)?.status === "UNAVAILABLE";
}

/** Returns the provider that can authenticate after a gateway's decline without authentication; undefined if none can. */
export function providerAfter(loaded: Payment, attempt: Attempt): PlannedConnection["provider"] {
  const { session, attempts, authentications } = loaded;
  const isAsked = authentications.some(({ attemptId }) => attemptId === attempt.id);
  if (isAsked || providedOf(authentications) || attempts.some(({ round }) => round === 1)) return undefined;
  return hasOfferedAll(loaded, attempt) ? undefined : plannedAt(session, attempt)?.provider;
}

/**
 * Returns the repeat that follows a provider's authentication: with its proof, or with the gateway's own authentication
 * where the provider had none to give.
 */
export function repeatAfterProvider(
  loaded: Payment,
): { readonly to: PlannedConnection; readonly because: string; readonly round: 1 } | undefined {
  const { session, attempts, authentications } = loaded;
  const last = attempts.at(-1);
  const provided = providedOf(authentications);
  if (last?.nextAction !== "authenticate" || last.round !== 0 || provided === undefined) return undefined;
  const { priority, gateway, connectionId, credentialVersion } = last;
  const to = { priority, gateway, connectionId, credentialVersion };
  if (proofFor(session, authentications, to).authenticationId !== undefined) {
    return { to, because: because.proven(provided.provider ?? ""), round: 1 };
  }
  if (plannedAt(session, last)?.authentication === undefined || !mayAsk(loaded, last)) return undefined;
  return { to, because: because.unproven(provided.provider ?? "", to), round: 1 };
}
