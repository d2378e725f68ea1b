/**
 * CORS for the widget's calls: a preflight carries no secret, so any page may send one; the call's handler checks the
 * origin.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

// Two hours: the longest that Chromium caches a preflight's answer.
const preflightSeconds = 7200;
const requestHeaders =
  "authorization, publishable-key, content-type, connect-protocol-version, connect-timeout-ms, grpc-timeout, x-user-agent, x-grpc-web";
// gRPC-Web has the status of a refusal among the headers.
const exposedHeaders =
  "request-id, retry-after, ratelimit, ratelimit-policy, grpc-status, grpc-message, grpc-status-details-bin";

/** Sets the CORS headers for a call from a page; answers a preflight and then returns true. */
export function answerCors(request: IncomingMessage, response: ServerResponse): boolean {
  const { origin } = request.headers;
  if (typeof origin !== "string") return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "origin");
  response.setHeader("access-control-expose-headers", exposedHeaders);
  if (request.method !== "OPTIONS") return false;
  response.writeHead(204, {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": requestHeaders,
    "access-control-max-age": String(preflightSeconds),
  });
  response.end();
  return true;
}
