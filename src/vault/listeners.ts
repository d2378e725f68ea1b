/** Starts and stops the vault's two servers, with the bounds and guards every listener has. */
import { createServer as createHttp2Server, createSecureServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import { HttpDrain } from "../platform/http-drain.ts";
import { isHost } from "../platform/http-head.ts";
import { createHttpServer, type HttpServerParts } from "../platform/http-server.ts";
import type { TlsFiles } from "../platform/tls-files.ts";
import type { ListenAddress } from "./vault-config.ts";
import { forwardEndsWithinMs, headerBytesMax, requestTimeoutMs, tokenizeEndsWithinMs } from "./vault-limits.ts";

/** A server that takes connections. */
export type Listener = {
  /** The address it took, such as `http://127.0.0.1:8443`. */
  readonly origin: string;
  /** Tells whoever calls to come over another connection next time. Calls are still answered. */
  drain(): void;
  /** Takes no new connection; requests in flight get until the deadline. */
  close(): Promise<void>;
};

/** Serves HTTP/1.1. */
export async function listenHttp(
  address: ListenAddress,
  parts: Pick<HttpServerParts, "handle" | "refuse">,
): Promise<Listener> {
  const server = createHttpServer({ ...parts, requestTimeoutMs });
  const ending = new HttpDrain(server);
  const origin = await listen(server, address);
  return { origin, drain: () => ending.begin(), close: () => ending.close(tokenizeEndsWithinMs) };
}

/** Serves HTTP/2 for the core: with TLS where there are certificates, and otherwise as gRPC speaks it on one machine. */
export async function listenHttp2(
  address: ListenAddress,
  { handle, tls }: { handle: Parameters<typeof createHttp2Server>[1] & object; tls: TlsFiles | undefined },
): Promise<Listener> {
  const options = { settings: { maxHeaderListSize: headerBytesMax } };
  const answer: typeof handle = (request, response) => {
    if (isHost(request.authority) && request.url.startsWith("/")) return handle(request, response);
    response.writeHead(400).end();
  };
  const server = tls
    ? createSecureServer({ ...options, ...tls.serverOptions() }, answer)
    : createHttp2Server(options, answer);
  const open: Open = { sessions: new Set(), sockets: new Set() };
  server.on("session", (session: ServerHttp2Session) => {
    open.sessions.add(session);
    session.on("error", () => session.destroy());
    session.on("close", () => open.sessions.delete(session));
    // A handshake may have ended after the server began to close.
    if (!server.listening) session.close();
  });
  server.on("connection", (socket: Socket) => {
    open.sockets.add(socket);
    socket.on("close", () => open.sockets.delete(socket));
  });
  const stopRenewing = "setSecureContext" in server ? tls?.renew(server) : undefined;
  const origin = await listen(server, address, tls ? "https" : "http");
  // A GOAWAY while calls are still taken would send the core to a balancer that has not looked yet.
  const close = () => {
    stopRenewing?.();
    return closeHttp2(server, open);
  };
  return { origin, drain: () => {}, close };
}

/** Connections, and what they run on: one that never ends its handshake becomes no session. */
type Open = { readonly sessions: Set<ServerHttp2Session>; readonly sockets: Set<Socket> };

function listen(server: NetServer, { host, port }: ListenAddress, scheme = "http"): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const address = server.address() as AddressInfo;
      resolve(`${scheme}://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`);
    });
  });
}

function closeHttp2(server: NetServer, { sessions, sockets }: Open): Promise<void> {
  const timer = setTimeout(() => {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  }, forwardEndsWithinMs);
  return new Promise((resolve) => {
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    // GOAWAY: clients finish what they sent and open a new connection for the rest.
    for (const session of sessions) session.close();
  });
}
