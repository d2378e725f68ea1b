/** What a chaos run ends with, as plain rows: what the service stored, what the acquirers did, and what merchant and customers saw. Types only. */
import type { Authorization } from "../../gateways/sandbox/ledger.ts";

/** Ids are the public ones, with their prefix. */
export type SessionRecord = {
  readonly sessionId: string;
  readonly orderRef: string;
  readonly status: string;
  readonly phase: string;
  readonly winnerAttemptId: string | undefined;
  readonly submittedAt: string | undefined;
};

/** An attempt, as the service stored it. */
export type AttemptRecord = {
  readonly sessionId: string;
  readonly attemptId: string;
  readonly sequence: number;
  readonly gateway: string;
  readonly status: string;
  readonly failureKind: string | undefined;
  readonly voidKind: string | undefined;
  readonly startedAt: string;
  readonly completedAt: string | undefined;
  readonly horizonAt: string;
  /** The session's amount in the gateway's own unit. */
  readonly value: number;
  readonly currency: string;
};

/** An outbox row; `body` is a hash of its bytes. */
export type EventRecord = {
  readonly sessionId: string;
  readonly eventId: string;
  readonly sequence: number;
  readonly type: string;
  readonly body: string;
};

/** One webhook as it came in; `accepted` when the merchant answered that it has it. */
export type WebhookRecord = {
  readonly eventId: string;
  readonly body: string;
  readonly signed: boolean;
  readonly accepted: boolean;
};

/** A rule of the database's own audit that a session breaks. */
export type AuditRecord = { readonly sessionId: string; readonly rule: string };

/** A row of the work list. */
export type WorkItemRecord = {
  readonly sessionId: string;
  readonly kind: string;
  readonly detail: string;
  readonly resolved: boolean;
};

/** An order of the merchant, which has one Idempotency-Key of its own, and what came of it in answers. */
export type OrderRecord = {
  readonly orderRef: string;
  /** Every session that a create was answered with. */
  readonly created: readonly string[];
  /** Whether an answer said that the payment was submitted. */
  readonly submitted: boolean;
  /** Every final status that an answer named. */
  readonly heard: readonly string[];
};

/** All that was stored, done and seen in a run. */
export type Records = {
  readonly sessions: readonly SessionRecord[];
  readonly attempts: readonly AttemptRecord[];
  readonly events: readonly EventRecord[];
  readonly authorizations: readonly Pick<
    Authorization,
    "id" | "reference" | "status" | "value" | "capturedValue" | "currency" | "openedAt"
  >[];
  readonly audit: readonly AuditRecord[];
  readonly workItems: readonly WorkItemRecord[];
  readonly webhooks: readonly WebhookRecord[];
  readonly orders: readonly OrderRecord[];
};
