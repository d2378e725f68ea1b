/** HTTP/1.1 servers for networks that mean harm: bounds on everything, and an answer of ours where node would give its own. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import * as limits from "../limits.ts";
import { DomainError } from "./errors.ts";
import { closeGently, type HttpAnswer, refuseOnResponse, refuseOnSocket } from "./http-refusal.ts";

/** What a server is made of. */
export type HttpServerParts = {
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** Answers a request, whatever it throws inside. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Words a request that never came to `handle`, with every header that an answer carries. */
  readonly refuse: (error: DomainError) => HttpAnswer;
};

/** The requests of one connection. */
type Exchange = { unanswered: number; latest: ServerResponse | undefined; isRefused: boolean };

/** Not listening yet. A body that waits for `100 Continue` is asked for when `handle` begins to read it. */
export function createHttpServer({ requestTimeoutMs, handle, refuse }: HttpServerParts): Server {
  const exchanges = new WeakMap<Socket, Exchange>();
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = exchangeOf(exchanges, request.socket);
    exchange.latest = response;
    exchange.unanswered++;
    response.once("close", () => exchange.unanswered--);
    if (exchange.unanswered <= limits.pipelinedRequestsMax) handle(request, response);
    else refuseOnResponse(response, refuse(tooManyAtOnce));
  };
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: limits.connectionCheckMs,
      keepAliveTimeout: limits.keepAliveMs,
      // Node would answer a missing Host itself, without a word; http-head.ts says it in our error shape.
      requireHostHeader: false,
    },
    take,
  );
  server.maxConnections = limits.connectionsMax;
  // Beyond a number node drops headers silently, a second Host among them; http-head.ts counts and refuses.
  server.maxHeadersCount = 0;
  server.timeout = limits.silenceTimeoutMs;
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    continueWhenRead(request, response);
    take(request, response);
  });
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) =>
    refuseOnResponse(response, refuse(unknownExpectation)),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const refusal = refusalOf(error);
    const exchange = exchangeOf(exchanges, socket);
    if (refusal === undefined) socket.destroy();
    else if (!exchange.isRefused) answerBroken(exchange, socket, () => refuse(refusal));
    exchange.isRefused = true;
  });
  server.on("connect", (_request: IncomingMessage, socket: Socket) => {
    socket.on("error", () => socket.destroy());
    if (exchangeOf(exchanges, socket).unanswered > 0) closeGently(socket);
    else refuseOnSocket(socket, refuse(noTunnel));
  });
  return server;
}

function exchangeOf(exchanges: WeakMap<Socket, Exchange>, socket: Socket): Exchange {
  const known = exchanges.get(socket);
  if (known !== undefined) return known;
  const exchange = { unanswered: 0, latest: undefined, isRefused: false };
  exchanges.set(socket, exchange);
  return exchange;
}

/** Answers bytes that are no request, in its turn: never inside an answer, and never in the place of another. */
function answerBroken({ latest, unanswered }: Exchange, socket: Socket, refuse: () => HttpAnswer): void {
  // The body of a request that has been handed over.
  if (latest !== undefined && !latest.req.complete) {
    if (!latest.headersSent) refuseOnResponse(latest, refuse());
    else if (latest.writableFinished) closeGently(socket);
    else latest.once("finish", () => closeGently(socket));
    return;
  }
  if (latest === undefined || unanswered === 0) refuseOnSocket(socket, refuse());
  else latest.once("close", () => refuseOnSocket(socket, refuse()));
}

const tooManyAtOnce = new DomainError("rate_limited", "Too many requests were sent without waiting for their answers.");
const noTunnel = new DomainError("method_not_allowed", "There is no proxy here.", { allow: ["GET", "HEAD", "POST"] });
const unknownExpectation = new DomainError("invalid_parameter", "Expect may only ask for 100-continue.", {
  field: "Expect",
});

/** What we say of a parser's error; undefined when the connection itself is broken and nobody can be told. */
function refusalOf({ code = "" }: NodeJS.ErrnoException): DomainError | undefined {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new DomainError("request_timeout", "The request did not arrive in time.");
    case "HPE_HEADER_OVERFLOW":
      return new DomainError(
        "headers_too_large",
        `The target and the headers may have at most ${limits.headerBytesMax} bytes.`,
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new DomainError("payload_too_large", "The chunks of the body have too many extensions.");
    default:
      if (!code.startsWith("HPE_")) return undefined;
      return new DomainError("invalid_parameter", "This is not a valid HTTP/1.1 request.");
  }
}

/** A body that nobody reads is never asked for; its connection then ends, as it may come all the same. */
function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("connection", "close");
  const onListener = (event: string | symbol): void => {
    if (event !== "data" && event !== "readable") return;
    request.off("newListener", onListener);
    if (response.headersSent || response.destroyed) return;
    response.removeHeader("connection");
    response.writeContinue();
  };
  request.on("newListener", onListener);
}
