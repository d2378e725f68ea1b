/** Payment sessions as their public messages: every surface, and the webhook body, shows exactly this. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  Attempt_FailureKind,
  Attempt_Status,
  type AttemptSchema,
  PaymentSession_ExpiredBecause,
  PaymentSession_Status,
  type PaymentSession as PaymentSessionMessage,
  PaymentSessionSchema,
  type PaymentSessionSummary,
  PaymentSessionSummarySchema,
  PlannedConnection_Authentication,
  Refund_Status,
  type Refund as RefundMessage,
  RefundSchema,
  Wallet_Credential,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { brakeInWords } from "../core/decide/because.ts";
import type { Attempt, Authentication, PaymentSession, Refund } from "../core/rows/entities.ts";
import {
  capturedOf,
  isHeld,
  isProcessing,
  type Payment,
  refundableMinor,
  refundedMinor,
} from "../core/rows/payment.ts";
import { encodeId } from "../platform/ids.ts";
import { publicJson } from "../transcoder/public-json.ts";
import { describeAuthentications } from "./authentication-messages.ts";
import { describeDisputes } from "./dispute-messages.ts";
import { describeStoredPayment } from "./stored-card-messages.ts";

export function toSessionMessage(loaded: Payment): PaymentSessionMessage {
  const { session, attempts, authentications, refunds, stored, disputes } = loaded;
  return create(PaymentSessionSchema, {
    ...fieldsOf(session),
    ...(stored && describeStoredPayment(loaded, stored)),
    attempts: attempts.map((attempt) => toAttempt(attempt, authentications)),
    ...(authentications.length > 0 && describeAuthentications(loaded)),
    ...(session.status === "SUCCEEDED" && {
      amountCapturedMinor: BigInt(capturedOf(loaded)?.capturedAmountMinor ?? session.amountMinor),
      refunds: refunds.map((refund) => toRefundMessage(session, refund)),
      amountRefundedMinor: BigInt(refundedMinor(loaded)),
      amountRefundableMinor: BigInt(refundableMinor(loaded)),
    }),
    ...(disputes && describeDisputes(loaded, disputes)),
  });
}

export function toRefundMessage(session: PaymentSession, refund: Refund): RefundMessage {
  return create(RefundSchema, {
    refundId: encodeId("ref", refund.id),
    sessionId: encodeId("ps", session.id),
    orderRef: session.orderRef,
    amountMinor: BigInt(refund.amountMinor),
    currency: refund.currency,
    status: Refund_Status[refund.status === "REQUESTED" ? "PENDING" : refund.status],
    ...present("reason", refund.reason),
    ...present("refundRef", refund.refundRef),
    gateway: refund.gateway,
    ...present("gatewayReference", refund.gatewayReference),
    ...present("failureCode", refund.failureCode),
    createdAt: timestampFromDate(refund.createdAt),
    ...moment("completedAt", refund.completedAt),
    ...(refund.origin === "GATEWAY" && { madeAtGateway: true }),
  });
}

export function toSummaryMessage(session: PaymentSession): PaymentSessionSummary {
  return create(PaymentSessionSummarySchema, fieldsOf(session));
}

/** Returns a session as webhook bodies contain it: as GET shows it, without the customer's personal data. */
export function describeForEvent(reloaded: Payment): object {
  const session = JSON.parse(publicJson(PaymentSessionSchema, toSessionMessage(reloaded)));
  for (const name of personalFields) delete session[name];
  return session;
}

/** The fields that erasing a customer's data removes. Events are kept, so they never contain them. */
export const personalFields = ["customerEmail", "customerName", "billingAddress", "customerRef"] as const;

function fieldsOf(session: PaymentSession) {
  return {
    sessionId: encodeId("ps", session.id),
    orderRef: session.orderRef,
    amountMinor: BigInt(session.amountMinor),
    currency: session.currency,
    ...present("customerEmail", session.customerEmail),
    ...present("customerRef", session.customerRef),
    ...session.details,
    status: PaymentSession_Status[session.status],
    failover: session.failover,
    ...present("capturedVia", session.capturedVia),
    ...present("captureConfirmed", session.captureConfirmed),
    ...present("declineCode", session.declineCode),
    ...(session.status === "EXPIRED" && {
      expiredBecause: PaymentSession_ExpiredBecause[session.expiredBecause ?? "LIFETIME"],
    }),
    ...(session.replacedBy && { replacedBy: encodeId("ps", session.replacedBy) }),
    processing: isProcessing(session),
    capture: session.manualCapture ? "manual" : "automatic",
    ...moment("captureBy", session.captureBy),
    ...(session.allowRepeatedOrder && { allowRepeatedOrder: true }),
    ...(session.payingSessionId && { payingSessionId: encodeId("ps", session.payingSessionId) }),
    ...(isHeld(session) && {
      held: { since: timestampFromDate(session.heldAt!), until: timestampFromDate(session.heldUntil!) },
    }),
    ...cardOf(session),
    createdAt: timestampFromDate(session.createdAt),
    expiresAt: timestampFromDate(session.expiresAt),
    ...moment("submittedAt", session.submittedAt),
    ...moment("settledAt", session.settledAt),
    ...(session.ruleVersion != null && { routing: toRouting(session, session.ruleVersion) }),
  };
}

/** The end of a device's number is not that of the customer's card. */
function cardOf({ cardBrand, cardLast4: last4, wallet, walletCredential }: PaymentSession) {
  const card = cardBrand && last4 ? { brand: cardBrand } : undefined;
  if (!walletCredential) return card && last4 ? { card: { ...card, last4 } } : {};
  const isToken = walletCredential === "NETWORK_TOKEN";
  return {
    ...(card && { card: { ...card, ...present("last4", isToken ? null : last4) } }),
    wallet: {
      ...present("type", wallet),
      credential: Wallet_Credential[walletCredential],
      ...present("tokenLast4", isToken ? last4 : null),
    },
  };
}

function toRouting(session: PaymentSession, ruleVersion: number) {
  const { routedBy } = session;
  return {
    ruleVersion,
    ...(routedBy &&
      !routedBy.isWithoutCases && { case: { name: routedBy.case, unknown: [...(routedBy.unknown ?? [])] } }),
    ...present("split", routedBy?.split),
    ...(session.brakes && { brakedBecause: session.brakes.map((brake) => brakeInWords[brake]).join(" ") }),
    plan: (session.plan ?? []).map((step) => ({
      priority: step.priority,
      gateway: step.gateway,
      connectionId: encodeId("gc", step.connectionId),
      authentication:
        PlannedConnection_Authentication[step.provider ? "IMPORTS" : step.authentication ? "OWN" : "NONE"],
    })),
    skipped: (session.skipped ?? []).map((skipped) => ({
      ...skipped,
      connectionId: encodeId("gc", skipped.connectionId),
    })),
  };
}

function toAttempt(
  attempt: Attempt,
  authentications: readonly Authentication[],
): MessageInitShape<typeof AttemptSchema> {
  const own = authentications.find(({ attemptId }) => attemptId === attempt.id);
  const authenticationId = own?.id ?? attempt.authenticationId;
  return {
    attemptId: encodeId("att", attempt.id),
    sequence: attempt.sequence,
    gateway: attempt.gateway,
    connectionId: encodeId("gc", attempt.connectionId),
    priority: attempt.priority,
    because: attempt.because,
    status: Attempt_Status[attempt.status],
    ...(attempt.failureKind && { failureKind: Attempt_FailureKind[attempt.failureKind] }),
    ...present("declineCode", attempt.declineCode),
    ...present("gatewayCode", attempt.gatewayCode ?? attempt.captureRefusalCode),
    ...present("gatewayReference", attempt.gatewayReference),
    startedAt: timestampFromDate(attempt.startedAt),
    ...moment("completedAt", attempt.completedAt),
    ...(attempt.answeredAt && { durationMs: BigInt(attempt.answeredAt.getTime() - attempt.startedAt.getTime()) }),
    ...(attempt.nextAction && {
      next: { action: attempt.nextAction, because: attempt.nextBecause ?? "" },
    }),
    ...(attempt.round > 0 && { round: attempt.round }),
    ...(authenticationId && { authenticationId: encodeId("atn", authenticationId) }),
  };
}

// Unset fields are absent in public JSON, never null.
function present<Name extends string, Value>(name: Name, value: Value): { [key in Name]?: NonNullable<Value> } {
  return (value === null || value === undefined ? {} : { [name]: value }) as { [key in Name]?: NonNullable<Value> };
}

function moment<Name extends string>(name: Name, date: Date | null | undefined) {
  return present(name, date && timestampFromDate(date));
}
