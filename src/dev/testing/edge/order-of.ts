/** Converts an order to gRPC where gRPC can express it: no unknown names and no repeated ones. */
import { parseInteger } from "../../../transcoder/scalar-value.ts";
import { type JsonNode, JsonNumber, JsonObject, parseStrictJson } from "../../../transcoder/strict-json.ts";
import type { Order } from "./surfaces.ts";

const texts = ["currency", "orderRef", "customerEmail", "customerName", "statementDescriptor"];
const addressLines = ["line1", "line2", "city", "postalCode", "region", "country"];

/** Returns the message of a JSON body; undefined if no message can express it. */
export function orderOf(body: string | Uint8Array): Order | undefined {
  const node = parse(body);
  if (!(node instanceof JsonObject) || node.repeatedKeys.size > 0) return undefined;
  const order: Record<string, unknown> = {};
  for (const [name, value] of node.members) {
    const read = readMember(name, value);
    if (read === undefined) return undefined;
    order[name] = read;
  }
  return order as Order;
}

function readMember(name: string, value: JsonNode) {
  if (name === "amountMinor") return readAmount(value);
  if (name === "billingAddress") return readTexts(value, (line) => addressLines.includes(line));
  if (name === "metadata") return readTexts(value, (key) => key.isWellFormed());
  return texts.includes(name) ? readText(value) : undefined;
}

function readTexts(node: JsonNode, isPossible: (name: string) => boolean): Record<string, string> | undefined {
  if (!(node instanceof JsonObject) || node.repeatedKeys.size > 0) return undefined;
  const read = [...node.members].map(([name, value]) => [name, readText(value)] as const);
  if (!read.every(([name, text]) => isPossible(name) && text !== undefined)) return undefined;
  return Object.fromEntries(read) as Record<string, string>;
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
