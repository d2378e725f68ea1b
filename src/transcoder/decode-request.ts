/** Decodes the request message of a call from its body, path and query, or reports all their problems. */
import { type DescMessage, fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf";
import { bindPath, bindQuery } from "./bind-parameters.ts";
import { decodeField, decodeMessage } from "./decode-json.ts";
import { jsonPathTo } from "./field-path.ts";
import { type Finding, type JsonPath, problemOf, sameOrInside } from "./problem.ts";
import type { Route } from "./route.ts";
import type { PathMatch } from "./route-table.ts";
import { parseStrictJson } from "./strict-json.ts";
import { TranscodingError } from "./transcoding-error.ts";
import { findProblems, type MessageRules, problemsMax } from "./validation.ts";

/** Decodes and validates a request; `body` is undefined if the route takes none. Throws TranscodingError. */
export function decodeRequest(
  route: Route,
  match: PathMatch,
  body: Uint8Array | undefined,
  rules?: MessageRules,
): MessageShape<DescMessage> {
  const findings: Finding[] = [];
  const json = body === undefined ? {} : decodeBody(route, body, findings);
  bindPath(route, match.rawSegments, json, findings);
  bindQuery(route, match.rawQuery, json, findings);
  const message = fromJson(route.method.input, json);
  const problems = findProblems(route.method.input, message, { rules, known: findings });
  if (problems.length > 0) throw refusal(route, findings.length, problems);
  return message;
}

function decodeBody({ body, method }: Route, bytes: Uint8Array, findings: Finding[]): JsonObject {
  const node = parseStrictJson(bytes);
  if (body.type !== "field") return (decodeMessage(method.input, node, [], findings) ?? {}) as JsonObject;
  const value = decodeField(body.field, node, [body.field.jsonName], findings);
  return value === undefined ? {} : { [body.field.jsonName]: value };
}

function isParameter({ body, pathFields }: Route, path: JsonPath): boolean {
  if (body.type === "none") return true;
  if (body.type === "field" && path[0] !== body.field.jsonName) return true;
  return pathFields.some(({ fields }) => fields.length === path.length && sameOrInside(jsonPathTo(fields), path));
}

/**
 * Builds the refusal. The first findings are the reader's, which have their code; for a broken rule, its path says
 * whether it is about a parameter.
 */
function refusal(route: Route, readingCount: number, findings: readonly Finding[]): TranscodingError {
  const { body } = route;
  const bodyField = body.type === "field" ? body.field.jsonName : undefined;
  const problems = findings
    .slice(0, problemsMax)
    .map((finding, at): Finding => {
      const isRule = at >= readingCount;
      return isRule && isParameter(route, finding.path) ? { ...finding, code: "invalid_parameter" } : finding;
    })
    .map((finding) => problemOf(finding, bodyField));
  return problems.every((problem) => problem.code === "invalid_parameter")
    ? new TranscodingError("invalid_parameter", "The path or the query is not valid.", { problems })
    : new TranscodingError("invalid_fields", "The body is not valid.", { problems });
}
