/**
 * Schemas of messages and enums, each stored once under its name, for requests as they are read and answers as they are
 * written.
 */

import type { AnyDesc, DescEnum, DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import { getOption, hasOption } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  type FieldRules,
  message as messageOption,
  oneof as oneofOption,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { unreachable } from "../unreachable.ts";
import { isAbsentIfEmpty, ruleKeywords, ruleSentences, rulesOf } from "./rule-schema.ts";
import { type Direction, enumValues, type Schema, scalarSchema, wellKnownSchema } from "./value-schema.ts";

/** Returns the comment above a descriptor in its .proto file, empty if there is none. */
export type CommentOf = (desc: AnyDesc) => string;

export class ComponentSchemas {
  readonly #schemas = new Map<string, Schema>();
  readonly #commentOf: CommentOf;

  constructor(commentOf: CommentOf) {
    this.#commentOf = commentOf;
  }

  /** Returns all schemas requested so far, by name. */
  byName(): Schema {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Returns a reference to a message, or its schema if JSON has a special form for it. */
  message(desc: DescMessage, direction: Direction): Schema {
    return wellKnownSchema(desc, direction) ?? this.#keep(desc, direction, () => this.object(desc, direction));
  }

  /** Returns a message as an object. The fields of `filledElsewhere` may be repeated in it, but are not required. */
  object(desc: DescMessage, direction: Direction, filledElsewhere: readonly DescField[] = []): Schema {
    const isNeeded = (field: DescField) => !filledElsewhere.includes(field) && isRequired(field, direction);
    const required = desc.fields.filter(isNeeded).map(({ jsonName }) => jsonName);
    const conditions = desc.oneofs
      .map((oneof) => oneofCondition(oneof, direction))
      .filter((each) => each !== undefined);
    const rules =
      direction === "request" && hasOption(desc, messageOption) ? getOption(desc, messageOption) : undefined;
    return {
      type: "object",
      ...this.#description(desc, ruleSentences(rules)),
      properties: Object.fromEntries(desc.fields.map((field) => [field.jsonName, this.field(field, direction)])),
      ...(required.length > 0 && { required }),
      ...(direction === "request" && { additionalProperties: false }),
      ...(conditions.length > 0 && { allOf: conditions }),
    };
  }

  /** Returns the schema of a field's value, with its description and, in requests, its rules. */
  field(field: DescField, direction: Direction): Schema {
    const rules = direction === "request" ? rulesOf(field) : undefined;
    return { ...this.#value(field, direction, rules), ...this.#description(field, ruleSentences(rules)) };
  }

  #value(field: DescField, direction: Direction, rules: FieldRules | undefined): Schema {
    const keywords = { ...nonZero(field, rules), ...ruleKeywords(rules) };
    switch (field.fieldKind) {
      case "list": {
        const items = rules?.type.case === "repeated" ? rules.type.value.items : undefined;
        return { type: "array", items: this.#element(field, direction, items), ...keywords };
      }
      case "map": {
        const { keys, values } = rules?.type.case === "map" ? rules.type.value : {};
        const names = ruleKeywords(keys);
        return {
          type: "object",
          additionalProperties: this.#element(field, direction, values),
          ...(Object.keys(names).length > 0 && { propertyNames: names }),
          ...keywords,
        };
      }
      case "scalar":
      case "enum":
      case "message":
        return this.#element(field, direction, rules, keywords);
      default:
        return unreachable(field);
    }
  }

  #element(
    field: DescField,
    direction: Direction,
    rules: FieldRules | undefined,
    keywords = ruleKeywords(rules),
  ): Schema {
    if (field.message !== undefined) return this.message(field.message, direction);
    if (field.enum !== undefined) return this.#enum(field.enum, rules);
    return { ...scalarSchema(field.scalar!, direction), ...keywords };
  }

  #enum(desc: DescEnum, rules: FieldRules | undefined): Schema {
    const { in: only = [], notIn = [] } = rules?.type.case === "enum" ? rules.type.value : {};
    const all = enumValues(desc);
    const left = all.filter(({ number }) => (only.length === 0 || only.includes(number)) && !notIn.includes(number));
    if (left.length < all.length) return { type: "string", enum: left.map(({ name }) => name) };
    const sentences = desc.values.map((value) => [value.name, this.#commentOf(value)] as const);
    const lines = sentences.filter(([, comment]) => comment !== "").map(([name, comment]) => `\`${name}\`: ${comment}`);
    return this.#keep(desc, "response", () => ({
      type: "string",
      ...this.#description(desc, lines),
      enum: all.map(({ name }) => name),
    }));
  }

  /** Stores a schema. A type of both requests and answers has two forms; the request's form gets a separate name. */
  #keep(desc: DescMessage | DescEnum, direction: Direction, make: () => Schema): Schema {
    const plain = desc.typeName.slice(desc.file.proto.package.length + 1) || desc.typeName;
    const name = direction === "response" || plain.endsWith("Request") ? plain : `${plain}.Input`;
    if (!this.#schemas.has(name)) {
      // Stored before it is built: a type may contain itself.
      this.#schemas.set(name, {});
      this.#schemas.set(name, make());
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #description(desc: AnyDesc, more: readonly string[]): Schema {
    const text = [this.#commentOf(desc), ...more].filter((part) => part !== "").join("\n\n");
    return text === "" ? {} : { description: text };
  }
}

function isRequired(field: DescField, direction: Direction): boolean {
  if (rulesOf(field)?.required === true) return true;
  if (direction === "request" || isAbsentIfEmpty(field)) return false;
  // A field without presence is always written, even if empty.
  return (
    field.fieldKind === "list" || field.fieldKind === "map" || field.presence === FeatureSet_FieldPresence.IMPLICIT
  );
}

/** Excludes the zero value: a required field without presence is missing at its zero value too. */
function nonZero(field: DescField, rules: FieldRules | undefined): Schema {
  if (rules?.required !== true) return {};
  if (field.fieldKind === "list") return { minItems: 1 };
  if (field.fieldKind === "map") return { minProperties: 1 };
  const isText = field.fieldKind === "scalar" && scalarSchema(field.scalar, "request").type === "string";
  return isText && field.presence === FeatureSet_FieldPresence.IMPLICIT ? { minLength: 1 } : {};
}

function oneofCondition(oneof: DescOneof, direction: Direction): Schema | undefined {
  const alternatives = oneof.fields.map(({ jsonName }) => ({ required: [jsonName] }));
  const isRequired = direction === "request" && hasOption(oneof, oneofOption) && getOption(oneof, oneofOption).required;
  const none = { not: { anyOf: alternatives } };
  return { oneOf: isRequired ? alternatives : [...alternatives, none] };
}
