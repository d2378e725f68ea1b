/** Tells what happened to a payment as one list: when, who, what and why, in words. PURE. */
import type { SessionDelivery } from "../events/session-events.ts";
import { nameOfBrand } from "./card-brand-name.ts";
import type { Attempt, PaymentSession } from "./entities.ts";
import type { PaymentDetails, StrayHold } from "./payment-details.ts";
import type { WorkItem } from "./work-items.ts";

/** One thing that happened. */
export type TimelineStep = {
  readonly at: Date;
  /** The merchant, the customer, us, a gateway, an endpoint or a person. */
  readonly actor: string;
  readonly step: string;
  readonly why?: string | undefined;
  readonly tone?: "GOOD" | "WARN" | "BAD" | undefined;
  readonly attemptId?: string | undefined;
  readonly eventId?: string | undefined;
  readonly endpointId?: string | undefined;
  readonly requestId?: string | undefined;
};

type Moment = Omit<TimelineStep, "at"> & { readonly at: Date | null | undefined };

const us = "Switchyard";

/** Every step that is on record, oldest first. */
export function tellTimeline(details: PaymentDetails): TimelineStep[] {
  const { session, attempts, events, deliveries, workItems, strayHolds } = details;
  const told: Moment[] = [
    ...beginning(session),
    ...attempts.flatMap((attempt) => attemptSteps(attempt, session)),
    ...ending(session),
    ...events.map(({ id, type, createdAt }) => ({
      at: createdAt,
      actor: us,
      step: `Recorded the event ${type}`,
      eventId: id,
    })),
    ...deliveries.map(deliveryStep),
    ...strayHolds.flatMap(holdSteps),
    ...workItems.flatMap(itemSteps),
  ];
  const happened = told.filter((moment): moment is TimelineStep => moment.at instanceof Date);
  return happened.toSorted((left, right) => left.at.getTime() - right.at.getTime());
}

function beginning(session: PaymentSession): Moment[] {
  const { cardBrand, cardLast4, plan, skipped, ruleVersion } = session;
  const card = cardBrand && cardLast4 ? ` (${nameOfBrand(cardBrand)} ending in ${cardLast4})` : "";
  const planned = (plan ?? []).map(({ gateway }) => gateway).join(", then ");
  const left = (skipped ?? []).map(({ gateway, because }) => ` ${gateway} is left out: ${because}`).join("");
  return [
    {
      at: session.createdAt,
      actor: "Merchant",
      step: "Created the session",
      requestId: session.createRequestId ?? undefined,
    },
    {
      at: session.submittedAt,
      actor: "Customer",
      step: `Submitted a card${card}`,
      why: `Rule version ${ruleVersion} plans ${planned || "no gateway"}.${left}`,
      requestId: session.submitRequestId ?? undefined,
    },
  ];
}

function attemptSteps(attempt: Attempt, { captureConfirmed }: PaymentSession): Moment[] {
  const { gateway, id: attemptId, captureRefused } = attempt;
  const taken = captureConfirmed === false ? "Took the capture on, and has not confirmed it yet" : "Captured the money";
  const steps: Moment[] = [
    { at: attempt.startedAt, actor: us, step: `Asked ${gateway} to authorize`, why: attempt.because },
    answerStep(attempt),
    { at: attempt.lookedUpAt, actor: us, step: `Asked ${gateway} whether it holds the amount` },
    { at: attempt.captureStartedAt, actor: us, step: `Asked ${gateway} to capture` },
    {
      at: captureRefused === null ? null : (attempt.voidAskedAt ?? attempt.completedAt ?? attempt.captureStartedAt),
      actor: gateway,
      step: `Refused the capture: ${captureRefused}`,
      why: attempt.nextBecause ?? undefined,
      tone: "BAD",
    },
    { at: attempt.voidAskedAt, actor: us, step: `Asked ${gateway} to give the hold back` },
    { at: attempt.status === "CAPTURED" ? attempt.completedAt : null, actor: gateway, step: taken, tone: "GOOD" },
    {
      at: attempt.status === "VOIDED" ? attempt.completedAt : null,
      actor: gateway,
      step: attempt.voidKind === "NEVER_EXISTED" ? "Says that there never was a hold" : "Gave the hold back",
    },
  ];
  return steps.map((step) => ({ ...step, attemptId }));
}

/** What came back first: an authorization, a refusal, or nothing that can be used. */
function answerStep(attempt: Attempt): Moment {
  const { answeredAt: at, startedAt, gateway: actor, gatewayCode, gatewayReference, failureKind } = attempt;
  const took = at ? ` after ${at.getTime() - startedAt.getTime()} ms` : "";
  // The reason of a refused capture stands with the refusal.
  const why = attempt.captureRefused === null ? (attempt.nextBecause ?? undefined) : undefined;
  switch (failureKind) {
    case null: {
      const reference = gatewayReference ? `, reference ${gatewayReference}` : "";
      // Only a look-up after no answer leaves the reason for having gone on, and no failure.
      if (why !== undefined)
        return {
          at,
          actor,
          step: `No usable answer${took}; it was found to hold the amount${reference}`,
          why,
          tone: "WARN",
        };
      return { at, actor, step: `Authorized${took}${reference}`, tone: "GOOD" };
    }
    case "TIMEOUT":
    case "GATEWAY_ERROR": {
      const what = failureKind === "TIMEOUT" ? "No answer" : "No usable answer";
      const isKnown = attempt.status === "FAILED";
      const step = isKnown ? `Processed nothing${took}` : `${what}${took}; it may hold the amount`;
      return { at, actor, step, why, tone: "WARN" };
    }
    default: {
      const raw = gatewayCode ? `, its code ${gatewayCode}` : "";
      const tone = attempt.nextAction === "failover" ? "WARN" : "BAD";
      return { at, actor, step: `Declined${took}: ${attempt.declineCode}${raw}`, why, tone };
    }
  }
}

function ending(session: PaymentSession): Moment[] {
  const { status, settledAt, capturedVia, failover, declineCode } = session;
  const pending = { at: session.pendingToldAt, actor: us, step: "Told the merchant that the outcome takes longer" };
  switch (status) {
    case "CREATED":
      return [pending];
    case "SUCCEEDED": {
      const why = `Captured by ${capturedVia}${failover ? ", after another gateway had not taken it" : ""}.`;
      return [pending, { at: settledAt, actor: us, step: "The payment has succeeded", why, tone: "GOOD" }];
    }
    case "EXPIRED":
      return [{ at: settledAt, actor: us, step: "The session has expired", why: "No card was submitted in time." }];
    default: {
      const step = status === "DECLINED" ? "The payment is declined" : "The payment has ended without an answer";
      return [pending, { at: settledAt, actor: us, step: `${step}: ${declineCode}`, tone: "BAD" }];
    }
  }
}

function deliveryStep(delivery: SessionDelivery): Moment {
  const { eventId, endpointId, type, status, tries, endpointUrl: actor } = delivery;
  const about = { actor, eventId, endpointId };
  const times = tries === 1 ? "1 try" : `${tries} tries`;
  switch (status) {
    case "SUCCEEDED":
      return { ...about, at: delivery.endedAt, step: `Took the event ${type}`, tone: "GOOD" };
    case "EXHAUSTED":
      return {
        ...about,
        at: delivery.endedAt,
        step: `Never took the event ${type}`,
        why: `${times}, and no more follow.`,
        tone: "BAD",
      };
    case "PENDING":
      return {
        ...about,
        at: delivery.createdAt,
        step: `Has yet to take the event ${type}`,
        why: `${times} so far.`,
        tone: "WARN",
      };
  }
}

function holdSteps({ attemptId, gatewayReference, foundBy, foundAt, endedAt, outcome }: StrayHold): Moment[] {
  const by = foundBy === "notice" ? "A notice of the gateway told of it." : "A comparison with its records found it.";
  const end = { VOIDED: "Its hold was given back", GONE: "The hold is gone", CAPTURED: "The hold was captured" };
  return [
    {
      at: foundAt,
      actor: us,
      step: `Found a hold ${gatewayReference} for an attempt that is over`,
      why: by,
      tone: "WARN",
      attemptId,
    },
    { at: endedAt, actor: us, step: `${outcome ? end[outcome] : ""}: ${gatewayReference}`, attemptId },
  ];
}

function itemSteps({ openedAt, resolvedAt, closedAt, ...item }: WorkItem): Moment[] {
  const attemptId = item.attemptId ?? undefined;
  return [
    { at: openedAt, actor: us, step: "Raised an alarm", why: item.detail, tone: "BAD", attemptId },
    { at: resolvedAt, actor: us, step: "What the alarm was about has settled itself", attemptId },
    { at: closedAt, actor: item.closedBy ?? "", step: "Closed the alarm", why: item.closeNote ?? undefined, attemptId },
  ];
}
