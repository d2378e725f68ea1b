/** The dashboard's own port: its page and its rpcs, for browsers that were sent here and for nobody else's page. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { type ConnectRouter, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { bodyBytesMax, requestTimeoutMs } from "../limits.ts";
import type { ClientAddressOf } from "../platform/client-address.ts";
import { DomainError } from "../platform/errors.ts";
import { requireSoundHead } from "../platform/http-head.ts";
import { createHttpServer } from "../platform/http-server.ts";
import { encodeId } from "../platform/ids.ts";
import { meterResponse, type RequestMeter } from "../platform/request-meter.ts";
import { type StaticFile, serveFiles } from "../platform/static-files.ts";
import { type Answer, sendAnswer } from "../transcoder/send-answer.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { requestFactsKey } from "./request-facts.ts";

/** What the server is made of. */
export type DashboardServerParts = {
  readonly entropy: DashboardParts["entropy"];
  /** As browsers see it: requests by another host name, or from another origin's page, are refused. */
  readonly origin: string;
  readonly route: (router: ConnectRouter) => void;
  /** The page's files by path; `/` is the page itself. */
  readonly files: ReadonlyMap<string, StaticFile>;
  readonly addressOf: ClientAddressOf;
  readonly isReady: () => Promise<boolean>;
  readonly meter?: RequestMeter | undefined;
  /** Words a refusal, in the edge's shape. */
  readonly renderError: (error: unknown, requestId: string) => Answer;
};

// What React Aria puts into the page for touch screens (usePress of react-aria), and not a character beside it.
const pressStyle = "'sha256-38RhXrc7EdReTKsOm23ZPOCUgniTUUcjky8QOOrQx6o='";

// The page runs its own script alone, is in nobody's frame, and sends nobody its address.
const pageHeaders = {
  "content-security-policy":
    `default-src 'none'; script-src 'self'; style-src 'self' ${pressStyle}; img-src 'self' data:; font-src 'self'; connect-src 'self'; ` +
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
} as const;

// Two years, as browsers ask of hosts that are to be known to speak TLS alone.
const transportSecurity = "max-age=63072000";

/** Makes the server; the caller listens and closes. */
export function createDashboardServer(parts: DashboardServerParts): Server {
  const { entropy, origin } = parts;
  const files = serveFiles(parts.files);
  const rpcs = connectNodeAdapter({
    routes: parts.route,
    grpc: false,
    grpcWeb: false,
    readMaxBytes: bodyBytesMax,
    contextValues: (request) =>
      createContextValues().set(requestFactsKey, {
        requestId: String(request.headers["x-request-id"]),
        address: parts.addressOf(request as IncomingMessage),
      }),
  });
  const headers: Record<string, string> = { ...pageHeaders };
  if (origin.startsWith("https:")) headers["strict-transport-security"] = transportSecurity;

  const answer = async (request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> => {
    requireSoundHead(request);
    if (await answerProbe(parts, request, response)) return;
    requireOwnHost(origin, request);
    if (request.url?.startsWith("/dashboard.v1.")) {
      requireOwnPage(origin, request);
      // For the rpcs' context; a client's own header of this name is not believed.
      request.headers["x-request-id"] = requestId;
      rpcs(request, response);
    } else if (!files(pageRequest(request), response)) {
      throw new DomainError("not_found", "There is nothing at this path.");
    }
  };

  return createHttpServer({
    requestTimeoutMs,
    handle: (request, response) => {
      const requestId = encodeId("req", entropy.uuid());
      meterResponse(parts.meter, response, () => routeOf(request.url ?? ""));
      response.setHeader("request-id", requestId);
      response.setHeader("cache-control", "no-store");
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      answer(request, response, requestId).catch((error: unknown) =>
        sendAnswer(response, parts.renderError(error, requestId)),
      );
    },
    refuse: (error) => {
      parts.meter?.refused(error.code);
      const requestId = encodeId("req", entropy.uuid());
      const { status, headers: more, body } = parts.renderError(error, requestId);
      return { status, headers: { ...headers, ...(more as Record<string, string>), "Request-Id": requestId }, body };
    },
  });
}

/** By the service that is called; everything else is the page with its files, or a probe. */
function routeOf(url: string): string {
  if (url === "/healthz" || url === "/readyz") return "probe";
  return /^\/dashboard\.v1\.(\w+)\//.exec(url)?.[1] ?? "page";
}

/** Every address of the page is the page: its script reads the rest. A name with a dot is a file. */
function pageRequest(request: IncomingMessage): IncomingMessage {
  const path = request.url?.split("?", 1)[0] ?? "";
  if (!path.startsWith("/assets/") && !/\.\w+$/.test(path)) request.url = "/";
  return request;
}

/** Balancers ask by address, not by name. */
async function answerProbe(
  { isReady }: DashboardServerParts,
  { url }: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (url !== "/healthz" && url !== "/readyz") return false;
  const isWell = url === "/healthz" || (await isReady());
  sendAnswer(response, { status: isWell ? 200 : 503, headers: {}, body: JSON.stringify({ ok: isWell }) });
  return true;
}

/** A name that leads here without being ours is a page that has its own name point at us. */
function requireOwnHost(origin: string, { headers }: IncomingMessage): void {
  if (headers.host === new URL(origin).host) return;
  throw new DomainError("not_found", "The dashboard is served under its own host name alone.");
}

/** Refuses what another site's page sends with this browser's cookie, whatever SameSite made of it. */
function requireOwnPage(origin: string, { method, headers }: IncomingMessage): void {
  if (method !== "POST") throw new DomainError("method_not_allowed", "A call is a POST.", { allow: ["POST"] });
  const site = headers["sec-fetch-site"];
  const isOwn = headers.origin === origin && (site === undefined || site === "same-origin");
  // No form and no plain script can send it without asking first.
  const isScript = headers["connect-protocol-version"] === "1";
  if (isOwn && isScript) return;
  throw new DomainError("origin_not_allowed", "The dashboard's calls come from its own page.");
}
