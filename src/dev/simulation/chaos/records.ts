/** The final records of a chaos run: of the service, the acquirers, the merchant, the customers. */
import type { Authorization } from "../../../sandbox/ledger.ts";

/** Ids are the public ones, with their prefix. */
export type SessionRecord = {
  readonly sessionId: string;
  readonly orderRef: string;
  /** The key of its creation: that of the order, or of the second tab that pays it. */
  readonly key: string;
  /** True if its shop allows it to repeat the order. */
  readonly allowsRepeat: boolean;
  readonly status: string;
  readonly phase: string;
  readonly winnerAttemptId: string | undefined;
  readonly submittedAt: string | undefined;
  readonly settledAt: string | undefined;
  /** True if the session waited for a gateway to answer a capture, which has no bound. */
  readonly hasCapture: boolean;
  /** True if its merchant captures it later. */
  readonly isManual: boolean;
  readonly heldAt: string | undefined;
  readonly declineCode: string | undefined;
  readonly expiredBecause: string | undefined;
  /** The processes that have worked on it, one after another. */
  readonly leaseEpoch: number;
  /** Names the renewal of which it is a try, with its agreement. */
  readonly renewal: string | undefined;
};

export type AuthenticationRecord = {
  readonly sessionId: string;
  readonly status: string;
  readonly deadlineAt: string;
  readonly endedAt: string | undefined;
};

export type AttemptRecord = {
  readonly sessionId: string;
  readonly attemptId: string;
  readonly sequence: number;
  /** 1: the repeat with authentication. 2: the retry at the same gateway. */
  readonly round: number;
  readonly connectionId: string;
  readonly gateway: string;
  readonly status: string;
  readonly failureKind: string | undefined;
  readonly stop: string | undefined;
  readonly voidKind: string | undefined;
  readonly startedAt: string;
  readonly completedAt: string | undefined;
  readonly latestExecutionAt: string;
  /** The session's amount in the gateway's own unit. */
  readonly value: number;
  /** The amount of the ordered capture, in minor units and in the gateway's own unit; undefined while none is ordered. */
  readonly orderedMinor: number | undefined;
  readonly orderedValue: number | undefined;
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

/** A webhook as received; `accepted` when the merchant acknowledged it. */
export type WebhookRecord = {
  readonly eventId: string;
  readonly body: string;
  readonly signed: boolean;
  readonly accepted: boolean;
};

/** A rule of the database's own audit that a session breaks. */
type AuditRecord = { readonly sessionId: string; readonly rule: string };

type WorkItemRecord = {
  readonly sessionId: string;
  readonly kind: string;
  readonly detail: string;
  readonly resolved: boolean;
};

/** A tab in which an order is paid, with the Idempotency-Key of its session and the answers it received. */
export type OrderRecord = {
  readonly orderRef: string;
  readonly key: string;
  /** Every session id that a create call returned. */
  readonly created: readonly string[];
  /** True if an answer said that the payment was submitted. */
  readonly submitted: boolean;
  /** Every final status that an answer contained. */
  readonly heard: readonly string[];
  /** Every refund id that an answer contained. */
  readonly refunded: readonly string[];
  /** The gateway that holds, as the customer saw it. */
  readonly heldVia: string | undefined;
  /** The amounts, in minor units, whose capture was ordered. */
  readonly captures: readonly number[];
  /** The amount whose order was accepted by an answer. */
  readonly captured: number | undefined;
  /** True if an answer accepted a cancellation. */
  readonly cancelled: boolean;
};

export type RefundRecord = {
  readonly sessionId: string;
  readonly refundId: string;
  readonly attemptId: string;
  readonly status: string;
  readonly origin: string;
  readonly failureCode: string | undefined;
  /** The amount in the gateway's own unit. */
  readonly value: number;
  readonly sends: number;
  /** The idempotency keys that were used: a second one once the first had no answer and the gateway no refund. */
  readonly keys: number;
};

/** The amounts that banks have taken for disputes of an attempt, and not returned, in its gateway's own unit. */
type DisputedRecord = { readonly attemptId: string; readonly value: number };

/** A time without a process that could take over a payment. */
export type Outage = { readonly from: string; readonly to: string };

export type Records = {
  readonly sessions: readonly SessionRecord[];
  readonly attempts: readonly AttemptRecord[];
  readonly authentications: readonly AuthenticationRecord[];
  /** The times, by the database's clock, at which the run has just moved that clock forward. */
  readonly clockMovedAt: readonly string[];
  /** The times in which no worker ran or a PostgreSQL was down, in order, as the run saw it each second. */
  readonly outages: readonly Outage[];
  readonly events: readonly EventRecord[];
  readonly refunds: readonly RefundRecord[];
  readonly disputed: readonly DisputedRecord[];
  readonly authorizations: readonly (Pick<
    Authorization,
    | "id"
    | "reference"
    | "status"
    | "value"
    | "capturedValue"
    | "currency"
    | "openedAt"
    | "refunds"
    | "hold"
    | "refund"
    | "disputed"
  > & { /** In whose books it is. */ readonly gateway: string })[];
  /** The idempotency keys to whose repeats the emulator of Adyen answers an error. */
  readonly keptErrors: readonly string[];
  readonly audit: readonly AuditRecord[];
  readonly workItems: readonly WorkItemRecord[];
  readonly webhooks: readonly WebhookRecord[];
  readonly orders: readonly OrderRecord[];
};
