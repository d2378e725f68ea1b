/** Gives every request its id and the headers that every answer carries, on both HTTP versions. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Entropy } from "../platform/entropy.ts";
import { encodeId } from "../platform/ids.ts";

export type AnyRequest = IncomingMessage | Http2ServerRequest;
export type AnyResponse = ServerResponse | Http2ServerResponse;

const ids = new WeakMap<AnyRequest, string>();

/** Names the request `req_…` and sets Request-Id and Cache-Control on its answer. Call it first. */
export function beginRequest(entropy: Entropy, request: AnyRequest, response: AnyResponse): string {
  const id = encodeId("req", entropy.uuid());
  ids.set(request, id);
  response.setHeader("request-id", id);
  response.setHeader("cache-control", "no-store");
  return id;
}

/** The id that `beginRequest` gave. */
export function requestIdOf(request: AnyRequest): string {
  return ids.get(request) ?? "";
}
