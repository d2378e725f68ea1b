/** Calls an implementation as Connect would, without Connect's protocol handling around it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import {
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import type { Route } from "./route.ts";

export type Target = Pick<Route, "service" | "method" | "implementation">;

export type Call = {
  readonly target: Target;
  readonly context: HandlerContext;
  /** Returns the call's response headers so far; undefined if none were accessed. */
  headersSet(): Headers | undefined;
  /** Returns the call's trailers likewise. */
  trailersSet(): Headers | undefined;
};

export type Protocol = {
  readonly protocolName: string;
  /** Aborts when the caller no longer waits for the answer. */
  readonly signal?: AbortSignal;
};

/** Runs a call through the interceptors to its implementation. */
export type Invoke = (call: Call, message: MessageShape<DescMessage>) => Promise<MessageShape<DescMessage>>;

/** Creates a call's context. Headers and signal are created at their first use; most calls never need them. */
export function openCall(
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
  protocol: Protocol = { protocolName: "rest" },
): Call {
  const context = new LightContext(target, protocol, request, response);
  return {
    target,
    context,
    headersSet: () => context.headersSet(),
    trailersSet: () => context.trailersSet(),
  };
}

// The chain of interceptors is built once for all calls; the context values lead its end back to the current call.
const callKey = createContextKey<Call | undefined>(undefined);

/** Builds the chain: the first interceptor is the outermost, as in Connect. */
export function composeInvoke(interceptors: readonly Interceptor[]): Invoke {
  if (interceptors.length === 0) return implement;
  const last = async (request: UnaryRequest): Promise<UnaryResponse> => {
    const call = request.contextValues.get(callKey)!;
    return unaryResponse(call, await implement(call, request.message));
  };
  const chain = interceptors.reduceRight<unknown>((next, intercept) => intercept(next as never), last) as typeof last;
  return async (call, message) => {
    call.context.values.set(callKey, call);
    return (await chain(unaryRequest(call, message))).message;
  };
}

async function implement({ target, context }: Call, message: MessageShape<DescMessage>) {
  return create(target.method.output, await target.implementation(message, context));
}

/** Returns the interceptors' request. Accessors are its own properties, so that an interceptor may spread it. */
function unaryRequest({ target, context }: Call, message: MessageShape<DescMessage>): UnaryRequest {
  const { service, method } = target;
  const { requestMethod, url, values: contextValues } = context;
  return {
    stream: false,
    service,
    method,
    message,
    requestMethod,
    url,
    contextValues,
    get signal() {
      return context.signal;
    },
    get header() {
      return context.requestHeader;
    },
  };
}

function unaryResponse({ target, context }: Call, message: MessageShape<DescMessage>): UnaryResponse {
  const { service, method } = target;
  return { stream: false, service, method, message, header: context.responseHeader, trailer: context.responseTrailer };
}

/** Connect's handler context over a node request. Plain HTTP sends no trailers, and no deadline is known here. */
class LightContext implements HandlerContext {
  readonly service;
  readonly method;
  readonly values: ContextValues = createContextValues();
  readonly protocolName: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #signal: AbortSignal | undefined;

  constructor({ service, method }: Target, protocol: Protocol, request: IncomingMessage, response: ServerResponse) {
    this.service = service;
    this.method = method;
    this.protocolName = protocol.protocolName;
    this.#signal = protocol.signal;
    this.#request = request;
    this.#response = response;
  }

  get requestMethod(): string {
    return this.#request.method!;
  }

  /** The target as sent, which is a path and not a whole URL. */
  get url(): string {
    return this.#request.url!;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= headersOf(this.#request.rawHeaders);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  headersSet(): Headers | undefined {
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  trailersSet(): Headers | undefined {
    return this.#responseTrailer;
  }

  /** Aborts when the client disconnects, and when the answer is complete, unless the protocol provides a signal. */
  get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#response);
    return this.#signal;
  }

  timeoutMs(): undefined {
    return undefined;
  }
}

function headersOf(rawHeaders: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    // HTTP/2 keeps method and path among the headers, under names that no Headers object accepts.
    if (!name.startsWith(":")) headers.append(name, rawHeaders[at + 1]!);
  }
  return headers;
}

function closeSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed || response.destroyed) controller.abort();
  else response.once("close", () => controller.abort());
  return controller.signal;
}
