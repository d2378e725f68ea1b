/** Makes the request message of a call from its body, path and query, or tells everything that is wrong with them. */
import { type DescMessage, fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf";
import { bindPath, bindQuery } from "./bind-parameters.ts";
import { decodeField, decodeMessage } from "./decode-json.ts";
import { jsonPathTo } from "./field-path.ts";
import { type Finding, type JsonPath, problemOf, sameOrInside } from "./problem.ts";
import type { Route } from "./route.ts";
import type { PathMatch } from "./route-table.ts";
import { parseStrictJson } from "./strict-json.ts";
import { TranscodingError } from "./transcoding-error.ts";
import { findViolations } from "./validation.ts";

// More help nobody; a body of nothing but mistakes may not make an answer larger than itself.
const problemsMax = 50;

/** Decodes and validates a request; `body` is undefined when the route takes none. Throws TranscodingError. */
export function decodeRequest(route: Route, match: PathMatch, body: Uint8Array | undefined): MessageShape<DescMessage> {
  const findings: Finding[] = [];
  const json = body === undefined ? {} : decodeBody(route, body, findings);
  bindPath(route, match.rawSegments, json, findings);
  bindQuery(route, match.rawQuery, json, findings);
  const message = fromJson(route.method.input, json);
  findings.push(...newViolations(route, message, findings));
  if (findings.length > 0) throw refusal(route, findings);
  return message;
}

function decodeBody({ body, method }: Route, bytes: Uint8Array, findings: Finding[]): JsonObject {
  const node = parseStrictJson(bytes);
  if (body.kind !== "field") return (decodeMessage(method.input, node, [], findings) ?? {}) as JsonObject;
  const value = decodeField(body.field, node, [body.field.jsonName], findings);
  return value === undefined ? {} : { [body.field.jsonName]: value };
}

/**
 * What the message's own rules find, beyond what is known already: a value that was left out because it is wrong is not
 * missing too, and rules about what contains it cannot be judged.
 */
function newViolations(route: Route, message: MessageShape<DescMessage>, known: readonly Finding[]): Finding[] {
  const leftOut = known.filter((finding) => finding.code !== "unknown_field").map((finding) => finding.path);
  return findViolations(route.method.input, message)
    .filter(({ path }) => !leftOut.some((other) => sameOrInside(other, path)))
    .map((finding) => (isParameter(route, finding.path) ? { ...finding, code: "invalid_parameter" } : finding));
}

function isParameter({ body, pathFields }: Route, path: JsonPath): boolean {
  if (body.kind === "none") return true;
  if (body.kind === "field" && path[0] !== body.field.jsonName) return true;
  return pathFields.some(({ fields }) => fields.length === path.length && sameOrInside(jsonPathTo(fields), path));
}

function refusal({ body }: Route, findings: readonly Finding[]): TranscodingError {
  const bodyField = body.kind === "field" ? body.field.jsonName : undefined;
  const problems = findings.slice(0, problemsMax).map((finding) => problemOf(finding, bodyField));
  return problems.every((problem) => problem.code === "invalid_parameter")
    ? new TranscodingError("invalid_parameter", "The path or the query is not valid.", { problems })
    : new TranscodingError("invalid_fields", "The body is not valid.", { problems });
}
