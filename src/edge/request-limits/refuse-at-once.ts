/**
 * Answers the widget's calls that the limits refuse, by their head alone: in a flood nearly all calls are, and each takes
 * the one thread from other customers. The answer is that of the longer way, which takes all other calls.
 */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorToJson } from "@connectrpc/connect/protocol-connect";
import { v7 } from "uuid";
import { CheckoutService } from "../../../gen/payments/v1/checkout_pb.ts";
import { requestCredentialsMax } from "../../limits.ts";
import { keepNewest } from "../../platform/caller-counts.ts";
import { requireSoundHead } from "../../platform/http-head.ts";
import { transportSecurityOf } from "../../platform/http-server.ts";
import { encodeId } from "../../platform/ids.ts";
import { findCustomer } from "../authenticate.ts";
import type { EdgeParts } from "../edge-parts.ts";
import { type ErrorStyle, toConnectError } from "../error-mapping.ts";
import { sendRefusal } from "../rpc-form.ts";
import { type Judged, limitFields, refusalError } from "./request-limits.ts";

type Headers = readonly (readonly [string, string])[];

const idBytes = 16;

type Answering = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly headers: Headers;
};

const isWeb = /^application\/grpc-web(\+proto)?$/i;
// The other two are Connect's unary calls, whose refusals are JSON in both forms.
const takenTypes = new RegExp(`${isWeb.source}|^application/(json[ \\t]*(;|$)|proto$)`, "i");
// Refusals differ in the request's id and in the wait, of at most some thousand milliseconds.
const textsMax = 2_000;

export function createRefuseAtOnce(
  { environments, runtime, clientOf, apiOrigin, style, meter }: EdgeParts,
  corsHeaders: (request: IncomingMessage) => Headers,
): ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined {
  const { typeName, methods } = CheckoutService;
  const names = new Map(methods.map(({ name }) => [`/${typeName}/${name}`, name]));
  const cells = Object.values(environments).flatMap((first) => [...(first.cells?.values() ?? [first])]);
  const limits = cells.flatMap(({ requestLimits }) => requestLimits ?? []);
  if (limits.length === 0) return undefined;
  // The refused customers, by the hash of their secret: verifying it takes longer than all the rest.
  const customers = new Map<string, NonNullable<ReturnType<typeof findCustomer>>>();
  const texts = new Map<string, (requestId: string) => string>();
  const constantHeaders = {
    ...transportSecurityOf(apiOrigin),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };

  // Bytes for many ids at once: each call for some takes longer than the rest of an id.
  let bytes: Uint8Array = new Uint8Array();
  function nextBytes(): Uint8Array {
    if (bytes.length < idBytes) bytes = runtime.randomBytes(256 * idBytes);
    const taken = bytes.subarray(0, idBytes);
    bytes = bytes.subarray(idBytes);
    return taken;
  }

  function textOf(judged: Judged): (requestId: string) => string {
    const key = String(Math.ceil(judged.verdict.waitMs));
    const known = texts.get(key);
    if (known !== undefined) return known;
    if (texts.size >= textsMax) texts.clear();
    const text = refusalText(style, judged);
    texts.set(key, text);
    return text;
  }

  function send(refused: Judged, { request, response, requestId, headers }: Answering): void {
    if (isWeb.test(request.headers["content-type"] ?? "")) {
      for (const [field, value] of headers) response.setHeader(field, value);
      sendRefusal(style, request, response, refusalError(refused), requestId);
      return;
    }
    const body = textOf(refused)(requestId);
    const lines = ["content-type", "application/json", "content-length", String(Buffer.byteLength(body))];
    for (const [field, value] of headers) lines.push(field, value);
    response.writeHead(429, lines).end(body);
  }

  return (request, response) => {
    if (!limits.some(({ isRefusing }) => isRefusing)) return false;
    const name = names.get(pathOf(request));
    if (name === undefined || !isTaken(request)) return false;
    const credential = hash("sha256", request.headers.authorization ?? "", "base64");
    const found = customers.get(credential) ?? findCustomer(environments, request.headers.authorization);
    const limit = found?.environment.requestLimits;
    const refused = limit?.refuse({ sessionId: found!.sessionId, client: clientOf(request) });
    if (refused === undefined) return false;
    keepNewest(customers, [credential, found!], requestCredentialsMax);
    meter?.refused("rate_limited");
    const end = meter?.begin();
    const requestId = encodeId("req", v7({ random: nextBytes() }));
    const fields = limitFields(refused.name, refused.limit, refused.verdict);
    const headers = [
      ...Object.entries({ ...constantHeaders, "request-id": requestId, ...fields }),
      ...corsHeaders(request),
    ];
    // The parser has handed over the head only: a body that came with it is read by then, and the connection stays.
    setImmediate(() => {
      if (!response.destroyed) send(refused, { request, response, requestId, headers });
      end?.(name, response.destroyed ? "gone" : "4xx");
    });
    return true;
  };
}

function pathOf({ url = "" }: IncomingMessage): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** Reports whether the longer way would refuse the call by its limits first. */
function isTaken(request: IncomingMessage): boolean {
  if (request.method !== "POST" || !takenTypes.test(request.headers["content-type"] ?? "")) return false;
  try {
    requireSoundHead(request);
  } catch {
    return false;
  }
  return true;
}

// This id is as long as every other, so the parts of the text can be found.
const anyId = encodeId("req", "00000000-0000-0000-0000-000000000000");

/** Returns a function that writes the error with the id of a request, which it has twice: in clear, and in the bytes of a detail. */
function refusalText(style: ErrorStyle, judged: Judged): (requestId: string) => string {
  const error = errorToJson(toConnectError(style, refusalError(judged), anyId), undefined);
  const text = JSON.stringify(error);
  const encoded = /"value":"([\w+/]+)"/.exec(text)![1]!;
  const bytes = Buffer.from(encoded, "base64");
  const at = bytes.indexOf(anyId);
  const whole = at - (at % 3);
  const [before, after] = [bytes.toString("latin1", whole, at), bytes.toString("latin1", at + anyId.length)];
  const [start, end] = text.split(encoded) as [string, string];
  const [first, second] = start.split(anyId) as [string, string];
  const unchanged = encoded.slice(0, (whole / 3) * 4);
  return (id) => `${first}${id}${second}${unchanged}${btoa(before + id + after).replace(/=+$/, "")}${end}`;
}
