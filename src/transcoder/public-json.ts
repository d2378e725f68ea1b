/**
 * Writes messages as public JSON: ProtoJSON with every field that has no presence (but no list that needs an item), 64-bit
 * integers as numbers, and times with exactly three fraction digits. Unset fields are absent, never null.
 */

import {
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageShape,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { isAbsentIfEmpty } from "./openapi/rule-schema.ts";
import { unreachable } from "./unreachable.ts";

/** Converts a ProtoJSON value to a public one. */
type FixUp = (json: JsonValue) => JsonValue;

/** Writes a message; the same message gives the same text everywhere. */
export function publicJson<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string {
  const json = toJson(schema, message, { alwaysEmitImplicit: true });
  return JSON.stringify((fixUpOfMessage(schema) ?? same)(json));
}

/** Writes the value of one field of a message; `null` if it is absent, because an answer needs a body. */
export function publicFieldJson<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  field: DescField,
): string {
  const json = toJson(schema, message, { alwaysEmitImplicit: true }) as { [name: string]: JsonValue };
  const value = json[field.jsonName];
  return value === undefined ? "null" : JSON.stringify((fixUpOfField(field) ?? same)(value));
}

const longs = new Set([
  ScalarType.INT64,
  ScalarType.SINT64,
  ScalarType.SFIXED64,
  ScalarType.UINT64,
  ScalarType.FIXED64,
]);

/** Compiled once per message type. A type that needs no change is stored as undefined, so that it is not traversed. */
const compiled = new WeakMap<DescMessage, FixUp | undefined>();

function fixUpOfMessage(desc: DescMessage): FixUp | undefined {
  if (!compiled.has(desc)) compile(desc);
  return compiled.get(desc);
}

function compile(desc: DescMessage): void {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      compiled.set(desc, threeFractionDigits);
      return;
    case "google.protobuf.Int64Value":
    case "google.protobuf.UInt64Value":
      compiled.set(desc, longAsNumber);
      return;
    default:
      // Every other type follows from its fields.
      break;
  }
  if (hasCustomJsonRepresentation(desc)) {
    compiled.set(desc, undefined);
    return;
  }
  const members: { name: string; fixUp: FixUp }[] = [];
  const left = desc.fields.filter(isAbsentIfEmpty).map(({ jsonName }) => jsonName);
  // Stored before its members are known: a type may contain itself.
  compiled.set(desc, (json) => {
    const object = json as { [name: string]: JsonValue };
    for (const name of left) if ((object[name] as JsonValue[]).length === 0) delete object[name];
    for (const { name, fixUp } of members) {
      const value = object[name];
      if (value !== undefined) object[name] = fixUp(value);
    }
    return object;
  });
  for (const field of desc.fields) {
    const fixUp = fixUpOfField(field);
    if (fixUp !== undefined) members.push({ name: field.jsonName, fixUp });
  }
  if (members.length === 0 && left.length === 0) compiled.set(desc, undefined);
}

function fixUpOfField(field: DescField): FixUp | undefined {
  const fixUp = fixUpOfElement(field);
  if (fixUp === undefined) return undefined;
  switch (field.fieldKind) {
    case "list":
      return (json) => (json as JsonValue[]).map(fixUp);
    case "map":
      return (json) => Object.fromEntries(Object.entries(json as object).map(([key, value]) => [key, fixUp(value)]));
    case "scalar":
    case "enum":
    case "message":
      return fixUp;
    default:
      return unreachable(field);
  }
}

function fixUpOfElement(field: DescField): FixUp | undefined {
  if (field.message !== undefined) return fixUpOfMessage(field.message);
  return field.scalar !== undefined && longs.has(field.scalar) ? longAsNumber : undefined;
}

function same(json: JsonValue): JsonValue {
  return json;
}

// Node has it (ES proposal json-parse-with-source), TypeScript's library does not yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): JsonValue };

/** Writes an integer as a number. Digits that exceed a double are written exactly, for readers that support them. */
function longAsNumber(json: JsonValue): JsonValue {
  const value = Number(json);
  return Number.isSafeInteger(value) ? value : rawJSON(String(json));
}

/** Writes three fraction digits: ProtoJSON writes 0, 3, 6 or 9; further digits are cut off, not rounded. */
function threeFractionDigits(json: JsonValue): JsonValue {
  const [seconds, fraction = ""] = String(json).slice(0, -1).split(".");
  return `${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
}
