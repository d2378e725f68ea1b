/** JSON Schemas of single values: scalars, enums and well-known types, as the transcoder reads and writes them. */
import { type DescEnum, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { unreachable } from "../unreachable.ts";

/** A JSON Schema, or another object of an OpenAPI document. */
export type Schema = { readonly [keyword: string]: unknown };

/** Requests are read more narrowly than answers are written. */
export type Direction = "request" | "response";

const int32: Schema = { type: "integer", format: "int32" };
const uint32: Schema = { type: "integer", minimum: 0, maximum: 2 ** 32 - 1 };
const int64: Schema = { type: "integer", format: "int64" };

/**
 * Returns the schema of a scalar. Integers of 64 bits are numbers; in requests they are limited to the range in which
 * every double is exact.
 */
export function scalarSchema(scalar: ScalarType, direction: Direction): Schema {
  const exact = direction === "request" ? Number.MAX_SAFE_INTEGER : undefined;
  switch (scalar) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return int32;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return uint32;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return exact === undefined ? int64 : { ...int64, minimum: -exact, maximum: exact };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { ...int64, minimum: 0, ...(exact !== undefined && { maximum: exact }) };
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { anyOf: [{ type: "number", format: "double" }, { enum: ["NaN", "Infinity", "-Infinity"] }] };
    default:
      return unreachable(scalar);
  }
}

/** Returns the values of an enum by name. A zero value called …_UNSPECIFIED means unset, so it is left out. */
export function enumValues(desc: DescEnum): { name: string; number: number }[] {
  return desc.values
    .filter(({ number, name }) => number !== 0 || !name.endsWith("_UNSPECIFIED"))
    .map(({ name, number }) => ({ name, number }));
}

/** Returns the schema of a message that JSON does not write as an object of its fields; undefined for every other. */
export function wellKnownSchema(desc: DescMessage, direction: Direction): Schema | undefined {
  if (isWrapperDesc(desc)) return scalarSchema(desc.fields[0]!.scalar!, direction);
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return {
        type: "string",
        format: "date-time",
        ...(direction === "response" && { pattern: "\\.[0-9]{3}Z$" }),
      };
    case "google.protobuf.Duration":
      return { type: "string", pattern: "^-?[0-9]{1,12}(\\.[0-9]{1,9})?s$" };
    case "google.protobuf.FieldMask":
      return { type: "string" };
    case "google.protobuf.Struct":
      return { type: "object", additionalProperties: true };
    case "google.protobuf.ListValue":
      return { type: "array", items: {} };
    case "google.protobuf.Value":
      return {};
    default:
      return undefined;
  }
}
