/** Describes services, methods and fields from their compiled descriptors. */
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromJson,
  getOption,
  hasOption,
  type JsonValue,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { FieldRulesSchema, field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { RoleSchema, role as roleOption } from "../../gen/dashboard/v1/role_pb.ts";
import { table } from "./output.ts";

export function describeServices(services: readonly DescService[]) {
  return { services: services.map(({ name, methods }) => ({ name, methods: methods.map((method) => method.name) })) };
}

export function serviceLines({ services }: ReturnType<typeof describeServices>): readonly string[] {
  return [
    ...services.map(({ name, methods }) => `${name}: ${methods.join(", ")}`),
    "",
    "Methods of one service, with their role: switchyard rpc SERVICE",
    "Fields of a method: switchyard rpc SERVICE/METHOD --fields",
  ];
}

export function describeMethods({ name, methods }: DescService) {
  return {
    methods: methods.map((method) => ({
      name: `${name}/${method.name}`,
      role: roleOf(method),
      request: method.input.fields.filter((field) => !isScope(field)).map(({ jsonName }) => jsonName),
    })),
  };
}

export function methodLines({ methods }: ReturnType<typeof describeMethods>): readonly string[] {
  return table(
    ["METHOD", "ROLE", "REQUEST"],
    methods.map(({ name, role, request }) => [name, role, request.join(", ") || "no field to fill in"]),
    "",
  );
}

/**
 * Returns the role that a member needs for a method. The command line calls as an operator, who may call all of them.
 */
function roleOf(method: DescMethod): string {
  const held = hasOption(method, roleOption) ? getOption(method, roleOption) : undefined;
  return (RoleSchema.values.find(({ number }) => number === held)?.name ?? "").replace("ROLE_", "").toLowerCase();
}

type FieldFacts = { readonly name: string; readonly type: string; readonly rules: readonly string[] };

export function describeFields(method: DescMethod) {
  const nested = new Set<DescMessage>();
  collect(method.input, nested);
  collect(method.output, nested);
  const required = method.input.fields.filter((field) => !isScope(field) && rulesOf(field).required === true);
  return {
    name: `${method.parent.name}/${method.name}`,
    role: roleOf(method),
    request: factsOf(method.input),
    answer: factsOf(method.output),
    messages: [...nested].map((message) => ({ name: message.name, fields: factsOf(message) })),
    example: Object.fromEntries(required.map((field) => [field.jsonName, placeholderOf(field)])),
  };
}

export function fieldLines({ name, role, request, answer, messages, example }: ReturnType<typeof describeFields>) {
  const blocks = [{ name: "Request", fields: request }, { name: "Answer", fields: answer }, ...messages];
  return [
    `${name}, for members with the role ${role} and above`,
    ...blocks.flatMap((block) => ["", `${block.name}:`, ...rowsOf(block.fields)]),
    "",
    "Example:",
    `  switchyard rpc ${name} '${JSON.stringify(example)}'`,
  ];
}

function rowsOf(fields: readonly FieldFacts[]): readonly string[] {
  const rows = fields.map(({ name, type, rules }) => [`  ${name}`, type, rules.join("; ")]);
  return rows.length === 0 ? ["  no fields"] : table(["  FIELD", "TYPE", "RULES"], rows, "");
}

/** Reports whether the command fills in the field. */
function isScope({ name }: DescField): boolean {
  return name === "merchant_id" || name === "environment";
}

function collect(message: DescMessage, into: Set<DescMessage>): void {
  for (const { message: inner } of message.fields) {
    if (inner === undefined || inner.typeName.startsWith("google.protobuf.") || into.has(inner)) continue;
    into.add(inner);
    collect(inner, into);
  }
}

function factsOf({ fields }: DescMessage): FieldFacts[] {
  return fields.map((field) => {
    // The type names an enum's values.
    const { required, ignore: _, enum: __, ...kinds } = rulesOf(field);
    const own = [
      ...(field.proto.options?.debugRedact ? ["secret: only in @FILE or on standard input"] : []),
      ...(isScope(field) ? ["filled in from the options"] : required ? ["required"] : []),
    ];
    return { name: field.jsonName, type: typeOf(field), rules: [...own, ...flat(kinds)] };
  });
}

function typeOf(field: DescField): string {
  if (field.fieldKind === "map") return "object";
  const one = singleType(field);
  return field.fieldKind === "list" ? `list of ${one}` : one;
}

function singleType({ enum: choices, message, scalar }: DescField): string {
  if (choices) {
    const names = choices.values.filter(({ number }) => number !== 0).map(({ name }) => name);
    return names.join(" | ");
  }
  if (message) return message.typeName === timestamp ? "time" : message.name;
  return scalar === ScalarType.INT64 ? "int64 in quotes" : ScalarType[scalar!].toLowerCase();
}

const timestamp = "google.protobuf.Timestamp";

type Rules = { readonly required?: boolean; readonly ignore?: string; readonly [kind: string]: unknown };

function rulesOf(field: DescField): Rules {
  return hasOption(field, fieldRules) ? (toJson(FieldRulesSchema, getOption(field, fieldRules)) as Rules) : {};
}

/** Lists the rules by their names in buf.validate; a custom rule by its sentence. */
function flat(value: unknown, name = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => flat(one, name));
  if (typeof value !== "object" || value === null) return [value === true ? name : `${name} ${String(value)}`];
  if ("message" in value) return [String(value.message)];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === "notIn" || key === "definedOnly") return [];
    return key === "in" ? [`one of ${(inner as unknown[]).join(", ")}`] : flat(inner, key);
  });
}

function placeholderOf(field: DescField): unknown {
  const one = singlePlaceholder(field);
  return field.fieldKind === "list" ? [one] : one;
}

function singlePlaceholder({ enum: choices, fieldKind, message, scalar }: DescField): unknown {
  if (choices) return choices.values.find(({ number }) => number !== 0)?.name;
  if (message?.typeName === timestamp) return "2026-11-01T08:00:00Z";
  if (message || fieldKind === "map") return {};
  if (scalar === ScalarType.STRING) return "…";
  return scalar === ScalarType.BOOL ? true : 1;
}

/** Returns why a value does not fit this field of a request, without the value; undefined if it does. */
export function misfitOf({ input }: DescMethod, name: string, value: JsonValue): string | undefined {
  try {
    fromJson(input, { [name]: value });
    return undefined;
  } catch (error) {
    // The decoder's message ends with the value.
    return / from JSON: (.*)$/s.exec((error as Error).message)?.[1] ?? "";
  }
}
