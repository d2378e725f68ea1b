/** The public HTTP port: REST under /api/v1, the widget's Connect calls, liveness and readiness. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServiceImplSpec } from "@connectrpc/connect";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { DisputeService } from "../../gen/payments/v1/dispute_pb.ts";
import { EventService } from "../../gen/payments/v1/event_pb.ts";
import { LedgerService } from "../../gen/payments/v1/ledger_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { RefundService } from "../../gen/payments/v1/refund_pb.ts";
import { SettlementService } from "../../gen/payments/v1/settlement_pb.ts";
import { AgreementService, PaymentMethodService } from "../../gen/payments/v1/stored_card_pb.ts";
import { requestTimeoutMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { requireSoundHead } from "../platform/http-head.ts";
import { createHttpServer, transportSecurityOf } from "../platform/http-server.ts";
import { encodeId } from "../platform/ids.ts";
import { sendAnswer } from "../transcoder/send-answer.ts";
import { createTranscoder, type Transcoder } from "../transcoder/transcoder.ts";
import { createAuthenticationRoutes } from "./authentication-routes.ts";
import { callLimits, callLimitsOf } from "./call-body.ts";
import { callerKey, requestIdKey } from "./caller.ts";
import { disputeService } from "./disputes-rpc.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { renderError, toDomainError } from "./error-mapping.ts";
import { createEventService } from "./events-rpc.ts";
import { createNotificationIntake } from "./gateway-notifications.ts";
import { ledgerService } from "./ledger-rpc.ts";
import { meterRequest, noteMethod } from "./meter-request.ts";
import { orderRules } from "./order-rules.ts";
import { createMetaService, paymentSessionService } from "./payments-rpc.ts";
import { createRecoveryRoutes } from "./recovery-page.ts";
import { serveReference } from "./reference/serve-reference.ts";
import { refundService } from "./refunds-rpc.ts";
import { type AnyRequest, beginRequest, requestIdOf, setAnswerHeaders } from "./request-id.ts";
import { createRefuseAtOnce } from "./request-limits/refuse-at-once.ts";
import type { LimitFields } from "./request-limits/request-limits.ts";
import { createRpcAdapter } from "./rpc-adapter.ts";
import { settlementService } from "./settlement-rpc.ts";
import { createAgreementService, paymentMethodService } from "./stored-cards-rpc.ts";
import { createDomainFileRoute } from "./wallets/domain-file.ts";
import { serveWidget } from "./widget-files.ts";

// Longest part of a browser's user agent that gateways get: the longest in use have some 250 characters.
const userAgentCharactersMax = 500;

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<boolean> | boolean;

export function createPublicServer(parts: EdgeParts): Server {
  const handlers: Handler[] = [
    createRest(parts),
    createCheckoutRpc(parts),
    serveWidget(parts.widgetFiles),
    serveReference(),
    createNotificationIntake(parts.environments, parts.clientOf),
    createAuthenticationRoutes(parts.environments, parts.authenticationPages, parts.clientOf),
    createRecoveryRoutes(parts),
    createDomainFileRoute(parts.environments, parts.clientOf),
    answerProbes(parts.isReady, parts.forwardingOf),
  ];
  return createHttpServer({
    requestTimeoutMs,
    refuseAtOnce: createRefuseAtOnce(parts, corsHeaders),
    handle: (request, response) => void answer(parts, handlers, request, response),
    refuse: (error) => {
      parts.meter?.refused(error.code);
      const requestId = encodeId("req", parts.runtime.uuid());
      const { status, headers, body } = renderError(parts.style, error, requestId);
      const common = { ...transportSecurityOf(parts.apiOrigin), "Request-Id": requestId, "Cache-Control": "no-store" };
      return { status, headers: { ...headers, ...common }, body };
    },
  });
}

// Guards every listener: a library that throws on a malformed request must not take the process down.
async function answer(
  parts: EdgeParts,
  handlers: readonly Handler[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  beginRequest(parts.runtime, request, response);
  setAnswerHeaders(request, transportSecurityOf(parts.apiOrigin));
  meterRequest(parts.meter, request, response);
  try {
    requireSoundHead(request);
    for (const handle of handlers) if (await handle(request, response)) return;
    throw new DomainError(
      "not_found",
      "There is nothing at this path. The REST API is under /api/v1; /docs describes it.",
    );
  } catch (error) {
    // The request was refused because its body is no HTTP, or the client disconnected: a later failure is no bug.
    if (request.destroyed && !request.complete) return;
    sendAnswer(response, toAnswer(parts, error, request));
    // The answer has begun and broken off: it can only be ended.
    if (!response.writableEnded) response.destroy();
  }
}

function toAnswer(parts: EdgeParts, error: unknown, request: IncomingMessage) {
  const domainError = toDomainError(error);
  parts.meter?.refused(domainError.code);
  if (domainError.code === "internal") parts.reportBug(error, requestIdOf(request));
  return renderError(parts.style, domainError, requestIdOf(request));
}

function createRest(parts: EdgeParts): Transcoder {
  return createTranscoder({
    services: [
      createServiceImplSpec<typeof PaymentSessionService>(PaymentSessionService, paymentSessionService),
      createServiceImplSpec<typeof RefundService>(RefundService, refundService),
      createServiceImplSpec<typeof DisputeService>(DisputeService, disputeService),
      createServiceImplSpec<typeof PaymentMethodService>(PaymentMethodService, paymentMethodService),
      createServiceImplSpec<typeof AgreementService>(AgreementService, createAgreementService(parts.apiOrigin)),
      createServiceImplSpec<typeof LedgerService>(LedgerService, ledgerService),
      createServiceImplSpec<typeof SettlementService>(SettlementService, settlementService),
      createServiceImplSpec<typeof EventService>(EventService, createEventService(parts)),
      createServiceImplSpec<typeof MetaService>(MetaService, createMetaService(parts.meta)),
    ],
    limits: callLimits,
    limitsOf: callLimitsOf,
    rules: orderRules,
    // A client that lost its body must not refund the whole amount.
    needBody: [RefundService.method.createRefund],
    // requireSoundHead counts them for every path.
    singleHeaders: [],
    authenticate: async (method, request, values) => {
      noteMethod(request, method);
      values.set(requestIdKey, requestIdOf(request));
      const setLimitHeaders = (fields: LimitFields) => setAnswerHeaders(request, fields);
      const { authorization = null } = request.headers;
      values.set(callerKey, await parts.authenticate(method, authorization, setLimitHeaders, parts.clientOf(request)));
    },
    renderError: (error, _method, request) => toAnswer(parts, error, request),
  });
}

function createCheckoutRpc(parts: EdgeParts): Handler {
  const shopperOf = ({ headers, socket }: AnyRequest) => ({
    shopperIp: parts.customerAddressOf({ headers, socket } as IncomingMessage),
    shopperUserAgent: headers["user-agent"]?.slice(0, userAgentCharactersMax),
  });
  const clientOf = ({ headers, socket }: AnyRequest) => parts.clientOf({ headers, socket } as IncomingMessage);
  const guarded = [CheckoutService];
  const rpc = createRpcAdapter(parts, { route: parts.routeCheckout, guarded, grpc: false, shopperOf, clientOf });
  return async (request, response) => {
    if (!request.url?.startsWith("/payments.v1.CheckoutService/")) return false;
    if (answerCors(request, response) || (await rpc(request, response))) return true;
    throw new DomainError("not_found", "There is no such rpc.");
  };
}

// Two hours: the longest that Chromium caches a preflight's answer.
const preflightSeconds = 7200;
const requestHeaders =
  "authorization, publishable-key, content-type, connect-protocol-version, connect-timeout-ms, grpc-timeout, x-user-agent, x-grpc-web";
// gRPC-Web has the status of a refusal among the headers.
const exposedHeaders =
  "request-id, retry-after, ratelimit, ratelimit-policy, grpc-status, grpc-message, grpc-status-details-bin";

function corsHeaders({ headers: { origin } }: IncomingMessage): readonly (readonly [string, string])[] {
  if (origin === undefined) return [];
  return [
    ["access-control-allow-origin", origin],
    ["vary", "origin"],
    ["access-control-expose-headers", exposedHeaders],
  ];
}

/** Sets the CORS headers for a call from a page; answers a preflight and then returns true. */
function answerCors(request: IncomingMessage, response: ServerResponse): boolean {
  const headers = corsHeaders(request);
  if (headers.length === 0) return false;
  for (const [name, value] of headers) response.setHeader(name, value);
  if (request.method !== "OPTIONS") return false;
  response.writeHead(204, {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": requestHeaders,
    "access-control-max-age": String(preflightSeconds),
  });
  response.end();
  return true;
}

/**
 * Answers /healthz for the process and /readyz for its dependencies; false for any other path. `Forwarding` shows the
 * doctor the proxies' headers of its own request.
 */
function answerProbes(
  isReady: () => Promise<boolean>,
  forwardingOf: (request: IncomingMessage) => string,
): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  return async (request, response) => {
    if (request.url !== "/healthz" && request.url !== "/readyz") return false;
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new DomainError("method_not_allowed", "This path supports GET and HEAD.", { allow: ["GET", "HEAD"] });
    }
    const isFine = request.url === "/healthz" || (await isReady());
    const body = `{"status":"${isFine ? "ok" : "unavailable"}"}`;
    sendAnswer(response, { status: isFine ? 200 : 503, headers: { forwarding: forwardingOf(request) }, body });
    return true;
  };
}
