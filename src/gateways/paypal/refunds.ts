/**
 * PayPal's refunds: their requests, and what its answers say about each. A refund belongs to a capture, and a payment's
 * refunds are listed by its order.
 */
import { unreachable } from "../../platform/errors.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type {
  CapturedPayment,
  ChangingCall,
  GatewayCall,
  GatewayRefunds,
  ListedRefund,
  RefundAnswer,
  RefundAtGateway,
  RefundRecord,
} from "../connector.ts";
import { unansweredChange, untrusted } from "../unanswered.ts";
import { isDone } from "./answers.ts";
import { authorizationPath, orderPath, type PayPalApi } from "./api.ts";
import { fromMoney, isSameMoney, toMoney, whyNotPayable } from "./currencies.ts";
import { isFor, orderNamedBy, readOrder, type StoredPayment } from "./order.ts";
import { issueOf, type Json, refusedOrUnknown } from "./refusals.ts";

type PayPalRefund = Json & { readonly id: string };

/** A captured payment as its order shows it: its one capture, and every refund. */
type Books = { readonly capture: StoredPayment; readonly refunds: readonly unknown[] };

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

/** Refunds captures, and reads the refunds of an order. */
export class PayPalRefunds implements GatewayRefunds {
  /** Half of the 45 days for which PayPal keeps the keys of payments: https://developer.paypal.com/api/rest/reference/idempotency/ (2026). */
  readonly keyLifeMs = 22 * 24 * 60 * 60 * 1_000;
  /** PENDING_CAPTURE, "Cannot initiate a refund as the capture is pending": the OpenAPI file of Payments v2 (2026). */
  readonly needsConfirmedCapture = true;
  readonly #api: PayPalApi;

  constructor(api: PayPalApi) {
    this.#api = api;
  }

  /** Sends a refund. Its content is the refund alone, so that every repeat has the same bytes. */
  async refund(call: ChangingCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundAnswer> {
    if (whyNotPayable(refund) !== undefined) return { type: "refused", definitive: true, gatewayCode: "amount" };
    const left = this.#api.sharedDeadline(call);
    const captureId = captured.captureReference ?? (await this.#readBooks(left, captured))?.capture.id;
    if (captureId === undefined) return unnamed;
    const { refundReference } = refund;
    const reply = await this.#api.post(left(), `/v2/payments/captures/${encodeURIComponent(captureId)}/refund`, {
      key: call.idempotencyKey,
      body: { amount: toMoney(refund), custom_id: refundReference, invoice_id: refundReference },
    });
    // "Invoice ID was previously used to refund a capture": this refund was made before, under whatever key.
    if (issueOf(reply) !== "DUPLICATE_INVOICE_ID") return readRefund(reply, refund);
    return answerBy(await this.lookUpRefund(left(), captured, refund));
  }

  async lookUpRefund(call: GatewayCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundRecord> {
    const { gatewayReference } = refund;
    if (gatewayReference !== undefined) {
      const reply = await this.#api.get(call, `/v2/payments/refunds/${encodeURIComponent(gatewayReference)}`);
      return readRefundRecord(reply, refund);
    }
    return findRefund(await this.#readBooks(this.#api.sharedDeadline(call), captured), refund);
  }

  async listRefunds(call: GatewayCall, captured: CapturedPayment): Promise<readonly ListedRefund[] | undefined> {
    const listed = (await this.#readBooks(this.#api.sharedDeadline(call), captured))?.refunds.map(listedOf);
    return listed?.every((one) => one !== undefined) ? listed : undefined;
  }

  /** Reads a payment's order, which the authorization names; undefined unless it shows exactly one capture of ours. */
  async #readBooks(left: () => GatewayCall, captured: CapturedPayment): Promise<Books | undefined> {
    const orderId = orderNamedBy(await this.#api.get(left(), authorizationPath(captured.gatewayReference)), captured);
    if (orderId === undefined) return undefined;
    const reply = await this.#api.get(left(), orderPath(orderId));
    const order =
      reply.type === "answer" && reply.status === 200 ? readOrder(readJsonObject(reply), captured) : undefined;
    if (order?.id !== orderId) return undefined;
    const captures = order.captures.filter(({ status }) => status !== "DECLINED" && status !== "FAILED");
    const [capture, ...others] = captures;
    const isOurs = isFor(capture, captured) && others.length === 0;
    const { captureReference } = captured;
    if (!isOurs || (captureReference !== undefined && captureReference !== capture.id)) return undefined;
    return { capture, refunds: order.refunds };
  }
}

const unnamed = {
  type: "unknown",
  kind: "GATEWAY_ERROR",
  reason: "the gateway's name for the capture could not be read, so nothing was sent",
} as const;

/** Returns the result of a refund; unknown unless the answer is about exactly this one. */
export function readRefund(reply: GatewayReply, refund: RefundAtGateway): RefundAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  if (isDone(reply)) {
    const json = readJsonObject(reply);
    return isAbout(json, refund) ? answerBy(recordOf(json)) : untrusted(reply.status);
  }
  const issue = issueOf(reply);
  const isFinal = issue !== undefined && definitive.has(issue);
  return isFinal ? { type: "refused", definitive: true, gatewayCode: issue } : refusedOrUnknown(reply);
}

/** Returns the answer that a record gives to a refund. */
function answerBy(record: RefundRecord): RefundAnswer {
  switch (record.type) {
    case "succeeded":
      return { type: "done", gatewayReference: record.gatewayReference };
    case "pending":
      return { type: "accepted", gatewayReference: record.gatewayReference };
    case "failed":
      return { type: "refused", definitive: true, gatewayCode: record.gatewayCode };
    case "absent":
    case "cannotTell":
      // The key returns nothing else, so only a look-up leads on.
      return { ...untrusted(422), isKept: true };
    default:
      return unreachable(record);
  }
}

/** Returns the record of a refund that was read by its id. */
export function readRefundRecord(reply: GatewayReply, refund: RefundAtGateway): RefundRecord {
  if (reply.type !== "answer") return { type: "cannotTell", reason: reply.reason };
  const json = reply.status === 200 ? readJsonObject(reply) : undefined;
  return isAbout(json, refund) ? recordOf(json) : { type: "cannotTell", reason: untrusted(reply.status).reason };
}

/**
 * Finds a refund by our reference among those of its payment. If there is none, only a capture that is still COMPLETED
 * proves that nothing was refunded.
 */
function findRefund(books: Books | undefined, refund: RefundAtGateway): RefundRecord {
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

function listedOf(record: unknown): ListedRefund | undefined {
  if (!isRefund(record)) return undefined;
  const amount = fromMoney(record.amount);
  const { type } = recordOf(record);
  if (amount === undefined || (type !== "succeeded" && type !== "pending" && type !== "failed")) return undefined;
  const { invoice_id: reference } = record;
  // One made by hand may carry an invoice's number.
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
