/** The connections of an HTTP/2 server: how many there may be, when one has been idle or alive for long enough, and their end. */
import type { Http2Server, ServerHttp2Session } from "node:http2";
import { internalConnections } from "../limits.ts";

/** Bounds on the connections of one server. */
export type ConnectionBounds = { readonly [Name in keyof typeof internalConnections]: number };

type Entry = { bornAt: number; idleSince: number; openStreams: number; isUnanswered: boolean };

/** Keeps book of a server's connections from its first to its last. */
export class Http2Sessions {
  readonly #entries = new Map<ServerHttp2Session, Entry>();
  readonly #server: Http2Server;
  readonly #bounds: ConnectionBounds;
  readonly #sweep: NodeJS.Timeout;
  #isClosing = false;

  constructor(server: Http2Server, bounds: ConnectionBounds = internalConnections) {
    this.#server = server;
    this.#bounds = bounds;
    server.on("session", (session) => this.#add(session));
    this.#sweep = setInterval(() => this.#look(), bounds.lookEveryMs).unref();
  }

  /** Connections that are open. */
  get size(): number {
    return this.#entries.size;
  }

  /** GOAWAY to all: calls that run may finish, within a bound; nothing new begins. Resolves when every connection is gone. */
  close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#sweep);
    const late = setTimeout(() => {
      for (const session of this.#entries.keys()) session.destroy();
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
    if (this.#entries.size >= this.#bounds.most && !this.#dropIdlest()) {
      session.destroy();
      return;
    }
    this.#entries.set(session, entry);
    session.on("close", () => this.#entries.delete(session));
    // A handshake may have ended after the server began to close.
    if (this.#isClosing) session.close();
    // What is wrong with a connection ends that connection; there is nobody else to tell.
    session.on("error", () => session.destroy());
    session.on("stream", (stream) => {
      entry.openStreams++;
      stream.once("close", () => {
        entry.openStreams--;
        entry.idleSince = performance.now();
      });
    });
  }

  /** Makes room for a newcomer: whoever has called least recently connects again when there is something to say. */
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

  /** A peer that does not answer until the next look is gone, whatever TCP still believes. */
  #ping(session: ServerHttp2Session, entry: Entry): void {
    if (session.closed || session.destroyed) return;
    entry.isUnanswered = true;
    session.ping(() => {
      entry.isUnanswered = false;
    });
  }
}
