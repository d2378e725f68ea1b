/**
 * Reads the JSON bodies of Connect calls as strictly as REST's. Connect's own reader uses the last of two equal keys,
 * rounds large numbers, reads null as zero, and reports one problem only.
 */
import type { DescMessage, DescMethod, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { type ContextValues, createContextKey } from "@connectrpc/connect";
import { decodeMessage } from "./decode-json.ts";
import type { Finding, Problem } from "./problem.ts";
import { checkBodyHeaders, readBody } from "./request-body.ts";
import { parseStrictJson } from "./strict-json.ts";
import { type MessageRules, validateMessage } from "./validation.ts";

type Body = { readonly findings: readonly Finding[]; readonly error?: unknown };

const bodyKey = createContextKey<Body>({ findings: [] }, { description: "what reading the JSON body found" });

/**
 * Stores the error that prevented a body from being read, for `findProblems` to report once the caller is
 * authenticated.
 */
export function refuseBody(values: ContextValues, error: unknown): void {
  values.set(bodyKey, { findings: [], error });
}

/** Reads the body of a call as `decodeJsonMessage`. An error that prevents this is stored too. */
export async function readJsonMessage(
  method: DescMethod,
  request: Parameters<typeof readBody>[0],
  { values, limits }: { values: ContextValues; limits: Parameters<typeof readBody>[1] },
): Promise<JsonValue> {
  try {
    checkBodyHeaders(request);
    return decodeJsonMessage(method, await readBody(request, limits), values);
  } catch (error) {
    refuseBody(values, error);
    return {};
  }
}

/**
 * Returns the message of a call as JSON without mistakes. Problems stay in `values` until `findProblems` reads them: an
 * unauthenticated caller gets no answer about a body. Throws TranscodingError if the bytes are no JSON.
 */
export function decodeJsonMessage(method: DescMethod, bytes: Buffer, values: ContextValues): JsonValue {
  const findings: Finding[] = [];
  const json = decodeMessage(method.input, parseStrictJson(bytes), [], findings, "proto");
  values.set(bodyKey, { findings });
  return json ?? {};
}

/**
 * Returns all problems of a call's message, however it was sent. Throws the error that prevented the body from being
 * read.
 */
export function findProblems(
  schema: DescMessage,
  message: MessageShape<DescMessage>,
  values: ContextValues,
  rules: MessageRules,
): readonly Problem[] {
  const { findings, error } = values.get(bodyKey);
  if (error !== undefined) throw error;
  return validateMessage(schema, message, { rules, known: findings });
}
