/** Adyen's notifications in our words: every item's signature is checked before anything else of it is believed. */
import { equalInConstantTime } from "../../platform/secrets.ts";
import { fromGatewayAmount } from "../amounts.ts";
import type { Credentials, Notice, NoticeKind, NotificationReading, RawNotification } from "../connector.ts";
import { isObject, parseJsonObject } from "../gateway-http.ts";
import { clear } from "./credentials.ts";
import { currencies } from "./currencies.ts";
import { type Json, judgeRefusal } from "./judge-decline.ts";
import { type SignedFields, signNotice } from "./notice-signature.ts";
import { isProbe } from "./probe-reference.ts";

// JSON notifications hold one item, those of other formats up to six: https://docs.adyen.com/development-resources/webhooks (2026).
const itemsMax = 6;

/**
 * The notices in a notification. Nothing of it counts unless every item is signed with the connection's secret. Items of
 * other merchant accounts are passed over: one address may serve a whole company, and Adyen holds back all that follows
 * a notification that is not accepted.
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
  const notices: Notice[] = [];
  for (const wrapper of wrapped) {
    const item = isObject(wrapper) ? wrapper.NotificationRequestItem : undefined;
    const fields = isObject(item) ? signedFieldsOf(item) : undefined;
    if (!isObject(item) || fields === undefined) return refused("an item lacks a signed field");
    if (!isSigned(hmacKey, fields, item)) return refused("an item is not signed with this connection's key");
    const isOurs = fields.merchantAccountCode === clear(credentials, "merchantAccount");
    if (isOurs && !isAmbiguous(fields)) notices.push(noticeOf(fields, item));
  }
  return { type: "authentic", notices };
}

/** The signed fields are joined by colons: with one inside, the same signature fits other fields too. No payment of ours has any. */
function isAmbiguous(fields: SignedFields): boolean {
  return Object.values(fields).some((value) => String(value).includes(":"));
}

function noticeOf(fields: SignedFields, item: Json): Notice {
  const { eventCode, success, pspReference, originalReference, merchantReference, value, currency } = fields;
  const kind = kindOf(fields, item);
  const amount = kind === "absent" || kind === "test" ? undefined : fromGatewayAmount(currencies, value, currency);
  return {
    noticeId: `${eventCode}:${pspReference}:${success}`,
    kind,
    attemptReference: merchantReference,
    gatewayReference: eventCode === "AUTHORISATION" ? pspReference : originalReference,
    ...(amount === undefined ? {} : { amount }),
    ...(kind === "declined" ? { declined: judgeRefusal(refusalIn(item)) } : {}),
  };
}

/**
 * What an event means: https://docs.adyen.com/development-resources/webhooks/webhook-types (2026). Only what is signed
 * decides about money: that a payment was captured is told by CAPTURE alone, and never read out of a reason.
 */
function kindOf(fields: SignedFields, item: Json): NoticeKind {
  const succeeded = fields.success === "true";
  if (isProbe(fields)) return "test";
  switch (fields.eventCode) {
    case "AUTHORISATION":
      return succeeded ? "held" : "declined";
    case "CAPTURE":
      return succeeded ? "captured" : "capture_failed";
    // "success" says of it that the capture did fail: https://docs.adyen.com/online-payments/capture/failure-reasons (2026).
    case "CAPTURE_FAILED":
      return "capture_failed";
    case "CANCELLATION":
      return succeeded ? "voided" : "void_refused";
    case "TECHNICAL_CANCEL":
      // A cancellation by our reference that found a payment names it.
      if (succeeded) return "voided";
      return fields.originalReference === "" ? "absent" : "void_refused";
    // Asked for by a person, in Adyen's Customer Area: it cancels what is held, and refunds what was captured.
    case "CANCEL_OR_REFUND":
      return succeeded && additionalDataOf(item)["modification.action"] === "cancel" ? "voided" : "other";
    default:
      return "other";
  }
}

function refusalIn(item: Json) {
  const { reason, paymentMethod } = item;
  const code = typeof reason === "string" ? reason : "";
  return { code, network: paymentMethod, additionalData: additionalDataOf(item) };
}

function additionalDataOf({ additionalData }: Json): Json {
  return isObject(additionalData) ? additionalData : {};
}

/** What is left out is signed as if it were empty: https://github.com/Adyen/adyen-node-api-library, hmacValidator (2026). */
function signedFieldsOf(item: Json): SignedFields | undefined {
  const { pspReference, originalReference = "", merchantAccountCode, merchantReference, amount, eventCode } = item;
  const { success } = item;
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
  return typeof given === "string" && equalInConstantTime(Buffer.from(given), Buffer.from(signNotice(hmacKey, fields)));
}

function refused(reason: string): NotificationReading {
  return { type: "refused", reason };
}
