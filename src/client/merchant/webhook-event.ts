/** What webhooks tell, by type. The envelope is the same for all; `data` depends on the type. */
import type { PaymentSession } from "./payment-session.ts";

/** What can happen to a payment session; docs/integration.md says when each is sent. */
export type SessionEventType =
  | "payment_session.succeeded"
  | "payment_session.declined"
  | "payment_session.degraded"
  | "payment_session.expired"
  | "payment_session.pending"
  | "payment_attempt.voided"
  | "payment_attempt.capture_failed";

type Envelope = {
  /** evt_…, the same on every try: do each once. */
  readonly id: string;
  readonly timestamp: string;
  readonly environment: "test" | "live";
};

/** The session as it was when the event was written. */
export type SessionEventData = Omit<PaymentSession, "customerEmail"> & {
  /** 1 for the session's first event; a webhook that was late has a lower one than those before it. */
  readonly sequence: number;
};

/** The same, about one of its attempts. */
export type AttemptEventData = SessionEventData & {
  /** One of `attempts`. */
  readonly attemptId: string;
};

type DataOf<Type> = Type extends `payment_attempt.${string}` ? AttemptEventData : SessionEventData;

/** One of these each: so that a check of `type` narrows the event. */
export type SessionEvent = {
  [Type in SessionEventType]: Envelope & { readonly type: Type; readonly data: DataOf<Type> };
}[SessionEventType];

/** Sent to prove that an endpoint works. */
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

/** Whatever a webhook may tell; a switch over `type` can be complete. */
export type WebhookEvent = SessionEvent | EndpointTestEvent | UnknownEvent;

const knownTypes: Readonly<Record<(SessionEvent | EndpointTestEvent)["type"], true>> = {
  "payment_session.succeeded": true,
  "payment_session.declined": true,
  "payment_session.degraded": true,
  "payment_session.expired": true,
  "payment_session.pending": true,
  "payment_attempt.voided": true,
  "payment_attempt.capture_failed": true,
  "webhook_endpoint.test": true,
};

/** The types that this version of the client knows. */
export const webhookEventTypes: readonly string[] = Object.keys(knownTypes);

/** A verified body as an event. */
export function toWebhookEvent(body: { readonly type: string }): WebhookEvent {
  if (Object.hasOwn(knownTypes, body.type)) return body as WebhookEvent;
  return { ...body, type: "unknown", originalType: body.type } as UnknownEvent;
}
