/** Decodes the request message of a call from its body, path and query, or reports all their problems. */
import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import { decodeField, decodeMessage } from "./decode-json.ts";
import { type FieldPath, findFieldPath, jsonPathTo, openContainer } from "./field-path.ts";
import { captureVariable } from "./path-template.ts";
import { type Finding, type JsonPath, problemOf, sameOrInside } from "./problem.ts";
import { type Reading, refused } from "./reading.ts";
import type { Route } from "./route.ts";
import type { PathMatch } from "./route-table.ts";
import { isSingleValue, readEnum, readScalarText, readSingleValueText } from "./scalar-value.ts";
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

/** Binds the path variables. A body may repeat such a field only with the same value. */
function bindPath(route: Route, rawSegments: readonly string[], json: JsonObject, findings: Finding[]): void {
  for (const { variable, fields } of route.pathFields) {
    const text = captureVariable(variable, rawSegments);
    const reading = text === undefined ? refused("is not percent-encoded UTF-8") : readText(fields.at(-1)!, text);
    const path = jsonPathTo(fields);
    const container = openContainer(json, fields);
    const given = container?.[fields.at(-1)!.jsonName];
    if (!reading.ok) findings.push({ path, code: "invalid_parameter", detail: reading.detail });
    else if (container === undefined || (given !== undefined && given !== reading.json)) {
      findings.push({ path, code: "invalid_field", detail: "must be what the path says, or be left out" });
    } else container[fields.at(-1)!.jsonName] = reading.json;
  }
}

/** Binds the query parameters, named by JSON name with dots between nested fields. */
function bindQuery(route: Route, rawQuery: string, json: JsonObject, findings: Finding[]): void {
  if (rawQuery === "") return;
  const seen = new Set<string>();
  for (const pair of rawQuery.split("&")) {
    if (pair === "") continue;
    const [name, text] = splitPair(pair);
    const detail = bindParameter(route, name, text, json, seen);
    if (detail !== undefined) findings.push({ path: (name ?? "").split("."), code: "invalid_parameter", detail });
  }
}

/** Binds one parameter, or reports its problem. */
function bindParameter(
  route: Route,
  name: string | undefined,
  text: string | undefined,
  json: JsonObject,
  seen: Set<string>,
): string | undefined {
  if (name === undefined || text === undefined) return "is not percent-encoded UTF-8";
  const fields = findFieldPath(route.method.input, name.split("."), "jsonName");
  if (fields === undefined || !fitsQuery(fields.at(-1)!)) return "is not a parameter of this method";
  if (isFilledElsewhere(route, fields)) return "is already given by the path or the body";
  const field = fields.at(-1)!;
  if (field.fieldKind !== "list" && seen.has(name)) return "is given more than once";
  seen.add(name);
  const reading = readText(field, text);
  if (!reading.ok) return reading.detail;
  const container = openContainer(json, fields);
  if (container === undefined) return "may not be given together with another field of the same choice";
  if (field.fieldKind === "list") {
    const items = (container[field.jsonName] ?? []) as JsonValue[];
    container[field.jsonName] = [...items, reading.json];
  } else container[field.jsonName] = reading.json;
  return undefined;
}

function readText(field: DescField, text: string): Reading {
  if (field.message !== undefined) return readSingleValueText(field.message, text);
  return field.enum !== undefined ? readEnum(field.enum, text) : readScalarText(field.scalar!, text);
}

/** Reports whether a query can carry the field. Maps, and messages of more than one value, need a body. */
function fitsQuery(field: DescField): boolean {
  return field.fieldKind !== "map" && (field.message === undefined || isSingleValue(field.message));
}

function isFilledElsewhere({ body, pathFields }: Route, fields: FieldPath): boolean {
  if (body.type === "message") return true;
  if (body.type === "field" && body.field === fields[0]) return true;
  return pathFields.some((pathField) => sameOrInside(jsonPathTo(pathField.fields), jsonPathTo(fields)));
}

function splitPair(pair: string): [string | undefined, string | undefined] {
  const equalsAt = pair.indexOf("=");
  if (equalsAt === -1) return [decodeForm(pair), ""];
  return [decodeForm(pair.slice(0, equalsAt)), decodeForm(pair.slice(equalsAt + 1))];
}

/** Decodes form-encoded query text: a plus is a space. */
function decodeForm(raw: string): string | undefined {
  try {
    return decodeURIComponent(raw.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
