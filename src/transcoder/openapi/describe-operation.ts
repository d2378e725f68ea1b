/**
 * Describes one way to call a method as an OpenAPI operation: the place of every part of the request, and the answer.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { type FieldPath, hasMembers } from "../field-path.ts";
import type { PathTemplate, PathVariable } from "../path-template.ts";
import type { Route } from "../route.ts";
import { isSingleValue } from "../scalar-value.ts";
import type { ComponentSchemas } from "./component-schemas.ts";
import { rulesOf } from "./rule-schema.ts";
import type { Schema } from "./value-schema.ts";

/** Details of an operation that annotations cannot express; the application provides them. */
export type OperationDetails = {
  /** The words under which a reference lists it; the service's name when absent. */
  readonly group?: string;
  /** A title of a few words; the comment's first sentence when absent. */
  readonly summary?: string;
  /** 200 when absent. */
  readonly successStatus?: number;
  readonly successDescription: string;
  /** Parameters beside those of the message, such as headers. */
  readonly parameters?: readonly Schema[];
  readonly successHeaders?: Schema;
  readonly links?: Schema;
  readonly security?: readonly Schema[];
  readonly requestExamples?: Schema;
  readonly responseExamples?: Schema;
  /** Responses by status, for everything but success. */
  readonly errors: Schema;
};

/** An operation and the path that it belongs to. */
export type Operation = { readonly path: string; readonly operation: Schema };

export function describeOperation(
  route: Route,
  name: string,
  comment: string,
  details: OperationDetails,
  schemas: ComponentSchemas,
): Operation {
  const { path, parameters } = writePath(route.template, (variable) => jsonName(fieldsOf(route, variable)));
  const inPath = parameters.map((parameter) => describePathParameter(parameter, route, schemas));
  const inQuery = queryFields(route).map((fields) => describeQueryParameter(fields, schemas));
  const all = [...inPath, ...inQuery, ...(details.parameters ?? [])];
  const body = describeBody(route, details, schemas);
  const operation: Schema = {
    operationId: name,
    tags: [details.group ?? route.service.name],
    ...words(comment, details.summary),
    ...(details.security && { security: details.security }),
    ...(all.length > 0 && { parameters: all }),
    ...(body && { requestBody: body }),
    responses: { [details.successStatus ?? 200]: describeSuccess(route, details, schemas), ...details.errors },
  };
  return { path, operation };
}

/** The first sentence of a comment is the summary, unless there is a better one. */
function words(comment: string, summary?: string): Schema {
  const text = comment.replaceAll(/\s*\n\s*/g, " ");
  if (text === "") return {};
  return { summary: summary ?? text.split(/\.(?: |$)/, 1)[0], description: text };
}

function fieldsOf(route: Route, variable: PathParameter["variable"]): FieldPath {
  return route.pathFields.find((each) => each.variable === variable)?.fields ?? [];
}

function describePathParameter({ name, variable, isWhole }: PathParameter, route: Route, schemas: ComponentSchemas) {
  const field = fieldsOf(route, variable).at(-1);
  const { description, ...schema } = isWhole && field ? schemas.field(field, "request") : { type: "string" };
  return { name, in: "path", required: true, ...(description !== undefined && { description }), schema };
}

function describeQueryParameter(fields: FieldPath, schemas: ComponentSchemas): Schema {
  const field = fields.at(-1)!;
  const { description, ...schema } = schemas.field(field, "request");
  const isNeeded = fields.length === 1 && rulesOf(field)?.required === true;
  return {
    name: jsonName(fields),
    in: "query",
    ...(isNeeded && { required: true }),
    ...(description !== undefined && { description }),
    schema,
  };
}

/**
 * Returns the fields that the path and the body leave, as far as a query can carry them. A recursive type is entered
 * once.
 */
function queryFields({ method, body, pathFields }: Route): FieldPath[] {
  if (body.type === "message") return [];
  const inPath = new Set(pathFields.map(({ fields }) => jsonName(fields)));
  const walk = (desc: DescMessage, before: FieldPath, around: readonly DescMessage[]): FieldPath[] =>
    desc.fields.flatMap((field) => {
      const fields = [...before, field];
      if (inPath.has(jsonName(fields)) || (body.type === "field" && fields[0] === body.field)) return [];
      if (isCarried(field)) return [fields];
      const { message } = field;
      const isEntered = field.fieldKind === "message" && hasMembers(message!) && !around.includes(message!);
      return isEntered ? walk(message!, fields, [...around, message!]) : [];
    });
  return walk(method.input, [], [method.input]);
}

function isCarried(field: DescField): boolean {
  if (field.fieldKind === "map") return false;
  return field.message === undefined || isSingleValue(field.message);
}

function describeBody({ body, method, pathFields }: Route, details: OperationDetails, schemas: ComponentSchemas) {
  if (body.type === "none") return undefined;
  const filled = pathFields.filter(({ fields }) => fields.length === 1).map(({ fields }) => fields[0]!);
  const whole = () =>
    filled.length === 0 ? schemas.message(method.input, "request") : schemas.object(method.input, "request", filled);
  const schema = body.type === "message" ? whole() : schemas.field(body.field, "request");
  // A message without a required field may be left out as a whole.
  const required = body.type === "field" || filled.length === 0 || "required" in schema;
  return { required, content: jsonContent(schema, details.requestExamples) };
}

function describeSuccess(
  { method, responseField }: Route,
  details: OperationDetails,
  schemas: ComponentSchemas,
): Schema {
  const schema = responseField ? schemas.field(responseField, "response") : schemas.message(method.output, "response");
  return {
    description: details.successDescription,
    ...(details.successHeaders && { headers: details.successHeaders }),
    ...(details.successStatus !== 204 && { content: jsonContent(schema, details.responseExamples) }),
    ...(details.links && { links: details.links }),
  };
}

function jsonContent(schema: Schema, examples: Schema | undefined): Schema {
  return { "application/json": { schema, ...(examples && { examples }) } };
}

function jsonName(fields: FieldPath): string {
  return fields.map((field) => field.jsonName).join(".");
}

/** A parameter of a path, and the variable that it fills, wholly or in part; undefined for a bare wildcard. */
type PathParameter = {
  readonly name: string;
  readonly variable: PathVariable | undefined;
  readonly isWhole: boolean;
};

/** A path such as `/v1/books/{name}` and its parameters in order. */
type PathText = { readonly path: string; readonly parameters: readonly PathParameter[] };

/** Writes a template. `nameOf` returns a variable's name; one of several segments is split into `name.1`, `name.2`. */
function writePath(template: PathTemplate, nameOf: (variable: PathVariable) => string): PathText {
  const { segments, variables, verb } = template;
  const parameters: PathParameter[] = [];
  const parts = segments.map((segment, at) => {
    if (segment.type === "literal") return encodeURI(segment.text);
    const variable = variables.find(({ start, end = segments.length }) => start <= at && at < end);
    const parameter = nameParameter(variable, segments, parameters.length, nameOf);
    parameters.push(parameter);
    return `{${parameter.name}}`;
  });
  return { path: `/${parts.join("/")}${verb === "" ? "" : `:${verb}`}`, parameters };
}

function nameParameter(
  variable: PathVariable | undefined,
  segments: PathTemplate["segments"],
  position: number,
  nameOf: (variable: PathVariable) => string,
): PathParameter {
  if (variable === undefined) return { name: `segment${position + 1}`, variable, isWhole: false };
  const captured = segments.slice(variable.start, variable.end);
  const wildcards = captured.filter(({ type }) => type !== "literal").length;
  const name = nameOf(variable);
  return {
    name: wildcards === 1 ? name : `${name}.${position + 1}`,
    variable,
    isWhole: captured.length === 1,
  };
}
