/** Stops an HTTP/1.1 server without interrupting a request: clients are asked to leave, answered, and disconnected. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Tracks a server's connections, starting before its first request. */
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
    const track = (_request: IncomingMessage, response: ServerResponse) => this.#track(response);
    server.prependListener("request", track);
    server.prependListener("checkContinue", track);
  }

  /**
   * Adds `Connection: close` to every answer from now on, so that clients use another connection for their next
   * request.
   */
  begin(): void {
    this.#isDraining = true;
    for (const response of this.#unanswered) response.shouldKeepAlive = false;
  }

  /**
   * Accepts no new connection. Resolves when those in use have got their answers, or are closed after the time limit.
   */
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
