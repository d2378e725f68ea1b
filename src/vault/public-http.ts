/**
 * The vault's public port: the SDK script, the card frame, the page around a bank's, their files, and the frame's calls:
 * POST /tokens, POST /security-codes and POST /wallet-tokens. It serves nothing else.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { v7 } from "uuid";
import { DomainError } from "../platform/errors.ts";
import { requireSoundHead } from "../platform/http-head.ts";
import { type HttpServerParts, transportSecurityOf } from "../platform/http-server.ts";
import { encodeId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { GatewayHttp } from "../platform/outbound-http.ts";
import { meterResponse } from "../platform/request-meter.ts";
import { type FramePolicy, verifyFramePolicy } from "../platform/service-token.ts";
import type { VerificationKey } from "../platform/signed-claims.ts";
import type { BrowserFile, BrowserFiles } from "./browser-files.ts";
import { isUnexpected, renderError } from "./public-error.ts";
import { type Tokenizer, takeSecurityCode, tokenize } from "./tokenize.ts";

export type PublicHttp = Tokenizer & {
  readonly files: BrowserFiles;
  readonly errorsUrl: string;
  /** True while this process is ready for traffic. */
  readonly isReady: () => Promise<boolean>;
  /** Describes the header with a request's client address, for the doctor. */
  readonly forwardingOf: (request: IncomingMessage) => string;
  readonly logger: Logger;
  /** Fetches Google's root keys. */
  readonly http: Pick<GatewayHttp, "send">;
};

type Method = "GET" | "POST";
type Route = {
  readonly method: Method;
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
};

// The content of this address changes: a corrected script reaches pages within minutes.
const sdkCaching = "public, max-age=300";
// Named by content, so never another file under the same name.
const assetCaching = "public, max-age=31536000, immutable";
const locked = "default-src 'none'; frame-ancestors 'none'";

/** Answers every request of the public port, whatever its content. */
export function publicHandler(vault: PublicHttp): Pick<HttpServerParts, "handle" | "refuse"> {
  const routes = routesOf(vault);
  return {
    handle: (request, response) => handle(vault, routes, request, response),
    refuse: (error) => {
      vault.observer?.requests.refused(error.code);
      const requestId = encodeId("req", v7());
      const { status, headers, body } = renderError(error, { errorsUrl: vault.errorsUrl, requestId });
      return { status, headers: { ...headers, ...commonHeaders(vault, requestId) }, body };
    },
  };
}

function handle(
  vault: PublicHttp,
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const requestId = encodeId("req", v7());
  meterResponse(vault.observer?.requests, response, () => routeOf(routes, request));
  for (const [name, value] of Object.entries(commonHeaders(vault, requestId))) response.setHeader(name, value);
  answer(routes, request, response).catch((error: unknown) => {
    // The request was refused meanwhile for a malformed body, or its client has gone: the error that follows is no bug.
    if (request.destroyed && !request.complete) return;
    if (isUnexpected(error)) vault.logger.error({ requestId, err: error }, "a request failed");
    if (error instanceof DomainError) vault.observer?.requests.refused(error.code);
    if (response.headersSent) return void response.destroy();
    const rendered = renderError(error, { errorsUrl: vault.errorsUrl, requestId });
    // The rest of an unread body must not be read as the next request.
    const rest = request.complete ? {} : { Connection: "close" };
    response.writeHead(rendered.status, {
      ...rendered.headers,
      ...rest,
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(rendered.body),
    });
    response.end(rendered.body);
  });
}

/** Every route under which requests of the public port are counted, besides `other`. */
export const vaultRoutes = [
  "healthz",
  "readyz",
  "sdk.js",
  "frame",
  "authentication",
  "tokens",
  "security-codes",
  "wallet-tokens",
  "asset",
] as const;

function routeOf(routes: ReadonlyMap<string, Route>, { url = "" }: IncomingMessage): string {
  const [path = ""] = url.split("?");
  if (!routes.has(path)) return "other";
  return vaultRoutes.find((name) => path === `/${name}`) ?? "asset";
}

async function answer(
  routes: ReadonlyMap<string, Route>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  requireSoundHead(request);
  const [path = ""] = (request.url ?? "").split("?");
  const route = routes.get(path);
  if (route === undefined) throw new DomainError("not_found", "There is nothing at this path.");
  const method = request.method === "HEAD" ? "GET" : request.method;
  if (method !== route.method) {
    const allow = route.method === "GET" ? ["GET", "HEAD"] : [route.method];
    throw new DomainError("method_not_allowed", "This path does not have this method.", { allow });
  }
  await route.answer(request, response);
}

function routesOf(vault: PublicHttp): ReadonlyMap<string, Route> {
  const { files } = vault;
  // Verifying a signature costs more than all else that these requests begin with.
  const counted =
    (answer: (vault: PublicHttp, request: IncomingMessage, response: ServerResponse) => Promise<void>) =>
    async (request: IncomingMessage, response: ServerResponse) => {
      vault.callCounts.countPage(vault.clientOf(request));
      await answer(vault, request, response);
    };
  const routes = new Map<string, Route>([
    [
      "/readyz",
      {
        method: "GET",
        answer: async (request, response) => {
          response.setHeader("Forwarding", vault.forwardingOf(request));
          response.writeHead((await vault.isReady()) ? 204 : 503).end();
        },
      },
    ],
    ["/healthz", { method: "GET", answer: async (_, response) => void response.writeHead(204).end() }],
    ["/sdk.js", fileRoute(files.sdk, sdkCaching)],
    [files.frameScript.path, fileRoute(files.frameScript, assetCaching)],
    ["/frame", { method: "GET", answer: counted(answerFrame) }],
    [files.relayScript.path, fileRoute(files.relayScript, assetCaching)],
    ["/authentication", { method: "GET", answer: counted(answerRelay) }],
    ["/tokens", { method: "POST", answer: counted(answerTokens) }],
    ["/security-codes", { method: "POST", answer: counted(answerSecurityCode) }],
    ["/wallet-tokens", { method: "POST", answer: counted(answerWalletToken) }],
  ]);
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
  const { embedders } = loadPolicy(vault.grantKeys, request);
  response.setHeader(
    "Content-Security-Policy",
    policyHeader(embedders, `style-src ${vault.files.frameStyleSource}`, "connect-src 'self'"),
  );
  response.setHeader("Permissions-Policy", "camera=(), geolocation=(), microphone=()");
  response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
  // A page that requires its embedded documents to opt in refuses a frame without this header.
  response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
  // The answer depends on the policy and its expiry, so no intermediary may cache it.
  const page = vault.files.renderFrame(embedders, queryOf(request).get("l") ?? "en");
  sendFile(page, request, response, embedders.length === 0 ? 403 : 200);
}

function queryOf({ url = "" }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(url.split("?").slice(1).join("?"));
}

/**
 * Answers the page that puts the service's page with the bank's into a shop's. It has no card and no secret: it hands a
 * port on. A bank's page needs what its browser offers, so this page restricts nothing that it does not use itself.
 */
async function answerRelay(vault: PublicHttp, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { embedders, serviceOrigin } = loadPolicy(vault.grantKeys, request);
  response.setHeader("Content-Security-Policy", policyHeader(embedders, `frame-src ${serviceOrigin}`));
  response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
  sendFile(vault.files.renderRelay(embedders, serviceOrigin), request, response, embedders.length === 0 ? 403 : 200);
}

/** Origins that may embed the frame and exchange messages with it; `*` alone for any, an empty list for none. */
type Embedders = readonly string[];

/**
 * Returns the embedders and the service that the policy in a frame address names; no embedders if it is missing, forged
 * or expired. A policy without origins allows any page in test and none in live.
 */
function loadPolicy(
  keys: readonly VerificationKey[],
  request: IncomingMessage,
): { readonly embedders: Embedders; readonly serviceOrigin: string } {
  const policy = queryOf(request).get("p");
  const verified = policy === null ? undefined : verifyFramePolicy(keys, policy);
  if (verified === undefined) return { embedders: [], serviceOrigin: "'none'" };
  return { embedders: embeddersOf(verified), serviceOrigin: verified.serviceOrigin };
}

function embeddersOf({ environment, origins }: FramePolicy): Embedders {
  return origins.length === 0 && environment === "test" ? ["*"] : origins;
}

/** Returns the directive about the pages around a page; none for any page, because `*` has no page of a file in it. */
function ancestorsOf(embedders: Embedders): string[] {
  if (embedders.includes("*")) return [];
  return [`frame-ancestors ${embedders.length === 0 ? "'none'" : embedders.join(" ")}`];
}

/** Returns the Content-Security-Policy of a page: files of the vault's origin, `sources`, and no way to write HTML. */
function policyHeader(embedders: Embedders, ...sources: string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    ...sources,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    ...ancestorsOf(embedders),
  ].join("; ");
}

async function answerTokens(vault: PublicHttp, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const token = await tokenize(vault, request);
  response.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify(token));
}

async function answerSecurityCode(
  vault: PublicHttp,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await takeSecurityCode(vault, request);
  response.writeHead(204).end();
}

async function answerWalletToken(vault: PublicHttp, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // Loaded by the first one: a vault without wallets reads none of it.
  const { takeWalletToken } = await import("./wallets/wallet-tokens.ts");
  const token = await takeWalletToken(vault, request);
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

function commonHeaders({ publicOrigin }: PublicHttp, requestId: string): Record<string, string> {
  return {
    ...transportSecurityOf(publicOrigin),
    "Request-Id": requestId,
    "Cache-Control": "no-store",
    "Content-Security-Policy": locked,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
  };
}
