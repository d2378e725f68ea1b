/**
 * PayPal's refunds: their requests. refund-answers.ts interprets its answers. A refund belongs to a capture, and a
 * payment's refunds are listed by its order.
 */
import { readJsonObject } from "../../platform/outbound-http.ts";
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
import { authorizationPath, capturePath, orderPath, type PayPalApi } from "./api.ts";
import { toMoney, whyNotPayable } from "./currencies.ts";
import { isFor, orderNamedBy, readOrder } from "./order.ts";
import { answerBy, type Books, findRefund, listedOf, readRefund, readRefundRecord } from "./refund-answers.ts";
import { issueOf } from "./refusals.ts";

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
    const reply = await this.#api.post(left(), capturePath(captureId, "refund"), {
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
