/** The end of HTTP/2 connections that refuses no call: clients are told first, and only then is nothing new taken. */
import type { Http2Server, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";

/**
 * GOAWAY with the highest stream there can be: "open no new stream here", while those on their way are still taken
 * (RFC 9113, 6.8). Node knows only the GOAWAY behind which it takes none (nodejs/node 24, `session.close()`): what a client
 * sent before it heard of it is refused, and clients repeat that once at most. So the frame is written by hand.
 */
const notice = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/** Watches a server from before its first connection. */
export class Http2Goodbye {
  readonly #sockets = new WeakMap<ServerHttp2Session, Socket>();

  constructor(server: Http2Server) {
    let newest: Socket | undefined;
    // Node makes the session in its own listener, which comes next.
    const remember = (socket: Socket): void => {
      newest = socket;
    };
    server.prependListener("connection", remember);
    server.prependListener("secureConnection", remember);
    server.on("session", (session) => {
      if (newest !== undefined) this.#sockets.set(session, newest);
    });
  }

  /** Closes a connection once its calls have ended. None is refused, unless its client is not one to listen. */
  say(session: ServerHttp2Session): void {
    const socket = this.#sockets.get(session);
    if (session.closed || session.destroyed) return;
    if (socket?.writable) socket.write(notice);
    // Its answer comes behind everything that the client sent before it heard.
    if (!session.ping(() => session.close())) session.close();
  }
}
