/** Holds every REST answer that a test receives to docs/openapi.json: status, headers and body, unknown members refused. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** An answer, and the request's method and target that it was given to. */
export type ReceivedAnswer = {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly headers: Pick<Headers, "get">;
  readonly text: string;
};

type Header = { readonly required?: boolean; readonly schema: object };
type Response = {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content: { readonly "application/json": { readonly schema: object } };
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Record<string, Response> }>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, Header>>;
    readonly schemas: Readonly<Record<string, object>>;
  };
};

const path = join(import.meta.dirname, "..", "..", "..", "docs", "openapi.json");
const { paths, components } = closeObjects(JSON.parse(readFileSync(path, "utf8"))) as Document;
const templates = Object.keys(paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

// Strict: a keyword or a format that the validator does not know is a mistake of the document.
const ajv = new Ajv2020({ strict: true, allErrors: true });
addFormats.default(ajv);
for (const [name, schema] of Object.entries(components.schemas)) ajv.addSchema(schema, `#/components/schemas/${name}`);
const validators = new Map<object, ValidateFunction>();

/** Throws what an answer has that the document does not promise, or the other way round. Statuses not listed are refused. */
export function requireDocumented(answer: ReceivedAnswer): void {
  const problems = findUndocumented(answer);
  if (problems.length === 0) return;
  const { method, target, status, text } = answer;
  throw new Error(
    `docs/openapi.json does not allow this answer to ${method} ${target}:\n${problems.join("\n")}\n${status} ${text}`,
  );
}

function findUndocumented(answer: ReceivedAnswer): string[] {
  const [rawPath = ""] = answer.target.split("?", 1);
  const template = templates.find(({ pattern }) => pattern.test(rawPath))?.template;
  // No operation answers these, so that the document has no place for them: they are errors of the common shape.
  if (template === undefined) return findWrongError(answer, 404);
  const operation = paths[template]![answer.method.toLowerCase()];
  if (operation === undefined) return findWrongError(answer, 405);
  const response = operation.responses[answer.status];
  if (response === undefined) return [`${answer.status} is not among ${Object.keys(operation.responses).join(", ")}`];
  return [
    ...Object.keys(response.headers ?? {}).flatMap((name) => findWrongHeader(answer, name)),
    ...findWrongBody(answer, response.content["application/json"].schema),
  ];
}

/** 400 too: a Host that is missing or comes twice is refused before the path is looked at. */
function findWrongError(answer: ReceivedAnswer, expected: number): string[] {
  if (answer.status !== expected && answer.status !== 400) return [`${answer.status} where only ${expected} can come`];
  return [...findWrongHeader(answer, "Request-Id"), ...findWrongBody(answer, components.schemas.Error!)];
}

function findWrongHeader({ headers }: ReceivedAnswer, name: string): string[] {
  const { required, schema } = components.headers[name]!;
  const value = headers.get(name);
  if (value === null) return required ? [`${name} is missing`] : [];
  return findProblems(schema, value, name);
}

function findWrongBody({ headers, text }: ReceivedAnswer, schema: object): string[] {
  const type = headers.get("content-type");
  return type === "application/json" ? findProblems(schema, JSON.parse(text), "") : [`the content type is ${type}`];
}

function findProblems(schema: object, value: unknown, name: string): string[] {
  const validate = validators.get(schema) ?? ajv.compile(schema);
  validators.set(schema, validate);
  if (validate(value)) return [];
  return validate.errors!.map(
    ({ instancePath, message, params }) => `${name}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** Answers may grow, so the document leaves their objects open; our own tests know every member that there is today. */
function closeObjects(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closeObjects);
  if (node === null || typeof node !== "object") return node;
  const closed = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closeObjects(value)]));
  const isOpen = closed.type === "object" && "properties" in closed && !("additionalProperties" in closed);
  return isOpen ? { ...closed, unevaluatedProperties: false } : closed;
}
