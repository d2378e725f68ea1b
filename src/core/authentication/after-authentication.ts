/**
 * Decides from rows alone what a session does while its customer authenticates, and whether a gateway may challenge the
 * customer at all. PURE.
 */
import type { AuthenticationResult } from "../../gateways/authentication.ts";
import type { CompletionAnswer } from "../../gateways/connector.ts";
import type { Attempt, Authentication, AuthenticationStatus } from "../rows/entities.ts";
import type { Payment, Planned } from "../rows/payment.ts";
import type { authenticationBeginnings, StateOf } from "../rows/transitions.ts";

/** The most challenges that a session offers: a customer who has answered two gets no third. */
const challengesMax = 2;
/** Times that a completing request is sent at most, under one key. */
const completionsMax = 2;

/** Longest time after the deadline in which a look that fails again and again is repeated, in milliseconds. */
export const lookTimeMs = 60_000;

/** The ways in which a wait ends without an answer. */
export type GivenUp = "CANCELLED" | "ABANDONED" | "FAILED";

/** A step of a session whose customer is being authenticated, or whose payment is being completed. */
export type AuthenticationStep =
  | { readonly type: "complete"; readonly attempt: Attempt; readonly authentication: Authentication }
  | { readonly type: "completeAgain"; readonly attempt: Attempt; readonly authentication: Authentication }
  | { readonly type: "askOutcome"; readonly attempt: Attempt; readonly authentication: Authentication }
  | {
      readonly type: "giveUp";
      readonly attempt: Attempt;
      readonly authentication: Authentication;
      readonly as: GivenUp;
    }
  | { readonly type: "wait"; readonly until: Date };

/** Returns the open authentication of an attempt; undefined if none is open. */
export function openAuthenticationOf({ authentications }: Payment, { id }: Pick<Attempt, "id">) {
  return authentications.find(({ attemptId, completedAt }) => attemptId === id && completedAt === null);
}

/** Returns the step for an attempt whose customer is being authenticated. */
export function stepOfWait(loaded: Payment, attempt: Attempt): AuthenticationStep {
  const { session, readAt } = loaded;
  const authentication = openAuthenticationOf(loaded, attempt);
  if (authentication === undefined) throw new Error("an attempt that awaits the customer has its authentication");
  const giveUp = (as: GivenUp): AuthenticationStep => ({ type: "giveUp", attempt, authentication, as });
  if (session.unrecordedCheckAt) return giveUp("ABANDONED"); // rule:doubt-ends-wait
  if (authentication.cancelAskedAt) return giveUp("CANCELLED");
  if (authentication.deadlineAt.getTime() + lookTimeMs <= readAt.getTime()) return giveUp("ABANDONED");
  const lookAt = attempt.nextRetryAt ?? readAt;
  if (lookAt <= readAt) return { type: "askOutcome", attempt, authentication };
  if (authentication.deadlineAt <= readAt) return giveUp("ABANDONED");
  return { type: "wait", until: new Date(Math.min(lookAt.getTime(), authentication.deadlineAt.getTime())) };
}

/**
 * Returns the step for an attempt that another process left behind while it completed the payment; undefined for any
 * other attempt, and if nothing more may be sent.
 */
export function stepOfLeftBehind(loaded: Payment, attempt: Attempt): AuthenticationStep | undefined {
  const authentication = openAuthenticationOf(loaded, attempt);
  if (authentication === undefined || loaded.session.unrecordedCheckAt) return undefined; // rule:doubt-ends-wait
  return mayCompleteAgain(authentication) ? { type: "completeAgain", attempt, authentication } : undefined;
}

/** Reports whether the completing request may be sent once more. */
export function mayCompleteAgain({ completionsSent }: Authentication): boolean {
  return completionsSent < completionsMax; // rule:completed-as-committed
}

export type Asked = {
  readonly session: Planned;
  readonly authentications: readonly Authentication[];
};

/**
 * Reports whether a gateway may challenge the customer of this attempt. One that authenticated without the customer
 * still may.
 */
export function mayAsk(asked: Asked, attempt: Pick<Attempt, "connectionId">): boolean {
  const isSecond = challengesOf(asked).some(({ connectionId }) => connectionId === attempt.connectionId);
  return !isSecond && !hasOfferedAll(asked, attempt);
}

/** Reports whether a session has offered its customer as many challenges as it may before this attempt's. */
export function hasOfferedAll(asked: Asked, { connectionId }: Pick<Attempt, "connectionId">): boolean {
  const step = asked.session.plan?.find((planned) => planned.connectionId === connectionId);
  return challengesOf(asked).length >= (step?.onlyFirstChallenge ? 1 : challengesMax);
}

function challengesOf({ authentications }: Asked): readonly Authentication[] {
  return authentications.filter(({ flow }) => flow !== "FRICTIONLESS");
}

/** Reports whether an attempt that was declined for want of authentication may be repeated with it. */
export function mayRepeat(loaded: Payment, attempt: Attempt): boolean {
  return loaded.attempts.every(({ round }) => round !== 1) && mayAsk(loaded, attempt);
}

type ReportedEnd = Exclude<StateOf<typeof authenticationBeginnings>, "AWAITING_CUSTOMER">;

// The letters of EMV 3DS. A hold after "N" or "R" is the gateway's decision; the bank's result then counts for nothing.
const endsByStatus: Readonly<Record<string, ReportedEnd>> = {
  Y: "AUTHENTICATED",
  A: "ATTEMPTED",
  N: "UNAVAILABLE",
  R: "UNAVAILABLE",
  U: "UNAVAILABLE",
};

/**
 * Returns the end of an authentication that a gateway's answer reports; undefined if the answer leaves it open, or
 * reports none.
 */
export function endOf(
  outcome: CompletionAnswer["outcome"],
  result: AuthenticationResult | undefined,
): ReportedEnd | undefined {
  if (outcome.type !== "held" && outcome.type !== "declined") return undefined;
  const end = endsByStatus[result?.transStatus ?? ""];
  const isRefusal = outcome.type === "declined" && outcome.stop === "authentication_failed";
  return end && isRefusal ? "FAILED" : end;
}

type ChallengeEnd = "CUSTOMER" | "BANK" | "DEADLINE";

const challengeEnds: Partial<Record<AuthenticationStatus, ChallengeEnd>> = {
  CONFIRMING: "BANK",
  AUTHENTICATED: "BANK",
  ATTEMPTED: "BANK",
  FAILED: "BANK",
  REJECTED: "BANK",
  CANCELLED: "CUSTOMER",
  ABANDONED: "DEADLINE",
};

/**
 * Returns how a challenge ended, and the time that the customer took for it; neither while it is open, or where there was
 * none.
 */
export function challengeOf({ flow, shownAt, answeredAt, completedAt, startedAt, status }: Authentication): {
  readonly endedBy?: ChallengeEnd | undefined;
  readonly durationMs?: number | undefined;
} {
  if (flow === "FRICTIONLESS") return {};
  const endedAt = answeredAt ?? completedAt;
  const durationMs = endedAt ? endedAt.getTime() - (shownAt ?? startedAt).getTime() : undefined;
  return { endedBy: challengeEnds[status], durationMs };
}
