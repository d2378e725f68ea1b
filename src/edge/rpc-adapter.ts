/**
 * Connects Connect's handlers to node's servers, of HTTP/1.1 and HTTP/2: like Connect's own adapter, with strict bodies
 * and deadlines, and a shorter path for unary gRPC and the widget's calls.
 */
import { constants, type Http2ServerResponse } from "node:http2";
import { type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createConnectRouter,
  createContextValues,
  createServiceImplSpec,
  type Interceptor,
  type StreamRequest,
  type UnaryRequest,
} from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { Shopper } from "../gateways/connector.ts";
import { bodyBytesMax } from "../limits.ts";
import type { CountedClient } from "../platform/client-address.ts";
import { DomainError, problemsInWords } from "../platform/errors.ts";
import { composeInvoke, type Target } from "../transcoder/call.ts";
import { findProblems, readJsonMessage, refuseBody } from "../transcoder/connect-json.ts";
import { callLimits, frameOf, offerCompressions, readCallBody } from "./call-body.ts";
import { type Caller, callerKey, hangUpKey, requestIdKey, shopperKey } from "./caller.ts";
import { Deadline, timeoutOf } from "./deadline.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { leadingCode, toConnectError, toDomainError } from "./error-mapping.ts";
import { noteMethod } from "./meter-request.ts";
import { orderRules } from "./order-rules.ts";
import { type AnyRequest, type AnyResponse, requestIdOf, setAnswerHeaders } from "./request-id.ts";
import type { LimitFields } from "./request-limits/request-limits.ts";
import { type RpcForm, requireForm, sendRefusal } from "./rpc-form.ts";
import { answerStream } from "./stream-call.ts";
import { answerUnary } from "./unary-call.ts";

/** Answers a call; false, with nothing read or written, if there is no such rpc. */
export type RpcAdapter = (request: AnyRequest, response: AnyResponse) => Promise<boolean>;

type UniversalHandler = ConnectRouter["handlers"][number];
type Call = {
  readonly handler: UniversalHandler;
  readonly authenticate: () => Promise<Caller>;
  readonly form: RpcForm;
  readonly deadline: Deadline;
  readonly shopper: Shopper | undefined;
};

/** Creates an adapter for the routes. `guarded` are the services whose guard is the edge's own; every other guard reports the problems of a body too. */
export function createRpcAdapter(
  parts: EdgeParts,
  options: {
    route: (router: ConnectRouter) => void;
    guarded: readonly DescService[];
    grpc: boolean;
    /** Set on the port that browsers call. */
    shopperOf?: (request: AnyRequest) => Shopper;
    /** Set there too: the client that limits count a call for, besides its session and its merchant. */
    clientOf?: (request: AnyRequest) => CountedClient | undefined;
  },
): RpcAdapter {
  const guard = createRpcGuard(parts);
  const router = createConnectRouter({
    grpc: options.grpc,
    readMaxBytes: bodyBytesMax,
    jsonOptions: { ignoreUnknownFields: false },
    acceptCompression: [compressionGzip, compressionBrotli],
    // Compressing an event of a stream, of one to two KiB, takes ten times as long as sending it.
    compressMinBytes: 16 * 1024,
    interceptors: [guard],
    shutdownSignal: parts.stopping,
  });
  const guarded = new Set(options.guarded.map((service) => service.typeName));
  const targets: Targets = { unary: new Map(), stream: new Map() };
  options.route(recordingTargets(router, targets, guarded));
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const invoke = composeInvoke([guard]);

  return async (request, response) => {
    const path = request.url?.split("?", 1)[0] ?? "";
    const handler = handlers.get(path);
    if (handler === undefined) return false;
    noteMethod(request, handler.method);
    let deadline: Deadline | undefined;
    try {
      const form = requireForm(handler.method, request, options.grpc);
      const timeoutMs = timeoutOf(request);
      deadline = handler.method.methodKind === "unary" ? Deadline.ofUnary(timeoutMs) : new Deadline(timeoutMs);
      // Uses only the headers: no body is read without a credential, or above the limit.
      const authenticate = () => {
        const setLimitHeaders = (fields: LimitFields) => setAnswerHeaders(request, fields);
        const { authorization = null } = request.headers;
        return parts.authenticate(handler.method, authorization, setLimitHeaders, options.clientOf?.(request));
      };
      const shopper = options.shopperOf?.(request);
      const target = targets.unary.get(path);
      const streamed = targets.stream.get(path);
      // Answers in JSON on the internal port may be long lists, which Connect compresses.
      if (target !== undefined && (form === "grpc" || (form === "json" && !options.grpc))) {
        const { stopping } = parts;
        await answerUnary({ target, form, authenticate, invoke, request, response, deadline, stopping, shopper });
        return true;
      }
      if (streamed !== undefined && form === "grpc") {
        const answering = { target: streamed, authenticate, deadline, stopping: parts.stopping, request };
        const refusal = (error: unknown) => refusalOf(parts, error, requestIdOf(request));
        await answerStream({
          ...answering,
          response: response as Http2ServerResponse,
          check: requireNoProblems,
          refusal,
        });
        return true;
      }
      const call = { handler, authenticate, form, deadline, shopper };
      await universalResponseToNodeResponse(await runCall(call, request, response), response as never);
    } catch (error) {
      // The client disconnected while its answer was written.
      if (isGone(error)) return true;
      const domainError = toDomainError(error);
      if (response.headersSent) throw error;
      parts.meter?.refused(domainError.code);
      if (domainError.code === "internal") parts.reportBug(error, requestIdOf(request));
      sendRefusal(parts.style, request, response, domainError);
    } finally {
      deadline?.clear();
    }
    return true;
  };
}

/** Reports whether an answer could not be written, because its client has disconnected. */
function isGone(error: unknown): boolean {
  if (error instanceof ConnectError && error.code === Code.Aborted) return true;
  const cause = error instanceof ConnectError ? error.cause : error;
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return /^ERR_(HTTP2_INVALID_STREAM|HTTP2_STREAM_(CANCEL|ERROR)|STREAM_(DESTROYED|WRITE_AFTER_END))$|^ECANCELED$/.test(
    code ?? "",
  );
}

/** The targets by path. */
type Targets = { readonly unary: Map<string, Target>; readonly stream: Map<string, Target> };

/** Returns a router that also records the targets of guarded services. */
function recordingTargets(router: ConnectRouter, targets: Targets, guarded: ReadonlySet<string>): ConnectRouter {
  return {
    ...router,
    service(service, implementation, options) {
      const { methods } = createServiceImplSpec(service, implementation);
      for (const { kind, method, impl } of guarded.has(service.typeName) ? Object.values(methods) : []) {
        // A stream's implementation returns its messages; only its caller needs that type.
        const target = { service, method, implementation: impl } as unknown as Target;
        if (kind === "unary") targets.unary.set(`/${service.typeName}/${method.name}`, target);
        if (kind === "server_streaming") targets.stream.set(`/${service.typeName}/${method.name}`, target);
      }
      router.service(service, implementation, options);
      return this;
    },
  };
}

// The adapter has handled these, and Connect's handler must not see them: the body no longer has its original length.
const consumedHeaders = ["grpc-timeout", "connect-timeout-ms", "grpc-encoding", "content-length"];

function runCall(call: Call, request: AnyRequest, response: AnyResponse): ReturnType<UniversalHandler> {
  const values = createContextValues()
    .set(requestIdKey, requestIdOf(request))
    .set(shopperKey, call.shopper)
    .set(hangUpKey, () =>
      "stream" in response ? response.stream?.close(constants.NGHTTP2_CANCEL) : response.destroy(),
    );
  const plain = universalRequestFromNodeRequest(request as never, response as never, undefined, values);
  for (const name of consumedHeaders) plain.header.delete(name);
  if (call.form === "proto") plain.header.delete("content-encoding");
  const signal = AbortSignal.any([plain.signal, call.deadline.signal]);
  const answered = async () => {
    values.set(callerKey, await call.authenticate());
    const body =
      call.handler.method.methodKind === "unary" ? await readUnary(call, request, response, values) : plain.body;
    // A call whose caller has disconnected does not begin.
    call.deadline.signal.throwIfAborted();
    return call.handler({ ...plain, signal, body });
  };
  return call.deadline.limit(answered);
}

/** Returns the body of a unary call for Connect: whole, and without mistakes. */
async function readUnary(call: Call, request: AnyRequest, response: AnyResponse, values: ContextValues) {
  const { form } = call;
  const { method } = call.handler;
  // node's HTTP/2 requests have the same shape, though not the same type.
  if (form === "json") return await readJsonMessage(method, request as never, { values, limits: callLimits });
  if (form === "stream") return bodyOf(request);
  try {
    return once(frameOf(form, (await readCallBody(method, request, form)).bytes));
  } catch (error) {
    offerCompressions(response, form, error);
    refuseBody(values, error);
    return once(frameOf(form, new Uint8Array()));
  }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function* bodyOf(request: AnyRequest): AsyncIterable<Uint8Array> {
  yield* request as AsyncIterable<Uint8Array>;
}

/**
 * The guard of every rpc on Connect and gRPC after authentication: validation, and one rendering of errors. REST's
 * transcoder does the same by itself.
 */
function createRpcGuard(options: EdgeParts): Interceptor {
  return (next) => async (request) => {
    const requestId = request.contextValues.get(requestIdKey);
    const refusal = (error: unknown) => refusalOf(options, error, requestId);
    try {
      if (!request.stream) requireNoProblems(request);
      const checked = request.stream ? withoutProblems(request) : request;
      // The deadline has passed: the call does not begin for a caller that no longer waits.
      if (request.signal.reason instanceof DomainError) throw request.signal.reason;
      const response = await next(checked);
      return response.stream ? { ...response, message: guarded(response.message, refusal) } : response;
    } catch (error) {
      throw refusal(error);
    }
  };
}

function refusalOf({ meter, reportBug, style }: EdgeParts, error: unknown, requestId: string): ConnectError {
  const domainError = toDomainError(error);
  meter?.refused(domainError.code);
  if (domainError.code === "internal") reportBug(error, requestId);
  return toConnectError(style, domainError, requestId);
}

/** Reports a failure in the middle of a stream like any other. */
async function* guarded<Message>(
  messages: AsyncIterable<Message>,
  refusal: (error: unknown) => Error,
): AsyncIterable<Message> {
  try {
    yield* messages;
  } catch (error) {
    // The client disconnected between two messages.
    if (isGone(error)) throw error;
    throw refusal(error);
  }
}

type CheckedRequest = Pick<UnaryRequest, "message" | "contextValues"> & { readonly method: DescMethod };

/** Checks the message of a stream as it is read: Connect reads one before a handler that answers by a stream begins. */
function withoutProblems(request: StreamRequest): StreamRequest {
  async function* checked() {
    let isMissing = true;
    for await (const message of request.message) {
      isMissing = false;
      requireNoProblems({ method: request.method, contextValues: request.contextValues, message });
      yield message;
    }
    if (isMissing) throw new DomainError("invalid_field", "The call has no message.");
  }
  return request.method.methodKind === "server_streaming" ? { ...request, message: checked() } : request;
}

function requireNoProblems({ method, message, contextValues }: CheckedRequest): void {
  const found = findProblems(method.input, message, contextValues, orderRules);
  if (found.length === 0) return;
  const problems = takesParameters(method)
    ? found.map((problem) => ({ ...problem, pointer: "", code: "invalid_parameter" as const }))
    : found;
  const code = leadingCode(problems);
  throw new DomainError(code, problemsInWords(problems, code), { problems });
}

/** Reports whether REST takes the request in path and query: the same mistake has the same code. */
function takesParameters(method: DescMethod): boolean {
  return hasOption(method, http) && getOption(method, http).body === "";
}
