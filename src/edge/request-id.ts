/** Gives every request its id and the headers that every answer carries, on both HTTP versions. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { encodeId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";

export type AnyRequest = IncomingMessage | Http2ServerRequest;
export type AnyResponse = ServerResponse | Http2ServerResponse;

const requests = new WeakMap<AnyRequest, { readonly id: string; readonly response: AnyResponse }>();

/** Names the request `req_…` and sets the headers that every answer has. Call it first. */
export function beginRequest(runtime: Runtime, request: AnyRequest, response: AnyResponse): string {
  const id = encodeId("req", runtime.uuid());
  requests.set(request, { id, response });
  response.setHeader("request-id", id);
  response.setHeader("cache-control", "no-store");
  response.setHeader("x-content-type-options", "nosniff");
  return id;
}

export function requestIdOf(request: AnyRequest): string {
  return requests.get(request)?.id ?? "";
}

/** Sets further headers on the answer to a request; has no effect once the answer is sent, as after a deadline. */
export function setAnswerHeaders(request: AnyRequest, headers: Readonly<Record<string, string>>): void {
  const response = requests.get(request)?.response;
  if (response === undefined || response.headersSent) return;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
