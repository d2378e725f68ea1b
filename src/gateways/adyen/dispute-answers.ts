/**
 * Answers disputes by Adyen's Disputes API, which has no idempotency keys and reads no dispute: a repeat that is refused waits
 * for a notification. SANDBOX_B takes the same.
 */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { ChangingCall, GatewayCall, GatewayDisputeAnswers } from "../connector.ts";
import {
  type Defense,
  type DisputeAtGateway,
  type Evidence,
  type ResponseAnswer,
  type ResponseOptions,
  unknownAnswer,
} from "../dispute-answers.ts";

/** The operations: the OpenAPI file of Adyen's DisputeService v30 (2026). */
export type DisputeOperation =
  | "acceptDispute"
  | "defendDispute"
  | "retrieveApplicableDefenseReasons"
  | "supplyDefenseDocument";

type Post = (call: GatewayCall, operation: DisputeOperation, body: object) => Promise<GatewayReply>;

export class AdyenDisputeAnswers implements GatewayDisputeAnswers {
  readonly takesExplanation = false;
  readonly #post: Post;

  constructor(post: Post) {
    this.#post = post;
  }

  async options(call: GatewayCall, dispute: DisputeAtGateway): Promise<ResponseOptions | undefined> {
    const reply = await this.#post(call, "retrieveApplicableDefenseReasons", named(dispute));
    const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
    const result = json?.disputeServiceResult;
    if (!isObject(result) || typeof result.success !== "boolean") return undefined;
    const reasons = result.success && Array.isArray(json?.defenseReasons) ? json.defenseReasons.filter(isObject) : [];
    return { accept: result.success && dispute.stage === "CHARGEBACK", defenses: reasons.flatMap(defenseIn) };
  }

  async accept(call: ChangingCall, dispute: DisputeAtGateway): Promise<ResponseAnswer> {
    return answerIn(await this.#post(call, "acceptDispute", named(dispute)));
  }

  async submit(
    call: ChangingCall,
    dispute: DisputeAtGateway,
    { defense, documents }: Evidence,
  ): Promise<ResponseAnswer> {
    if (documents.length > 0) {
      const supplied = await this.#post(call, "supplyDefenseDocument", {
        ...named(dispute),
        defenseDocuments: documents.map(({ type, contentType, content }) => ({
          defenseDocumentTypeCode: type,
          contentType,
          content: Buffer.from(content).toString("base64"),
        })),
      });
      const answer = answerIn(supplied);
      if (answer.type !== "taken") return answer;
    }
    return answerIn(await this.#post(call, "defendDispute", { ...named(dispute), defenseReasonCode: defense }));
  }
}

function named({ gatewayReference: disputePspReference }: DisputeAtGateway) {
  return { disputePspReference };
}

function defenseIn({
  defenseReasonCode: code,
  defenseDocumentTypes: types,
}: Readonly<Record<string, unknown>>): Defense[] {
  if (typeof code !== "string") return [];
  const documentTypes = (Array.isArray(types) ? types.filter(isObject) : []).flatMap(
    ({ defenseDocumentTypeCode: type, requirementLevel: level }) =>
      typeof type === "string" ? [{ type, required: level === "Required" }] : [],
  );
  return [{ code, documentTypes }];
}

function answerIn(reply: GatewayReply): ResponseAnswer {
  if (reply.type !== "answer") return unknownAnswer(reply);
  const json = readJsonObject(reply);
  const result = json?.disputeServiceResult;
  if (reply.status === 200 && isObject(result) && typeof result.success === "boolean") {
    return result.success
      ? { type: "taken" }
      : { type: "refused", gatewayCode: String(result.errorMessage ?? "refused") };
  }
  const isRefused = (reply.status === 400 || reply.status === 422) && typeof json?.errorCode === "string";
  return isRefused ? { type: "refused", gatewayCode: json.errorCode as string } : unknownAnswer(reply);
}
