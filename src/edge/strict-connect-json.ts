/**
 * Reads the JSON bodies of Connect calls as strictly as REST's. Connect's own reader takes the last of two equal keys,
 * rounds large numbers, takes null for zero, and names one problem only.
 */
import type { DescMessage, DescMethod, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { type ContextValues, createContextKey } from "@connectrpc/connect";
import { bodyBytesMax, requestTimeoutMs } from "../limits.ts";
import { decodeMessage } from "../transcoder/decode-json.ts";
import type { Finding, Problem } from "../transcoder/problem.ts";
import { checkBodyHeaders, readBody } from "../transcoder/request-body.ts";
import { parseStrictJson } from "../transcoder/strict-json.ts";
import { validateMessage } from "../transcoder/validation.ts";
import { orderRules } from "./order-rules.ts";
import type { AnyRequest } from "./request-id.ts";

type Body = { readonly findings: readonly Finding[]; readonly error?: unknown };

const bodyKey = createContextKey<Body>({ findings: [] }, { description: "what reading the JSON body found" });

/** Leaves what kept a body from being read where `findProblems` tells it, once the caller is known. */
export function refuseBody(values: ContextValues, error: unknown): void {
  values.set(bodyKey, { findings: [], error });
}

/**
 * The message of a call as JSON that has no mistake left in it. What was wrong stays in `values` until `findProblems`
 * asks: whoever is not known learns nothing about a body.
 */
export async function readJsonMessage(
  method: DescMethod,
  request: AnyRequest,
  values: ContextValues,
): Promise<JsonValue> {
  try {
    // node's HTTP/2 requests have the same shape, though not the same type.
    const plain = request as Parameters<typeof readBody>[0];
    checkBodyHeaders(plain);
    const bytes = await readBody(plain, { bodyBytesMax, bodyTimeoutMs: requestTimeoutMs });
    const findings: Finding[] = [];
    const json = decodeMessage(method.input, parseStrictJson(bytes), [], findings, "proto");
    values.set(bodyKey, { findings });
    return json ?? {};
  } catch (error) {
    refuseBody(values, error);
    return {};
  }
}

/** Everything wrong with a call's message, however it came. Throws what kept the body from being read at all. */
export function findProblems(
  schema: DescMessage,
  message: MessageShape<DescMessage>,
  values: ContextValues,
): readonly Problem[] {
  const { findings, error } = values.get(bodyKey);
  if (error !== undefined) throw error;
  return validateMessage(schema, message, { rules: orderRules, known: findings });
}
