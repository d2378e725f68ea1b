/** Reads Adyen's notifications. */

import { fromGatewayAmount } from "../amounts.ts";
import type {
  Credentials,
  Notification,
  NotificationKind,
  NotificationReading,
  RawNotification,
} from "../connector.ts";
import { clear } from "./credentials.ts";
import { currencies } from "./currencies.ts";
import { disputeNoticeOf, disputeNotificationIdOf } from "./disputes.ts";
import { type Json, judgeRefusal } from "./judge-decline.ts";
import type { SignedFields } from "./notification-signature.ts";
import { isProbe } from "./probe-reference.ts";
import { isReportName } from "./settlement.ts";
import { additionalDataOf, readSignedItems } from "./signed-items.ts";
import { storedIn } from "./stored-cards.ts";

/**
 * Reads the notification items in a request body. Nothing in it counts unless every item is signed with the
 * connection's secret. Items of other merchant accounts are skipped: one address may serve a whole company, and Adyen
 * holds back everything after a notification that is not accepted.
 */
export function readNotification(
  credentials: Credentials,
  notification: RawNotification,
  environment: "test" | "live",
): NotificationReading {
  const items = readSignedItems(clear(credentials, "hmacKey"), notification, environment);
  if (!Array.isArray(items)) return items;
  const ours = items.filter(
    ({ fields }) => fields.merchantAccountCode === clear(credentials, "merchantAccount") && !isAmbiguous(fields),
  );
  return { type: "authentic", notifications: ours.map(({ fields, item }) => notificationOf(fields, item)) };
}

/**
 * Reports whether the signature fits other fields too: the signed fields are joined by colons, so a colon inside one is
 * ambiguous. No payment of ours contains one.
 */
function isAmbiguous(fields: SignedFields): boolean {
  return Object.values(fields).some((value) => String(value).includes(":"));
}

function notificationOf(fields: SignedFields, item: Json): Notification {
  const { eventCode, success, pspReference, originalReference, merchantReference, value, currency } = fields;
  const dispute = disputeNoticeOf(fields, additionalDataOf(item));
  const kind = dispute ? "dispute" : kindOf(fields, item);
  const amount = kind === "absent" || kind === "test" ? undefined : fromGatewayAmount(currencies, value, currency);
  return {
    notificationId: dispute ? disputeNotificationIdOf(fields, item) : `${eventCode}:${pspReference}:${success}`,
    kind,
    // A refund carries the reference that it was requested with; one made by hand carries the payment's, or any other.
    ...(isAboutRefund(kind) && merchantReference.startsWith(refundPrefix)
      ? { attemptReference: "", refundReference: merchantReference }
      : { attemptReference: merchantReference }),
    // EXPIRE names the payment alone: the sample of Adyen's OpenAPI file of webhooks (2026).
    ...(eventCode === "AUTHORISATION" || (eventCode === "EXPIRE" && originalReference === "")
      ? { gatewayReference: pspReference }
      : { gatewayReference: originalReference, modificationReference: pspReference }),
    ...(amount === undefined ? {} : { amount }),
    ...(kind === "declined" ? { declined: judgeRefusal(refusalIn(item)) } : {}),
    ...(dispute && { dispute }),
    // Unsigned, so it names a chain of payments and decides nothing about money.
    ...(kind === "held" && storedIn(item)),
  };
}

/**
 * Returns the meaning of an event: https://docs.adyen.com/development-resources/webhooks/webhook-types (2026). Only
 * signed fields decide about money: only CAPTURE reports a captured payment, and a reason never does.
 */
function kindOf(fields: SignedFields, item: Json): NotificationKind {
  const succeeded = fields.success === "true";
  if (isProbe(fields)) return "test";
  switch (fields.eventCode) {
    case "AUTHORISATION":
      return succeeded ? "held" : "declined";
    case "CAPTURE":
      return succeeded ? "captured" : "capture_failed";
    // "success" here means that the capture did fail: https://docs.adyen.com/online-payments/capture/failure-reasons
    // (2026).
    case "CAPTURE_FAILED":
      return "capture_failed";
    case "CANCELLATION":
      return succeeded ? "voided" : "void_refused";
    // "The remaining uncaptured amount expired": the OpenAPI file of webhooks (2026).
    case "EXPIRE":
      return succeeded ? "voided" : "other";
    case "TECHNICAL_CANCEL":
      // A cancellation by our reference that found a payment names it.
      if (succeeded) return "voided";
      return fields.originalReference === "" ? "absent" : "void_refused";
    case "REFUND":
      return succeeded ? "refunded" : "refund_failed";
    // "success" means that the refund did fail, or that its money came back:
    // https://docs.adyen.com/online-payments/refund#refund-failed (2026).
    case "REFUND_FAILED":
    case "REFUNDED_REVERSED":
      return "refund_failed";
    // Requested by a person in Adyen's Customer Area: it cancels a hold, and refunds a captured payment.
    case "CANCEL_OR_REFUND": {
      if (!succeeded) return "other";
      const { "modification.action": action } = additionalDataOf(item);
      return action === "cancel" ? "voided" : action === "refund" ? "refunded" : "other";
    }
    case "REPORT_AVAILABLE":
      return succeeded && isReportName(fields.pspReference) ? "report" : "other";
    default:
      return "other";
  }
}

// Begins every refund id of ours.
const refundPrefix = "ref_";

function isAboutRefund(kind: NotificationKind): boolean {
  return kind === "refunded" || kind === "refund_failed";
}

function refusalIn(item: Json) {
  const { reason, paymentMethod } = item;
  const code = typeof reason === "string" ? reason : "";
  return { code, network: paymentMethod, additionalData: additionalDataOf(item) };
}
