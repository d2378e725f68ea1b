/** Reads SANDBOX_B's notifications: every item's signature is checked before anything else in it is trusted. */

import { isObject, parseJsonObject } from "../../../platform/outbound-http.ts";
import { equalInConstantTime } from "../../../platform/secrets.ts";
import { type SignedFields, signNotification } from "../../adyen/notification-signature.ts";
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

type Json = Readonly<Record<string, unknown>>;

// SANDBOX_B sends one; Adyen documents up to six in a body.
const itemsMax = 6;

/**
 * Reads the notification items in a request body. Nothing in it counts unless every item is signed with the
 * connection's secret.
 */
export function readNotification(
  credentials: Credentials,
  notification: RawNotification,
  environment: "test" | "live",
): NotificationReading {
  const hmacKey = credentials.notificationHmacKey?.expose() ?? "";
  if (!/^[0-9A-Fa-f]{64}$/.test(hmacKey)) return refused("this connection has no notification HMAC key");
  const json = parseJsonObject(notification.body);
  const wrapped = json?.notificationItems;
  if (!Array.isArray(wrapped) || wrapped.length === 0 || wrapped.length > itemsMax)
    return refused("not a notification");
  if (json?.live !== String(environment === "live")) return refused("a notification of the other environment");
  const notifications: Notification[] = [];
  for (const wrapper of wrapped) {
    const item = isObject(wrapper) ? wrapper.NotificationRequestItem : undefined;
    const fields = isObject(item) ? signedFieldsOf(item) : undefined;
    if (!isObject(item) || fields === undefined) return refused("an item lacks a signed field");
    if (!isSigned(hmacKey, fields, item)) return refused("an item is not signed with this connection's key");
    if (fields.merchantAccountCode !== credentials.merchantAccount?.expose()) {
      return refused("an item of another merchant account");
    }
    notifications.push(notificationOf(fields, item));
  }
  return { type: "authentic", notifications };
}

function notificationOf(fields: SignedFields, item: Json): Notification {
  const { eventCode, success, pspReference, originalReference, merchantReference, value, currency } = fields;
  const kind = kindOf(fields, item);
  const amount = kind === "absent" || kind === "test" ? undefined : fromGatewayAmount(currencies, value, currency);
  return {
    notificationId: `${eventCode}:${pspReference}:${success}`,
    kind,
    ...(isRefund(eventCode) && merchantReference.startsWith("ref_")
      ? { attemptReference: "", refundReference: merchantReference }
      : { attemptReference: merchantReference }),
    ...(eventCode === "AUTHORISATION"
      ? { gatewayReference: pspReference }
      : { gatewayReference: originalReference, modificationReference: pspReference }),
    ...(amount === undefined ? {} : { amount }),
    ...(kind === "declined" ? { declined: classifyDecline(declines, String(item.reason)) } : {}),
  };
}

function kindOf({ eventCode, success, originalReference }: SignedFields, item: Json): NotificationKind {
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
    default:
      return "other";
  }
}

/** Reports whether the event may name one of our refunds in place of the attempt. */
function isRefund(eventCode: string): boolean {
  return eventCode === "REFUND" || eventCode === "REFUND_FAILED";
}

function signedFieldsOf(item: Json): SignedFields | undefined {
  const { pspReference, originalReference, merchantAccountCode, merchantReference, amount, eventCode, success } = item;
  if (!isObject(amount)) return undefined;
  const { value, currency } = amount;
  if (typeof value !== "number" || typeof currency !== "string") return undefined;
  if (typeof pspReference !== "string" || typeof originalReference !== "string") return undefined;
  if (typeof merchantAccountCode !== "string" || typeof merchantReference !== "string") return undefined;
  if (typeof eventCode !== "string" || typeof success !== "string") return undefined;
  return {
    pspReference,
    originalReference,
    merchantAccountCode,
    merchantReference,
    value,
    currency,
    eventCode,
    success,
  };
}

function isSigned(hmacKey: string, fields: SignedFields, item: Json): boolean {
  const given = isObject(item.additionalData) ? item.additionalData.hmacSignature : undefined;
  return (
    typeof given === "string" && equalInConstantTime(Buffer.from(given), Buffer.from(signNotification(hmacKey, fields)))
  );
}

function refused(reason: string): NotificationReading {
  return { type: "refused", reason };
}
