/** The emulator's proxy: replaces the placeholders by the card and returns the gateway's answer in a frame. */
import type { GatewayHttp } from "../../../platform/outbound-http.ts";
import type { ProxiedRequest } from "./orders.ts";
import type { PaymentMethod, StoredCards } from "./stored-cards.ts";
import { brokenInside, type Json, refusal, type VaultAnswer } from "./vault-answer.ts";

/** The vault's timeout for a destination (REQUEST_TIME_OUT in its source). */
const destinationTimeoutMs = 30_000;

class FieldMissing extends Error {}

/** Reads the request in a body; undefined when a field is missing or wrong. */
export function readProxied(body: Json): ProxiedRequest | undefined {
  const { request_body, destination_url: url, headers, method, token, token_type: type } = body;
  const isText = typeof url === "string" && URL.canParse(url) && typeof token === "string" && typeof type === "string";
  if (!isText || request_body === undefined || method !== "POST" || typeof headers !== "object" || !headers) {
    return undefined;
  }
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return { request_body, destination_url: url, headers: named, token, token_type: type };
}

/** POST /proxy. Always sends JSON, regardless of the headers, and accepts only answers in JSON. */
export async function proxy(http: GatewayHttp, cards: StoredCards, request: ProxiedRequest): Promise<VaultAnswer> {
  const found = findMethod(cards, request);
  if ("status" in found) return found;
  const { cvc } = found;
  found.cvc = undefined;
  const fields: Json = { ...found.card, ...(cvc !== undefined && { card_cvc: cvc }) };
  let body: unknown;
  try {
    body = interpolate(request.request_body, fields);
  } catch (error) {
    if (error instanceof FieldMissing) return brokenInside;
    throw error;
  }
  const reply = await http.send({
    method: "POST",
    url: request.destination_url,
    headers: { ...request.headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    timeoutMs: destinationTimeoutMs,
  });
  const response = reply.type === "answer" ? parseJson(reply.body) : undefined;
  if (reply.type !== "answer" || response === undefined) return brokenInside;
  return { status: 200, body: { response, status_code: reply.status, response_headers: reply.headers } };
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

function findMethod(cards: StoredCards, { token, token_type: type }: ProxiedRequest): PaymentMethod | VaultAnswer {
  const found = cards.find(token);
  switch (type) {
    case "volatile_payment_method_id":
      if (found?.id === token && found.session.storageType === "volatile") return found;
      return refusal(422, "IR_05", "Token is invalid or expired");
    case "payment_method_id":
      if (found?.id === token && found.session.storageType === "persistent") return found;
      return refusal(404, "HE_02", "Payment method does not exist in our records");
    default:
      return refusal(400, "IR_06", "Json deserialize error: unknown variant of token_type");
  }
}

/** A string that begins with a placeholder becomes the field, regardless of what follows (parse_token in core/proxy/utils.rs). */
function interpolate(value: unknown, fields: Json): unknown {
  if (Array.isArray(value)) return value.map((item) => interpolate(item, fields));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, interpolate(member, fields)]));
  }
  const [, name] = typeof value === "string" ? (/^\{\{\s*\$(\w+)\s*\}\}/.exec(value) ?? []) : [];
  if (name === undefined) return value;
  if (!Object.hasOwn(fields, name)) throw new FieldMissing(name);
  return fields[name];
}
