/** The vault's public port: the SDK script, the card frame, its files, and POST /tokens. Nothing else answers here. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { v7 } from "uuid";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { BrowserFile, BrowserFiles } from "./browser-files.ts";
import { framePolicyHeader, loadEmbedders } from "./frame-policy.ts";
import { isHost } from "./listeners.ts";
import { isUnexpected, renderError } from "./public-error.ts";
import { type Tokenizer, tokenize } from "./tokenize.ts";

export type PublicHttp = Tokenizer & {
  readonly files: BrowserFiles;
  readonly errorsUrl: string;
  readonly logger: Logger;
};

type Method = "GET" | "POST";
type Route = {
  readonly method: Method;
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
};

// A moving address: a corrected script reaches pages within minutes.
const sdkCaching = "public, max-age=300";
// Named by content, so never another file under the same name.
const assetCaching = "public, max-age=31536000, immutable";
const locked = "default-src 'none'; frame-ancestors 'none'";

/** Answers every request of the public port, whatever comes. */
export function publicHandler(vault: PublicHttp): (request: IncomingMessage, response: ServerResponse) => void {
  const routes = routesOf(vault);
  return (request, response) => {
    const requestId = encodeId("req", v7());
    setCommonHeaders(response, requestId);
    answer(routes, request, response).catch((error: unknown) => {
      if (isUnexpected(error)) vault.logger.error({ requestId, err: error }, "a request failed");
      if (response.headersSent) return response.destroy();
      const rendered = renderError(error, { errorsUrl: vault.errorsUrl, requestId });
      // What is left of an unread body must not be taken for the next request.
      const rest = request.complete ? {} : { Connection: "close" };
      response.writeHead(rendered.status, { ...rendered.headers, ...rest, "Content-Type": "application/json" });
      response.end(rendered.body);
    });
  };
}

async function answer(
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  refuseOddHeaders(request);
  const [path = ""] = (request.url ?? "").split("?");
  const route = routes.get(path);
  if (route === undefined) throw new DomainError("not_found", "There is nothing at this path.");
  const method = request.method === "HEAD" ? "GET" : request.method;
  if (method !== route.method) {
    response.setHeader("Allow", route.method === "GET" ? "GET, HEAD" : route.method);
    throw new DomainError("method_not_allowed", "This path does not have this method.");
  }
  await route.answer(request, response);
}

function routesOf(vault: PublicHttp): ReadonlyMap<string, Route> {
  const { files } = vault;
  const routes = new Map<string, Route>([
    ["/healthz", { method: "GET", answer: async (_, response) => void response.writeHead(204).end() }],
    ["/sdk.js", fileRoute(files.sdk, sdkCaching)],
    ["/frame", { method: "GET", answer: (request, response) => answerFrame(vault, request, response) }],
    ["/tokens", { method: "POST", answer: (request, response) => answerTokens(vault, request, response) }],
  ]);
  for (const asset of files.assets) routes.set(asset.path, fileRoute(asset, assetCaching));
  return routes;
}

function fileRoute(file: BrowserFile, caching: string): Route {
  return {
    method: "GET",
    async answer(request, response) {
      response.setHeader("Cache-Control", caching);
      // The merchant's page is of another origin; scripts hold no secret.
      response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
      response.setHeader("Access-Control-Allow-Origin", "*");
      sendFile(file, request, response, 200);
    },
  };
}

async function answerFrame(vault: PublicHttp, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const query = new URLSearchParams((request.url ?? "").split("?").slice(1).join("?"));
  const embedders = await loadEmbedders(vault.grantKeys, query.get("p") ?? undefined);
  response.setHeader("Content-Security-Policy", framePolicyHeader(embedders));
  response.setHeader("Permissions-Policy", "camera=(), geolocation=(), microphone=()");
  response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
  // The answer depends on the policy and its end, so nothing in between may keep it.
  sendFile(vault.files.renderFrame(embedders), request, response, embedders.length === 0 ? 403 : 200);
}

async function answerTokens(vault: PublicHttp, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const token = await tokenize(vault, request);
  response.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify(token));
}

function sendFile(file: BrowserFile, request: IncomingMessage, response: ServerResponse, status: number): void {
  const gzip = /\bgzip\b/.test(request.headers["accept-encoding"]?.toString() ?? "");
  const bytes = gzip ? file.gzipped : file.bytes;
  response.writeHead(status, {
    "Content-Type": file.contentType,
    "Content-Length": bytes.length,
    Vary: "Accept-Encoding",
    ...(gzip && { "Content-Encoding": "gzip" }),
  });
  response.end(bytes);
}

function setCommonHeaders(response: ServerResponse, requestId: string): void {
  response.setHeader("Request-Id", requestId);
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Content-Security-Policy", locked);
  response.setHeader("Referrer-Policy", "no-referrer");
  response.setHeader("X-Content-Type-Options", "nosniff");
}

/** Node keeps the first of two Authorization lines and takes any Host: another reader in front might not. */
function refuseOddHeaders({ headers, rawHeaders }: IncomingMessage): void {
  if (!isHost(headers.host)) throw new DomainError("invalid_parameter", "The Host header is malformed.");
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  for (const single of ["host", "authorization", "content-length", "content-type"]) {
    if (names.filter((name) => name === single).length > 1) {
      throw new DomainError("duplicate_header", "A header that may occur once occurs twice.");
    }
  }
}
