/**
 * Types a strictly parsed JSON tree by a message: reports every mistake, and returns JSON that protobuf-es reads
 * without error.
 */

import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type JsonObject as PlainObject,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import type { Finding, JsonPath, ProblemCode } from "./problem.ts";
import { type Reading, refused } from "./reading.ts";
import {
  isSingleValue,
  type JsonDialect,
  readEnum,
  readScalar,
  readScalarText,
  readSingleValue,
  readString,
} from "./scalar-value.ts";
import { type JsonNode, JsonNumber, JsonObject } from "./strict-json.ts";
import { unreachable } from "./unreachable.ts";

/**
 * Decodes a message. Findings are added in the order of the body; members that have one are left out. Undefined if the
 * value is no message at all.
 */
export function decodeMessage(
  desc: DescMessage,
  node: JsonNode,
  path: JsonPath,
  findings: Finding[],
  dialect: JsonDialect = "public",
): JsonValue | undefined {
  return new Decoder(findings, dialect).message(desc, node, path);
}

/** Decodes the value of one field, which may be a list or a map. */
export function decodeField(
  field: DescField,
  node: JsonNode,
  path: JsonPath,
  findings: Finding[],
): JsonValue | undefined {
  return new Decoder(findings, "public").field(field, node, path);
}

class Decoder {
  readonly #findings: Finding[];
  readonly #dialect: JsonDialect;

  constructor(findings: Finding[], dialect: JsonDialect) {
    this.#findings = findings;
    this.#dialect = dialect;
  }

  message(desc: DescMessage, node: JsonNode, path: JsonPath): JsonValue | undefined {
    if (isSingleValue(desc)) return this.#keep(readSingleValue(desc, node, this.#dialect), path);
    switch (desc.typeName) {
      case "google.protobuf.Value":
        return this.#freeForm(node, path);
      case "google.protobuf.Struct":
        return node instanceof JsonObject ? this.#freeForm(node, path) : this.#refuse(path, "must be an object");
      case "google.protobuf.ListValue":
        return Array.isArray(node) ? this.#freeForm(node, path) : this.#refuse(path, "must be a list");
      default:
        return node instanceof JsonObject ? this.#members(desc, node, path) : this.#refuse(path, "must be an object");
    }
  }

  field(field: DescField, node: JsonNode, path: JsonPath): JsonValue | undefined {
    switch (field.fieldKind) {
      case "list":
        return this.#list(field, node, path);
      case "map":
        return this.#map(field, node, path);
      case "scalar":
      case "enum":
      case "message":
        return this.#element(field, node, path);
      default:
        return unreachable(field);
    }
  }

  #members(desc: DescMessage, node: JsonObject, path: JsonPath): JsonValue {
    const fields = fieldsByJsonName(desc);
    const json: PlainObject = {};
    const oneofsSet = new Set<object>();
    for (const [key, value] of node.members) {
      const memberPath = [...path, key];
      const field = fields.get(key);
      if (field === undefined) {
        this.#report(memberPath, "unknown_field", "is not a field of this request");
      } else if (node.repeatedKeys.has(key)) {
        this.#report(memberPath, "duplicate_field", "is given more than once");
      } else if (field.oneof !== undefined && oneofsSet.has(field.oneof)) {
        const siblings = field.oneof.fields.map((sibling) => sibling.jsonName).join(", ");
        this.#refuse(memberPath, `may not be given together with another of ${siblings}`);
      } else {
        if (field.oneof !== undefined) oneofsSet.add(field.oneof);
        const decoded = this.field(field, value, memberPath);
        if (decoded !== undefined) json[field.jsonName] = decoded;
      }
    }
    return json;
  }

  #list(field: DescField & { fieldKind: "list" }, node: JsonNode, path: JsonPath): JsonValue | undefined {
    if (!Array.isArray(node)) return this.#refuse(path, "must be a list");
    // A refused item keeps its place, so that the positions in later findings are those of the body.
    return node.map((item, position) => this.#element(field, item, [...path, position]) ?? placeholder(field));
  }

  #map(field: DescField & { fieldKind: "map" }, node: JsonNode, path: JsonPath): JsonValue | undefined {
    if (!(node instanceof JsonObject)) return this.#refuse(path, "must be an object");
    return this.#entries(node, path, (value, entryPath, key) => {
      const keyReading = readScalarText(field.mapKey, key);
      if (!keyReading.ok) return this.#refuse(entryPath, `has a key that ${keyReading.detail}`);
      return this.#element(field, value, entryPath);
    });
  }

  /** Decodes a value of a list, a map or a singular field: the descriptor names its type in the same places. */
  #element(field: DescField, node: JsonNode, path: JsonPath): JsonValue | undefined {
    const { scalar, message, enum: enumDesc } = field;
    if (message !== undefined) {
      if (node === null && message.typeName !== "google.protobuf.Value") return this.#refuseNull(path);
      return this.message(message, node, path);
    }
    if (enumDesc !== undefined) return this.#keep(readEnum(enumDesc, node), path);
    return node === null ? this.#refuseNull(path) : this.#keep(readScalar(scalar!, node, this.#dialect), path);
  }

  /** Decodes Struct, Value and ListValue: any JSON that can be represented without loss. */
  #freeForm(node: JsonNode, path: JsonPath): JsonValue | undefined {
    if (node === null || typeof node === "boolean") return node;
    if (typeof node === "string") return this.#keep(readString(node), path);
    if (node instanceof JsonNumber) return this.#keep(readFreeNumber(node), path);
    if (node instanceof JsonObject)
      return this.#entries(node, path, (value, entryPath) => this.#freeForm(value, entryPath));
    return node.map((item, position) => this.#freeForm(item, [...path, position]) ?? null);
  }

  /** Decodes the members of an object. Object.fromEntries creates own members only, also for the key `__proto__`. */
  #entries(
    node: JsonObject,
    path: JsonPath,
    decode: (value: JsonNode, path: JsonPath, key: string) => JsonValue | undefined,
  ): JsonValue {
    const entries: [string, JsonValue][] = [];
    for (const [key, value] of node.members) {
      const entryPath = [...path, key];
      const keyReading = readString(key);
      if (!keyReading.ok) this.#refuse(entryPath, `has a key that ${keyReading.detail}`);
      else if (node.repeatedKeys.has(key)) this.#report(entryPath, "duplicate_field", "is given more than once");
      else {
        const decoded = decode(value, entryPath, key);
        if (decoded !== undefined) entries.push([key, decoded]);
      }
    }
    return Object.fromEntries(entries);
  }

  #keep(reading: Reading, path: JsonPath): JsonValue | undefined {
    return reading.ok ? reading.json : this.#refuse(path, reading.detail);
  }

  #refuseNull(path: JsonPath): undefined {
    return this.#refuse(path, "may not be null; leave the field out");
  }

  #refuse(path: JsonPath, detail: string): undefined {
    this.#report(path, "invalid_field", detail);
  }

  #report(path: JsonPath, code: ProblemCode, detail: string): void {
    this.#findings.push({ path, code, detail });
  }
}

/** Reads a number of a type that stores doubles; refuses a whole number that a double would change. */
function readFreeNumber(node: JsonNumber): Reading {
  const value = Number(node.source);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return refused("is too large a whole number");
  return readScalar(ScalarType.DOUBLE, node);
}

const fieldTables = new WeakMap<DescMessage, Map<string, DescField>>();

function fieldsByJsonName(desc: DescMessage): Map<string, DescField> {
  let fields = fieldTables.get(desc);
  if (fields === undefined) {
    fields = new Map(desc.fields.map((field) => [field.jsonName, field]));
    fieldTables.set(desc, fields);
  }
  return fields;
}

function placeholder(field: DescField): JsonValue {
  if (field.message !== undefined) {
    return field.message.typeName === "google.protobuf.Value" ? null : toJson(field.message, create(field.message));
  }
  if (field.enum !== undefined) return field.enum.values[0]!.jsonName;
  switch (field.scalar) {
    case ScalarType.BOOL:
      return false;
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return "";
    default:
      return 0;
  }
}
