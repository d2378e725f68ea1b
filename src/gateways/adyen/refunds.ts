/** Adyen's refunds: their requests. refund-answers.ts interprets its answers; its notifications report their results. */

import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { isSameAmount, toGatewayAmount } from "../amounts.ts";
import type {
  CapturedPayment,
  ChangingCall,
  GatewayRefunds,
  RefundAnswer,
  RefundAtGateway,
  RefundReason,
  RefundRecord,
} from "../connector.ts";
import { unansweredChange, untrusted } from "../unanswered.ts";
import { errorIn, inProgress, noSuchPayment } from "./answers.ts";
import { type AdyenApi, paymentPath } from "./api.ts";
import { currencies } from "./currencies.ts";
import type { Json } from "./judge-decline.ts";

/** The values of `merchantRefundReason` in the OpenAPI file. */
const reasons: Readonly<Record<RefundReason, string>> = {
  requested_by_customer: "CUSTOMER REQUEST",
  duplicate: "DUPLICATE",
  fraudulent: "FRAUD",
};

export class AdyenRefunds implements GatewayRefunds {
  /** Half of the 7 days for which Adyen keeps a key at least: https://docs.adyen.com/development-resources/api-idempotency (2026). */
  readonly keyLifeMs = 3.5 * 24 * 60 * 60 * 1_000;
  /** "Refunds a payment that has been captured": the text of the OpenAPI file. Before that the REFUND fails. */
  readonly needsConfirmedCapture = true;
  readonly #api: AdyenApi;

  constructor(api: AdyenApi) {
    this.#api = api;
  }

  /** Sends a refund. Its content is the refund alone, so that every repeat has the same bytes. */
  async refund(call: ChangingCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundAnswer> {
    const amount = toGatewayAmount(currencies, refund);
    if (amount.type === "impossible") return { type: "refused", definitive: true, gatewayCode: "amount" };
    const reply = await this.#api.post(call, paymentPath(captured.gatewayReference, "refunds"), {
      reference: refund.refundReference,
      amount: { value: amount.value, currency: refund.currency },
      ...(refund.reason && { merchantRefundReason: reasons[refund.reason] }),
    });
    return readRefund(reply, captured, refund);
  }

  async lookUpRefund(): Promise<RefundRecord> {
    return { type: "cannotTell", reason: "Adyen cannot be read; its notifications report the result" };
  }
}

/** Reports whether exactly this refund was accepted; a notification reports its result. */
export function readRefund(reply: GatewayReply, captured: CapturedPayment, refund: RefundAtGateway): RefundAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const { status } = reply;
  const json = readJsonObject(reply);
  if (status === 201 && isReceived(json, captured, refund)) {
    return { type: "accepted", gatewayReference: json.pspReference };
  }
  const error = errorIn(reply, json);
  if (error === undefined || status >= 500) return untrusted(status);
  // Adyen has captured the payment, so that it does not know it proves nothing: the key may open another account.
  if (error.code === noSuchPayment) return untrusted(status);
  // Validation comes before any processing, and its error is kept for the key:
  // https://docs.adyen.com/development-resources/response-handling (2026).
  const definitive = status === 422 && error.code !== inProgress && !error.isTransient;
  return { type: "refused", definitive, gatewayCode: error.code };
}

function isReceived(
  json: Json | undefined,
  { gatewayReference }: CapturedPayment,
  refund: RefundAtGateway,
): json is Json & { readonly pspReference: string } {
  return (
    json?.status === "received" &&
    json.paymentPspReference === gatewayReference &&
    json.reference === refund.refundReference &&
    typeof json.pspReference === "string" &&
    isObject(json.amount) &&
    isSameAmount(currencies, refund, json.amount.value, json.amount.currency)
  );
}
