/** Interprets Stripe's answers about refunds. An answer counts only when it is documented and about this exact refund. */
import { unreachable } from "../../platform/errors.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { fromGatewayAmount, isSameAmount } from "../amounts.ts";
import type { CapturedPayment, ListedRefund, RefundAnswer, RefundAtGateway, RefundRecord } from "../connector.ts";
import { unansweredChange, untrusted } from "../unanswered.ts";
import { errorOf, isKeySpent } from "./answers.ts";
import { currencies, upperCase } from "./currencies.ts";
import { codeOf, type Json } from "./judge-decline.ts";

/** A refund object; its `metadata` names one of ours. */
type StripeRefund = Json & { readonly id: string };

/**
 * Errors after which Stripe will never make this refund, and has not made it: https://docs.stripe.com/error-codes and
 * https://docs.stripe.com/refunds (2026).
 */
const definitive = new Set([
  "amount_too_large",
  "amount_too_small",
  "balance_insufficient",
  "charge_already_refunded",
  "charge_disputed",
  "charge_not_refundable",
  "refund_disputed_payment",
]);

/** Returns the result of a refund; unknown unless the answer is about exactly this one. */
export function readRefund(reply: GatewayReply, captured: CapturedPayment, refund: RefundAtGateway): RefundAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const { status } = reply;
  const json = readJsonObject(reply);
  if (status === 200 && isAbout(json, captured, refund)) return answerOf(json);
  const error = errorOf(json);
  // Stripe has captured the payment, so that it does not know it proves nothing: the key may open another account.
  if (status === 404) return untrusted(status);
  if (error !== undefined && isFinal(status, error)) {
    return { type: "refused", definitive: true, gatewayCode: codeOf(error) };
  }
  // The key returns this error to every repeat, or belongs to other content.
  if (isKeySpent(reply)) return { ...untrusted(status), isKept: true };
  if (status < 400 || status >= 500 || typeof error?.type !== "string") return untrusted(status);
  return { type: "refused", definitive: false, gatewayCode: codeOf(error) };
}

function answerOf(refund: StripeRefund): RefundAnswer {
  const record = recordOf(refund);
  switch (record.type) {
    case "succeeded":
      return { type: "done", gatewayReference: refund.id };
    case "pending":
      return { type: "accepted", gatewayReference: refund.id };
    case "failed":
      return { type: "refused", definitive: true, gatewayCode: record.gatewayCode };
    case "absent":
    case "cannotTell":
      return untrusted(200);
    default:
      return unreachable(record);
  }
}

/** Reports whether Stripe refuses a refund for good. Too high an amount has no specific code, but names its field. */
function isFinal(status: number, error: Json): boolean {
  if (error.type !== "invalid_request_error") return false;
  return status === 400 && (definitive.has(codeOf(error)) || error.param === "amount");
}

export function readRefundRecord(
  reply: GatewayReply,
  captured: CapturedPayment,
  refund: RefundAtGateway,
): RefundRecord {
  if (reply.type !== "answer") return { type: "cannotTell", reason: reply.reason };
  const json = readJsonObject(reply);
  // If Stripe does not find an id that it gave, it contradicts itself, which proves nothing.
  if (reply.status !== 200 || !isAbout(json, captured, refund)) {
    return { type: "cannotTell", reason: untrusted(reply.status).reason };
  }
  return recordOf(json);
}

/** Finds a refund by our reference in the list of its payment; absent if the whole list has none. */
export function findRefund(
  list: readonly Json[] | undefined,
  captured: CapturedPayment,
  refund: RefundAtGateway,
): RefundRecord {
  if (list === undefined || !list.every((record) => isRefundOf(record, captured))) {
    return { type: "cannotTell", reason: "the gateway's list of refunds could not be read" };
  }
  const ours = list.filter((record) => referenceOf(record) === refund.refundReference);
  if (ours.length === 0) return { type: "absent" };
  const same = ours.filter((record) => isAbout(record, captured, refund));
  if (same.length < ours.length) {
    return { type: "cannotTell", reason: "the gateway has another amount or currency on record" };
  }
  const records = same.map(recordOf);
  return records.find(({ type }) => type !== "failed") ?? records[0]!;
}

/**
 * Returns the state of a refund: https://docs.stripe.com/api/refunds/object (2026). One that waits for the customer is
 * pending.
 */
function recordOf(refund: StripeRefund): RefundRecord {
  const { id: gatewayReference, status, failure_reason: reason } = refund;
  switch (status) {
    case "succeeded":
      return { type: "succeeded", gatewayReference };
    case "pending":
    case "requires_action":
      return { type: "pending", gatewayReference };
    case "failed":
    case "canceled":
      return { type: "failed", gatewayReference, gatewayCode: typeof reason === "string" ? reason : status };
    default:
      return { type: "cannotTell", reason: "the gateway's record is in an undocumented state" };
  }
}

/**
 * Leaves out the rest of a hold of which a part was captured: Stripe lists its release as a refund
 * (https://github.com/solidusio/solidus_stripe/pull/268, 2023), but it was never taken.
 */
export function withoutRelease(
  listed: readonly ListedRefund[],
  { amountMinor, capturedMinor }: CapturedPayment,
): readonly ListedRefund[] {
  const restMinor = amountMinor - capturedMinor;
  const release = listed.findLastIndex((one) => one.refundReference === undefined && one.amountMinor === restMinor);
  return listed.filter((_, index) => index !== release);
}

/** Returns one refund of the list; undefined if it cannot be read. */
export function listedOf(record: Json, captured: CapturedPayment): ListedRefund | undefined {
  if (!isRefundOf(record, captured)) return undefined;
  const { id: gatewayReference, amount, currency } = record;
  const money = fromGatewayAmount(currencies, amount, upperCase(currency));
  const { type } = recordOf(record);
  if (money === undefined || (type !== "succeeded" && type !== "pending" && type !== "failed")) return undefined;
  const refundReference = referenceOf(record);
  return { ...money, gatewayReference, status: type, ...(refundReference !== undefined && { refundReference }) };
}

/** Returns one page of the list of refunds; undefined for anything else. */
export function readPage(
  reply: GatewayReply,
): { readonly data: readonly Json[]; readonly hasMore: boolean } | undefined {
  if (reply.type !== "answer" || reply.status !== 200) return undefined;
  const json = readJsonObject(reply);
  const { data, has_more: hasMore } = json ?? {};
  if (json?.object !== "list" || !Array.isArray(data) || typeof hasMore !== "boolean") return undefined;
  return data.every((one) => isObject(one)) ? { data, hasMore } : undefined;
}

/** Reports whether this is exactly our refund: its payment, its reference, its amount, its currency. */
function isAbout(record: unknown, captured: CapturedPayment, refund: RefundAtGateway): record is StripeRefund {
  return (
    isRefundOf(record, captured) &&
    (refund.gatewayReference === undefined || record.id === refund.gatewayReference) &&
    referenceOf(record) === refund.refundReference &&
    isSameAmount(currencies, refund, record.amount, upperCase(record.currency))
  );
}

function isRefundOf(record: unknown, { gatewayReference }: CapturedPayment): record is StripeRefund {
  if (!isObject(record) || record.object !== "refund" || typeof record.id !== "string") return false;
  return record.payment_intent === gatewayReference;
}

/** Returns our reference on a refund; one made by hand has none. */
function referenceOf({ metadata }: Json): string | undefined {
  const reference = isObject(metadata) ? metadata.refund_id : undefined;
  return typeof reference === "string" ? reference : undefined;
}
