/** Starts and stops the vault's two servers, with the bounds and guards every listener has. */
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo, Server as NetServer } from "node:net";
import { HttpDrain } from "../platform/http-drain.ts";
import { isHost } from "../platform/http-head.ts";
import { createHttpServer, type HttpServerParts } from "../platform/http-server.ts";
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

/** Serves HTTP/2 without TLS, as gRPC speaks it on a private network. */
export async function listenHttp2(
  address: ListenAddress,
  handle: Parameters<typeof createHttp2Server>[1] & object,
): Promise<Listener> {
  const server = createHttp2Server({ settings: { maxHeaderListSize: headerBytesMax } }, (request, response) => {
    if (isHost(request.authority) && request.url.startsWith("/")) return handle(request, response);
    response.writeHead(400).end();
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => session.destroy());
    session.on("close", () => sessions.delete(session));
  });
  const origin = await listen(server, address);
  // A GOAWAY while calls are still taken would send the core to a balancer that has not looked yet.
  return { origin, drain: () => {}, close: () => closeHttp2(server, sessions) };
}

function listen(server: NetServer, { host, port }: ListenAddress): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const address = server.address() as AddressInfo;
      resolve(`http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`);
    });
  });
}

function closeHttp2(server: Http2Server, sessions: ReadonlySet<ServerHttp2Session>): Promise<void> {
  const timer = setTimeout(() => {
    for (const session of sessions) session.destroy();
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
