/** Answers Stripe's disputes: `close` accepts, files and one update with `submit` contest. */
import { type GatewayReply, readJsonObject } from "../../platform/outbound-http.ts";
import type { ChangingCall, GatewayCall, GatewayDisputeAnswers } from "../connector.ts";
import {
  type DisputeAtGateway,
  type Evidence,
  type ResponseAnswer,
  type ResponseOptions,
  unknownAnswer,
} from "../dispute-answers.ts";
import { errorOf, isKeySpent } from "./answers.ts";
import type { Form, StripeApi } from "./api.ts";
import { disputeIn, disputePath } from "./disputes.ts";
import { codeOf } from "./judge-decline.ts";

/** The fields of evidence that take a file: npm stripe 13.11.0 (2023-08-16), `DisputeUpdateParams.Evidence`. */
const fileFields = [
  ...["receipt", "customer_communication", "shipping_documentation", "refund_policy", "cancellation_policy"],
  ...["service_documentation", "customer_signature", "duplicate_charge_documentation", "uncategorized_file"],
] as const;

export class StripeDisputeAnswers implements GatewayDisputeAnswers {
  readonly takesExplanation = true;
  readonly #api: StripeApi;

  constructor(api: StripeApi) {
    this.#api = api;
  }

  /** "From needs_response to lost": https://docs.stripe.com/api/disputes/close (2026), so no inquiry is accepted. Evidence counts once. */
  async options(call: GatewayCall, { gatewayReference }: DisputeAtGateway): Promise<ResponseOptions | undefined> {
    const dispute = recordIn(await this.#api.get(call, disputePath(gatewayReference)), gatewayReference);
    if (dispute === undefined) return undefined;
    const isOpen = dispute.status === "NEEDS_RESPONSE" && !dispute.isAnswered;
    const documentTypes = fileFields.map((type) => ({ type, required: false }));
    return { accept: isOpen && dispute.stage === "CHARGEBACK", defenses: isOpen ? [{ documentTypes }] : [] };
  }

  async accept(call: ChangingCall, { gatewayReference }: DisputeAtGateway): Promise<ResponseAnswer> {
    const path = `${disputePath(gatewayReference)}/close`;
    return this.#answerOf(await this.#api.post(call, path, { key: call.idempotencyKey, form: {} }), gatewayReference);
  }

  async submit(call: ChangingCall, dispute: DisputeAtGateway, evidence: Evidence): Promise<ResponseAnswer> {
    const { documents, explanation, shipping } = evidence;
    const left = this.#api.sharedDeadline(call);
    const files: [string, string][] = [];
    for (const [place, { type, name, contentType, content }] of documents.entries()) {
      const reply = await this.#api.postFile(left(), {
        key: `${call.idempotencyKey}_file${place + 1}`,
        parts: [
          { name: "purpose", content: "dispute_evidence" },
          { name: "file", content, file: { name, contentType } },
        ],
      });
      const id = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply)?.id : undefined;
      // A file alone is no answer yet.
      if (typeof id !== "string") return refusalOf(reply) ?? unknownAnswer(reply);
      files.push([`evidence[${type}]`, id]);
    }
    const form: Form = {
      ...Object.fromEntries(files),
      "evidence[uncategorized_text]": explanation,
      "evidence[shipping_carrier]": shipping?.carrier,
      "evidence[shipping_tracking_number]": shipping?.trackingNumber,
      "evidence[shipping_date]": shipping?.shippedOn,
      submit: "true",
    };
    const { gatewayReference } = dispute;
    const reply = await this.#api.post(left(), disputePath(gatewayReference), { key: call.idempotencyKey, form });
    return this.#answerOf(reply, gatewayReference);
  }

  #answerOf(reply: GatewayReply, gatewayReference: string): ResponseAnswer {
    const dispute = recordIn(reply, gatewayReference);
    if (dispute === undefined) return refusalOf(reply) ?? unknownAnswer(reply);
    const isTaken = dispute.isAnswered || dispute.status !== "NEEDS_RESPONSE";
    return isTaken ? { type: "taken" } : { type: "unknown", reason: "the answer shows no response" };
  }
}

function recordIn(reply: GatewayReply, gatewayReference: string) {
  const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  const dispute = json && disputeIn(json);
  return dispute?.gatewayReference === gatewayReference ? dispute : undefined;
}

/**
 * Judges an error of the request ("invalid request errors arise when your request has invalid parameters",
 * https://docs.stripe.com/api/errors, 2026).
 */
function refusalOf(reply: GatewayReply): ResponseAnswer | undefined {
  if (reply.type !== "answer" || reply.status !== 400 || isKeySpent(reply)) return undefined;
  const error = errorOf(readJsonObject(reply));
  return error?.type === "invalid_request_error" ? { type: "refused", gatewayCode: codeOf(error) } : undefined;
}
