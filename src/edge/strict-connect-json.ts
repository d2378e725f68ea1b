/**
 * Reads the JSON bodies of Connect calls as strictly as REST's. Connect's own reader uses the last of two equal keys,
 * rounds large numbers, reads null as zero, and reports one problem only.
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

/**
 * Stores the error that prevented a body from being read, for `findProblems` to report once the caller is
 * authenticated.
 */
export function refuseBody(values: ContextValues, error: unknown): void {
  values.set(bodyKey, { findings: [], error });
}

/**
 * Returns the message of a call as JSON without mistakes. Problems stay in `values` until `findProblems` reads them: an
 * unauthenticated caller learns nothing about a body.
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

/**
 * Returns all problems of a call's message, however it was sent. Throws the error that prevented the body from being
 * read.
 */
export function findProblems(
  schema: DescMessage,
  message: MessageShape<DescMessage>,
  values: ContextValues,
): readonly Problem[] {
  const { findings, error } = values.get(bodyKey);
  if (error !== undefined) throw error;
  return validateMessage(schema, message, { rules: orderRules, known: findings });
}
