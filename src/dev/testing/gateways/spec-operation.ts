/** An operation of an OpenAPI file: its requests and its answers, by compiled JSON schemas. */
import type { ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "qs";
import { closeObjects, type Json, spellOutNull } from "./spec-schemas.ts";

export type SpecDocument = {
  readonly openapi: string;
  readonly servers?: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, SpecEntry>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Json>>>>;
};

type Content = Readonly<Record<string, { readonly schema?: Json }>>;
type SpecEntry = {
  readonly parameters?: readonly Json[];
  readonly requestBody?: { readonly required?: boolean; readonly content?: Content; readonly $ref?: string };
  readonly responses: Readonly<Record<string, Json>>;
};

/** A request as it was sent, with every placeholder filled. */
export type SpecRequest = {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: string;
};

const form = "application/x-www-form-urlencoded";
const json = "application/json";
const multipart = "multipart/form-data";

// Deeper and longer than any request here; qs otherwise cuts silently.
const formBounds = { depth: 10, arrayLimit: 100, parameterLimit: 1_000 };

export class Operation {
  readonly method: string;
  readonly variables: number;
  readonly #title: string;
  readonly #path: RegExp;
  readonly #entry: SpecEntry;
  readonly #document: SpecDocument;
  readonly #compile: Compile;
  #query: Json | undefined;

  private constructor(
    operation: { method: string; path: string },
    entry: SpecEntry,
    document: SpecDocument,
    compile: Compile,
  ) {
    const server = new URL(document.servers?.[0]?.url ?? "http://none/").pathname.replace(/\/$/, "");
    // PayPal's file of reporting has the server's path in its own paths too.
    const base = operation.path.startsWith(`${server}/`) ? "" : server;
    this.method = operation.method.toUpperCase();
    this.variables = operation.path.split("{").length - 1;
    this.#title = `${this.method} ${operation.path}`;
    this.#path = new RegExp(`^${base}${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    this.#entry = entry;
    this.#document = document;
    this.#compile = compile;
  }

  static allOf(name: string, document: SpecDocument): Operation[] {
    const compile = compilerOf(name, document);
    return Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, entry]) => typeof entry === "object" && "responses" in entry)
        .map(([method, entry]) => new Operation({ method, path }, entry, document, compile)),
    );
  }

  /** True if a path, without its query, is this operation's. */
  takes(pathname: string): boolean {
    return this.#path.test(pathname);
  }

  requestProblems({ contentType, body, query }: SpecRequest & { readonly query: string }): string[] {
    return [...this.#queryProblems(query), ...this.#bodyProblems(contentType, body)].map(
      (problem) => `${this.#title}: ${problem}`,
    );
  }

  answerProblems(status: number, body: string): string[] {
    const { responses } = this.#entry;
    const response = this.#resolve(responses[status] ?? responses.default ?? {});
    const schema = (response as { content?: Content }).content?.[json]?.schema;
    if (schema === undefined) return body === "" ? [] : [`${this.#title}: no body is documented for status ${status}`];
    return this.#problems(schema, parseJson(body), "answer").map((problem) => `${this.#title} ${status}: ${problem}`);
  }

  #queryProblems(query: string): string[] {
    this.#query ??= querySchema((this.#entry.parameters ?? []).map((parameter) => this.#resolve(parameter)));
    return this.#problems(this.#query, parse(query, formBounds), "form");
  }

  #bodyProblems(contentType: string | undefined, body: string): string[] {
    const described = this.#entry.requestBody;
    const content = (described?.$ref ? (this.#resolve({ $ref: described.$ref }) as typeof described) : described)
      ?.content;
    const type = contentType?.split(";")[0];
    if (body === "") return described?.required === true && this.method !== "GET" ? ["the body is missing"] : [];
    const schema = content?.[type ?? ""]?.schema;
    if (schema === undefined) return [`no body of type ${type} is documented`];
    if (type === multipart) return this.#problems(schema, parseParts(body), "form");
    return type === form
      ? this.#problems(schema, parse(body, formBounds), "form")
      : this.#problems(schema, parseJson(body), "json");
  }

  #problems(schema: Json, value: unknown, use: SchemaUse): string[] {
    const validate = this.#compile(schema, use);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || "/"} ${message} ${JSON.stringify(params)}`,
    );
  }

  #resolve(value: Json): Json {
    if (typeof value.$ref !== "string") return value;
    const [, , kind = "", name = ""] = value.$ref.split("/");
    return this.#document.components[kind]?.[name] ?? {};
  }
}

function querySchema(parameters: readonly Json[]): Json {
  const known = parameters.filter((parameter) => parameter.in === "query");
  return {
    type: "object",
    properties: Object.fromEntries(known.map(({ name, schema }) => [name, schema ?? {}])),
    required: known.filter(({ required }) => required === true).map(({ name }) => name),
    additionalProperties: false,
  };
}

/**
 * A form holds only text, so its numbers are read from text; a request's fields must be documented, an answer may have
 * others.
 */
type SchemaUse = "form" | "json" | "answer";

type Compile = (schema: Json, use: SchemaUse) => ValidateFunction;

/** Compiles each schema of a file once for each use. */
function compilerOf(name: string, document: SpecDocument): Compile {
  const made = new Map<SchemaUse, ReturnType<typeof createAjv>>();
  const compiled = new Map<SchemaUse, WeakMap<Json, ValidateFunction>>();
  return (schema, use) => {
    const known = compiled.get(use)?.get(schema);
    if (known !== undefined) return known;
    const ajv = made.get(use) ?? createAjv(name, document, use);
    made.set(use, ajv);
    const spelled = absolute(spellOutNull(schema), name);
    const validate = ajv.compile(use === "answer" ? spelled : closeObjects(spelled));
    compiled.set(use, (compiled.get(use) ?? new WeakMap<Json, ValidateFunction>()).set(schema, validate));
    return validate;
  };
}

function createAjv(name: string, document: SpecDocument, use: SchemaUse) {
  // PayPal's patterns are not valid under the u flag; the formats that these files name are notes to people.
  const options = { strict: false, allErrors: true, unicodeRegExp: false, validateFormats: false } as const;
  // The first version that can close an object whose members are defined in several places.
  const kind = document.openapi.startsWith("3.1") ? Ajv2020 : Ajv2019;
  const components = spellOutNull(document.components);
  return new kind({ ...options, coerceTypes: use === "form" }).addSchema(
    { $id: name, components: use === "answer" ? components : closeObjects(components) },
    name,
  );
}

/** References lead into the file, wherever the schema itself stands. */
function absolute(schema: Json, name: string): Json {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === "$ref" && typeof value === "string" && value.startsWith("#") ? name + value : value,
    ),
  ) as Json;
}

/** Returns the parts of a form by their names; the content of a file is left out. */
function parseParts(body: string): Json {
  const parts = body.matchAll(/name="([^"]+)"(; filename=)?.*\r\n(?:.+\r\n)*\r\n([^\r]*)/g);
  return Object.fromEntries([...parts].map(([, name = "", isFile, text]) => [name, isFile ? "" : text]));
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
