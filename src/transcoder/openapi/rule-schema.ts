/** The rules of buf.validate as JSON Schema, as far as it can express them; the field's description states the rest. */

import {
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  isFieldSet,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  BoolRulesSchema,
  type FieldRules,
  field as fieldOption,
  Ignore,
  Int64RulesSchema,
  type MapRules,
  MapRulesSchema,
  type RepeatedRules,
  RepeatedRulesSchema,
  type StringRules,
  StringRulesSchema,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { unreachable } from "../unreachable.ts";
import type { Schema } from "./value-schema.ts";

export function rulesOf(field: DescField): FieldRules | undefined {
  return hasOption(field, fieldOption) ? getOption(field, fieldOption) : undefined;
}

/** Reports whether a list is left out where it is empty: it has at least one item, unless it has its zero value. */
export function isAbsentIfEmpty(field: DescField): boolean {
  if (field.fieldKind !== "list") return false;
  const rules = rulesOf(field);
  const needsItem = rules?.type.case === "repeated" && rules.type.value.minItems > 0n;
  return needsItem && rules.ignore === Ignore.IF_ZERO_VALUE;
}

/** Returns the keywords for the value itself. Those of lists' items, maps' keys and enums are requested separately. */
export function ruleKeywords(rules: FieldRules | undefined): Schema {
  return { ...typeKeywords(rules), ...expressionKeywords(rules) };
}

function typeKeywords(rules: FieldRules | undefined): Schema {
  const type = rules?.type;
  switch (type?.case) {
    case "string":
      return stringKeywords(type.value);
    case "repeated":
      return listKeywords(type.value);
    case "map":
      return mapKeywords(type.value);
    case "bool":
      return isFieldSet(type.value, BoolRulesSchema.field.const) ? { const: type.value.const } : {};
    case "int32":
    case "int64":
    case "uint32":
    case "uint64":
    case "sint32":
    case "sint64":
    case "fixed32":
    case "fixed64":
    case "sfixed32":
    case "sfixed64":
    case "float":
    case "double":
      return numberKeywords(type.value);
    case "enum":
    case "bytes":
    case "any":
    case "duration":
    case "fieldMask":
    case "timestamp":
    case undefined:
      return {};
    default:
      return unreachable(type);
  }
}

/** Returns the messages of rules that are written as an expression, except those that a keyword expresses. */
export function ruleSentences(rules: Pick<FieldRules, "cel"> | undefined): string[] {
  const others = (rules?.cel ?? []).filter(({ expression }) => !matchExpression.test(expression));
  return others.map(({ message }) => message).filter((message) => message !== "");
}

const matchExpression = /^this\.matches\(r'([^']+)'\)$/;

/** Returns the pattern of a rule that is written as an expression because it has its own message. */
function expressionKeywords(rules: FieldRules | undefined): Schema {
  const [pattern] = (rules?.cel ?? []).flatMap(({ expression }) => matchExpression.exec(expression)?.[1] ?? []);
  return pattern === undefined ? {} : { pattern };
}

function stringKeywords(rules: StringRules): Schema {
  const { field } = StringRulesSchema;
  const length = set(rules, StringRulesSchema, field.len.localName) ? Number(rules.len) : undefined;
  const patterns = [
    set(rules, StringRulesSchema, "pattern") && rules.pattern,
    set(rules, StringRulesSchema, "prefix") && `^${literal(rules.prefix)}`,
    set(rules, StringRulesSchema, "suffix") && `${literal(rules.suffix)}$`,
    set(rules, StringRulesSchema, "contains") && literal(rules.contains),
  ].filter((pattern) => pattern !== false);
  return {
    ...(set(rules, StringRulesSchema, "minLen") && { minLength: Number(rules.minLen) }),
    ...(set(rules, StringRulesSchema, "maxLen") && { maxLength: Number(rules.maxLen) }),
    ...(length !== undefined && { minLength: length, maxLength: length }),
    ...(patterns.length === 1 && { pattern: patterns[0] }),
    ...(patterns.length > 1 && { allOf: patterns.map((pattern) => ({ pattern })) }),
    ...(set(rules, StringRulesSchema, "const") && { const: rules.const }),
    ...(rules.in.length > 0 && { enum: rules.in }),
    ...(rules.notIn.length > 0 && { not: { enum: rules.notIn } }),
    ...formatKeyword(rules),
  };
}

const formats = new Map<string | undefined, string>([
  ["email", "email"],
  ["hostname", "hostname"],
  ["ipv4", "ipv4"],
  ["ipv6", "ipv6"],
  ["uri", "uri"],
  ["uriRef", "uri-reference"],
  ["uuid", "uuid"],
]);

function formatKeyword({ wellKnown }: StringRules): Schema {
  const format = wellKnown.value === true ? formats.get(wellKnown.case) : undefined;
  return format === undefined ? {} : { format };
}

/** The common members of all number rules; one type represents them all. */
type NumberRules = {
  readonly const: number | bigint;
  readonly in: readonly (number | bigint)[];
  readonly notIn: readonly (number | bigint)[];
  readonly lessThan: { case: "lt" | "lte"; value: number | bigint } | { case: undefined; value?: undefined };
  readonly greaterThan: { case: "gt" | "gte"; value: number | bigint } | { case: undefined; value?: undefined };
};

const bounds = { lt: "exclusiveMaximum", lte: "maximum", gt: "exclusiveMinimum", gte: "minimum" } as const;

function numberKeywords(rules: NumberRules): Schema {
  const { lessThan, greaterThan } = rules;
  return {
    ...(greaterThan.case && { [bounds[greaterThan.case]]: Number(greaterThan.value) }),
    ...(lessThan.case && { [bounds[lessThan.case]]: Number(lessThan.value) }),
    ...(Object.hasOwn(rules, Int64RulesSchema.field.const.localName) && { const: Number(rules.const) }),
    ...(rules.in.length > 0 && { enum: rules.in.map(Number) }),
    ...(rules.notIn.length > 0 && { not: { enum: rules.notIn.map(Number) } }),
  };
}

function listKeywords(rules: RepeatedRules): Schema {
  return {
    ...(set(rules, RepeatedRulesSchema, "minItems") && { minItems: Number(rules.minItems) }),
    ...(set(rules, RepeatedRulesSchema, "maxItems") && { maxItems: Number(rules.maxItems) }),
    ...(rules.unique && { uniqueItems: true }),
  };
}

function mapKeywords(rules: MapRules): Schema {
  return {
    ...(set(rules, MapRulesSchema, "minPairs") && { minProperties: Number(rules.minPairs) }),
    ...(set(rules, MapRulesSchema, "maxPairs") && { maxProperties: Number(rules.maxPairs) }),
  };
}

function set<Desc extends DescMessage>(rules: MessageShape<Desc>, schema: Desc, name: string): boolean {
  return isFieldSet(rules, schema.field[name]!);
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
