/** Interprets PayPal's answers about refunds. An answer counts only when it is documented and about this exact refund. */
import { unreachable } from "../../platform/errors.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { ListedRefund, RefundAnswer, RefundAtGateway, RefundRecord } from "../connector.ts";
import { unansweredChange, untrusted } from "../unanswered.ts";
import { isDone } from "./answers.ts";
import { fromMoney, isSameMoney } from "./currencies.ts";
import type { StoredPayment } from "./order.ts";
import { issueOf, type Json, refusedOrUnknown } from "./refusals.ts";

type PayPalRefund = Json & { readonly id: string };

export type Books = { readonly capture: StoredPayment; readonly refunds: readonly unknown[] };

/**
 * Issues of HTTP 422 after which PayPal will never make this refund, and has not made it: `captures.refund` of its
 * OpenAPI file of Payments v2 (2026).
 */
const definitive = new Set([
  "CANNOT_BE_NEGATIVE",
  "CANNOT_BE_ZERO_OR_NEGATIVE",
  "CAPTURE_FULLY_REFUNDED",
  "CURRENCY_MISMATCH",
  "DECIMALS_NOT_SUPPORTED",
  "DECIMAL_PRECISION",
  "INVALID_CURRENCY_CODE",
  "MAX_NUMBER_OF_REFUNDS_EXCEEDED",
  "PARTIAL_REFUND_NOT_ALLOWED",
  "PAYEE_ACCOUNT_LOCKED_OR_CLOSED",
  "PAYEE_ACCOUNT_RESTRICTED",
  "PAYER_ACCOUNT_LOCKED_OR_CLOSED",
  "REFUND_AMOUNT_EXCEEDED",
  "REFUND_AMOUNT_TOO_LOW",
  "REFUND_CAPTURE_CURRENCY_MISMATCH",
  "REFUND_FAILED_INSUFFICIENT_FUNDS",
  "REFUND_IS_RESTRICTED",
  "REFUND_NOT_ALLOWED",
  "REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK",
  "REFUND_TIME_LIMIT_EXCEEDED",
  "TRANSACTION_DISPUTED",
]);

/** Begins every refund id of ours. */
const refundPrefix = "ref_";

/** Returns the result of a refund; unknown unless the answer is about exactly this one. */
export function readRefund(reply: GatewayReply, refund: RefundAtGateway): RefundAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  if (isDone(reply)) {
    const json = readJsonObject(reply);
    return isAbout(json, refund) ? answerBy(recordOf(json)) : untrusted(reply.status);
  }
  // PayPal has captured the payment, so that it does not know it proves nothing: the app may be another account's.
  if (reply.status === 404) return untrusted(reply.status);
  const issue = issueOf(reply);
  const isFinal = issue !== undefined && definitive.has(issue);
  return isFinal ? { type: "refused", definitive: true, gatewayCode: issue } : refusedOrUnknown(reply);
}

export function answerBy(record: RefundRecord): RefundAnswer {
  switch (record.type) {
    case "succeeded":
      return { type: "done", gatewayReference: record.gatewayReference };
    case "pending":
      return { type: "accepted", gatewayReference: record.gatewayReference };
    case "failed":
      return { type: "refused", definitive: true, gatewayCode: record.gatewayCode };
    case "absent":
    case "cannotTell":
      // The key returns the same answer again, so only a look-up leads on.
      return { ...untrusted(422), isKept: true };
    default:
      return unreachable(record);
  }
}

export function readRefundRecord(reply: GatewayReply, refund: RefundAtGateway): RefundRecord {
  if (reply.type !== "answer") return { type: "cannotTell", reason: reply.reason };
  const json = reply.status === 200 ? readJsonObject(reply) : undefined;
  return isAbout(json, refund) ? recordOf(json) : { type: "cannotTell", reason: untrusted(reply.status).reason };
}

/**
 * Finds a refund by our reference among those of its payment. If there is none, only a capture that is still COMPLETED
 * proves that nothing was refunded.
 */
export function findRefund(books: Books | undefined, refund: RefundAtGateway): RefundRecord {
  if (books === undefined)
    return { type: "cannotTell", reason: "the gateway's record of the payment could not be read" };
  const { capture, refunds } = books;
  const ours = refunds.filter((record) => isObject(record) && record.invoice_id === refund.refundReference);
  if (ours.length === 0) {
    const isUntouched = capture.status === "COMPLETED" && refunds.length === 0;
    return isUntouched
      ? { type: "absent" }
      : { type: "cannotTell", reason: "the gateway has refunded the payment, and lists no such refund" };
  }
  const same = ours.filter((record) => isAbout(record, refund));
  if (same.length < ours.length) {
    return { type: "cannotTell", reason: "the gateway has another amount or currency on record" };
  }
  const records = same.map(recordOf);
  return records.find(({ type }) => type !== "failed") ?? records[0]!;
}

/** Returns the state of a refund: https://developer.paypal.com/docs/api/payments/v2/#refunds_get (2026). */
function recordOf(refund: PayPalRefund): RefundRecord {
  const { id: gatewayReference, status } = refund;
  switch (status) {
    case "COMPLETED":
      return { type: "succeeded", gatewayReference };
    case "PENDING":
      return { type: "pending", gatewayReference };
    case "FAILED":
    case "CANCELLED":
      return { type: "failed", gatewayReference, gatewayCode: status };
    default:
      return { type: "cannotTell", reason: "the gateway's record is in an undocumented state" };
  }
}

/** Returns one refund of an order; undefined if it cannot be read. */
export function listedOf(record: unknown): ListedRefund | undefined {
  if (!isRefund(record)) return undefined;
  const amount = fromMoney(record.amount);
  const { type } = recordOf(record);
  if (amount === undefined || (type !== "succeeded" && type !== "pending" && type !== "failed")) return undefined;
  const { invoice_id: reference } = record;
  // A refund that a person makes may carry an invoice's number.
  const isOurs = typeof reference === "string" && reference.startsWith(refundPrefix);
  return { ...amount, gatewayReference: record.id, status: type, ...(isOurs && { refundReference: reference }) };
}

/** Reports whether this is exactly our refund: its reference, its amount, its currency. */
function isAbout(record: unknown, refund: RefundAtGateway): record is PayPalRefund {
  if (!isRefund(record) || record.invoice_id !== refund.refundReference) return false;
  const isNamed = refund.gatewayReference === undefined || record.id === refund.gatewayReference;
  return isNamed && isSameMoney(record.amount, refund);
}

function isRefund(record: unknown): record is PayPalRefund {
  return isObject(record) && typeof record.id === "string" && record.id !== "";
}
