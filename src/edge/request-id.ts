/** Gives every request its id and the headers that every answer carries, on both HTTP versions. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Entropy } from "../platform/entropy.ts";
import { encodeId } from "../platform/ids.ts";

/** A request of either HTTP version. */
export type AnyRequest = IncomingMessage | Http2ServerRequest;
/** Its answer. */
export type AnyResponse = ServerResponse | Http2ServerResponse;

const begun = new WeakMap<AnyRequest, { readonly id: string; readonly response: AnyResponse }>();

/** Names the request `req_…` and sets Request-Id and Cache-Control on its answer. Call it first. */
export function beginRequest(entropy: Entropy, request: AnyRequest, response: AnyResponse): string {
  const id = encodeId("req", entropy.uuid());
  begun.set(request, { id, response });
  response.setHeader("request-id", id);
  response.setHeader("cache-control", "no-store");
  return id;
}

/** The id that `beginRequest` gave. */
export function requestIdOf(request: AnyRequest): string {
  return begun.get(request)?.id ?? "";
}

/** Sets further headers on the answer to a request; too late for one that is on its way, as after a deadline. */
export function setAnswerHeaders(request: AnyRequest, headers: Readonly<Record<string, string>>): void {
  const response = begun.get(request)?.response;
  if (response === undefined || response.headersSent) return;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
