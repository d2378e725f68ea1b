/**
 * An emulator of an external vault of Hyperswitch's kind, written from its published API and source (each call names
 * the address): stateful, over HTTP, with its script and card form on the same port. It is not that vault.
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { GatewayHttp } from "../../../platform/outbound-http.ts";
import { confirmSession, openSession, readMethod, readSession } from "./method-sessions.ts";
import type { ProxiedRequest, VaultEmulatorOptions, VaultFault, VaultOperation, VaultRecord } from "./orders.ts";
import { type PaymentMethod, StoredCards } from "./stored-cards.ts";
import { brokenInside, type Json, objectIn, refusal, refuseStranger, type VaultAnswer } from "./vault-answer.ts";

type Call = { readonly operation: VaultOperation; readonly execute: () => Promise<VaultAnswer> };

const files: Readonly<Record<string, { name: string; contentType: string }>> = {
  "/v1/card.js": { name: "card.js", contentType: "text/javascript" },
  "/card-form": { name: "card-form.html", contentType: "text/html" },
  "/card-form.js": { name: "card-form.js", contentType: "text/javascript" },
};

const isolation = { "cross-origin-resource-policy": "cross-origin", "cross-origin-embedder-policy": "require-corp" };

export class VaultEmulator {
  readonly server: Server;
  readonly #account: VaultEmulatorOptions;
  readonly #cards = new StoredCards();
  readonly #http = new GatewayHttp();
  readonly #calls: Record<VaultOperation, number> = { session: 0, confirm: 0, read: 0, proxy: 0 };
  readonly #sessions: unknown[] = [];
  readonly #proxied: ProxiedRequest[] = [];
  #faults: { fault: VaultFault; left: number }[] = [];

  constructor(account: VaultEmulatorOptions) {
    this.#account = account;
    this.server = createServer((request, response) => void this.#serve(request, response));
  }

  setFaults(faults: readonly VaultFault[]): void {
    this.#faults = faults.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
  }

  get record(): VaultRecord {
    return { calls: this.#calls, sessions: this.#sessions, proxied: this.#proxied };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split("?")[0] ?? "/";
    const file = files[path];
    if (request.method === "GET" && file !== undefined) {
      const bytes = readFileSync(join(import.meta.dirname, "public", file.name));
      response.writeHead(200, { "content-type": file.contentType, ...isolation }).end(bytes);
      return;
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const call = this.#route(request, path, Buffer.concat(chunks).toString("utf8"));
    if (call === undefined) return send(response, refusal(404, "IR_02", "Unrecognized request URL"));
    this.#calls[call.operation]++;
    if (this.#disturb(response, call.operation, "before")) return;
    const answer = await call.execute();
    if (this.#disturb(response, call.operation, "after")) return;
    send(response, answer);
  }

  #route(request: IncomingMessage, path: string, text: string): Call | undefined {
    const { headers, method } = request;
    const body = objectIn(text);
    const ours = (operation: VaultOperation, execute: (body: Json) => VaultAnswer | Promise<VaultAnswer>): Call => ({
      operation,
      execute: async () =>
        refuseStranger(headers, this.#account) ??
        (body ? execute(body) : refusal(400, "IR_06", "Json deserialize error")),
    });
    const [, confirmed] = /^\/v1\/payment-method-sessions\/(\w+)\/confirm$/.exec(path) ?? [];
    const [, kind, read = ""] = /^\/v1\/payment-method(s|-sessions)\/(\w+)$/.exec(path) ?? [];
    if (method === "GET" && kind !== undefined) {
      const execute = async () =>
        refuseStranger(headers, this.#account) ??
        (kind === "s" ? readMethod(this.#cards, read) : readSession(this.#cards, read));
      return { operation: "read", execute };
    }
    if (method !== "POST") return undefined;
    if (confirmed !== undefined) {
      const authorization = headers.authorization ?? "";
      const call = { id: confirmed, authorization, body: body ?? {} };
      return { operation: "confirm", execute: async () => confirmSession(this.#cards, call) };
    }
    if (path === "/v1/payment-method-sessions") return ours("session", (json) => this.#open(json));
    return path === "/proxy" ? ours("proxy", (json) => this.#proxy(json)) : undefined;
  }

  #open(body: Json): VaultAnswer {
    this.#sessions.push(body);
    return openSession(this.#cards, this.#account, body);
  }

  #proxy(body: Json): VaultAnswer | Promise<VaultAnswer> {
    const request = readProxied(body);
    if (request === undefined) return refusal(400, "IR_06", "Json deserialize error");
    this.#proxied.push(request);
    return proxy(this.#http, this.#cards, request);
  }

  /** True when the call gets no further answer. */
  #disturb(response: ServerResponse, operation: VaultOperation, moment: VaultFault["moment"]): boolean {
    const armed = this.#faults.find(
      ({ fault, left }) => fault.operation === operation && fault.moment === moment && left > 0,
    );
    if (armed === undefined) return false;
    armed.left--;
    const { effect } = armed.fault;
    if (effect === "cut") response.destroy();
    else if (effect !== "hang") send(response, effect);
    return true;
  }
}

function send(response: ServerResponse, { status, body }: VaultAnswer): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** The vault's timeout for a destination (REQUEST_TIME_OUT in its source). */
const destinationTimeoutMs = 30_000;

class FieldMissing extends Error {}

/** Reads the request in a body; undefined when a field is missing or wrong. */
function readProxied(body: Json): ProxiedRequest | undefined {
  const { request_body, destination_url: url, headers, method, token, token_type: type } = body;
  const isText = typeof url === "string" && URL.canParse(url) && typeof token === "string" && typeof type === "string";
  if (!isText || request_body === undefined || method !== "POST" || typeof headers !== "object" || !headers) {
    return undefined;
  }
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return { request_body, destination_url: url, headers: named, token, token_type: type };
}

/** POST /proxy. Always sends JSON, regardless of the headers, and accepts only answers in JSON. */
async function proxy(http: GatewayHttp, cards: StoredCards, request: ProxiedRequest): Promise<VaultAnswer> {
  const found = findMethod(cards, request);
  if ("status" in found) return found;
  const { cvc } = found;
  found.cvc = undefined;
  const fields: Json = { ...found.card, ...(cvc !== undefined && { card_cvc: cvc }) };
  let body: unknown;
  try {
    body = interpolate(request.request_body, fields);
  } catch (error) {
    if (error instanceof FieldMissing) return brokenInside;
    throw error;
  }
  const reply = await http.send({
    method: "POST",
    url: request.destination_url,
    headers: { ...request.headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    timeoutMs: destinationTimeoutMs,
  });
  const response = reply.type === "answer" ? parseJson(reply.body) : undefined;
  if (reply.type !== "answer" || response === undefined) return brokenInside;
  return { status: 200, body: { response, status_code: reply.status, response_headers: reply.headers } };
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

function findMethod(cards: StoredCards, { token, token_type: type }: ProxiedRequest): PaymentMethod | VaultAnswer {
  const found = cards.find(token);
  switch (type) {
    case "volatile_payment_method_id":
      if (found?.id === token && found.session.storageType === "volatile") return found;
      return refusal(422, "IR_05", "Token is invalid or expired");
    case "payment_method_id":
      if (found?.id === token && found.session.storageType === "persistent") return found;
      return refusal(404, "HE_02", "Payment method does not exist in our records");
    default:
      return refusal(400, "IR_06", "Json deserialize error: unknown variant of token_type");
  }
}

/** A string that begins with a placeholder becomes the field, regardless of what follows (parse_token in core/proxy/utils.rs). */
function interpolate(value: unknown, fields: Json): unknown {
  if (Array.isArray(value)) return value.map((item) => interpolate(item, fields));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, interpolate(member, fields)]));
  }
  const [, name] = typeof value === "string" ? (/^\{\{\s*\$(\w+)\s*\}\}/.exec(value) ?? []) : [];
  if (name === undefined) return value;
  if (!Object.hasOwn(fields, name)) throw new FieldMissing(name);
  return fields[name];
}
