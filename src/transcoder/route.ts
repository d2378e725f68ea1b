/** An HTTP binding resolved against the descriptors: the field that every part of a request fills. */
import type { DescField, DescMessage, DescMethodUnary, DescService } from "@bufbuild/protobuf";
import type { MethodImplSpec } from "@connectrpc/connect";
import { type FieldPath, findFieldPath, hasMembers } from "./field-path.ts";
import { type HttpBinding, HttpRuleError } from "./http-rule.ts";
import { type PathTemplate, type PathVariable, parsePathTemplate } from "./path-template.ts";
import { isSingleValue } from "./scalar-value.ts";

export type UnaryImplementation = Extract<MethodImplSpec, { kind: "unary" }>["impl"];

/** A path variable and the field it fills. */
type PathField = { readonly variable: PathVariable; readonly fields: FieldPath };

/** The target of the JSON body: nothing, the whole request message, or one field of it. */
type RequestBody =
  | { readonly type: "none" }
  | { readonly type: "message" }
  | { readonly type: "field"; readonly field: DescField };

/** A way to call a method, with everything that is known at start. */
export type Route = {
  /** `*` for any. */
  readonly httpMethod: string;
  readonly template: PathTemplate;
  readonly service: DescService;
  readonly method: DescMethodUnary;
  readonly pathFields: readonly PathField[];
  readonly body: RequestBody;
  /** The field whose value is the answer; undefined for the whole response. */
  readonly responseField: DescField | undefined;
  readonly implementation: UnaryImplementation;
};

/** Resolves a binding. Throws HttpRuleError if it names what does not exist or cannot be bound. */
export function resolveRoute(
  binding: HttpBinding,
  method: DescMethodUnary,
  implementation: UnaryImplementation,
): Route {
  const template = parseTemplate(binding.path, method);
  const pathFields = template.variables.map((variable) => resolvePathField(variable, method));
  refuseRepeatedVariables(pathFields, method);
  refuseValueAsRequest(method);
  refuseAny(method.input, method);
  refuseAny(method.output, method);
  const { httpMethod } = binding;
  const body = resolveBody(binding.body, pathFields, method);
  const responseField = resolveResponseField(binding.responseBody, method);
  return { httpMethod, template, service: method.parent, method, pathFields, body, responseField, implementation };
}

function parseTemplate(path: string, method: DescMethodUnary): PathTemplate {
  try {
    return parsePathTemplate(path);
  } catch (cause) {
    throw new HttpRuleError(method, `"${path}" ${(cause as Error).message}`, { cause });
  }
}

function resolvePathField(variable: PathVariable, method: DescMethodUnary): PathField {
  const name = variable.fieldNames.join(".");
  const fields = findFieldPath(method.input, variable.fieldNames, "name");
  if (fields === undefined) {
    throw new HttpRuleError(method, `the path variable {${name}} names no field of ${method.input.typeName}`);
  }
  const field = fields.at(-1)!;
  if (field.fieldKind === "list" || field.fieldKind === "map") {
    throw new HttpRuleError(method, `the path variable {${name}} names a repeated field`);
  }
  if (field.fieldKind === "message" && !isSingleValue(field.message)) {
    throw new HttpRuleError(method, `the path variable {${name}} names a message, which no path can carry`);
  }
  return { variable, fields };
}

function refuseRepeatedVariables(pathFields: readonly PathField[], method: DescMethodUnary): void {
  const seen = new Set<string>();
  for (const { variable } of pathFields) {
    const name = variable.fieldNames.join(".");
    if (seen.has(name)) throw new HttpRuleError(method, `the path variable {${name}} stands in the path twice`);
    seen.add(name);
  }
}

function resolveBody(name: string, pathFields: readonly PathField[], method: DescMethodUnary): RequestBody {
  if (name === "") return { type: "none" };
  if (name === "*") return { type: "message" };
  const field = method.input.fields.find((each) => each.name === name);
  if (field === undefined) {
    throw new HttpRuleError(method, `body "${name}" names no top-level field of ${method.input.typeName}`);
  }
  if (pathFields.some(({ fields }) => fields.length === 1 && fields[0] === field)) {
    throw new HttpRuleError(method, `body "${name}" names a field that the path fills`);
  }
  return { type: "field", field };
}

function resolveResponseField(name: string, method: DescMethodUnary): DescField | undefined {
  if (name === "") return undefined;
  const field = method.output.fields.find((each) => each.name === name);
  if (field === undefined) {
    throw new HttpRuleError(method, `response_body "${name}" names no top-level field of ${method.output.typeName}`);
  }
  return field;
}

/**
 * Refuses a request that is a single value: path and query fill members, so the request must have some. One field of it
 * may be of any type.
 */
function refuseValueAsRequest(method: DescMethodUnary): void {
  if (!hasMembers(method.input)) {
    throw new HttpRuleError(method, `${method.input.typeName} has no members in JSON and cannot be the whole request`);
  }
}

/** Refuses google.protobuf.Any, which may hold any type, because strict JSON has no unknown types. */
function refuseAny(desc: DescMessage, method: DescMethodUnary, seen = new Set<DescMessage>()): void {
  if (seen.has(desc)) return;
  seen.add(desc);
  if (desc.typeName === "google.protobuf.Any") {
    throw new HttpRuleError(method, "google.protobuf.Any has no fixed JSON form and cannot be transcoded");
  }
  for (const field of desc.fields) if (field.message !== undefined) refuseAny(field.message, method, seen);
}
