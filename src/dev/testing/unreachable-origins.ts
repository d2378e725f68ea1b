/** Origins that no request can be sent to: each way in which connecting fails before a byte of a request is sent. */
import { type AddressInfo, createServer, type Server } from "node:net";
import { onTestFinished } from "vitest";

/** The origins by name; each is made from an origin that does answer, in clear text. */
export const unreachableOrigins: Readonly<Record<string, (answering: string) => string | Promise<string>>> = {
  "a port where nothing listens": closedOrigin,
  "a name that does not resolve": () => "http://gateway.invalid",
  "a server that speaks no TLS": (answering) => answering.replace("http:", "https:"),
  "a connection that is reset in the TLS handshake": resettingOrigin,
};

export async function closedOrigin(): Promise<string> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

async function resettingOrigin(): Promise<string> {
  const server = createServer((socket) => socket.on("error", () => {}).once("data", () => socket.resetAndDestroy()));
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${await listen(server)}`;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
