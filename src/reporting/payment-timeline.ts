/** Builds the timeline of a payment as one list of steps in words: time, actor, step and reason. PURE. */

import { challengeOf } from "../core/authentication/after-authentication.ts";
import { brakeInWords } from "../core/decide/because.ts";
import type { RecordedDecision } from "../core/execute/decisions.ts";
import type { WorkItem } from "../core/record/work-items.ts";
import type {
  Attempt,
  Authentication,
  AuthenticationStatus,
  Liability,
  PaymentSession,
  Refusal,
} from "../core/rows/entities.ts";
import type { SessionDelivery } from "../events/delivery-log.ts";
import { unreachable } from "../platform/errors.ts";
import { type AttemptId, type EndpointId, type EventId, encodeId, type RequestId } from "../platform/ids.ts";
import { amountInWords, decimalOf, isoExponent } from "../platform/money.ts";
import type { HeldOrder, OrphanedAuthorization, PaymentDetails } from "./payment-details.ts";
import { refundSteps } from "./refund-timeline.ts";
import { submissionOf, submittedCard } from "./submitted-card.ts";

export type TimelineStep = {
  readonly at: Date;
  /** The merchant, the customer, us, a gateway, an endpoint or a person. */
  readonly actor: string;
  readonly step: string;
  readonly why?: string | undefined;
  readonly tone?: "GOOD" | "WARN" | "BAD" | undefined;
  readonly attemptId?: AttemptId | undefined;
  readonly eventId?: EventId | undefined;
  readonly endpointId?: EndpointId | undefined;
  readonly requestId?: RequestId | undefined;
};

type Moment = Omit<TimelineStep, "at"> & { readonly at: Date | null | undefined };

const us = "Switchyard";

export function writeTimeline(details: PaymentDetails): TimelineStep[] {
  const { session, attempts, authentications, refunds, events, deliveries, workItems } = details;
  const { orphanedAuthorizations, decisions } = details;
  const moments: Moment[] = [
    ...beginning(details),
    ...laterSteps(details),
    ...attempts.flatMap((attempt) => {
      const authentication = authentications.find(({ attemptId }) => attemptId === attempt.id);
      return attemptSteps(attempt, session, authentication);
    }),
    ...authentications.filter(({ provider }) => provider).flatMap(providedSteps),
    ...ending(session),
    ...refunds.flatMap(refundSteps),
    ...events.map(({ id, type, createdAt }) => ({
      at: createdAt,
      actor: us,
      step: `Recorded the event ${type}`,
      eventId: id,
    })),
    ...deliveries.map(deliveryStep),
    ...orphanedAuthorizations.flatMap(holdSteps),
    ...decisions.flatMap(decisionSteps),
    ...workItems.flatMap(itemSteps),
  ];
  const happened = moments.filter((moment): moment is TimelineStep => moment.at instanceof Date);
  return happened.toSorted((left, right) => left.at.getTime() - right.at.getTime());
}

function beginning({ session, stored }: Pick<PaymentDetails, "session" | "stored">): Moment[] {
  const isRenewal = stored?.role === "RENEWAL";
  const { plan, skipped, ruleVersion, routedBy } = session;
  const card = submittedCard(session);
  const planned = (plan ?? []).map(({ gateway }) => gateway).join(", then ");
  const byCase = routedBy?.case === undefined ? "" : ` by its case “${routedBy.case}”`;
  const { arm, percent, draw } = routedBy?.split ?? {};
  const byArm =
    arm === undefined
      ? ""
      : `, variant ${arm} of its split: it drew ${draw} of 100, and variant B gets 1 to ${percent}`;
  const unknown = (routedBy?.unknown ?? []).map(
    (one) => ` The case “${one.case}” could not be checked. ${one.because}`,
  );
  const braked = (session.brakes ?? []).map((brake) => ` ${brakeInWords[brake]}`).join("");
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
      actor: isRenewal ? "Merchant" : "Customer",
      step: `${isRenewal ? "Charged a stored card" : submissionOf(session)}${card}`,
      why: `${ruleVersion ? `Rule version ${ruleVersion}` : "The default rule"} plans ${planned || "no gateway"}${byCase}${byArm}.${unknown.join("")}${left}${braked}`,
      requestId: session.submitRequestId ?? undefined,
    },
  ];
}

function laterSteps({ session, attempts, heldOrder }: PaymentDetails): Moment[] {
  const { heldAt, heldUntil, captureAskedAt, settledAt, declineCode, currency } = session;
  if (!heldAt) return [];
  const ordered = attempts.find(({ captureOrderedAt }) => captureOrderedAt);
  const orderedMinor = ordered?.orderedAmountMinor ?? ordered?.capturedAmountMinor ?? session.amountMinor;
  const amount = decimalOf(orderedMinor, isoExponent(currency));
  const until = heldUntil?.toISOString().replace("T", " ").slice(0, 16);
  const by = (action: HeldOrder["action"]) =>
    heldOrder?.action === action
      ? { actor: heldOrder.actor, why: heldOrder.reason ?? undefined }
      : { actor: "Merchant" };
  const ends = {
    capture_cancelled: { ...by("CancelPayment"), step: "Cancelled the payment" },
    capture_expired: {
      actor: us,
      step: "Ended the hold",
      why: "It was not captured in time, or its gateway voided it.",
    },
  };
  return [
    { at: heldAt, actor: us, step: "Holds the amount", why: `The merchant captures or cancels it until ${until} UTC.` },
    { at: captureAskedAt, ...by("CapturePayment"), step: `Asked for the capture of ${amount} ${currency}` },
    ...Object.entries(ends).flatMap(([code, end]) => (code === declineCode ? [{ at: settledAt, ...end }] : [])),
  ];
}

function attemptSteps(
  attempt: Attempt,
  { captureConfirmed }: PaymentSession,
  authentication: Authentication | undefined,
): Moment[] {
  const { gateway, id: attemptId, captureRefusalCode } = attempt;
  const captured =
    captureConfirmed === false ? "Accepted the capture, which it has not confirmed yet" : "Captured the money";
  const steps: Moment[] = [
    { at: attempt.startedAt, actor: us, step: `Sent the authorization to ${gateway}`, why: attempt.because },
    ...(authentication ? authenticationSteps(attempt, authentication) : [firstAnswer(attempt)]),
    { at: attempt.lookedUpAt, actor: us, step: `Looked the payment up at ${gateway}` },
    { at: attempt.captureOrderedAt, actor: us, step: `Sent the capture to ${gateway}` },
    {
      at: captureRefusalCode === null ? null : (attempt.voidAskedAt ?? attempt.completedAt ?? attempt.captureOrderedAt),
      actor: gateway,
      step: `Refused the capture: ${captureRefusalCode}`,
      why: attempt.nextBecause ?? undefined,
      tone: "BAD",
    },
    { at: attempt.voidAskedAt, actor: us, step: `Sent the void to ${gateway}` },
    {
      at: attempt.status === "CAPTURED" ? attempt.completedAt : null,
      ...capturedStep(attempt, captured),
      tone: "GOOD",
    },
    { at: attempt.status === "VOIDED" ? attempt.completedAt : null, ...voidedStep(attempt) },
  ];
  return steps.map((step) => ({ ...step, attemptId }));
}

function capturedStep(attempt: Attempt, captured: string) {
  const isDecided = attempt.decision === "CAPTURED";
  const why = hasOtherAmount(attempt) ? (attempt.nextBecause ?? undefined) : undefined;
  return isDecided
    ? { actor: us, step: `Recorded the capture ${attempt.decisionReference}`, why }
    : { actor: attempt.gateway, step: captured, why };
}

function hasOtherAmount({ orderedAmountMinor }: Attempt): boolean {
  return orderedAmountMinor != null;
}

function voidedStep({ gateway, voidKind }: Attempt) {
  switch (voidKind) {
    case "GIVEN_UP":
      return { actor: us, step: "Ended the attempt as given up" };
    case "NEVER_EXISTED":
      return { actor: gateway, step: "Reported that there never was a hold" };
    case "VOIDED":
    case null:
    case undefined:
      return { actor: gateway, step: "Voided the hold" };
    default:
      return unreachable(voidKind);
  }
}

function firstAnswer(attempt: Attempt): Moment {
  const { startedAt, answeredAt: at } = attempt;
  return answerStep(attempt, at, at ? ` after ${at.getTime() - startedAt.getTime()} ms` : "");
}

/**
 * Returns the steps of an attempt with an authentication: the gateway's question, the customer, and the end; without the
 * customer, only the result.
 */
function authenticationSteps(attempt: Attempt, authentication: Authentication): Moment[] {
  const { gateway } = attempt;
  if (authentication.flow === "FRICTIONLESS") {
    const result = frictionlessInWords[authentication.status] ?? "No authentication";
    return [{ at: attempt.answeredAt, ...resultStep(result, attempt, authentication) }, firstAnswer(attempt)];
  }
  const { startedAt, shownAt, answeredAt, cancelAskedAt, completedAt: at } = authentication;
  const took = ` after ${startedAt.getTime() - attempt.startedAt.getTime()} ms`;
  const { durationMs = 0 } = challengeOf(authentication);
  return [
    { at: startedAt, actor: gateway, step: `Asked for the customer to authenticate${took}`, tone: "WARN" },
    { at: shownAt, actor: "Customer", step: "Opened the bank's page" },
    { at: cancelAskedAt, actor: "Customer", step: "Gave up" },
    { at: answeredAt, actor: "Customer", step: `Answered at the bank after ${(durationMs / 1_000).toFixed(1)} s` },
    ...endSteps(attempt, authentication, attempt.captureOrderedAt ?? at),
  ];
}

const frictionlessInWords: Partial<Record<AuthenticationStatus, string>> = {
  AUTHENTICATED: "Authenticated without asking the customer",
  ATTEMPTED: "Tried to authenticate; the bank did not take part",
  UNAVAILABLE: "Tried to authenticate, without a result",
  FAILED: "Refused to authenticate, without asking the customer",
};
function providedSteps(authentication: Authentication): Moment[] {
  const { startedAt, shownAt, answeredAt, cancelAskedAt, completedAt: at, because, flow } = authentication;
  const actor = authentication.provider ?? "";
  const isAsked = flow === "CHALLENGE";
  const { durationMs = 0 } = challengeOf(authentication);
  return [
    { at: startedAt, actor: us, step: `Asked ${actor} to authenticate the customer`, why: because },
    { at: isAsked ? shownAt : null, actor: "Customer", step: "Opened the bank's page" },
    { at: cancelAskedAt, actor: "Customer", step: "Gave up" },
    {
      at: isAsked ? answeredAt : null,
      actor: "Customer",
      step: `Answered at the bank after ${(durationMs / 1_000).toFixed(1)} s`,
    },
    { at, ...providedEnd(authentication, actor) },
  ];
}

function providedEnd(authentication: Authentication, actor: string): Omit<Moment, "at"> {
  const { status, flow, transStatus } = authentication;
  const without = flow === "CHALLENGE" ? "" : " without asking the customer";
  const of = transStatus ? ` (status ${transStatus})` : "";
  switch (status) {
    case "PREPARING":
    case "METHOD":
    case "REQUESTING":
    case "AWAITING_CUSTOMER":
    case "CONFIRMING":
      return { actor, step: "" };
    case "AUTHENTICATED":
      return {
        ...resultStep(`The bank authenticated the customer${without}`, { gateway: actor }, authentication),
        tone: "GOOD",
      };
    case "ATTEMPTED":
      return resultStep("The bank did not take part, and the attempt counts", { gateway: actor }, authentication);
    case "EXEMPTED":
      return resultStep("The bank granted an exemption", { gateway: actor }, authentication);
    case "UNAVAILABLE":
      return { actor, step: `Had no usable answer for this card${of}`, tone: "WARN" };
    case "FAILED":
      return { actor, step: `The bank refused the customer${of}`, tone: "BAD" };
    case "REJECTED":
      return { actor, step: `The bank asked not to try the payment${of}`, tone: "BAD" };
    case "CANCELLED":
      return { actor: us, step: "Ended the authentication, which the customer gave up", tone: "BAD" };
    case "ABANDONED":
      return { actor: us, step: "Ended the authentication, which was not finished in time", tone: "BAD" };
    default:
      return unreachable(status);
  }
}

const liabilityInWords: Record<Liability, string> = {
  ISSUER: "The issuer is liable for fraud.",
  MERCHANT: "The merchant is liable for fraud.",
  UNKNOWN: "It is not known who is liable for fraud.",
};

function resultStep(
  result: string,
  { gateway: actor }: Pick<Attempt, "gateway">,
  authentication: Authentication,
): Omit<Moment, "at"> {
  const { version, eci, liability } = authentication;
  const facts = [version && `3-D Secure ${version}`, eci && `ECI ${eci}`].filter(Boolean).join(", ");
  const why = liability ? liabilityInWords[liability] : undefined;
  return { actor, step: facts ? `${result} (${facts})` : result, why };
}

// A hold's capture is ordered at the same time, which the order of steps has to show.
function endSteps(attempt: Attempt, authentication: Authentication, at: Date | null | undefined): Moment[] {
  const { status } = authentication;
  const why = attempt.nextBecause ?? undefined;
  switch (status) {
    case "AWAITING_CUSTOMER":
    case "CONFIRMING":
    // Only a provider's authentication has these.
    case "PREPARING":
    case "METHOD":
    case "REQUESTING":
    case "EXEMPTED":
    case "REJECTED":
      return [];
    case "AUTHENTICATED":
      return [{ at, ...resultStep("The customer is authenticated", attempt, authentication) }, answerStep(attempt, at)];
    case "ATTEMPTED":
      return [{ at, ...resultStep("The bank did not take part", attempt, authentication) }, answerStep(attempt, at)];
    case "UNAVAILABLE":
      return [answerStep(attempt, at)];
    case "FAILED":
      return [{ at, actor: attempt.gateway, step: "The bank refused the customer", why, tone: "BAD" }];
    case "CANCELLED":
      return [{ at, actor: us, step: "Ended the authentication, which the customer gave up", why, tone: "BAD" }];
    case "ABANDONED":
      return [{ at, actor: us, step: "Ended the authentication, which was not finished in time", why, tone: "BAD" }];
    default:
      return unreachable(status);
  }
}

const refusalInWords: Record<Refusal, string> = {
  REQUEST: "Refused the request",
  CREDENTIALS: "Refused the credentials",
  NO_ANSWER: "Could not be reached",
};

/**
 * Returns the step of an answer: an authorization, a refusal, or nothing usable. `took` is left out where the customer's
 * time is in it.
 */
function answerStep(attempt: Attempt, at: Date | null | undefined, took = ""): Moment {
  const { gateway: actor, gatewayCode, gatewayReference, failureKind, stop } = attempt;
  // The reason of a refused capture is shown with the refusal, that of another amount with the capture.
  const isLater = attempt.captureRefusalCode !== null || hasOtherAmount(attempt);
  const why = isLater ? undefined : (attempt.nextBecause ?? undefined);
  switch (failureKind) {
    case null:
    case undefined: {
      const reference = gatewayReference ? `, reference ${gatewayReference}` : "";
      if (stop === "order_being_paid") return { at, actor, step: `Authorized${took}${reference}`, why, tone: "WARN" };
      // Otherwise only a look-up after a missing answer leaves a reason for the next step without a failure.
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
      const code = gatewayCode ? ` with its code ${gatewayCode}` : "";
      const known = attempt.refusal
        ? `${refusalInWords[attempt.refusal]}${took}${code}, and processed nothing`
        : `Processed nothing${took}${code}`;
      const step = isKnown ? known : `${what}${took}; it may hold the amount`;
      return { at, actor, step, why, tone: "WARN" };
    }
    case "SOFT_DECLINE":
    case "HARD_DECLINE":
    case "FRAUD": {
      const raw = gatewayCode ? `, its code ${gatewayCode}` : "";
      const tone = attempt.nextAction === "failover" || attempt.nextAction === "retry" ? "WARN" : "BAD";
      return { at, actor, step: `Declined${took}: ${inWords(attempt.declineCode)}${raw}`, why, tone };
    }
    default:
      return unreachable(failureKind);
  }
}

function ending(session: PaymentSession): Moment[] {
  const { status, settledAt, capturedVia, failover, declineCode } = session;
  const pending = {
    at: session.pendingEventAt,
    actor: us,
    step: "Notified the merchant that the outcome takes longer",
  };
  switch (status) {
    case "CREATED":
      return [pending];
    case "SUCCEEDED": {
      const why = `Captured by ${capturedVia}${failover ? ", after another gateway had failed" : ""}.`;
      return [pending, { at: settledAt, actor: us, step: "The payment has succeeded", why, tone: "GOOD" }];
    }
    case "EXPIRED":
      return [{ at: settledAt, actor: us, ...expiryInWords(session) }];
    case "DECLINED":
    case "DEGRADED": {
      const step = status === "DECLINED" ? "The payment is declined" : "The payment has ended without a usable answer";
      return [pending, { at: settledAt, actor: us, step: `${step}: ${inWords(declineCode)}`, tone: "BAD" }];
    }
    default:
      return unreachable(status);
  }
}

/** Returns `fraud suspected` for `fraud_suspected`. */
function inWords(declineCode: string | null | undefined): string {
  return (declineCode ?? "").replaceAll("_", " ");
}

function expiryInWords({ expiredBecause, replacedBy }: PaymentSession): Pick<Moment, "step" | "why"> {
  const reason = expiredBecause ?? "LIFETIME";
  switch (reason) {
    case "CANCELLED":
      return { step: "The session is cancelled", why: "Your shop cancelled it before a card was submitted." };
    case "REPLACED":
      return {
        step: "The session is replaced",
        why: `Your shop created ${encodeId("ps", replacedBy!)} in its place, before a card was submitted.`,
      };
    case "LIFETIME":
      return { step: "The session has expired", why: "No card was submitted in time." };
    default:
      return unreachable(reason);
  }
}

function deliveryStep(delivery: SessionDelivery): Moment {
  const { eventId, endpointId, type, status, tries, endpointUrl: actor } = delivery;
  const about = { actor, eventId, endpointId };
  const times = tries === 1 ? "1 attempt" : `${tries} attempts`;
  switch (status) {
    case "SUCCEEDED":
      return { ...about, at: delivery.endedAt, step: `Accepted the event ${type}`, tone: "GOOD" };
    case "EXHAUSTED":
      return {
        ...about,
        at: delivery.endedAt,
        step: `Never accepted the event ${type}`,
        why: `${times}; no more will follow.`,
        tone: "BAD",
      };
    case "PENDING":
      return {
        ...about,
        at: delivery.createdAt,
        step: `Has not accepted the event ${type} yet`,
        why: `${times} so far.`,
        tone: "WARN",
      };
    default:
      return unreachable(status);
  }
}

function holdSteps({
  attemptId,
  gatewayReference,
  foundBy,
  foundAt,
  endedAt,
  outcome,
}: OrphanedAuthorization): Moment[] {
  const by =
    foundBy === "notification"
      ? "The gateway reported it in a notification."
      : "A reconciliation with its records found it.";
  const end = { VOIDED: "Its hold was voided", GONE: "The hold is gone", CAPTURED: "The hold was captured" };
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
    { at: resolvedAt, actor: us, step: "The matter of the alarm resolved itself", attemptId },
    { at: closedAt, actor: item.closedBy ?? "", step: "Closed the alarm", why: item.closeNote ?? undefined, attemptId },
  ];
}

function decisionSteps(decided: RecordedDecision): Moment[] {
  const { attemptId, decision, reference, amountMinor, currency, reason: why, takesTwo } = decided;
  const amount = amountMinor === null ? "" : `, ${amountInWords(amountMinor, currency)}`;
  const end = decision === "GIVEN_UP" ? "given up: none of its money is kept" : `captured as ${reference}${amount}`;
  const step = `Decided that the attempt is ${end}`;
  return [
    { at: decided.decidedAt, actor: decided.decidedBy, step, why, tone: "WARN", attemptId },
    {
      at: takesTwo ? decided.confirmedAt : null,
      actor: decided.confirmedBy ?? "",
      step: "Confirmed the decision",
      attemptId,
    },
  ];
}
