/** Merges path variables and query parameters into the request's JSON beside the body. */
import type { DescField, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type FieldPath, findFieldPath, jsonPathTo, openContainer } from "./field-path.ts";
import { captureVariable } from "./path-template.ts";
import { type Finding, sameOrInside } from "./problem.ts";
import { type Reading, refused } from "./reading.ts";
import type { Route } from "./route.ts";
import { isSingleValue, readEnum, readScalarText, readSingleValueText } from "./scalar-value.ts";

/** Binds the path variables. A body may repeat such a field only with the same value. */
export function bindPath(route: Route, rawSegments: readonly string[], json: JsonObject, findings: Finding[]): void {
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
export function bindQuery(route: Route, rawQuery: string, json: JsonObject, findings: Finding[]): void {
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
