/** A gateway's notification in the product's terms. */
import type { Amount } from "./amounts.ts";
import type { Declined } from "./declines.ts";
import type { DisputeNotice } from "./dispute-notice.ts";
import type { StoredAnswer } from "./stored-cards.ts";

/**
 * The event that a notification reports. `already_captured`, `void_refused` and `absent` answer a void; `other` is
 * stored and ignored.
 */
export type NotificationKind =
  | "held"
  | "declined"
  | "captured"
  | "capture_failed"
  | "voided"
  | "already_captured"
  | "void_refused"
  | "absent"
  | "refunded"
  | "refund_failed"
  | "dispute"
  /** A report can be fetched; `modificationReference` is its name. */
  | "report"
  | "test"
  | "other";

/** A gateway's signed notification in our terms. `amount` is absent if its currency or value is not valid here. */
export type Notification = {
  /** Unique within this connection; a repeat carries the same one. */
  readonly notificationId: string;
  readonly kind: NotificationKind;
  /** Empty if a refund's notification does not name the attempt; `gatewayReference` does. */
  readonly attemptReference: string;
  /** Our refund id, if a refund's notification names it. */
  readonly refundReference?: string | undefined;
  /** The reference of the authorization, also in notifications about its capture, void or refund. */
  readonly gatewayReference: string;
  /**
   * The own reference of the capture, void, refund or dispute: two captures of one authorization differ in it. Absent
   * if the gateway gives none.
   */
  readonly modificationReference?: string | undefined;
  readonly amount?: Amount | undefined;
  /** Present only with kind `declined`. */
  readonly declined?: Declined | undefined;
  /** Present only with kind `dispute`. */
  readonly dispute?: DisputeNotice | undefined;
  /** Present only with kind `held`: the network's names for the payment, if the gateway gives any. */
  readonly stored?: StoredAnswer | undefined;
};

/** A notification exactly as received. */
export type RawNotification = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

/** `authentic` only if every notification in the body is signed with this connection's secret. */
export type NotificationReading =
  | { readonly type: "authentic"; readonly notifications: readonly Notification[] }
  | { readonly type: "refused"; readonly reason: string };
