/** Answers SANDBOX_A's disputes, which it takes as Stripe does, with files in the same form. */
import { type GatewayReply, isObject, readJsonObject } from "../../../platform/outbound-http.ts";
import { type Evidence, type ResponseAnswer, type ResponseOptions, unknownAnswer } from "../../dispute-answers.ts";
import { readingIn } from "./disputes.ts";

const documentTypes = ["receipt", "shipping_documentation", "other"].map((type) => ({ type, required: false }));

export const disputePath = (reference: string) => `/a/v1/disputes/${encodeURIComponent(reference)}`;

export function readOptions(reply: GatewayReply, gatewayReference: string): ResponseOptions | undefined {
  const dispute = recordIn(reply, gatewayReference);
  if (dispute === undefined) return undefined;
  const isOpen = dispute.status === "NEEDS_RESPONSE" && !dispute.isAnswered;
  return { accept: isOpen && dispute.stage === "CHARGEBACK", defenses: isOpen ? [{ documentTypes }] : [] };
}

export function readAnswer(reply: GatewayReply, gatewayReference: string): ResponseAnswer {
  const dispute = recordIn(reply, gatewayReference);
  if (dispute) return { type: "taken" };
  const error = reply.type === "answer" && reply.status === 400 ? readJsonObject(reply)?.error : undefined;
  if (!isObject(error)) return unknownAnswer(reply);
  return { type: "refused", gatewayCode: String(error.code ?? error.type) };
}

export function fieldsOf({ explanation, shipping, documents }: Evidence): Record<string, string> {
  return {
    submit: "true",
    ...(explanation !== undefined && { explanation }),
    ...(shipping && {
      shipping_carrier: shipping.carrier,
      shipping_tracking_number: shipping.trackingNumber,
      shipping_date: shipping.shippedOn,
    }),
    ...Object.fromEntries(
      documents.flatMap(({ type, name, content }, place) => [
        [`files[${place}][type]`, type],
        [`files[${place}][name]`, name],
        [`files[${place}][content]`, Buffer.from(content).toString("base64url")],
      ]),
    ),
  };
}

function recordIn(reply: GatewayReply, gatewayReference: string) {
  const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  return json?.id === gatewayReference ? readingIn(json) : undefined;
}
