/** Writes the OpenAPI 3.1 document of annotated services (https://spec.openapis.org/oas/v3.1.1.html). */
import type { AnyDesc, DescMessage, DescMethod, DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { readHttpBindings } from "../http-rule.ts";
import { resolveRoute } from "../route.ts";
import { type CommentOf, ComponentSchemas } from "./component-schemas.ts";
import { describeOperation, type Operation, type OperationDetails } from "./describe-operation.ts";
import type { Schema } from "./value-schema.ts";

export type ApiDescription = {
  readonly info: Schema;
  readonly servers: readonly Schema[];
  readonly services: readonly DescService[];
  /** Descriptors of generated code have lost their comments; those of `buf build` have them. */
  readonly commentOf: CommentOf;
  readonly detailsOf: (method: DescMethod) => OperationDetails;
  /** The words for a service; its name when absent. */
  readonly groupOf?: (service: DescService) => string;
  /** Components beside the messages: security schemes, headers, examples, schemas of errors. */
  readonly components: Readonly<Record<string, Schema>>;
};

// A path item has no place for other methods; such a binding is served all the same, and not described.
const describable = new Set(["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH"]);

/** Describes every method that has a google.api.http rule. Throws HttpRuleError for a wrong one. */
export function describeApi(api: ApiDescription): Schema {
  const commentOf = inJsonNames(api);
  const groupOf = api.groupOf ?? (({ name }: DescService) => name);
  const schemas = new ComponentSchemas(commentOf);
  const paths = new Map<string, Record<string, Schema>>();
  for (const method of api.services.flatMap((service) => service.methods)) {
    for (const [at, binding] of readHttpBindings(method).entries()) {
      if (method.methodKind !== "unary" || !describable.has(binding.httpMethod)) continue;
      const name = at === 0 ? method.localName : `${method.localName}${at + 1}`;
      const route = resolveRoute(binding, method as DescMethodUnary, describedOnly);
      const details = { group: groupOf(method.parent), ...api.detailsOf(method) };
      const described = describeOperation(route, name, commentOf(method), details, schemas);
      const { path, operation } = onSharedPath(described, paths.keys());
      paths.set(path, { ...paths.get(path), [binding.httpMethod.toLowerCase()]: operation });
    }
  }
  return {
    openapi: "3.1.1",
    info: api.info,
    servers: api.servers,
    tags: api.services.map((service) => ({ name: groupOf(service), description: commentOf(service) })),
    paths: Object.fromEntries(paths),
    components: { ...api.components, schemas: { ...schemas.byName(), ...api.components.schemas } },
  };
}

const placeholder = /\{([^}]*)\}/g;

/**
 * Merges paths that differ only in the names of their parameters, which are one path to OpenAPI: the first one names
 * them.
 */
function onSharedPath(described: Operation, known: Iterable<string>): Operation {
  const shapeOf = (path: string) => path.replaceAll(placeholder, "{}");
  const path = [...known].find((each) => shapeOf(each) === shapeOf(described.path));
  if (path === undefined || path === described.path) return described;
  const names = [...path.matchAll(placeholder)].map(([, name]) => name);
  const rename = (parameter: Schema) => (parameter.in === "path" ? { ...parameter, name: names.shift() } : parameter);
  const parameters = (described.operation.parameters as readonly Schema[]).map(rename);
  return { path, operation: { ...described.operation, parameters } };
}

/** A placeholder implementation: a described route is not called. */
function describedOnly(): never {
  throw new Error("a described route is not served");
}

/** Replaces field names of the .proto file in comments by their JSON names. */
function inJsonNames({ services, commentOf }: ApiDescription): CommentOf {
  const names = new Map<string, string>();
  const seen = new Set<DescMessage>();
  const collect = (desc: DescMessage): void => {
    if (seen.has(desc)) return;
    seen.add(desc);
    for (const field of desc.fields) {
      names.set(field.name, field.jsonName);
      if (field.message !== undefined) collect(field.message);
    }
  };
  for (const { input, output } of services.flatMap((service) => service.methods)) [input, output].forEach(collect);
  const renamed = (word: string) => names.get(word) ?? word;
  return (desc: AnyDesc) => commentOf(desc).replaceAll(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, renamed);
}
