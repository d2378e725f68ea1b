/** A proxy between a browser and the edge: refuses one file as long as it is requested by its own address. */
import { once } from "node:events";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";

/** Returns the address of a proxy to `origin` that loses files of this name, except requests with a query. */
export async function openLosingLine(
  origin: string,
  name: string,
): Promise<{ readonly origin: string; readonly lost: () => number; close(): void }> {
  let lost = 0;
  const server = createServer((request, response) => {
    const target = request.url ?? "/";
    if (target.includes(name) && !target.includes("?")) {
      lost += 1;
      return void response.writeHead(503).end();
    }
    const { method, headers } = request;
    const onwards = forward(origin + target, { method, headers: { ...headers, host: new URL(origin).host } });
    onwards.on("response", (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers)));
    onwards.on("error", () => response.destroy());
    request.pipe(onwards);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    lost: () => lost,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
