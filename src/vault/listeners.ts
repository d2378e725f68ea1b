/** Starts and stops the vault's two servers, with the bounds and guards of every listener. */
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Server as NetServer } from "node:net";
import { isHost } from "../platform/http-head.ts";
import { createHttpServer, HttpDrain, type HttpServerParts } from "../platform/http-server.ts";
import { Http2Sessions, internalPort, stopSendingWhenAnswered } from "../platform/http2-sessions.ts";
import type { TlsFiles } from "../platform/tls-files.ts";
import type { ListenAddress } from "./vault-config.ts";
import { forwardEndsWithinMs, requestTimeoutMs, tokenizeEndsWithinMs } from "./vault-limits.ts";

export type Listener = {
  /** Its own address, such as `http://127.0.0.1:8443`. */
  readonly origin: string;
  /** Asks callers to use another connection next time. Calls are still answered. */
  drain(): void;
  /** Accepts no new connection; requests in flight get until the deadline. */
  close(): Promise<void>;
};

export async function listenHttp(
  address: ListenAddress,
  parts: Pick<HttpServerParts, "handle" | "refuse">,
): Promise<Listener> {
  const server = createHttpServer({ ...parts, requestTimeoutMs });
  const ending = new HttpDrain(server);
  const origin = await listen(server, address);
  return { origin, drain: () => ending.begin(), close: () => ending.close(tokenizeEndsWithinMs) };
}

/** Answers one request of HTTP/2. */
type HandleStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/**
 * Serves HTTP/2 for the core: with TLS if there are certificates, and otherwise unencrypted, as gRPC does on one
 * machine.
 */
export async function listenHttp2(
  address: ListenAddress,
  { handle, tls }: { handle: HandleStream; tls: TlsFiles | undefined },
): Promise<Listener> {
  const server = tls
    ? createSecureServer({ ...internalPort.http2, ...tls.serverOptions() })
    : createHttp2Server(internalPort.http2);
  server.on("stream", (stream, headers) => {
    // A broken connection emits an error for each of its streams first and their end second; the end is handled.
    stream.on("error", () => {});
    stopSendingWhenAnswered(stream);
    if (isHost(headers[":authority"] ?? headers.host) && headers[":path"]?.startsWith("/")) handle(stream, headers);
    else stream.respond({ ":status": 400 }, { endStream: true });
  });
  const connections = new Http2Sessions(server as Http2Server, {
    ...internalPort.connections,
    closeWithinMs: forwardEndsWithinMs,
  });
  const stopRenewing = "setSecureContext" in server ? tls?.renew(server) : undefined;
  const origin = await listen(server, address, tls ? "https" : "http");
  // A GOAWAY while calls are still accepted would send the core to a balancer that has not checked readiness yet.
  const close = () => {
    stopRenewing?.();
    return connections.close();
  };
  return { origin, drain: () => {}, close };
}

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
