/** The events of webhooks, by type. The envelope is the same for all; `data` depends on the type. */
import type { PaymentSession } from "./payment-session.ts";

/** The types of events about a payment session; docs/webhook-events.md says when each is sent. */
export type SessionEventType =
  | "payment_session.succeeded"
  | "payment_session.declined"
  | "payment_session.degraded"
  | "payment_session.expired"
  | "payment_session.pending"
  | "payment_session.held"
  | "payment_session.capture_due"
  | "payment_attempt.voided"
  | "payment_attempt.capture_failed"
  | "refund.succeeded"
  | "refund.failed"
  | "refund.pending"
  | "dispute.created"
  | "dispute.updated"
  | "dispute.due_soon"
  | "dispute.closed"
  | "payment_method.saved"
  | "agreement.updated"
  | "setup_session.succeeded"
  | "setup_session.failed"
  | "setup_session.expired";

type Envelope = {
  /** evt_…, the same for every delivery attempt: process each id once. */
  readonly id: string;
  readonly timestamp: string;
  readonly environment: "test" | "live";
};

/** The session as it was when the event was written, without the customer's personal data. */
export type SessionEventData = Omit<
  PaymentSession,
  "customerEmail" | "customerName" | "billingAddress" | "customerRef"
> & {
  /** 1 for the session's first event; a webhook that arrives late has a lower number than those before it. */
  readonly sequence: number;
};

/** The data of an event about one of the session's attempts. */
export type AttemptEventData = SessionEventData & {
  /** The id of an element of `attempts`. */
  readonly attemptId: string;
};

/** The data of an event about one of the session's refunds. */
export type RefundEventData = SessionEventData & {
  /** The id of an element of `refunds`. */
  readonly refundId: string;
};

/** The data of an event about one of the session's disputes. */
export type DisputeEventData = SessionEventData & {
  /** The id of an element of `disputes`. */
  readonly disputeId: string;
};

/** The data of an event about an agreement, in the sequence of the session that began it. */
export type AgreementEventData = SessionEventData & {
  readonly agreement: {
    readonly agreementId: string;
    readonly status: "ACTIVE" | "NEEDS_CARD" | "CANCELLED" | "ENDED";
    /** The reason of a status that is not ACTIVE. */
    readonly statusBecause?: string;
  };
};

type DataOf<Type> = Type extends `payment_attempt.${string}`
  ? AttemptEventData
  : Type extends `refund.${string}`
    ? RefundEventData
    : Type extends `dispute.${string}`
      ? DisputeEventData
      : Type extends `agreement.${string}`
        ? AgreementEventData
        : SessionEventData;

/** A union with one member for each type, so that a check of `type` narrows the event. */
export type SessionEvent = {
  [Type in SessionEventType]: Envelope & { readonly type: Type; readonly data: DataOf<Type> };
}[SessionEventType];

/** An event that verifies an endpoint. */
export type EndpointTestEvent = Envelope & {
  readonly type: "webhook_endpoint.test";
  readonly data: { readonly endpointId: string };
};

/** An event of a newer service: answer it with 2xx, and do nothing. */
export type UnknownEvent = Envelope & {
  readonly type: "unknown";
  /** The type as it was sent. */
  readonly originalType: string;
  readonly data: unknown;
};

/** Any event of a webhook; a switch over `type` can be complete. */
export type WebhookEvent = SessionEvent | EndpointTestEvent | UnknownEvent;

const knownTypes: Readonly<Record<(SessionEvent | EndpointTestEvent)["type"], true>> = {
  "payment_session.succeeded": true,
  "payment_session.declined": true,
  "payment_session.degraded": true,
  "payment_session.expired": true,
  "payment_session.pending": true,
  "payment_session.held": true,
  "payment_session.capture_due": true,
  "payment_attempt.voided": true,
  "payment_attempt.capture_failed": true,
  "refund.succeeded": true,
  "refund.failed": true,
  "refund.pending": true,
  "dispute.created": true,
  "dispute.updated": true,
  "dispute.due_soon": true,
  "dispute.closed": true,
  "payment_method.saved": true,
  "agreement.updated": true,
  "setup_session.succeeded": true,
  "setup_session.failed": true,
  "setup_session.expired": true,
  "webhook_endpoint.test": true,
};

/** The types that this version of the client knows. */
export const webhookEventTypes: readonly string[] = Object.keys(knownTypes);

/** Converts a verified body into an event. */
export function toWebhookEvent(body: { readonly type: string }): WebhookEvent {
  if (Object.hasOwn(knownTypes, body.type)) return body as WebhookEvent;
  return { ...body, type: "unknown", originalType: body.type } as UnknownEvent;
}
