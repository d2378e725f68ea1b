/** The public HTTP port: REST under /api/v1, the widget's Connect calls, liveness and readiness. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServiceImplSpec } from "@connectrpc/connect";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { bodyBytesMax, headerBytesMax, headersTimeoutMs, requestTimeoutMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { sendAnswer } from "../transcoder/send-answer.ts";
import { createTranscoder, type Transcoder } from "../transcoder/transcoder.ts";
import { callerKey, requestIdKey } from "./caller.ts";
import { answerCors } from "./cors.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { renderError, toDomainError } from "./error-mapping.ts";
import { createNotificationIntake } from "./gateway-notifications.ts";
import { orderRules } from "./order-rules.ts";
import { createMetaService, paymentSessionService } from "./payments-rpc.ts";
import { serveReference } from "./reference/serve-reference.ts";
import { beginRequest, requestIdOf } from "./request-id.ts";
import { createRpcAdapter } from "./rpc-adapter.ts";
import { serveWidget } from "./widget-files.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<boolean> | boolean;

/** Makes the public server; the caller listens and closes. */
export function createPublicServer(parts: EdgeParts): Server {
  const handlers: Handler[] = [
    createRest(parts),
    createCheckoutRpc(parts),
    serveWidget(parts.widgetFiles),
    serveReference(),
    createNotificationIntake(parts.environments),
    answerProbes(parts),
  ];
  const server = createServer(
    {
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      // Node would answer a missing Host itself, in HTML-less prose of its own; we say it in our error shape.
      requireHostHeader: false,
    },
    (request, response) => void answer(parts, handlers, request, response),
  );
  return server;
}

// Every listener is guarded: a library that throws on a malformed request must not take the process down.
async function answer(
  parts: EdgeParts,
  handlers: readonly Handler[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  beginRequest(parts.entropy, request, response);
  try {
    requireOneHost(request);
    for (const handle of handlers) if (await handle(request, response)) return;
    throw new DomainError("not_found", "There is nothing at this path.");
  } catch (error) {
    sendAnswer(response, toAnswer(parts, error, request));
  }
}

function toAnswer(parts: EdgeParts, error: unknown, request: IncomingMessage) {
  const domainError = toDomainError(error);
  if (domainError.code === "internal") parts.reportBug(error, requestIdOf(request));
  return renderError(parts.style, domainError, requestIdOf(request));
}

// RFC 9110 7.2 and 9112 3.2: one Host, and nothing in it that is not a host and a port.
const hostPattern = /^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;

function requireOneHost(request: IncomingMessage): void {
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  if (hosts.length > 1) throw new DomainError("duplicate_header", "The header host may come only once.");
  if (!hostPattern.test(request.headers.host ?? "")) {
    throw new DomainError("invalid_parameter", "The Host header must name a host.", { field: "Host" });
  }
}

function createRest(parts: EdgeParts): Transcoder {
  return createTranscoder({
    services: [
      createServiceImplSpec<typeof PaymentSessionService>(PaymentSessionService, paymentSessionService),
      createServiceImplSpec<typeof MetaService>(MetaService, createMetaService(parts.meta)),
    ],
    limits: { bodyBytesMax, bodyTimeoutMs: requestTimeoutMs },
    rules: orderRules,
    singleHeaders: ["host", "authorization", "content-type", "content-encoding", "idempotency-key"],
    authenticate: async (method, request, values) => {
      values.set(requestIdKey, requestIdOf(request));
      values.set(callerKey, await parts.authenticate(method, request.headers.authorization ?? null));
    },
    renderError: (error, _method, request) => toAnswer(parts, error, request),
  });
}

function createCheckoutRpc(parts: EdgeParts): Handler {
  const rpc = createRpcAdapter(parts, { route: parts.routeCheckout, guarded: [CheckoutService], grpc: false });
  return async (request, response) => {
    if (!request.url?.startsWith("/payments.v1.CheckoutService/")) return false;
    if (answerCors(request, response) || (await rpc(request, response))) return true;
    throw new DomainError("not_found", "There is no such rpc.");
  };
}

function answerProbes(parts: EdgeParts): Handler {
  return async (request, response) => {
    if (request.url === "/healthz") {
      sendAnswer(response, { status: 200, headers: {}, body: '{"status":"ok"}' });
      return true;
    }
    if (request.url !== "/readyz") return false;
    const ready = await parts.isReady();
    sendAnswer(response, {
      status: ready ? 200 : 503,
      headers: {},
      body: `{"status":"${ready ? "ok" : "unavailable"}"}`,
    });
    return true;
  };
}
