/** Follows another rule through a payment of the past, by the answers that its gateways gave then. PURE. */
import type { FailoverRule, Failure } from "./failover.ts";
import { decideNext } from "./failover.ts";
import type { Plan } from "./routing.ts";

/** How a gateway answered; undefined where what happened tells nothing of how it answers. */
export type PastAnswer =
  | { readonly type: "held" }
  | ({ readonly type: "failed" } & Omit<Failure, "gateway">)
  | undefined;

/** One gateway that was asked. */
export type PastAttempt = { readonly connectionId: string; readonly gateway: string; readonly answer: PastAnswer };

/** A payment that has ended, its attempts in their order. */
export type PastPayment = { readonly succeeded: boolean; readonly attempts: readonly PastAttempt[] };

/** How the payment would have ended. */
export type ReplayEnd = "succeeds" | "fails" | "cannotKnow";

/** Which gateways would have been asked, as far as that is known, and the end. */
export type Replay = {
  readonly asked: readonly { readonly connectionId: string; readonly gateway: string }[];
  readonly end: ReplayEnd;
  readonly because: string;
};

/**
 * Each gateway that was asked is taken to answer as it did, whichever place it now has. The first one that was not asked
 * ends what can be known. Time is taken to suffice.
 */
export function replayPayment(payment: PastPayment, { plan }: Pick<Plan, "plan">, rule: FailoverRule): Replay {
  const asked: Replay["asked"][number][] = [];
  for (const [index, { connectionId, gateway }] of plan.entries()) {
    asked.push({ connectionId, gateway });
    const attempt = payment.attempts.find((each) => each.connectionId === connectionId);
    if (attempt === undefined) {
      return {
        asked,
        end: "cannotKnow",
        because: `${gateway} was not asked then, so nobody knows what it would have said.`,
      };
    }
    if (attempt.answer === undefined) {
      return {
        asked,
        end: "cannotKnow",
        because: `What happened at ${gateway} then does not tell how it would answer.`,
      };
    }
    const { type, ...failure } = attempt.answer;
    if (type === "held") return { asked, end: "succeeds", because: `${gateway} held the amount.` };
    const left = { plan: plan.slice(index + 1), withinBudget: true };
    const next = decideNext({ gateway, ...(failure as Omit<Failure, "gateway">) }, rule, left);
    if (next.action === "stop") return { asked, end: "fails", because: next.because };
  }
  return { asked, end: "fails", because: "No gateway could be asked." };
}

/** What a replay differs in; a payment may count in several. */
export type WhatIfCounts = {
  readonly payments: number;
  /** The same gateways in the same order, and the same end. */
  readonly same: number;
  readonly otherFirst: number;
  readonly fewerAttempts: number;
  readonly moreAttempts: number;
  readonly cannotKnow: number;
  readonly succeededThen: number;
  readonly succeeds: number;
  readonly lost: number;
  readonly notRoutable: number;
};

/** One payment's part of the counts: each is 0 or 1. */
export function compareReplay({ attempts, succeeded }: PastPayment, { asked, end }: Replay): WhatIfCounts {
  const isSamePath =
    asked.length === attempts.length &&
    asked.every((each, index) => each.connectionId === attempts[index]?.connectionId);
  const isKnown = end !== "cannotKnow";
  const count = (holds: boolean): number => (holds ? 1 : 0);
  return {
    payments: 1,
    same: count(isSamePath && isKnown && succeeded === (end === "succeeds")),
    otherFirst: count(asked.length > 0 && asked[0]?.connectionId !== attempts[0]?.connectionId),
    // Of a path that is known to its end alone: where it is not, the payment may have gone on for longer.
    fewerAttempts: count(isKnown && asked.length < attempts.length),
    moreAttempts: count(asked.length > attempts.length),
    cannotKnow: count(!isKnown),
    succeededThen: count(succeeded),
    succeeds: count(end === "succeeds"),
    lost: count(succeeded && end === "fails"),
    notRoutable: count(asked.length === 0),
  };
}

/** The counts of all of them together. */
export function addCounts(counts: readonly WhatIfCounts[]): WhatIfCounts {
  const sum = (name: keyof WhatIfCounts) => counts.reduce((total, each) => total + each[name], 0);
  return {
    payments: sum("payments"),
    same: sum("same"),
    otherFirst: sum("otherFirst"),
    fewerAttempts: sum("fewerAttempts"),
    moreAttempts: sum("moreAttempts"),
    cannotKnow: sum("cannotKnow"),
    succeededThen: sum("succeededThen"),
    succeeds: sum("succeeds"),
    lost: sum("lost"),
    notRoutable: sum("notRoutable"),
  };
}
