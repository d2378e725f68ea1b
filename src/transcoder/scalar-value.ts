/** Reads single values (scalars, enums, well-known types that are one text) from JSON and from path or query text. */
import { type DescEnum, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { accepted, type Reading, readTimestamp, refused } from "./reading.ts";
import { type JsonNode, JsonNumber } from "./strict-json.ts";

type IntegerRange = { readonly min: bigint; readonly max: bigint };

const int32: IntegerRange = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
const uint32: IntegerRange = { min: 0n, max: 2n ** 32n - 1n };
const int64: IntegerRange = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const uint64: IntegerRange = { min: 0n, max: 2n ** 64n - 1n };

const integerRanges = new Map<ScalarType, IntegerRange>([
  [ScalarType.INT32, int32],
  [ScalarType.SINT32, int32],
  [ScalarType.SFIXED32, int32],
  [ScalarType.UINT32, uint32],
  [ScalarType.FIXED32, uint32],
  [ScalarType.INT64, int64],
  [ScalarType.SINT64, int64],
  [ScalarType.SFIXED64, int64],
  [ScalarType.UINT64, uint64],
  [ScalarType.FIXED64, uint64],
]);

// Beyond it neighbouring integers share one double, so most clients have changed the number before they sent it.
const exactMax = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * The form of 64-bit integers in a body. Public JSON has numbers; ProtoJSON, which Protobuf's own clients send, writes
 * text and may contain both.
 */
export type JsonDialect = "public" | "proto";

/** Reads a scalar from JSON without coercion: numbers are JSON numbers, 64-bit integers follow the dialect. */
export function readScalar(scalar: ScalarType, node: JsonNode, dialect: JsonDialect = "public"): Reading {
  const range = integerRanges.get(scalar);
  if (dialect === "proto" && typeof node === "string" && range !== undefined && range.max > uint32.max) {
    return readScalarText(scalar, node);
  }
  if (range !== undefined) {
    const exact = {
      min: range.min < -exactMax ? -exactMax : range.min,
      max: range.max > exactMax ? exactMax : range.max,
    };
    if (typeof node === "string") return refused("must be a number, not a string");
    return readInteger(exact, node instanceof JsonNumber ? node.source : undefined);
  }
  switch (scalar) {
    case ScalarType.BOOL:
      return typeof node === "boolean" ? accepted(node) : refused("must be true or false");
    case ScalarType.STRING:
      return typeof node === "string" ? readString(node) : refused("must be a string");
    case ScalarType.BYTES:
      return typeof node === "string" ? readBytes(node) : refused("must be a string in base64");
    default:
      if (node instanceof JsonNumber) return readFloat(scalar, node.source);
      return typeof node === "string" && notFinite.has(node) ? accepted(node) : refused("must be a number");
  }
}

/** Reads a scalar from a path or query. Text has no types, so 64-bit integers are read in full. */
export function readScalarText(scalar: ScalarType, text: string): Reading {
  const range = integerRanges.get(scalar);
  if (range !== undefined) return readInteger(range, plainInteger.test(text) ? text : undefined);
  switch (scalar) {
    case ScalarType.BOOL:
      return text === "true" || text === "false" ? accepted(text === "true") : refused("must be true or false");
    case ScalarType.STRING:
      return readString(text);
    case ScalarType.BYTES:
      return readBytes(text);
    default:
      if (notFinite.has(text)) return accepted(text);
      return plainNumber.test(text) ? readFloat(scalar, text) : refused("must be a number");
  }
}

/** Reads an enum value by its name; numbers are refused, because they mean nothing to a reader of the JSON. */
export function readEnum(desc: DescEnum, node: JsonNode): Reading {
  if (desc.typeName === "google.protobuf.NullValue" && node === null) return accepted(null);
  if (typeof node === "string" && desc.values.some((value) => value.jsonName === node)) return accepted(node);
  return refused(`must be one of ${namesThatMean(desc).join(", ")}`);
}

/** Returns the names to recommend. The zero value means unset, by protobuf's naming rules, and is left out. */
function namesThatMean({ values }: DescEnum): string[] {
  return values
    .filter(({ number, name }) => number !== 0 || !name.endsWith("_UNSPECIFIED"))
    .map(({ jsonName }) => jsonName);
}

/** Reports whether a message is written as one JSON text or number, so that a path or query can carry it. */
export function isSingleValue(desc: DescMessage): boolean {
  return isWrapperDesc(desc) || textReaders.has(desc.typeName);
}

/** Reads a message for which `isSingleValue` holds from JSON. */
export function readSingleValue(desc: DescMessage, node: JsonNode, dialect: JsonDialect): Reading {
  if (isWrapperDesc(desc)) return readScalar(desc.fields[0]!.scalar!, node, dialect);
  return typeof node === "string" ? textReaders.get(desc.typeName)!(node) : refused("must be a string");
}

/** Reads a message for which `isSingleValue` holds from a path or query. */
export function readSingleValueText(desc: DescMessage, text: string): Reading {
  return isWrapperDesc(desc) ? readScalarText(desc.fields[0]!.scalar!, text) : textReaders.get(desc.typeName)!(text);
}

/** Reads text that any string may hold: Unicode without lone surrogates, which UTF-8 cannot carry, and without NUL. */
export function readString(text: string): Reading {
  if (!text.isWellFormed()) return refused("must not contain half of a surrogate pair");
  return text.includes("\0") ? refused("must not contain the NUL character") : accepted(text);
}

const plainInteger = /^(?:0|-?[1-9][0-9]{0,19})$/;
const plainNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const notFinite = new Set(["NaN", "Infinity", "-Infinity"]);
const base64 = /^(?:[\w+/-]{4})*(?:[\w+/-]{2}(?:==)?|[\w+/-]{3}=?)?$/;

const textReaders = new Map<string, (text: string) => Reading>([
  ["google.protobuf.Timestamp", readTimestamp],
  ["google.protobuf.Duration", readDuration],
  ["google.protobuf.FieldMask", readFieldMask],
]);

function readInteger({ min, max }: IntegerRange, source: string | undefined): Reading {
  const value = source === undefined ? undefined : parseInteger(source);
  if (value === undefined) return refused("must be a whole number");
  if (value < min || value > max) return refused(`must be between ${min} and ${max}`);
  // protobuf-es expects 64-bit integers as text, smaller ones as numbers.
  return accepted(max > uint32.max ? String(value) : Number(value));
}

function readFloat(scalar: ScalarType, source: string): Reading {
  const value = Number(source);
  const kept = scalar === ScalarType.FLOAT ? Math.fround(value) : value;
  return Number.isFinite(kept) ? accepted(kept) : refused("is too large a number");
}

function readBytes(text: string): Reading {
  return base64.test(text) ? accepted(text) : refused("must be base64");
}

// 2^64 has twenty digits; a longer integer is out of every range, and an exponent must not make us write billions of
// zeros.
const digitsMax = 20;

/**
 * Returns the integer of a JSON number: `4900`, `4900.0` and `4.9e3` are the same. Undefined if it has a fraction; an
 * integer of more than twenty digits becomes 10^20 with its sign, outside of every 64-bit range.
 */
export function parseInteger(source: string): bigint | undefined {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source)!;
  const digits = (whole! + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return 0n;
  // The number of zeros after the last significant digit; negative if that digit is behind the decimal point.
  const zeros = Number(exponent) - fraction.length + (digits.length - significant.length);
  if (zeros < 0) return undefined;
  const size =
    significant.length + zeros > digitsMax ? 10n ** BigInt(digitsMax) : BigInt(significant + "0".repeat(zeros));
  return sign === "-" ? -size : size;
}

const duration = /^-?(\d{1,12})(?:\.\d{1,9})?s$/;
const fieldMask = /^[a-z][A-Za-z0-9]*(?:\.[a-z][A-Za-z0-9]*)*(?:,[a-z][A-Za-z0-9]*(?:\.[a-z][A-Za-z0-9]*)*)*$/;

// The bound of google.protobuf.Duration, as its comment states it.
const durationSecondsMax = 315_576_000_000;

/** Reads google.protobuf.Duration: seconds with the suffix s. */
function readDuration(text: string): Reading {
  const seconds = duration.exec(text)?.[1];
  if (seconds === undefined) return refused("must be a duration in seconds such as 1.5s");
  return Number(seconds) < durationSecondsMax ? accepted(text) : refused("must be shorter than 10 000 years");
}

/** Reads google.protobuf.FieldMask: lowerCamelCase paths separated by commas; the empty text is the empty mask. */
function readFieldMask(text: string): Reading {
  return text === "" || fieldMask.test(text) ? accepted(text) : refused("must be field names with commas between them");
}
