/** Serves metrics for Prometheus, and the worker's readiness, on a port that the public need not reach. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { headersTimeoutMs, requestTimeoutMs } from "../limits.ts";
import type { RefreshFailed } from "./refreshes.ts";

export type MetricsParts = {
  readonly registry: Registry;
  /** Updates the registry before it is shown; figures that cannot be read are omitted and reported. */
  readonly refresh: (onFailed: RefreshFailed) => Promise<void>;
  /** Returns the worker's readiness, and a line of text on each part. */
  readonly readiness: () => { readonly isReady: boolean; readonly lines: readonly string[] };
  readonly reportBug: (error: unknown) => void;
  readonly reportUnread: RefreshFailed;
};

/** Creates the server without listening. It answers GET /metrics and GET /ready. */
export function createMetricsServer(parts: MetricsParts): Server {
  return createServer({ headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs }, (request, response) => {
    response.setHeader("x-content-type-options", "nosniff");
    answer(parts, request, response).catch((error: unknown) => {
      parts.reportBug(error);
      response.writeHead(503).end();
    });
  });
}

async function answer(parts: MetricsParts, request: IncomingMessage, response: ServerResponse) {
  const { registry, refresh } = parts;
  request.resume();
  if (request.method === "GET" && request.url === "/ready") {
    const { isReady, lines } = parts.readiness();
    return response.writeHead(isReady ? 200 : 503, { "content-type": "text/plain" }).end(`${lines.join("\n")}\n`);
  }
  if (request.method !== "GET" || request.url !== "/metrics") return response.writeHead(404).end();
  await refresh(parts.reportUnread);
  // The text is made before the head: once that is sent, an error could not be answered.
  const text = await registry.metrics();
  return response.writeHead(200, { "content-type": registry.contentType }).end(text);
}
