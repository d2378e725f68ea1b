/** The end of an HTTP/1.1 server that breaks off no request: clients are told to leave, answered, and let go. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Watches a server from before its first request. */
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
    // Before the server's own listener, which may answer at once.
    const watch = (_request: IncomingMessage, response: ServerResponse) => this.#watch(response);
    server.prependListener("request", watch);
    server.prependListener("checkContinue", watch);
  }

  /** From now on every answer says `Connection: close`, so that its client asks the next one over another connection. */
  begin(): void {
    this.#isDraining = true;
    for (const response of this.#unanswered) response.shouldKeepAlive = false;
  }

  /** Takes no new connection. Resolves when those in use have got their answers, or are cut because it takes too long. */
  async close(withinMs: number): Promise<void> {
    this.begin();
    const late = setTimeout(() => this.#server.closeAllConnections(), withinMs);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // Node takes a connection on which nothing was ever said, as browsers open them in advance, for one in use.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    await closed;
    clearTimeout(late);
  }

  #watch(response: ServerResponse): void {
    if (this.#isDraining) response.shouldKeepAlive = false;
    this.#unanswered.add(response);
    response.once("close", () => this.#unanswered.delete(response));
  }
}
