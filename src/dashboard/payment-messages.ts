import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { PaymentAmountSchema } from "../../gen/dashboard/v1/payment_amount_pb.ts";
import {
  type AttemptAuthenticationSchema,
  AttemptDecision_Kind,
  type AttemptDecisionSchema,
  type PaymentAttemptSchema,
  type PaymentFilter as PaymentFilterMessage,
  type PaymentSchema,
  type PaymentSummarySchema,
  type StoredPaymentSchema,
  TimelineStep_Tone,
} from "../../gen/dashboard/v1/payments_pb.ts";
import {
  Attempt_FailureKind,
  Attempt_Status,
  Authentication_Flow,
  Authentication_Liability,
  Authentication_Status,
  Challenge_EndedBy,
  Dispute_Stage,
  Dispute_Status,
  Initiator,
  PaymentSession_Status,
  SavedCard_Status,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { challengeOf } from "../core/authentication/after-authentication.ts";
import { decisionsOpen, type RecordedDecision } from "../core/execute/decisions.ts";
import { disputeStatuses } from "../core/rows/disputes.ts";
import { type Attempt, type Authentication, sessionStatuses } from "../core/rows/entities.ts";
import { capturedOf, isHeld, isProcessing, refundedMinor } from "../core/rows/payment.ts";
import { retryOfUnpaid, savedCardOf } from "../core/stored-cards/shown-state.ts";
import type { StoredPayment } from "../core/stored-cards/stored-rows.ts";
import { encodeId } from "../platform/ids.ts";
import { isoExponent } from "../platform/money.ts";
import type { PaymentDetails } from "../reporting/payment-details.ts";
import type { PaymentFilter } from "../reporting/payment-filter.ts";
import { byUrgency, type ListedPayment } from "../reporting/payment-list.ts";
import { type TimelineStep, writeTimeline } from "../reporting/payment-timeline.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import { moneyFilterOf } from "./paging.ts";
import { deliveryMessage } from "./webhook-messages.ts";

export function amountMessage(
  amountMinor: number | bigint,
  currency: string,
): MessageInitShape<typeof PaymentAmountSchema> {
  return { amountMinor: BigInt(amountMinor), currency, exponent: isoExponent(currency) };
}

export function summaryMessage(payment: ListedPayment): MessageInitShape<typeof PaymentSummarySchema> {
  const { createdAt, settledAt, currency } = payment;
  return {
    sessionId: encodeId("ps", payment.id),
    orderRef: shownOrderRef(payment.orderRef),
    amount: amountMessage(payment.amountMinor, currency),
    status: PaymentSession_Status[payment.status],
    processing: isProcessing(payment),
    gateways: [...payment.gateways],
    capturedVia: payment.capturedVia ?? "",
    failover: payment.failover,
    declineCode: payment.declineCode ?? "",
    cardBrand: payment.cardBrand ?? "",
    cardLast4: payment.cardLast4 ?? "",
    wallet: payment.wallet ?? "",
    createdAt: timestampFromDate(createdAt),
    ...(settledAt && { settledAt: timestampFromDate(settledAt) }),
    awaitingCustomer: payment.awaitingSince instanceof Date,
    ...(isHeld(payment) && payment.heldUntil && { heldUntil: timestampFromDate(payment.heldUntil) }),
    ...(payment.capturedMinor !== null && { amountCaptured: amountMessage(payment.capturedMinor, currency) }),
    ...(payment.refundedMinor > 0 && { amountRefunded: amountMessage(payment.refundedMinor, currency) }),
    customer: payment.customer ?? "",
    challenged: payment.challenged,
    ...(payment.dispute && disputeMark(payment.dispute)),
  };
}

function disputeMark({ stage, status, respondBy }: NonNullable<ListedPayment["dispute"]>) {
  return {
    disputeStage: Dispute_Stage[stage],
    disputeStatus: Dispute_Status[status],
    ...(respondBy !== null && { disputeRespondBy: timestampFromDate(new Date(respondBy)) }),
  };
}

/** Returns the captured amount; null unless the payment has succeeded. */
function capturedMinor(details: Pick<PaymentDetails, "session" | "attempts">): number | null {
  if (details.session.status !== "SUCCEEDED") return null;
  return capturedOf(details)?.capturedAmountMinor ?? details.session.amountMinor;
}

export function paymentMessage(details: PaymentDetails): MessageInitShape<typeof PaymentSchema> {
  const { session, attempts, events, deliveries } = details;
  const [dispute] = byUrgency(details.disputes ?? []);
  const { captureConfirmed, submittedAt, ruleVersion, createRequestId, submitRequestId } = session;
  return {
    summary: summaryMessage({
      ...session,
      gateways: attempts.map(({ gateway }) => gateway),
      capturedMinor: capturedMinor(details),
      refundedMinor: refundedMinor(details),
      customer: session.details?.customerName ?? session.customerEmail ?? null,
      challenged: details.authentications.some(({ flow }) => flow !== "FRICTIONLESS"),
      dispute: dispute === undefined ? null : { ...dispute, respondBy: dispute.respondBy?.toISOString() ?? null },
    }),
    customerEmail: session.customerEmail ?? "",
    customerRef: session.customerRef ?? "",
    ...describeOrder(session),
    ...(details.stored && { stored: storedMessage(details, details.stored) }),
    ...(captureConfirmed !== null && captureConfirmed !== undefined && { captureConfirmed }),
    expiresAt: timestampFromDate(session.expiresAt),
    ...(submittedAt && { submittedAt: timestampFromDate(submittedAt) }),
    ...(ruleVersion != null && { ruleVersion }),
    createRequestId: createRequestId ? encodeId("req", createRequestId) : "",
    submitRequestId: submitRequestId ? encodeId("req", submitRequestId) : "",
    attempts: attempts.map((attempt) => attemptMessage(attempt, details)),
    events: events.map(({ id, type, sequence, createdAt }) => ({
      eventId: encodeId("evt", id),
      type,
      sequence,
      createdAt: timestampFromDate(createdAt),
    })),
    deliveries: deliveries.map((delivery) => ({
      delivery: deliveryMessage(delivery),
      endpointUrl: delivery.endpointUrl,
    })),
    timeline: writeTimeline(details).map(stepMessage),
  };
}

function storedMessage(
  { session, chainGateway }: PaymentDetails,
  stored: StoredPayment,
): MessageInitShape<typeof StoredPaymentSchema> {
  const { role, methodId, agreementId, renewalRef, networkTransactionId, ownConnectionId } = stored;
  const saved = savedCardOf(session, stored);
  const retry = retryOfUnpaid(session, stored);
  const chain = (networkTransactionId != null || ownConnectionId != null) && {
    network: stored.network ?? "",
    networkTransactionId: networkTransactionId ?? "",
    networkDate: stored.networkDate ?? "",
    ownConnectionId: ownConnectionId == null ? "" : encodeId("gc", ownConnectionId),
    ownGateway: chainGateway ?? "",
  };
  return {
    initiator: role === "RENEWAL" ? Initiator.MERCHANT : Initiator.CUSTOMER,
    paymentMethodId: methodId == null ? "" : encodeId("pm", methodId),
    agreementId: agreementId == null ? "" : encodeId("agr", agreementId),
    renewalRef: shownOrderRef(renewalRef ?? ""),
    try: stored.try ?? 0,
    ...(chain && { chain }),
    ...(saved && { savedCard: { status: SavedCard_Status[saved] } }),
    ...(retry && {
      retry: { ...retry, notBefore: retry.notBefore && timestampFromDate(retry.notBefore) },
    }),
  };
}

/** Returns the optional description of an order. A merchant may have put a card number into its metadata. */
function describeOrder({ details }: PaymentDetails["session"]) {
  const { metadata = {}, ...rest } = details ?? {};
  return {
    ...rest,
    metadata: Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, shownOrderRef(value)])),
  };
}

function attemptMessage(attempt: Attempt, details: PaymentDetails): MessageInitShape<typeof PaymentAttemptSchema> {
  const { failureKind, answeredAt, completedAt } = attempt;
  const decided = details.decisions.find(({ attemptId }) => attemptId === attempt.id);
  const authentication = details.authentications.find(({ attemptId }) => attemptId === attempt.id);
  return {
    attemptId: encodeId("att", attempt.id),
    sequence: attempt.sequence,
    gateway: attempt.gateway,
    connectionId: encodeId("gc", attempt.connectionId),
    status: Attempt_Status[attempt.status],
    ...(failureKind && { failureKind: Attempt_FailureKind[failureKind] }),
    declineCode: attempt.declineCode ?? "",
    gatewayCode: attempt.gatewayCode ?? attempt.captureRefusalCode ?? "",
    gatewayReference: attempt.gatewayReference ?? "",
    because: attempt.because,
    nextBecause: attempt.nextBecause ?? "",
    startedAt: timestampFromDate(attempt.startedAt),
    ...(answeredAt && { answeredAt: timestampFromDate(answeredAt) }),
    ...(completedAt && { completedAt: timestampFromDate(completedAt) }),
    ...(decided && { decision: decisionMessage(decided) }),
    openDecisions: decisionsOpen(details, attempt).map((kind) => AttemptDecision_Kind[kind]),
    givenUp: attempt.voidKind === "GIVEN_UP",
    ...(authentication && { authentication: authenticationMessage(authentication) }),
  };
}

function authenticationMessage(authentication: Authentication): MessageInitShape<typeof AttemptAuthenticationSchema> {
  const { status, flow, startedAt, deadlineAt, shownAt, answeredAt, completedAt, liability } = authentication;
  const { endedBy, durationMs } = challengeOf(authentication);
  return {
    status: Authentication_Status[status],
    flow: Authentication_Flow[flow],
    startedAt: timestampFromDate(startedAt),
    until: timestampFromDate(deadlineAt),
    ...(shownAt && { shownAt: timestampFromDate(shownAt) }),
    ...(answeredAt && { answeredAt: timestampFromDate(answeredAt) }),
    ...(completedAt && { completedAt: timestampFromDate(completedAt) }),
    ...(endedBy && { endedBy: Challenge_EndedBy[endedBy] }),
    ...(durationMs !== undefined && { durationMs: BigInt(durationMs) }),
    ...(liability && { liability: Authentication_Liability[liability] }),
    version: authentication.version ?? "",
    eci: authentication.eci ?? "",
    transStatus: authentication.transStatus ?? "",
  };
}

export function decisionMessage(decided: RecordedDecision): MessageInitShape<typeof AttemptDecisionSchema> {
  const { decision, reference, amountMinor, reason, decidedBy, decidedAt, takesTwo, confirmedBy, confirmedAt } =
    decided;
  return {
    kind: AttemptDecision_Kind[decision],
    gatewayReference: reference ?? "",
    ...(amountMinor !== null && { amount: amountMessage(amountMinor, decided.currency) }),
    reason,
    decidedBy,
    takesTwo,
    decidedAt: timestampFromDate(decidedAt),
    confirmedBy: confirmedBy ?? "",
    ...(confirmedAt && { confirmedAt: timestampFromDate(confirmedAt) }),
  };
}

function stepMessage({ at, actor, step, why, tone, attemptId, eventId, endpointId, requestId }: TimelineStep) {
  return {
    at: timestampFromDate(at),
    actor,
    step,
    why: why ?? "",
    ...(tone && { tone: TimelineStep_Tone[tone] }),
    attemptId: attemptId ? encodeId("att", attemptId) : "",
    eventId: eventId ? encodeId("evt", eventId) : "",
    endpointId: endpointId ? encodeId("we", endpointId) : "",
    requestId: requestId ? encodeId("req", requestId) : "",
  };
}

/** Returns the domain's filter. Throws `invalid_parameter` for an empty range or an invalid time. */
export function filterOf(message: PaymentFilterMessage | undefined): PaymentFilter {
  if (message === undefined) return {};
  const { processing, held, released, failover, gateway, orderRef, customerEmail, customerRef, cardLast4 } = message;
  const disputeStatus = disputeStatuses.find((name) => Dispute_Status[name] === message.disputeStatus);
  return {
    ...moneyFilterOf(message),
    processing,
    held,
    released,
    failover,
    status: sessionStatuses.find((name) => PaymentSession_Status[name] === message.status),
    gateway: gateway || undefined,
    orderRef: orderRef === "" ? undefined : { text: orderRef, isPrefix: message.orderRefPrefix },
    customerEmail: customerEmail || undefined,
    customerRef: customerRef || undefined,
    cardLast4: cardLast4 || undefined,
    disputed: message.disputed ?? (disputeStatus && true),
    disputeStatus,
  };
}
