/** Reads Adyen's notifications: every item's signature is checked before anything else in it is trusted. */

import { isObject, parseJsonObject } from "../../platform/outbound-http.ts";
import { equalInConstantTime } from "../../platform/secrets.ts";
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
import { type Json, judgeRefusal } from "./judge-decline.ts";
import { type SignedFields, signNotification } from "./notification-signature.ts";
import { isProbe } from "./probe-reference.ts";

// JSON notifications hold one item, those of other formats up to six: https://docs.adyen.com/development-resources/webhooks (2026).
const itemsMax = 6;

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
  const hmacKey = clear(credentials, "hmacKey");
  if (!/^[0-9A-Fa-f]{64}$/.test(hmacKey)) return refused("this connection has no notification HMAC key");
  const json = parseJsonObject(notification.body);
  const wrapped = json?.notificationItems;
  if (!Array.isArray(wrapped) || wrapped.length === 0 || wrapped.length > itemsMax)
    return refused("not a notification");
  if (String(json?.live) !== String(environment === "live")) return refused("a notification of the other environment");
  const notifications: Notification[] = [];
  for (const wrapper of wrapped) {
    const item = isObject(wrapper) ? wrapper.NotificationRequestItem : undefined;
    const fields = isObject(item) ? signedFieldsOf(item) : undefined;
    if (!isObject(item) || fields === undefined) return refused("an item lacks a signed field");
    if (!isSigned(hmacKey, fields, item)) return refused("an item is not signed with this connection's key");
    const isOurs = fields.merchantAccountCode === clear(credentials, "merchantAccount");
    if (isOurs && !isAmbiguous(fields)) notifications.push(notificationOf(fields, item));
  }
  return { type: "authentic", notifications };
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
  const kind = kindOf(fields, item);
  const amount = kind === "absent" || kind === "test" ? undefined : fromGatewayAmount(currencies, value, currency);
  return {
    notificationId: `${eventCode}:${pspReference}:${success}`,
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

function additionalDataOf({ additionalData }: Json): Json {
  return isObject(additionalData) ? additionalData : {};
}

/**
 * Returns the signed fields of an item. An absent or null field is signed as if it were empty:
 * https://github.com/Adyen/adyen-node-api-library, hmacValidator (2026). Reports and other items about no payment come
 * without a merchant's reference.
 */
function signedFieldsOf(item: Json): SignedFields | undefined {
  const { pspReference, merchantAccountCode, amount, eventCode, success } = item;
  const [originalReference, merchantReference] = [item.originalReference ?? "", item.merchantReference ?? ""];
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
  const given = additionalDataOf(item).hmacSignature;
  return (
    typeof given === "string" && equalInConstantTime(Buffer.from(given), Buffer.from(signNotification(hmacKey, fields)))
  );
}

function refused(reason: string): NotificationReading {
  return { type: "refused", reason };
}
