/** Holds REST answers and webhooks that tests receive to docs/openapi.json: status, headers and body, unknown members refused. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

export type ReceivedAnswer = {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly headers: Pick<Headers, "get">;
  readonly text: string;
};

type Header = { readonly required?: boolean; readonly schema: object };
type Response = {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content: { readonly "application/json": { readonly schema: object } };
};
type Webhook = { readonly post: { readonly requestBody: Response } };
type Document = {
  readonly webhooks: Readonly<Record<string, Webhook>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Record<string, Response> }>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, Header>>;
    readonly schemas: Readonly<Record<string, object>>;
  };
};

const path = join(import.meta.dirname, "../../../../docs/openapi.json");
const { paths, webhooks, components } = closeObjects(JSON.parse(readFileSync(path, "utf8"))) as Document;
const templates = Object.keys(paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

// Strict: a keyword or a format that the validator does not know is an error in the document.
const ajv = new Ajv2020({ strict: true, allErrors: true });
addFormats.default(ajv);
for (const [name, schema] of Object.entries(components.schemas)) ajv.addSchema(schema, `#/components/schemas/${name}`);
const validators = new Map<object, ValidateFunction>();

/** Throws on differences between an answer and the document. Statuses that are not listed are refused. */
export function requireDocumented(answer: ReceivedAnswer): void {
  const problems = findUndocumented(answer);
  if (problems.length === 0) return;
  const { method, target, status, text } = answer;
  throw new Error(
    `docs/openapi.json does not allow this answer to ${method} ${target}:\n${problems.join("\n")}\n${status} ${text}`,
  );
}

/** Throws the differences between a webhook's body and the document's schema for its type. */
export function requireDocumentedWebhook(body: string): void {
  const { type } = JSON.parse(body);
  const webhook = webhooks[type];
  const problems =
    webhook === undefined
      ? [`${type} is not a documented webhook`]
      : findProblems(webhook.post.requestBody.content["application/json"].schema, JSON.parse(body), "");
  if (problems.length > 0)
    throw new Error(`docs/openapi.json does not allow this webhook:\n${problems.join("\n")}\n${body}`);
}

function findUndocumented(answer: ReceivedAnswer): string[] {
  const [rawPath = ""] = answer.target.split("?", 1);
  const template = templates.find(({ pattern }) => pattern.test(rawPath))?.template;
  // These answers belong to no operation, so the document does not list them: they are errors of the common shape.
  if (template === undefined) return findWrongError(answer, 404);
  const operation = paths[template]![answer.method.toLowerCase()];
  if (operation === undefined) return findWrongError(answer, 405);
  const response = operation.responses[answer.status];
  if (response === undefined) return [`${answer.status} is not among ${Object.keys(operation.responses).join(", ")}`];
  return [
    ...Object.entries(response.headers ?? {}).flatMap(([name, { $ref }]) =>
      findWrongHeader(answer, name, $ref.split("/").at(-1)),
    ),
    ...findWrongBody(answer, response.content["application/json"].schema),
  ];
}

/** 400 too: a Host that is missing or repeated is refused before the path is read. */
function findWrongError(answer: ReceivedAnswer, expected: number): string[] {
  if (answer.status !== expected && answer.status !== 400) return [`${answer.status} instead of ${expected}`];
  return [...findWrongHeader(answer, "Request-Id"), ...findWrongBody(answer, components.schemas.Error!)];
}

/** `component` is the header's description in the document. */
function findWrongHeader({ headers }: ReceivedAnswer, name: string, component = name): string[] {
  const { required, schema } = components.headers[component]!;
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

/** Answers may grow, so the document leaves their objects open; our own tests know every current member. */
function closeObjects(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closeObjects);
  if (node === null || typeof node !== "object") return node;
  const closed = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closeObjects(value)]));
  const isOpen = closed.type === "object" && "properties" in closed && !("additionalProperties" in closed);
  return isOpen ? { ...closed, unevaluatedProperties: false } : closed;
}
