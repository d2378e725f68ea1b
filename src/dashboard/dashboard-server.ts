/** The dashboard's own port: its page and its rpcs, for browsers on its own origin only. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Code, ConnectError, type ConnectRouter, createConnectRouter, createContextValues } from "@connectrpc/connect";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { DisputeService } from "../../gen/dashboard/v1/disputes_pb.ts";
import { bodyBytesMax, fileBodiesMax, fileBodyBytesMax, requestTimeoutMs } from "../limits.ts";
import type { ClientAddressOf } from "../platform/client-address.ts";
import { DomainError } from "../platform/errors.ts";
import { createFileBodies } from "../platform/file-bodies.ts";
import { requireSoundHead } from "../platform/http-head.ts";
import { createHttpServer, transportSecurityOf } from "../platform/http-server.ts";
import { encodeId } from "../platform/ids.ts";
import { meterResponse, type RequestMeter } from "../platform/request-meter.ts";
import { type StaticFile, serveFiles } from "../platform/static-files.ts";
import { decodeJsonMessage } from "../transcoder/connect-json.ts";
import { checkBodyHeaders, readBody } from "../transcoder/request-body.ts";
import { type Answer, sendAnswer } from "../transcoder/send-answer.ts";
import type { CompanyDoor } from "./company-sign-in/door.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { requestFactsKey } from "./request-facts.ts";

export type DashboardServerParts = {
  readonly runtime: DashboardParts["runtime"];
  /** The origin as browsers see it; requests with another host name, or from another origin's page, are refused. */
  readonly origin: string;
  readonly route: (router: ConnectRouter) => void;
  /** The page's files by path; `/` is the page itself. */
  readonly files: ReadonlyMap<string, StaticFile>;
  readonly addressOf: ClientAddressOf;
  /** Answers what identity providers send. */
  readonly companyDoor?: CompanyDoor | undefined;
  readonly isReady: () => Promise<boolean>;
  readonly meter?: RequestMeter | undefined;
  /** Renders an error in the edge's shape. */
  readonly renderError: (error: unknown, requestId: string) => Answer;
};

// The style that React Aria adds for touch screens (usePress of react-aria); the hash allows exactly that.
const pressStyle = "'sha256-38RhXrc7EdReTKsOm23ZPOCUgniTUUcjky8QOOrQx6o='";

// The page runs only its own script, cannot be framed, and sends no referrer.
const pageHeaders = {
  "content-security-policy":
    `default-src 'none'; script-src 'self'; style-src 'self' ${pressStyle}; img-src 'self' data:; font-src 'self'; connect-src 'self'; ` +
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
} as const;

export function createDashboardServer(parts: DashboardServerParts): Server {
  const { runtime, origin } = parts;
  const files = serveFiles(parts.files);
  const call = createCalls(parts);
  const headers: Record<string, string> = { ...pageHeaders, ...transportSecurityOf(origin) };

  const answer = async (request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> => {
    requireSoundHead(request);
    if (await answerProbe(parts, request, response)) return;
    requireOwnHost(origin, request);
    if (request.url?.startsWith("/dashboard.v1.")) {
      requireOwnPage(origin, request);
      await call(request, response, requestId);
    } else if (await parts.companyDoor?.(request, response, { requestId, address: parts.addressOf(request) })) {
      return;
    } else if (!files(pageRequest(request), response)) {
      throw new DomainError("not_found", "There is nothing at this path.");
    }
  };

  return createHttpServer({
    requestTimeoutMs,
    handle: (request, response) => {
      const requestId = encodeId("req", runtime.uuid());
      meterResponse(parts.meter, response, () => routeOf(request.url ?? ""));
      response.setHeader("request-id", requestId);
      response.setHeader("cache-control", "no-store");
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      answer(request, response, requestId).catch((error: unknown) => {
        // The request was refused because its body is not valid HTTP, or the client disconnected: a later failure is no bug.
        if (request.destroyed && !request.complete) return;
        sendAnswer(response, parts.renderError(error, requestId));
      });
    },
    refuse: (error) => {
      parts.meter?.refused(error.code);
      const requestId = encodeId("req", runtime.uuid());
      const { status, headers: more, body } = parts.renderError(error, requestId);
      return { status, headers: { ...headers, ...(more as Record<string, string>), "Request-Id": requestId }, body };
    },
  });
}

/** Returns the called service; everything else is the page with its files, or a probe. */
function routeOf(url: string): string {
  if (url === "/healthz" || url === "/readyz") return "probe";
  return /^\/dashboard\.v1\.(\w+)\//.exec(url)?.[1] ?? "page";
}

/** Serves the page at every address without a dot: its script reads the rest. A name with a dot is a file. */
function pageRequest(request: IncomingMessage): IncomingMessage {
  const path = request.url?.split("?", 1)[0] ?? "";
  if (!path.startsWith("/assets/") && !/\.\w+$/.test(path)) request.url = "/";
  return request;
}

/** Answers a probe. Load balancers call by IP address, so the host name is not checked. */
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

/** Refuses other host names: another site's name could be pointed at this server (DNS rebinding). */
function requireOwnHost(origin: string, { headers }: IncomingMessage): void {
  if (headers.host === new URL(origin).host) return;
  throw new DomainError("not_found", "The dashboard is served only under its own host name.");
}

/** Refuses requests that another site's page sends with this browser's cookie, whatever SameSite allowed. */
function requireOwnPage(origin: string, { method, headers }: IncomingMessage): void {
  if (method !== "POST")
    throw new DomainError("method_not_allowed", "Send this call as a POST request.", { allow: ["POST"] });
  const site = headers["sec-fetch-site"];
  const isOwn = headers.origin === origin && (site === undefined || site === "same-origin");
  // A form cannot send this header, and a script of another origin needs a preflight.
  const isScript = headers["connect-protocol-version"] === "1";
  if (isOwn && isScript) return;
  throw new DomainError("origin_not_allowed", "The dashboard accepts calls only from its own page.");
}

/** Serves the page's calls. Bodies are read here, so that a refused one gets the port's error shape. */
function createCalls({ route, addressOf }: DashboardServerParts) {
  const router = createConnectRouter({ grpc: false, grpcWeb: false });
  route(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const fileBodies = createFileBodies(fileBodiesMax);
  return async (request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> => {
    const handler = handlers.get(request.url?.split("?", 1)[0] ?? "");
    if (handler === undefined) throw new DomainError("not_found", "This rpc does not exist.");
    checkBodyHeaders(request);
    const hasFile = handler.method === DisputeService.method.addDisputeFile;
    if (hasFile) fileBodies.admit(response);
    const bytesMax = hasFile ? fileBodyBytesMax : bodyBytesMax;
    const bytes = await readBody(request, { bodyBytesMax: bytesMax, bodyTimeoutMs: requestTimeoutMs });
    const values = createContextValues().set(requestFactsKey, { requestId, address: addressOf(request) });
    const json = decodeJsonMessage(handler.method, bytes, values);
    const answered = await handler(universalRequestFromNodeRequest(request, response, json, values));
    await universalResponseToNodeResponse(answered, response).catch((error: unknown) => {
      // The client disconnected.
      if (ConnectError.from(error).code !== Code.Aborted) throw error;
    });
  };
}
