/** Adyen's refunds: their requests. refund-answers.ts interprets its answers; its notifications report their results. */
import { toGatewayAmount } from "../amounts.ts";
import type {
  CapturedPayment,
  ChangingCall,
  GatewayRefunds,
  RefundAnswer,
  RefundAtGateway,
  RefundReason,
  RefundRecord,
} from "../connector.ts";
import { type AdyenApi, paymentPath } from "./api.ts";
import { currencies } from "./currencies.ts";
import { readRefund } from "./refund-answers.ts";

/** The values of `merchantRefundReason` in the OpenAPI file. */
const reasons: Readonly<Record<RefundReason, string>> = {
  requested_by_customer: "CUSTOMER REQUEST",
  duplicate: "DUPLICATE",
  fraudulent: "FRAUD",
};

/** Refunds captured payments. */
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
