/**
 * Interprets PayPal's answers to create, authorize, capture and void. An answer counts only when it is documented and
 * about this exact payment.
 */

import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { type Amount, capturedAmountOf } from "../amounts.ts";
import type {
  AttemptAtGateway,
  CaptureAnswer,
  CaptureRecord,
  GatewayOutcome,
  Hold,
  LookUpAnswer,
  VoidAnswer,
} from "../connector.ts";
import { classifyDecline } from "../declines.ts";
import { unansweredAuthorize, unansweredChange, undecided, untrusted } from "../unanswered.ts";
import { pageOf } from "./authentication.ts";
import { isSameMoney } from "./currencies.ts";
import { declines } from "./declines.ts";
import { isFor, nameOfOrder, readOrder, type StoredPayment, stateOfOrder, transactionIn } from "./order.ts";
import { issueOf, type Json, refusedOrUnknown, refusedOrUntrusted } from "./refusals.ts";

/** An order that can be authorized, or why there will be no authorization. */
export type NewOrder =
  | { readonly type: "ready"; readonly id: string }
  | Exclude<GatewayOutcome, { readonly type: "held" | "actionNeeded" }>;

/** Reads the order without money; status 200 means that its key had created it before. */
export function readNewOrder(reply: GatewayReply, attempt: AttemptAtGateway): NewOrder {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  if (!isDone(reply)) return refusedOrUntrusted(reply);
  const order = readOrder(readJsonObject(reply), attempt);
  return order !== undefined && isSameMoney(order.amount, attempt)
    ? { type: "ready", id: order.id }
    : untrusted(reply.status);
}

/**
 * Returns the outcome of an order's authorization. An answer that is undocumented or not about this attempt is unknown.
 * `mayAsk`: the customer was offered, and can be shown a page. An order without a challenge stays unpaid: it holds
 * nothing without a further request, and there is nothing to cancel.
 */
export function readAuthorized(
  reply: GatewayReply,
  attempt: AttemptAtGateway,
  orderId: string,
  mayAsk = false,
): GatewayOutcome {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  if (!isDone(reply)) {
    const isAsking = issueOf(reply) === payerWanted;
    return isAsking ? readAction(json, orderId, mayAsk) : readRefusal(reply);
  }
  const order = readOrder(json, attempt);
  if (order?.id !== orderId) return untrusted(reply.status);
  const [authorization, ...others] = order.authorizations;
  if (authorization === undefined) {
    const isAsking = order.status === payerWanted && isSameMoney(order.amount, attempt);
    return isAsking ? readAction(json, orderId, mayAsk) : untrusted(reply.status);
  }
  if (others.length > 0 || !isSameMoney(authorization.amount, attempt)) return untrusted(reply.status);
  const state = stateOfOrder(order, attempt);
  if (state.type === "held" || state.type === "declined") return state;
  if (authorization.status !== "PENDING") return untrusted(reply.status);
  const reason = "the gateway is still reviewing the payment";
  return { ...undecided(reply.status), reason, gatewayReference: authorization.id };
}

const payerWanted = "PAYER_ACTION_REQUIRED";

function readAction(json: Json | undefined, orderId: string, mayAsk: boolean): GatewayOutcome {
  const url = mayAsk ? pageOf(json) : undefined;
  if (url === undefined) return classifyDecline(declines, payerWanted);
  return { type: "actionNeeded", gatewayReference: nameOfOrder(orderId), action: { url, method: "GET", fields: {} } };
}

// The card that the customer authenticated with is wanted once more: nothing was done, and it is not sent again.
const sourceWanted = new Set([
  "CARD_EXPIRY_REQUIRED",
  "CARD_NUMBER_REQUIRED",
  "NO_PAYMENT_SOURCE_PROVIDED",
  "ORDER_NOT_APPROVED",
]);

/** Returns the outcome of the authorization that follows an authentication. A second action is not shown. */
export function readCompleted(reply: GatewayReply, attempt: AttemptAtGateway, orderId: string): GatewayOutcome {
  const isSourceWanted = sourceWanted.has(issueOf(reply) ?? "");
  return isSourceWanted ? classifyDecline(declines, payerWanted) : readAuthorized(reply, attempt, orderId);
}

/**
 * Returns a decline for an issue in our table; an issue about an earlier authorization means that money may be held.
 */
function readRefusal(reply: GatewayReply & { type: "answer" }): GatewayOutcome {
  const issue = issueOf(reply);
  return issue !== undefined && Object.hasOwn(declines, issue)
    ? classifyDecline(declines, issue)
    : refusedOrUntrusted(reply);
}

/**
 * An answer to a capture or void that only the record can decide: PayPal says that it had ended before, or says too
 * little.
 */
export type Undecided = { readonly type: "undecided" };

/** Returns the result of a capture; unknown unless the answer is about this hold and the amount that was ordered. */
export function readCapture(
  reply: GatewayReply,
  hold: AttemptAtGateway & Pick<Hold, "captureMinor">,
): CaptureAnswer | Undecided {
  if (reply.type !== "answer") return unansweredChange(reply);
  if (!isDone(reply)) {
    const issue = issueOf(reply) ?? "";
    if (neverCapturable.has(issue)) return { type: "refused", definitive: true, gatewayCode: issue };
    return overBefore.has(issue) ? { type: "undecided" } : refusedOrUnknown(reply);
  }
  const json = readJsonObject(reply);
  if (!isFor(json, hold) || !isSameMoney(json.amount, capturedAmountOf(hold))) return { type: "undecided" };
  switch (json.status) {
    case "COMPLETED":
      return { type: "done", ...recordOfCapture(json) };
    case "PENDING":
      // Accepted and under review: it is read until it has ended (oversight/confirm-captures.ts).
      return { type: "accepted", ...recordOfCapture(json) };
    case "DECLINED":
    case "FAILED":
      // In these final states no money was captured; the same key would return nothing else.
      return { type: "refused", definitive: true, gatewayCode: codeOf(json) };
    case "REFUNDED":
    case "PARTIALLY_REFUNDED":
      // The payment was captured once, and refunded by a person since. The answer says too little about the rest.
      return { type: "undecided" };
    default:
      return untrusted(reply.status);
  }
}

/** Returns PayPal's name for a capture, by which it is refunded, and the network's name for the payment. */
function recordOfCapture(capture: StoredPayment): CaptureRecord {
  return { captureReference: capture.id, ...transactionIn(capture) };
}

/** Returns the record's result of a capture whose own answer did not decide. */
export function captureByRecord(
  record: LookUpAnswer,
  authorizationStatus: unknown,
  { amountMinor }: Amount,
): CaptureAnswer {
  if (record.type === "captured") {
    const { captureReference, capturedMinor } = record;
    if (capturedMinor === amountMinor) return { type: "done", ...(captureReference && { captureReference }) };
    // A person has captured another amount at PayPal.
    return { type: "refused", definitive: false, gatewayCode: String(authorizationStatus) };
  }
  const isOver = record.type === "voided" || record.type === "declined";
  if (isOver) return { type: "refused", definitive: true, gatewayCode: String(authorizationStatus) };
  return {
    type: "unknown",
    kind: "GATEWAY_ERROR",
    reason: "neither the capture's answer nor the record shows its result",
  };
}

/** Returns the result of a void, whatever amount it names; unknown unless the answer is about this attempt. */
export function readVoid(reply: GatewayReply, attempt: AttemptAtGateway): VoidAnswer | Undecided {
  if (reply.type !== "answer") return unansweredChange(reply);
  if (reply.status === 204 || overBefore.has(issueOf(reply) ?? "")) return { type: "undecided" };
  if (reply.status !== 200) return refusedOrUnknown(reply);
  const json = readJsonObject(reply);
  return isFor(json, attempt) && json.status === "VOIDED" ? { type: "done" } : untrusted(reply.status);
}

/**
 * Returns the record's result of a void whose own answer did not decide. A denied or expired authorization holds
 * nothing.
 */
export function voidByRecord(authorizationStatus: unknown): VoidAnswer {
  switch (authorizationStatus) {
    case "VOIDED":
      return { type: "done" };
    case "CAPTURED":
      return { type: "alreadyCaptured" };
    case "DENIED":
    case "EXPIRED":
      return { type: "absent" };
    default:
      return { type: "refused", definitive: false, gatewayCode: String(authorizationStatus) };
  }
}

// Issues of status 422 after which the same capture can never succeed; more than is held is not captured.
const neverCapturable = new Set(["AUTH_CAPTURE_CURRENCY_MISMATCH", "MAX_CAPTURE_AMOUNT_EXCEEDED"]);

// https://developer.paypal.com/docs/api/payments/v2/ (2026), issues of status 422 of capture and void.
const overBefore = new Set([
  "AUTHORIZATION_ALREADY_CAPTURED",
  "AUTHORIZATION_DENIED",
  "AUTHORIZATION_EXPIRED",
  "AUTHORIZATION_VOIDED",
  "DUPLICATE_INVOICE_ID",
  "MAX_CAPTURE_COUNT_EXCEEDED",
  "PREVIOUSLY_CAPTURED",
  "PREVIOUSLY_VOIDED",
]);

/** Reports whether PayPal has executed the request, now or before. */
export function isDone({ status }: GatewayReply & { type: "answer" }): boolean {
  return status === 200 || status === 201;
}

function codeOf({ processor_response: said, status }: Json): string {
  const code = isObject(said) ? said.response_code : undefined;
  return typeof code === "string" ? code : String(status);
}
