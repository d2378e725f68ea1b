/** Bounds the connections of an HTTP/2 server: their number, their idle time and their age, and ends them. */
import { constants, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { internalConnections, internalHttp2 } from "../limits.ts";

/** The options of every internal port: the edge's, and the vault's, which edge and worker call in the same way. */
export const internalPort = { http2: internalHttp2, connections: internalConnections } as const;

export type ConnectionBounds = { readonly [Name in keyof typeof internalConnections]: number };

type Entry = { bornAt: number; idleSince: number; openStreams: number; isUnanswered: boolean };

/** Tracks a server's connections from its first to its last. */
export class Http2Sessions {
  readonly #entries = new Map<ServerHttp2Session, Entry>();
  /** The sockets of connections: one that never ends its handshake becomes no session. */
  readonly #sockets = new Set<Socket>();
  readonly #server: Http2Server;
  readonly #bounds: ConnectionBounds;
  readonly #sweep: NodeJS.Timeout;
  #isClosing = false;

  constructor(server: Http2Server, bounds: ConnectionBounds = internalConnections) {
    this.#server = server;
    this.#bounds = bounds;
    server.on("session", (session) => this.#add(session));
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#sweep = setInterval(() => this.#look(), bounds.lookEveryMs).unref();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Sends GOAWAY to all: running calls may finish. Resolves when every connection is closed. */
  close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#sweep);
    const late = setTimeout(() => {
      for (const session of this.#entries.keys()) session.destroy();
      for (const socket of this.#sockets) socket.destroy();
    }, this.#bounds.closeWithinMs);
    return new Promise((resolve) => {
      this.#server.close(() => {
        clearTimeout(late);
        resolve();
      });
      for (const session of this.#entries.keys()) session.close();
    });
  }

  #add(session: ServerHttp2Session): void {
    const now = performance.now();
    const entry = { bornAt: now, idleSince: now, openStreams: 0, isUnanswered: false };
    if (this.#entries.size >= this.#bounds.max && !this.#dropIdlest()) {
      session.destroy();
      return;
    }
    this.#entries.set(session, entry);
    session.on("close", () => this.#entries.delete(session));
    // A handshake may have ended after the server began to close.
    if (this.#isClosing) session.close();
    // An error of a connection ends that connection; there is no other receiver for it.
    session.on("error", () => session.destroy());
    session.on("stream", (stream) => {
      entry.openStreams++;
      stream.once("close", () => {
        entry.openStreams--;
        entry.idleSince = performance.now();
      });
    });
  }

  /** Makes room for a new connection by closing the one idle the longest; its client reconnects for its next call. */
  #dropIdlest(): boolean {
    let idlest: [ServerHttp2Session, Entry] | undefined;
    for (const each of this.#entries) {
      if (each[1].openStreams === 0 && (!idlest || each[1].idleSince < idlest[1].idleSince)) idlest = each;
    }
    idlest?.[0].destroy();
    return idlest !== undefined;
  }

  #look(): void {
    const now = performance.now();
    const { idleMs, ageMs, ageGraceMs } = this.#bounds;
    for (const [session, entry] of this.#entries) {
      const age = now - entry.bornAt;
      if (entry.isUnanswered || age > ageMs + ageGraceMs) session.destroy();
      else if (age > ageMs || (entry.openStreams === 0 && now - entry.idleSince > idleMs)) session.close();
      else this.#ping(session, entry);
    }
  }

  /** Pings a peer. One that does not answer until the next check is gone, whatever TCP still reports. */
  #ping(session: ServerHttp2Session, entry: Entry): void {
    if (session.closed || session.destroyed) return;
    entry.isUnanswered = true;
    session.ping(() => {
      entry.isUnanswered = false;
    });
  }
}

/**
 * Asks a client that is answered before it has sent everything to stop, and keeps the connection in order (RFC 9113
 * 8.1). The answer is written when it finishes, and its trailers are sent two turns later: an earlier reset would
 * overtake them.
 */
export function stopSendingWhenAnswered(stream: ServerHttp2Stream): void {
  const stop = () => {
    if (!stream.readableEnded && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
  };
  stream.once("finish", () => {
    if (!stream.readableEnded) setImmediate(() => setImmediate(stop));
  });
}
