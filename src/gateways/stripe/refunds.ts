/** Stripe's refunds: their requests. refund-answers.ts interprets its answers. */
import { readJsonObject } from "../../platform/outbound-http.ts";
import { toGatewayAmount } from "../amounts.ts";
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
import { type Form, intentPath, type StripeApi } from "./api.ts";
import { currencies, whyNotPayable } from "./currencies.ts";
import type { Json } from "./judge-decline.ts";
import { findRefund, listedOf, readPage, readRefund, readRefundRecord, withoutRelease } from "./refund-answers.ts";

// "Limit can range between 1 and 100": https://docs.stripe.com/api/refunds/list (2026).
const pageMax = 100;
// A payment has as many refunds as a person has patience; beyond it the list counts as unread.
const pagesMax = 10;

export class StripeRefunds implements GatewayRefunds {
  /** Half of the 24 hours for which Stripe keeps a key at least: https://docs.stripe.com/api/idempotent_requests (2026). */
  readonly keyLifeMs = 12 * 60 * 60 * 1_000;
  readonly needsConfirmedCapture = false;
  readonly #api: StripeApi;

  constructor(api: StripeApi) {
    this.#api = api;
  }

  /** Sends a refund. Its content is the refund alone, so that every repeat has the same bytes. */
  async refund(call: ChangingCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundAnswer> {
    const amount = toGatewayAmount(currencies, refund);
    if (amount.type === "impossible" || whyNotPayable(refund) !== undefined) {
      return { type: "refused", definitive: true, gatewayCode: "amount" };
    }
    const form: Form = {
      payment_intent: captured.gatewayReference,
      amount: String(amount.value),
      reason: refund.reason,
      "metadata[refund_id]": refund.refundReference,
    };
    return readRefund(await this.#api.post(call, "/v1/refunds", { key: call.idempotencyKey, form }), captured, refund);
  }

  async lookUpRefund(call: GatewayCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundRecord> {
    const { gatewayReference } = refund;
    if (gatewayReference === undefined) {
      const left = this.#api.sharedDeadline(call);
      const record = findRefund(await this.#list(left(), captured), captured, refund);
      // An account that does not know the payment may list nothing, which proves nothing.
      return record.type !== "absent" || (await this.#isKnown(left(), captured)) ? record : unfound;
    }
    return readRefundRecord(
      await this.#api.get(call, `/v1/refunds/${encodeURIComponent(gatewayReference)}`),
      captured,
      refund,
    );
  }

  async listRefunds(call: GatewayCall, captured: CapturedPayment): Promise<readonly ListedRefund[] | undefined> {
    const listed = (await this.#list(call, captured))?.map((record) => listedOf(record, captured));
    return listed?.every((one) => one !== undefined) ? withoutRelease(listed, captured) : undefined;
  }

  async #isKnown(call: GatewayCall, { gatewayReference }: CapturedPayment): Promise<boolean> {
    const reply = await this.#api.get(call, intentPath(gatewayReference));
    return reply.type === "answer" && reply.status === 200 && readJsonObject(reply)?.id === gatewayReference;
  }

  /** Reads every refund of a payment; undefined unless the whole list could be read. */
  async #list(call: GatewayCall, captured: CapturedPayment): Promise<readonly Json[] | undefined> {
    const left = this.#api.sharedDeadline(call);
    const found: Json[] = [];
    for (let page = 0; page < pagesMax; page++) {
      const last = found.at(-1)?.id;
      const query = { payment_intent: captured.gatewayReference, limit: String(pageMax) };
      const after = last === undefined ? {} : { starting_after: String(last) };
      const read = readPage(await this.#api.get(left(), "/v1/refunds", { ...query, ...after }));
      if (read === undefined) return undefined;
      found.push(...read.data);
      if (!read.hasMore) return found;
      if (read.data.length === 0) return undefined;
    }
    return undefined;
  }
}

const unfound = { type: "cannotTell", reason: "the account does not know the payment" } as const;
