/** Answers PayPal's disputes: `accept-claim` and `provide-evidence`, as its OpenAPI file of disputes (2024) has them. */
import type { FormPart } from "../../platform/multipart.ts";
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { ChangingCall, GatewayCall, GatewayDisputeAnswers } from "../connector.ts";
import {
  type DisputeAtGateway,
  type Evidence,
  type ResponseAnswer,
  type ResponseOptions,
  type Shipping,
  unknownAnswer,
} from "../dispute-answers.ts";
import type { PayPalApi } from "./api.ts";
import { disputePath } from "./disputes.ts";
import type { Json } from "./refusals.ts";

/** Some of `carrier_name`; any other carrier is named in words. */
const carriers = new Set(["UPS", "USPS", "FEDEX", "DHL", "TNT", "ROYAL_MAIL", "PARCELFORCE"]);

// The OpenAPI file has no part for the JSON; merchants name it so: https://www.volcengine.com/article/1135360 (2026). Not confirmed by PayPal.
const jsonPart = "input";

export class PayPalDisputeAnswers implements GatewayDisputeAnswers {
  readonly takesExplanation = true;
  readonly #api: PayPalApi;

  constructor(api: PayPalApi) {
    this.#api = api;
  }

  async options(call: GatewayCall, { gatewayReference }: DisputeAtGateway): Promise<ResponseOptions | undefined> {
    const reply = await this.#api.get(call, disputePath(gatewayReference));
    const record = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
    if (record === undefined || disputePath(String(record.dispute_id)) !== disputePath(gatewayReference))
      return undefined;
    const types = isAskedFor(record, "provide-evidence") ? requestedTypes(record) : [];
    const documentTypes = types.map((type) => ({ type, required: false }));
    // Accepting a dispute of several payments would give up all of them.
    const isShared = gatewayReference.includes(":");
    return {
      accept: !isShared && isAskedFor(record, "accept-claim") && mayRefund(record),
      defenses: documentTypes.length > 0 ? [{ documentTypes }] : [],
    };
  }

  async accept(call: ChangingCall, { gatewayReference }: DisputeAtGateway): Promise<ResponseAnswer> {
    const input = { note: "The claim is accepted.", accept_claim_type: "REFUND" };
    return this.#send(call, `${disputePath(gatewayReference)}/accept-claim`, [partOf(input)]);
  }

  async submit(
    call: ChangingCall,
    { gatewayReference }: DisputeAtGateway,
    evidence: Evidence,
  ): Promise<ResponseAnswer> {
    const files = evidence.documents.map(
      ({ name, contentType, content }): FormPart => ({ name: "evidence-file", content, file: { name, contentType } }),
    );
    const parts = [partOf({ evidences: evidencesOf(evidence) }), ...files];
    return this.#send(call, `${disputePath(gatewayReference)}/provide-evidence`, parts);
  }

  async #send(call: ChangingCall, path: string, parts: readonly FormPart[]): Promise<ResponseAnswer> {
    const reply = await this.#api.postForm(call, path, { key: call.idempotencyKey, parts });
    return answerIn(reply);
  }
}

function partOf(input: object): FormPart {
  return { name: jsonPart, content: JSON.stringify(input), contentType: "application/json" };
}

function answerIn(reply: GatewayReply): ResponseAnswer {
  if (reply.type !== "answer") return unknownAnswer(reply);
  if (reply.status === 200 && Array.isArray(readJsonObject(reply)?.links)) return { type: "taken" };
  const { name, details } = (reply.status === 400 || reply.status === 422 ? readJsonObject(reply) : undefined) ?? {};
  if (typeof name !== "string") return unknownAnswer(reply);
  const first: unknown = Array.isArray(details) ? details[0] : undefined;
  return { type: "refused", gatewayCode: isObject(first) && typeof first.issue === "string" ? first.issue : name };
}

/** "In case the link is not present in the response, you can't provide evidence": the OpenAPI file. */
function isAskedFor({ links, status }: Json, action: string): boolean {
  const isLinked = (link: unknown) => isObject(link) && String(link.href).split("?")[0]!.endsWith(`/${action}`);
  const isOpen = action === "accept-claim" || status === "WAITING_FOR_SELLER_RESPONSE";
  return isOpen && Array.isArray(links) && links.some(isLinked);
}

function mayRefund({ allowed_response_options: options }: Json): boolean {
  const accept = isObject(options) ? options.accept_claim : undefined;
  const types = isObject(accept) ? accept.accept_claim_types : undefined;
  return Array.isArray(types) && types.includes("REFUND");
}

function requestedTypes({ evidences }: Json): string[] {
  const requested = (Array.isArray(evidences) ? evidences.filter(isObject) : [])
    .filter(({ source }) => source === "REQUESTED_FROM_SELLER")
    .map(({ evidence_type: type }) => String(type));
  // If PayPal requests nothing, these are the types that take text and files of any kind.
  return requested.length > 0 ? [...new Set(requested)] : ["PROOF_OF_FULFILLMENT", "OTHER"];
}

function evidencesOf({ documents, explanation: notes, shipping, refundReferences }: Evidence): object[] {
  const types = [...new Set(documents.map(({ type }) => type))];
  const info = new Map<string, object>();
  if (shipping) info.set("PROOF_OF_FULFILLMENT", { tracking_info: [trackingOf(shipping)] });
  if (refundReferences.length > 0) info.set("PROOF_OF_REFUND", { refund_ids: refundReferences });
  const all = [...new Set([...types, ...info.keys()])];
  return (all.length > 0 ? all : ["OTHER"]).map((type, place) => {
    const named = documents.filter((one) => one.type === type).map(({ name }) => ({ name }));
    return {
      evidence_type: type,
      ...(info.has(type) && { evidence_info: info.get(type) }),
      ...(named.length > 0 && { documents: named }),
      ...(place === 0 && notes !== undefined && { notes }),
    };
  });
}

function trackingOf({ carrier, trackingNumber }: Shipping): object {
  const name = carrier.toUpperCase().replaceAll(" ", "_");
  const known = carriers.has(name) ? { carrier_name: name } : { carrier_name: "OTHER", carrier_name_other: carrier };
  return { ...known, tracking_number: trackingNumber };
}
