/** Replays a past payment under another rule, with the answers that its gateways gave then. PURE. */

import type { FailoverDecision, FailoverRule, Failure } from "../core/decide/failover.ts";
import { decideNext } from "../core/decide/next-step.ts";
import type { CryptogramResend, PlannedConnection } from "../core/rows/entities.ts";
import { hasCryptogram } from "../core/rows/payment.ts";
import type { PayingWallet } from "../core/wallets/plan-wallet.ts";
import { decideForCryptogram } from "../core/wallets/second-use.ts";
import type { ConnectionId } from "../platform/ids.ts";
import type { DraftPlan } from "./draft-route.ts";
import type { MeasuredPlan } from "./measured-plans.ts";

/** A gateway's answer; undefined if the attempt does not show how the gateway answers. */
export type PastAnswer =
  | { readonly type: "held" }
  | ({ readonly type: "failed"; readonly allowsAgain?: boolean } & Omit<Failure, "gateway" | "again">)
  | undefined;

type Failed = Extract<PastAnswer, { type: "failed" }>;

export type PastAttempt = {
  readonly connectionId: ConnectionId;
  readonly gateway: string;
  readonly answer: PastAnswer;
  /** The wish that the gateway got with its permission to challenge the customer; absent if it got none. */
  readonly authentication?: PlannedConnection["authentication"];
  /** True for a retry: the gateway got the payment once more, as it allowed. */
  readonly isRetry?: boolean;
};

export type PastPayment = {
  /** True if a gateway approved it, whether it was captured or released. */
  readonly succeeded: boolean;
  readonly attempts: readonly PastAttempt[];
  /** True if a gateway challenged the customer: the end depended on them. */
  readonly customerAsked?: boolean;
  /** Absent if a card paid. */
  readonly wallet?: Pick<PayingWallet, "credential"> | undefined;
};

export type ReplayEnd = "succeeds" | "fails" | "cannotKnow";

/** The gateways that would have been tried, as far as that is known, and the end. */
export type Replay = {
  readonly asked: readonly { readonly connectionId: ConnectionId; readonly gateway: string }[];
  readonly end: ReplayEnd;
  readonly because: string;
  /** The approval rate that a split has measured of the plan, where the end cannot be known. */
  readonly measured?: MeasuredPlan | undefined;
};

/**
 * Replays a payment whose plan was split, and which the draft would send by the other arm's plan. What becomes known of
 * the single payment is left out: chance chose those that went the other way, and only all of them together are like
 * these.
 */
export function replayMeasured({ plan }: Pick<DraftPlan, "plan">, measured: MeasuredPlan): Replay {
  const { rate, payments } = measured;
  const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
  const [first] = plan;
  return {
    asked: first === undefined ? [] : [{ connectionId: first.connectionId, gateway: first.gateway }],
    end: "cannotKnow",
    because: `Unknown for a single payment. Its split sent ${payments} others this way, of which ${percent(rate.value)} were approved (${percent(rate.low)} to ${percent(rate.high)} with 95% confidence).`,
    measured,
  };
}

/**
 * Replays a payment. Each gateway is assumed to answer as it did then, whatever its new position. The first gateway
 * that was not tried then ends the known path, and so does a case whose facts about the payment were not recorded. Time
 * is assumed to suffice.
 */
export function replayPayment(
  payment: PastPayment,
  { plan, routedBy }: Pick<DraftPlan, "plan" | "routedBy">,
  rule: FailoverRule & { readonly cryptogramResend?: CryptogramResend | undefined },
): Replay {
  const { cryptogramResend = null } = rule;
  const [unknown] = routedBy?.unknown ?? [];
  if (unknown !== undefined) {
    const because = `Whether the case “${unknown.case}” would apply cannot be known. ${unknown.because}`;
    return { asked: [], end: "cannotKnow", because };
  }
  const asked: Replay["asked"][number][] = [];
  for (const [index, planned] of plan.entries()) {
    const { connectionId, gateway } = planned;
    asked.push({ connectionId, gateway });
    const attempt = payment.attempts.find((each) => each.connectionId === connectionId && !each.isRetry);
    if (attempt === undefined) {
      return {
        asked,
        end: "cannotKnow",
        because: `${gateway} was not called then, so its answer is unknown.`,
      };
    }
    if (attempt.answer === undefined) {
      return {
        asked,
        end: "cannotKnow",
        because: `The attempt at ${gateway} does not show how it would answer.`,
      };
    }
    const unknown = whyCustomerUnknown(payment, attempt, planned);
    if (unknown !== undefined) return { asked, end: "cannotKnow", because: unknown };
    if (attempt.answer.type === "held") return { asked, end: "succeeds", because: `${gateway} held the amount.` };
    const left = { plan: plan.slice(index + 1), withinBudget: true };
    const decide = ({ type: _, allowsAgain, ...answer }: Failed, again?: PlannedConnection) => {
      const failure = { gateway, ...answer, again };
      const decided = decideNext(failure, rule, left);
      // A silent gateway was looked up then, if another one was called after it.
      return hasCryptogram({ walletCredential: payment.wallet?.credential })
        ? decideForCryptogram({ cryptogramResend }, failure, rule, decided)
        : decided;
    };
    const isRetried = asked.some(
      (one, place) => asked.findIndex(({ connectionId: id }) => id === one.connectionId) < place,
    );
    const again = attempt.answer.allowsAgain && !isRetried ? planned : undefined;
    let next: FailoverDecision = decide(attempt.answer, again);
    if (next.action === "retry") {
      asked.push({ connectionId, gateway });
      const second = payment.attempts.find((each) => each.connectionId === connectionId && each.isRetry)?.answer;
      if (second === undefined) {
        const because = `${gateway} was not asked again then, so its second answer is unknown.`;
        return { asked, end: "cannotKnow", because };
      }
      if (second.type === "held") return { asked, end: "succeeds", because: `${gateway} held the amount.` };
      next = decide(second);
    }
    if (next.action === "stop") return { asked, end: "fails", because: next.because };
  }
  return { asked, end: "fails", because: "No gateway could be called." };
}

/** Returns why an attempt's answer says nothing about the rule: it would depend on the customer, or it did. */
function whyCustomerUnknown(
  { customerAsked }: PastPayment,
  { gateway, answer, authentication: then }: PastAttempt,
  { authentication: now }: PlannedConnection,
): string | undefined {
  if (customerAsked) return "The payment depended on what its customer did at the bank.";
  const wasRequired = answer?.type === "failed" && answer.stop === "authentication_required";
  // A gateway that decided by itself, and did not need the customer, answers the same without permission to ask.
  const isSame = now === then || (now === undefined && then === "as_needed");
  if (isSame && !(wasRequired && now !== undefined)) return undefined;
  return `${gateway} would ask for the customer otherwise than then, and whether a bank asks is unknown.`;
}

/** Counts of the differences of replays; a payment may count in several. */
export type WhatIfCounts = {
  readonly payments: number;
  /** Payments with the same gateways in the same order, and the same end. */
  readonly same: number;
  readonly otherFirst: number;
  readonly fewerAttempts: number;
  readonly moreAttempts: number;
  readonly cannotKnow: number;
  readonly succeededThen: number;
  readonly succeeds: number;
  readonly lost: number;
  readonly notRoutable: number;
  /** Payments of unknown end whose plan a split has measured; how many would succeed, and the ends of that interval. */
  readonly measured: number;
  readonly measuredSucceeds: number;
  readonly measuredSucceedsLow: number;
  readonly measuredSucceedsHigh: number;
};

/** Compares a replay with its payment. Each count is 0 or 1, or the probability that it is 1. */
export function compareReplay({ attempts, succeeded }: PastPayment, { asked, end, measured }: Replay): WhatIfCounts {
  const isSamePath =
    asked.length === attempts.length &&
    asked.every((each, index) => each.connectionId === attempts[index]?.connectionId);
  const isKnown = end !== "cannotKnow";
  const count = (holds: boolean): number => (holds ? 1 : 0);
  return {
    payments: 1,
    same: count(isSamePath && isKnown && succeeded === (end === "succeeds")),
    otherFirst: count(asked.length > 0 && asked[0]?.connectionId !== attempts[0]?.connectionId),
    // Only for a path that is known to its end: otherwise, the payment may have gone on for longer.
    fewerAttempts: count(isKnown && asked.length < attempts.length),
    moreAttempts: count(asked.length > attempts.length),
    cannotKnow: count(!isKnown),
    succeededThen: count(succeeded),
    succeeds: count(end === "succeeds"),
    lost: count(succeeded && end === "fails"),
    notRoutable: count(isKnown && asked.length === 0),
    measured: count(measured !== undefined),
    measuredSucceeds: measured?.rate.value ?? 0,
    measuredSucceedsLow: measured?.rate.low ?? 0,
    measuredSucceedsHigh: measured?.rate.high ?? 0,
  };
}

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
    measured: sum("measured"),
    measuredSucceeds: sum("measuredSucceeds"),
    measuredSucceedsLow: sum("measuredSucceedsLow"),
    measuredSucceedsHigh: sum("measuredSucceedsHigh"),
  };
}
