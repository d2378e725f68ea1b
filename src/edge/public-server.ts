/** The public HTTP port: REST under /api/v1, the widget's Connect calls, liveness and readiness. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServiceImplSpec } from "@connectrpc/connect";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { userAgentCharactersMax } from "../limits/gateways.ts";
import { bodyBytesMax, requestTimeoutMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { requireSoundHead } from "../platform/http-head.ts";
import { createHttpServer } from "../platform/http-server.ts";
import { encodeId } from "../platform/ids.ts";
import { sendAnswer } from "../transcoder/send-answer.ts";
import { createTranscoder, type Transcoder } from "../transcoder/transcoder.ts";
import { callerKey, requestIdKey } from "./caller.ts";
import { answerCors } from "./cors.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { renderError, toDomainError } from "./error-mapping.ts";
import { createNotificationIntake } from "./gateway-notifications.ts";
import { meterRequest, noteMethod } from "./meter-request.ts";
import { orderRules } from "./order-rules.ts";
import { createMetaService, paymentSessionService } from "./payments-rpc.ts";
import { answerProbes } from "./probes.ts";
import { serveReference } from "./reference/serve-reference.ts";
import { type AnyRequest, beginRequest, requestIdOf, setAnswerHeaders } from "./request-id.ts";
import type { LimitFields } from "./request-limits/limit-fields.ts";
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
    answerProbes(parts.isReady),
  ];
  return createHttpServer({
    requestTimeoutMs,
    handle: (request, response) => void answer(parts, handlers, request, response),
    refuse: (error) => {
      parts.meter?.refused(error.code);
      const requestId = encodeId("req", parts.entropy.uuid());
      const { status, headers, body } = renderError(parts.style, error, requestId);
      return { status, headers: { ...headers, "Request-Id": requestId, "Cache-Control": "no-store" }, body };
    },
  });
}

// Every listener is guarded: a library that throws on a malformed request must not take the process down.
async function answer(
  parts: EdgeParts,
  handlers: readonly Handler[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  beginRequest(parts.entropy, request, response);
  meterRequest(parts.meter, request, response);
  try {
    requireSoundHead(request);
    for (const handle of handlers) if (await handle(request, response)) return;
    throw new DomainError("not_found", "There is nothing at this path.");
  } catch (error) {
    // Refused meanwhile for a body that is no HTTP, or its client has gone: what breaks then is no bug.
    if (request.destroyed && !request.complete) return;
    sendAnswer(response, toAnswer(parts, error, request));
    // Begun and broken off: an end is all that can be said.
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
      createServiceImplSpec<typeof MetaService>(MetaService, createMetaService(parts.meta)),
    ],
    limits: { bodyBytesMax, bodyTimeoutMs: requestTimeoutMs },
    rules: orderRules,
    // Counted for every path by requireSoundHead.
    singleHeaders: [],
    authenticate: async (method, request, values) => {
      noteMethod(request, method);
      values.set(requestIdKey, requestIdOf(request));
      const tellLimits = (fields: LimitFields) => setAnswerHeaders(request, fields);
      values.set(callerKey, await parts.authenticate(method, request.headers.authorization ?? null, tellLimits));
    },
    renderError: (error, _method, request) => toAnswer(parts, error, request),
  });
}

function createCheckoutRpc(parts: EdgeParts): Handler {
  const shopperOf = ({ headers, socket }: AnyRequest) => ({
    shopperIp: parts.customerAddressOf({ headers, socket } as IncomingMessage),
    shopperUserAgent: headers["user-agent"]?.slice(0, userAgentCharactersMax),
  });
  const guarded = [CheckoutService];
  const rpc = createRpcAdapter(parts, { route: parts.routeCheckout, guarded, grpc: false, shopperOf });
  return async (request, response) => {
    if (!request.url?.startsWith("/payments.v1.CheckoutService/")) return false;
    if (answerCors(request, response) || (await rpc(request, response))) return true;
    throw new DomainError("not_found", "There is no such rpc.");
  };
}
