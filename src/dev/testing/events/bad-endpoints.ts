/** Misbehaving webhook endpoints, each a real server on loopback, with the delivery log's expected outcome. */
import { createServer as createHttp2Server, createSecureServer } from "node:http2";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";
import type { NoAnswer } from "../../../events/egress.ts";
import type { TestAuthority } from "../certificates.ts";

/** The outcome in the delivery log: a status, or the reason that there was none. */
type Outcome = number | NoAnswer;

export type BadEndpoint = {
  readonly outcome: Outcome;
  /** Set if only our deadline ends it, after its full time. */
  readonly takesAllTime?: true;
  readonly scheme?: "https";
  /** A name in place of 127.0.0.1. */
  readonly host?: string;
  readonly listen: (authority: TestAuthority) => Server;
};

const tcp = (onConnection: (socket: Socket) => void) => () => createServer(onConnection);
const afterRequest = (answer: (socket: Socket) => void) => tcp((socket) => socket.once("data", () => answer(socket)));
const head = (status: string, ...lines: string[]) => `${[`HTTP/1.1 ${status}`, ...lines].join("\r\n")}\r\n\r\n`;
const says = (text: string) => afterRequest((socket) => socket.end(text));
const answers = (status: string, ...lines: string[]) => says(head(status, ...lines, "content-length: 0"));

const endlessly = (start: string, chunk: string) => {
  // Bytes, which no write has to encode again, and so many that a write is worth its call.
  const bytes = Buffer.from(chunk.repeat(Math.ceil(16_384 / chunk.length)));
  return afterRequest((socket) => {
    const more = () => {
      while (!socket.destroyed && socket.write(bytes));
    };
    socket.on("drain", more);
    socket.write(start);
    more();
  });
};

/** Sends bytes so often that no pause between two is long. */
const trickle = (start: string, byte: string) =>
  afterRequest((socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(byte), 20);
    socket.on("close", () => clearInterval(timer));
  });

const tls =
  (isOver = false) =>
  (authority: TestAuthority) =>
    createTlsServer(authority.issue("server", { isOver }), (socket) =>
      socket.once("data", () => socket.end(head("204 Fine"))),
    );

const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));

/** Every kind, by its defect. */
export const badEndpoints: Readonly<Record<string, BadEndpoint>> = {
  "accepts and says nothing": { outcome: "timeout", takesAllTime: true, listen: tcp((socket) => socket.resume()) },
  "accepts and reads nothing": { outcome: "timeout", takesAllTime: true, listen: tcp((socket) => socket.pause()) },
  "hangs in the middle of the headers": {
    outcome: "timeout",
    takesAllTime: true,
    listen: afterRequest((socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-le")),
  },
  "hangs after the headers": {
    outcome: 200,
    takesAllTime: true,
    listen: afterRequest((socket) => socket.write(head("200 OK", "content-length: 9"))),
  },
  "sends headers byte by byte": {
    outcome: "timeout",
    takesAllTime: true,
    listen: trickle("HTTP/1.1 200 OK\r\nx: ", "x"),
  },
  "sends a body byte by byte": {
    outcome: 200,
    takesAllTime: true,
    listen: trickle(head("200 OK", "content-length: 9999999"), "x"),
  },
  "sends an interim answer now and then": {
    outcome: "answer_unreadable",
    listen: trickle("", head("103 Early Hints")),
  },
  "resets at once": { outcome: "connection_lost", listen: tcp((socket) => socket.resetAndDestroy()) },
  "resets after the request": {
    outcome: "connection_lost",
    listen: afterRequest((socket) => socket.resetAndDestroy()),
  },
  "closes without a byte": { outcome: "connection_lost", listen: afterRequest((socket) => socket.end()) },
  "resets after the headers": {
    outcome: 200,
    listen: afterRequest((socket) => socket.write(head("200 OK", "content-length: 9"), () => socket.resetAndDestroy())),
  },
  "sends a body without end": { outcome: 200, listen: endlessly(head("200 OK"), "x".repeat(16_384)) },
  "sends headers without end": {
    outcome: "answer_unreadable",
    listen: endlessly("HTTP/1.1 200 OK\r\n", `x: ${"x".repeat(999)}\r\n`),
  },
  "sends one header without end": {
    outcome: "answer_unreadable",
    listen: endlessly("HTTP/1.1 200 OK\r\nx: ", "x".repeat(16_384)),
  },
  "sends interim answers without end": { outcome: "answer_unreadable", listen: endlessly("", head("103 Early Hints")) },
  "sends 100 without end": { outcome: "connection_lost", listen: endlessly("", head("100 Continue")) },
  "sends a gzip bomb": {
    outcome: 200,
    listen: afterRequest((socket) =>
      socket.end(
        Buffer.concat([Buffer.from(head("200 OK", "content-encoding: gzip", `content-length: ${bomb.length}`)), bomb]),
      ),
    ),
  },
  "sends chunks of a size that is none": {
    outcome: 200,
    listen: says(`${head("200 OK", "transfer-encoding: chunked")}zz\r\n`),
  },
  "answers in HTTP/1.0": { outcome: 200, listen: says("HTTP/1.0 200 OK\r\n\r\nfine") },
  "answers before the request": {
    outcome: 200,
    listen: tcp((socket) => socket.end(head("200 OK", "content-length: 0"))),
  },
  "switches protocols": {
    outcome: "connection_lost",
    listen: says(head("101 Switching Protocols", "upgrade: x", "connection: upgrade")),
  },
  "speaks SSH": { outcome: "answer_unreadable", listen: says("SSH-2.0-OpenSSH_9.9\r\n") },
  "speaks HTTP/2 only, in clear": { outcome: "answer_unreadable", listen: () => createHttp2Server() },
  "speaks HTTP/2 only, by TLS": {
    outcome: "tls_failed",
    scheme: "https",
    listen: (authority) => createSecureServer(authority.issue("server")),
  },
  "speaks plain HTTP at https": {
    outcome: "tls_failed",
    scheme: "https",
    listen: says(head("200 OK", "content-length: 0")),
  },
  "speaks TLS at http": { outcome: "connection_lost", listen: tls() },
  "accepts and never shakes hands": {
    outcome: "timeout",
    takesAllTime: true,
    scheme: "https",
    listen: tcp((socket) => socket.resume()),
  },
  "has an expired certificate": { outcome: "tls_failed", scheme: "https", listen: tls(true) },
  "has a certificate of another name": {
    outcome: "tls_failed",
    scheme: "https",
    host: "other.localhost",
    listen: tls(),
  },
  "has no name in DNS": { outcome: "dns_failed", host: "no-such-host.invalid", listen: tcp(() => {}) },
  "answers 500": { outcome: 500, listen: answers("500 Broken") },
  "answers 503 with Retry-After": { outcome: 503, listen: answers("503 Busy", "retry-after: 86400") },
  "answers 410": { outcome: 410, listen: answers("410 Gone") },
  "redirects to itself": { outcome: 302, listen: answers("302 Found", "location: /hook") },
  "redirects to loopback": { outcome: 307, listen: answers("307 Temporary Redirect", "location: http://127.0.0.1:1/") },
  "redirects to metadata": {
    outcome: 301,
    listen: answers("301 Moved", "location: http://169.254.169.254/latest/meta-data"),
  },
  "redirects permanently": { outcome: 308, listen: answers("308 Permanent Redirect", "location: //[::1]/") },
};

export class RunningBadEndpoint {
  readonly url: string;
  readonly open = new Set<Socket>();
  connections = 0;
  readonly #server: Server;
  #waiting: (() => void)[] = [];

  private constructor(server: Server, { scheme, host }: BadEndpoint) {
    this.#server = server;
    this.url = `${scheme ?? "http"}://${host ?? "127.0.0.1"}:${(server.address() as AddressInfo).port}/hook`;
  }

  static async start(kind: BadEndpoint, authority: TestAuthority): Promise<RunningBadEndpoint> {
    const server = kind.listen(authority);
    server.on("tlsClientError", () => {}).on("sessionError", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const running = new RunningBadEndpoint(server, kind);
    server.on("connection", (socket: Socket) => running.#follow(socket));
    return running;
  }

  /** Resolves when the last connection is closed. */
  async empty(): Promise<void> {
    // Only a socket that is read detects its end.
    for (const socket of this.open) socket.resume();
    while (this.open.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  close(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #follow(socket: Socket): void {
    this.connections += 1;
    this.open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.open.delete(socket);
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }
}
