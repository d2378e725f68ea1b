/** Reads SANDBOX_B's notifications. */

import { disputeNoticeOf, disputeNotificationIdOf } from "../../adyen/disputes.ts";
import type { SignedFields } from "../../adyen/notification-signature.ts";
import { isReportName } from "../../adyen/settlement.ts";
import { additionalDataOf, readSignedItems } from "../../adyen/signed-items.ts";
import { fromGatewayAmount } from "../../amounts.ts";
import type {
  Credentials,
  Notification,
  NotificationKind,
  NotificationReading,
  RawNotification,
} from "../../connector.ts";
import { classifyDecline } from "../../declines.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";
import { storedIn } from "./stored-cards.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads the notification items in a request body. Nothing in it counts unless every item is signed with the
 * connection's secret.
 */
export function readNotification(
  credentials: Credentials,
  notification: RawNotification,
  environment: "test" | "live",
): NotificationReading {
  const items = readSignedItems(credentials.notificationHmacKey?.expose() ?? "", notification, environment);
  if (!Array.isArray(items)) return items;
  if (items.some(({ fields }) => fields.merchantAccountCode !== credentials.merchantAccount?.expose()))
    return { type: "refused", reason: "an item of another merchant account" };
  return { type: "authentic", notifications: items.map(({ fields, item }) => notificationOf(fields, item)) };
}

function notificationOf(fields: SignedFields, item: Json): Notification {
  const { eventCode, success, pspReference, originalReference, merchantReference, value, currency } = fields;
  const dispute = disputeNoticeOf(fields, additionalDataOf(item));
  const kind = dispute ? "dispute" : kindOf(fields, item);
  const amount = kind === "absent" || kind === "test" ? undefined : fromGatewayAmount(currencies, value, currency);
  return {
    notificationId: dispute ? disputeNotificationIdOf(fields, item) : `${eventCode}:${pspReference}:${success}`,
    kind,
    ...(isRefund(eventCode) && merchantReference.startsWith("ref_")
      ? { attemptReference: "", refundReference: merchantReference }
      : { attemptReference: merchantReference }),
    ...(eventCode === "AUTHORISATION"
      ? { gatewayReference: pspReference }
      : { gatewayReference: originalReference, modificationReference: pspReference }),
    ...(amount === undefined ? {} : { amount }),
    ...(kind === "declined" ? { declined: classifyDecline(declines, String(item.reason)) } : {}),
    ...(dispute && { dispute }),
    ...(kind === "held" && storedIn(additionalDataOf(item))),
  };
}

function kindOf(fields: SignedFields, item: Json): NotificationKind {
  const { eventCode, success, originalReference } = fields;
  const succeeded = success === "true";
  switch (eventCode) {
    case "AUTHORISATION":
      return succeeded ? "held" : "declined";
    case "CAPTURE":
      return succeeded ? "captured" : "capture_failed";
    case "CANCELLATION":
    case "TECHNICAL_CANCEL":
      if (succeeded) return "voided";
      // A cancel that found nothing has no original; this is signed, the reason is not.
      if (originalReference === "") return "absent";
      return item.reason === "already_captured" ? "already_captured" : "void_refused";
    case "REFUND":
      return succeeded ? "refunded" : "refund_failed";
    case "REFUND_FAILED":
      return "refund_failed";
    // A hold that SANDBOX_B ended by itself.
    case "EXPIRE":
      return "voided";
    case "TEST":
      return "test";
    case "REPORT_AVAILABLE":
      return isReportName(fields.pspReference) ? "report" : "other";
    default:
      return "other";
  }
}

/** Reports whether the event may name one of our refunds in place of the attempt. */
function isRefund(eventCode: string): boolean {
  return eventCode === "REFUND" || eventCode === "REFUND_FAILED";
}
