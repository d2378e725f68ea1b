/**
 * Converts an order to gRPC where gRPC can express it: its messages have types, no unknown names and no repeated ones.
 */
import { parseInteger } from "../../../transcoder/integer.ts";
import { type JsonNode, JsonNumber, JsonObject, parseStrictJson } from "../../../transcoder/strict-json.ts";
import type { Order } from "./surfaces.ts";

const texts = ["currency", "orderRef", "customerEmail"];

/** Returns the message of a JSON body; undefined if no message can express it. */
export function orderOf(body: string | Uint8Array): Order | undefined {
  const node = parse(body);
  if (!(node instanceof JsonObject) || node.repeatedKeys.size > 0) return undefined;
  const order: Record<string, unknown> = {};
  for (const [name, value] of node.members) {
    const read = name === "amountMinor" ? readAmount(value) : texts.includes(name) ? readText(value) : undefined;
    if (read === undefined) return undefined;
    order[name] = read;
  }
  return order as Order;
}

function parse(body: string | Uint8Array): JsonNode | undefined {
  try {
    return parseStrictJson(typeof body === "string" ? Buffer.from(body) : body);
  } catch {
    return undefined;
  }
}

function readAmount(value: JsonNode): bigint | undefined {
  const amount = value instanceof JsonNumber ? parseInteger(value.source) : undefined;
  return amount !== undefined && BigInt.asIntN(64, amount) === amount ? amount : undefined;
}

/** UTF-8 carries no half of a surrogate pair. */
function readText(value: JsonNode): string | undefined {
  return typeof value === "string" && value.isWellFormed() ? value : undefined;
}
