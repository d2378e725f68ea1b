/** The API reference as HTML, in three columns: the list of operations, their descriptions, and samples to try. */
import { Marked } from "marked";
import { codeSamples, languages, type SampleCall } from "./code-samples.ts";
import { escapeHtml } from "./render-guide.ts";

type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
};

type Parameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: string;
};

type Content = { readonly "application/json": { readonly schema: Schema; readonly examples?: Examples } };
type Examples = { readonly example?: { readonly value: unknown } };

type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly unknown[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
};

export type ApiDocument = {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
};

/** Schemas that are shown once, under the first operation that returns it, and linked from the others. */
const objects: Readonly<Record<string, { readonly id: string; readonly title: string; readonly group: string }>> = {
  PaymentSession: { id: "session-object", title: "The session", group: "Payment sessions" },
  Refund: { id: "refund-object", title: "The refund", group: "Refunds" },
  Dispute: { id: "dispute-object", title: "The dispute", group: "Disputes" },
  PaymentMethod: { id: "stored-card-object", title: "The stored card", group: "Stored cards" },
  Agreement: { id: "agreement-object", title: "The agreement", group: "Agreements" },
  LedgerEntry: { id: "entry-object", title: "The ledger entry", group: "Ledger" },
};

const sampleValues: Readonly<Record<string, string>> = {
  sessionId: "ps_01m7yf98y0eht817q13cv6rysk",
  refundId: "ref_01m7zd2q5c9e3h7k1n5r8t2w4y",
  disputeId: "dsp_01m7yf98y0ffn9t7q13cv6rysk",
  paymentMethodId: "pm_01m7yfb3k5m7p9r1t3v5x7z9b1",
  agreementId: "agr_01m7yf98y0fht417q13cv6rysk",
  day: "2026-03-04",
  orderRef: "order-1042",
};

// A payment is created and read before it is captured, evidence is prepared before it is submitted, and lists come last.
const order = [
  ...["createPayment", "createRefund", "createSetup", "get", "capture", "charge", "create"],
  ...["add", "submit", "accept", "cancel", "delete", "list"],
];
const placeOf = ({ operationId }: Operation) => order.findIndex((verb) => operationId.startsWith(verb));

const marked = new Marked({ renderer: { html: ({ text }) => escapeHtml(text) } });

export function apiCalls(document: ApiDocument): SampleCall[] {
  const renderer = new Renderer(document);
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => renderer.call(path, method.toUpperCase(), operation)),
  );
}

/** Returns the contents of the page, and the list of its sections. */
export function renderApi(document: ApiDocument): string {
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const renderer = new Renderer(document);
  const groups = document.tags.map(({ name, description }) => {
    const inGroup = calls
      .filter(({ operation }) => operation.tags[0] === name)
      .toSorted((one, other) => placeOf(one.operation) - placeOf(other.operation));
    const operations = inGroup.map(({ path, method, operation }) => ({
      id: operation.operationId,
      title: operation.summary,
      html: renderer.operation(path, method, operation),
    }));
    const shown = Object.entries(objects).flatMap(([schema, { id, title, group }]) =>
      group === name ? [{ id, title, html: renderer.object(schema, id, title) }] : [],
    );
    const webhooks = Object.entries(document.webhooks).flatMap(([type, { post }]) =>
      post.tags[0] === name ? [{ id: post.operationId, title: post.summary, html: renderer.webhook(type, post) }] : [],
    );
    const parts = [...operations, ...shown, ...webhooks];
    const id = anchorOf(name);
    const endpoints = inGroup.map(
      ({ path, method, operation }) =>
        `<li><a href="#${operation.operationId}">${verb(method)} <code>${escapeHtml(path)}</code></a></li>`,
    );
    const list =
      endpoints.length > 0 ? `<ul class="endpoints">${endpoints.join("\n")}</ul>` : renderer.webhookHeaders();
    return {
      id,
      name,
      parts,
      html: `<section class="group" aria-labelledby="${id}">
<div class="row"><div><h2 id="${id}">${escapeHtml(name)}</h2>${renderer.prose(description)}</div><div class="side">${list}</div></div>
${parts.map(({ html }) => html).join("\n")}
</section>`,
    };
  });
  const contents = groups.map(
    ({ id, name, parts }) =>
      `<h2><a href="#${id}">${escapeHtml(name)}</a></h2>
<ul>${parts.map((part) => `<li><a href="#${part.id}">${escapeHtml(part.title)}</a></li>`).join("\n")}</ul>`,
  );
  return `<div class="reference">
<main id="main">
<section class="row"><div><h1>API reference</h1>${renderer.prose(document.info.description)}</div>
<div class="side">${keyField("Test key", "Kept in this page only, and sent only to this installation.")}
<p class="note" id="live-key" role="alert" hidden>Nothing was sent. This page sends test keys only: a live key has no place in a browser.</p></div></section>
${groups.map(({ html }) => html).join("\n")}
</main>
<nav id="contents" aria-label="API reference">${contents.join("\n")}</nav></div>`;
}

const anchorOf = (name: string) => name.toLowerCase().replaceAll(" ", "-");
const verb = (method: string) => `<span class="verb ${method.toLowerCase()}">${method}</span>`;
const keyField = (label: string, hint: string) =>
  `<label class="key">${label}<input type="password" autocomplete="off" spellcheck="false" placeholder="switchyard_test_sk_…"></label><p class="hint">${hint}</p>`;

class Renderer {
  readonly #document: ApiDocument;
  readonly #values: ReadonlySet<string>;

  constructor(document: ApiDocument) {
    this.#document = document;
    this.#values = new Set(Object.values(document.components.schemas).flatMap((schema) => schema.enum ?? []));
  }

  prose(text: string): string {
    return marked.parse(this.#named(text), { async: false });
  }

  call(path: string, method: string, operation: Operation): SampleCall {
    return sampleCall(path, method, operation, this.#parameters(operation));
  }

  operation(path: string, method: string, operation: Operation): string {
    const parameters = this.#parameters(operation);
    const lists = (["path", "query", "header"] as const).map((place) => {
      const shown = parameters.filter((parameter) => parameter.in === place);
      const items = shown.map(({ name, schema, description, required }) =>
        this.#field(name, { ...schema, ...(description !== undefined && { description }) }, required === true, true),
      );
      const title = { path: "Path", query: "Query", header: "Header" }[place];
      return shown.length === 0 ? "" : `<h4>${title}</h4><ul class="fields">${items.join("\n")}</ul>`;
    });
    const body = operation.requestBody?.content["application/json"];
    const inBody =
      body &&
      withoutFields(
        this.#resolve(body.schema),
        parameters.map(({ name }) => name),
      );
    const [[status, success], ...failures] = Object.entries(operation.responses) as [
      [string, Operation["responses"][string]],
      ...[string, Operation["responses"][string]][],
    ];
    const answer = success.content?.["application/json"];
    const call = sampleCall(path, method, operation, parameters);
    return this.#row(
      operation.operationId,
      operation.summary,
      `<p class="address">${verb(method)} <code>${escapeHtml(path)}</code></p>
${this.prose(operation.description)}
${lists.join("\n")}
${inBody ? `<h4>Body</h4>${this.#fields(inBody, true)}` : ""}
<h4>Returns</h4>${this.prose(success.description)}${answer ? this.#returned(answer.schema) : ""}
<h4>Errors</h4>${errorList(failures)}`,
      `${samples(call)}
${tryForm(path, method, call, parameters)}
${example(`Response ${status}`, answer?.examples)}`,
    );
  }

  object(schema: string, id: string, title: string): string {
    const resolved = this.#document.components.schemas[schema]!;
    const answers = Object.values(this.#document.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ responses }) => Object.values(responses)),
    );
    const shown = answers
      .map(({ content }) => content?.["application/json"])
      .find((json) => json?.schema.$ref?.endsWith(`/${schema}`));
    return this.#row(
      id,
      title,
      `${this.prose(resolved.description ?? "")}${this.#fields(resolved, false)}`,
      example(title, shown?.examples),
    );
  }

  webhook(type: string, operation: Operation): string {
    return this.#row(
      operation.operationId,
      operation.summary,
      `<p class="address">${verb("POST")} <code>${escapeHtml(type)}</code></p>${this.prose(operation.description)}`,
      `<p><a href="/docs/webhook-events#${type.replace(".", "")}">Example body of <code>${escapeHtml(type)}</code></a></p>`,
    );
  }

  /** The headers and the envelope that all webhooks have. */
  webhookHeaders(): string {
    const [first] = Object.values(this.#document.webhooks);
    const parameters = first === undefined ? [] : this.#parameters(first.post);
    const items = parameters.map(({ name, description, schema }) =>
      this.#field(name, { ...schema, description: description ?? "" }, false, false),
    );
    const data = (name: string) =>
      this.#fields(
        withoutFields(
          this.#document.components.schemas[name]!,
          Object.keys(this.#document.components.schemas.PaymentSession?.properties ?? {}),
        ),
        false,
      );
    return `<h4>Header</h4><ul class="fields">${items.join("\n")}</ul>
<h4>Body</h4><ul class="fields">${["id", "type", "timestamp", "environment"].map((name) => this.#field(name, { type: "string", description: envelope[name]! }, false, false)).join("\n")}
<li>${fieldHead("data", "object", false)}<p>The <a href="#session-object">session</a> as it was when the event was written, without the customer's data, and:</p>${data("SessionEventData")}</li></ul>`;
  }

  #row(id: string, title: string, left: string, right: string): string {
    return `<section class="row operation" aria-labelledby="${id}"><div><h3 id="${id}"><a class="anchor" href="#${id}">${escapeHtml(title)}</a></h3>
${left}</div><div class="side">${right}</div></section>`;
  }

  #parameters({ parameters = [] }: Operation): Parameter[] {
    return parameters.map((parameter) =>
      "$ref" in parameter ? this.#document.components.parameters[nameOf(parameter.$ref)]! : parameter,
    );
  }

  #resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    const { $ref, ...own } = schema;
    const named = this.#document.components.schemas[nameOf($ref)]!;
    // The two descriptions differ: the field's gives its purpose, the type's the meaning of its values.
    const description = [own.description, named.enum && named.description].filter(Boolean).join("\n\n");
    return { ...named, ...own, description };
  }

  #returned(schema: Schema): string {
    const { $ref } = schema;
    const object = $ref === undefined ? undefined : objects[nameOf($ref)];
    if (object !== undefined) return `<p>See <a href="#${object.id}">${object.title.toLowerCase()}</a>.</p>`;
    return this.#fields(this.#resolve(schema), false);
  }

  #fields(schema: Schema, isSent: boolean): string {
    const items = Object.entries(schema.properties ?? {}).map(([name, field]) =>
      this.#field(name, field, isSent && (schema.required?.includes(name) ?? false), isSent),
    );
    return items.length === 0 ? "" : `<ul class="fields">${items.join("\n")}</ul>`;
  }

  #field(name: string, given: Schema, required: boolean, isSent: boolean): string {
    const inner = given.items ?? given;
    const schema = this.#resolve(given);
    const object = inner.$ref === undefined ? undefined : objects[nameOf(inner.$ref)];
    const members = this.#resolve(inner);
    const nested =
      members.properties === undefined || object !== undefined
        ? ""
        : `<details><summary>Fields of <code>${escapeHtml(name)}</code></summary>${this.#fields(members, isSent)}</details>`;
    const link = object ? `<p>See <a href="#${object.id}">${object.title.toLowerCase()}</a>.</p>` : "";
    const rule = [describeBounds(schema)].filter(Boolean).map((text) => `<p class="hint">${text}</p>`);
    return `<li>${fieldHead(name, typeOf(schema, members), required)}${this.prose(schema.description ?? "")}${rule.join("")}${link}${nested}</li>`;
  }

  /** Marks the names of fields and values in a comment as code. */
  #named(text: string): string {
    return text.replaceAll(/(?<![`\w/.#-])(?:[a-z]+[A-Z]\w*|[A-Z][A-Z_]{2,}|[a-z]+(?:_[a-z]+)+)(?![`\w])/g, (word) =>
      /^[A-Z]+$/.test(word) && !this.#values.has(word) ? word : `\`${word}\``,
    );
  }
}

const envelope: Readonly<Record<string, string>> = {
  id: "Names the event. Process each once.",
  type: "One of the types below.",
  timestamp: "When it happened.",
  environment: "`test` or `live`.",
};

const nameOf = (ref: string) => ref.split("/").at(-1)!;

function withoutFields(schema: Schema, names: readonly string[]): Schema {
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !names.includes(name));
  return { ...schema, properties: Object.fromEntries(properties) };
}

function fieldHead(name: string, type: string, required: boolean): string {
  return `<code class="field">${escapeHtml(name)}</code> <span class="type">${type}</span>${required ? ' <span class="needed">required</span>' : ""}`;
}

function typeOf(schema: Schema, members: Schema): string {
  if (schema.items) return `list of ${members.properties ? "objects" : "strings"}`;
  if (schema.enum) return "enum";
  if (schema.format === "date-time") return "time";
  return typeof schema.additionalProperties === "object" ? "map of strings" : (schema.type ?? "object");
}

function describeBounds({ enum: values, minLength, maxLength, minimum, maximum, format }: Schema): string {
  if (values) return values.map((value) => `<code>${escapeHtml(value)}</code>`).join(" ");
  if (maxLength !== undefined)
    return `${minLength === undefined ? "At most" : `${minLength} to`} ${maxLength} characters.`;
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}.`;
  return format === "date-time" ? "RFC 3339, in UTC." : "";
}

/** Each code leads to its section of the page of errors. */
function errorList(failures: readonly (readonly [string, { readonly description: string }])[]): string {
  const rows = failures.map(([status, { description }]) => {
    const codes = [...description.matchAll(/`(\w+)`:/g)].map(
      ([, name]) => `<a href="/docs/errors#${name}"><code>${name}</code></a>`,
    );
    return `<li><span class="status">${status}</span> <span>${codes.join(" ")}</span></li>`;
  });
  return `<ul class="errors">${rows.join("\n")}</ul>`;
}

function sampleCall(path: string, method: string, operation: Operation, parameters: readonly Parameter[]): SampleCall {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => sampleValues[name]!);
  const inQuery = parameters.filter((parameter) => parameter.in === "query" && parameter.name in sampleValues);
  const query = inQuery.map(({ name }) => `${name}=${sampleValues[name]}`).join("&");
  const headers = parameters.filter((parameter) => parameter.in === "header");
  const body = operation.requestBody?.content["application/json"].examples?.example?.value;
  return {
    method,
    path: query === "" ? filled : `${filled}?${query}`,
    needsKey: operation.security.length > 0,
    headers: Object.fromEntries(headers.map(({ name, example }) => [name, example!])),
    ...(body !== undefined && { body }),
  };
}

function samples(call: SampleCall): string {
  const inEach = codeSamples(call);
  const tabs = languages.map((language) => `<button type="button" data-language="${language}">${language}</button>`);
  const blocks = languages.map((language) => `<div class="in" data-in="${language}">${code(inEach[language])}</div>`);
  return `<figure class="sample"><figcaption class="languages">${tabs.join("")}</figcaption>${blocks.join("\n")}</figure>`;
}

function example(title: string, examples: Examples | undefined): string {
  const { value } = examples?.example ?? {};
  if (value === undefined) return "";
  return `<figure class="sample"><figcaption>${title}</figcaption>${code(JSON.stringify(value, undefined, 2))}</figure>`;
}

/** Code that a keyboard can scroll, with strings and names of fields in colour. */
function code(text: string): string {
  const painted = escapeHtml(text).replaceAll(
    /&quot;(?:(?!&quot;|\n).)*&quot;(:?)/g,
    (string, colon: string) =>
      `<span class="${colon ? "k" : "s"}">${string.slice(0, string.length - colon.length)}</span>${colon}`,
  );
  return `<pre tabindex="0"><code>${painted}</code></pre>`;
}

/** A form that reference.js sends; without a script it is not shown. */
function tryForm(path: string, method: string, call: SampleCall, parameters: readonly Parameter[]): string {
  const fields = parameters.map(({ name, in: place, example, required }) => {
    const value = place === "header" ? example : sampleValues[name];
    const shown = value === undefined || place === "path" ? "" : ` value="${escapeHtml(value)}"`;
    return `<label>${escapeHtml(name)}<input name="${escapeHtml(name)}" data-place="${place}" autocomplete="off"${shown}${required ? " required" : ""}></label>`;
  });
  const body =
    call.body === undefined
      ? ""
      : `<label>Body<textarea name="body" rows="8" spellcheck="false">${escapeHtml(JSON.stringify(call.body, undefined, 2))}</textarea></label>`;
  return `<details class="try"><summary>Try it</summary><form data-method="${method}" data-path="${escapeHtml(path)}">
${call.needsKey ? keyField("Test key", "") : ""}
${fields.join("\n")}
${body}
<button type="submit">Send</button>
<div class="answer" role="status"></div></form></details>`;
}
