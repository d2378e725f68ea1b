/** HTTP/1.1 servers for hostile networks: bounds on everything, our own answer in place of node's, and a gentle stop. */
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import * as limits from "../limits.ts";
import { DomainError } from "./errors.ts";
import { closeGently, closeUnread, type HttpAnswer, refuseOnResponse, refuseOnSocket } from "./http-refusal.ts";

export type HttpServerParts = {
  /** Limit from the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** Answers a request that is refused by its head alone, before anything is prepared for it; false for any other. */
  readonly refuseAtOnce?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Answers a request; must catch its own errors. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Renders a refusal of a request that never reached `handle`, with every header of an answer. */
  readonly refuse: (error: DomainError) => HttpAnswer;
};

type Exchange = { unanswered: number; latest: ServerResponse | undefined; isRefused: boolean };

/** An answer that announces the end of its connection if the request's body was not read completely. */
class LastWhenUnread extends ServerResponse<IncomingMessage> {
  override writeHead(...head: unknown[]): this {
    const { req } = this;
    if (!req.complete && hasBody(req) && !this.headersSent) {
      this.shouldKeepAlive = false;
      // If there is no socket, the reader has ended the connection.
      if (req.socket !== null) closeUnread(req.socket);
    }
    return (super.writeHead as (...head: unknown[]) => this).apply(this, head);
  }
}

/** Creates a server without listening. A body that waits for `100 Continue` is requested when it is read. */
export function createHttpServer({ requestTimeoutMs, refuseAtOnce, handle, refuse }: HttpServerParts): Server {
  const exchanges = new WeakMap<Socket, Exchange>();
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = exchangeOf(exchanges, request.socket);
    // The body was refused: the last answer of the connection is on its way.
    if (exchange.latest?.headersSent && !exchange.latest.shouldKeepAlive) return;
    exchange.latest = response;
    exchange.unanswered++;
    response.once("close", () => exchange.unanswered--);
    if (exchange.unanswered > limits.pipelinedRequestsMax) refuseOnResponse(response, refuse(tooManyAtOnce));
    else if (!refuseAtOnce?.(request, response)) {
      response.setHeader("X-Content-Type-Options", "nosniff");
      handle(request, response);
    }
  };
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: limits.connectionCheckMs,
      keepAliveTimeout: limits.keepAliveMs,
      // Node would answer a missing Host itself, without a body; http-head.ts refuses it in our error shape.
      requireHostHeader: false,
      ServerResponse: LastWhenUnread as typeof ServerResponse,
    },
    take,
  );
  server.maxConnections = limits.connectionsMax;
  // Beyond a number of headers node silently drops the rest, a second Host among them; http-head.ts counts and refuses.
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

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function exchangeOf(exchanges: WeakMap<Socket, Exchange>, socket: Socket): Exchange {
  const known = exchanges.get(socket);
  if (known !== undefined) return known;
  const exchange = { unanswered: 0, latest: undefined, isRefused: false };
  exchanges.set(socket, exchange);
  return exchange;
}

/** Answers bytes that are not a request, in order: never within an answer, and never in place of another. */
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

/** Returns the refusal for a parser's error; undefined if the connection itself is broken and no answer can be sent. */
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

/** Requests a body only when it is read; otherwise the connection ends, as the body may arrive all the same. */
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

/**
 * Stops a server without interrupting a request: asks clients to leave, answers them, and disconnects them. Create it
 * before the first request.
 */
export class HttpDrain {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #unanswered = new Set<ServerResponse>();
  #isDraining = false;

  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    // The listener runs before the server's own, which may answer at once.
    const track = (_request: IncomingMessage, response: ServerResponse) => this.#track(response);
    server.prependListener("request", track);
    server.prependListener("checkContinue", track);
  }

  /** Adds `Connection: close` to every answer, so that clients use another connection next. */
  begin(): void {
    this.#isDraining = true;
    for (const response of this.#unanswered) response.shouldKeepAlive = false;
  }

  /** Accepts no new connection. Resolves when those in use have got their answers, or are closed. */
  async close(withinMs: number): Promise<void> {
    this.begin();
    const late = setTimeout(() => this.#server.closeAllConnections(), withinMs);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // Node counts a connection without any bytes, such as browsers open in advance, as in use.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    await closed;
    clearTimeout(late);
  }

  #track(response: ServerResponse): void {
    if (this.#isDraining) response.shouldKeepAlive = false;
    this.#unanswered.add(response);
    response.once("close", () => this.#unanswered.delete(response));
  }
}

/**
 * Returns the header that makes browsers use only TLS for a host (RFC 6797), for every answer of a server with this
 * origin; nothing for plain HTTP or an unknown origin.
 */
export function transportSecurityOf(origin: string | undefined): Readonly<Record<string, string>> {
  // Two years, as browsers require for their preload lists.
  return origin?.startsWith("https:") ? { "strict-transport-security": "max-age=63072000" } : {};
}
