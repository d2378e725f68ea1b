/** An address that asks for TLS gets TLS: nothing of a login is said before. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import { openDatabase } from "./environment.ts";
import { Secret } from "./platform/secrets.ts";

// The first message of a client that wants TLS (https://www.postgresql.org/docs/current/protocol-message-formats.html, SSLRequest).
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** What a client says first to a server that hangs up then. */
async function firstWords(connect: (url: string) => Promise<unknown>): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = createServer((socket) => {
    socket.once("data", (data) => {
      resolve(data);
      socket.destroy();
    });
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  void connect(`postgres://role:hunter2@127.0.0.1:${port}/one?sslmode=verify-full`).catch(() => {});
  const words = await promise;
  server.close();
  return words;
}

it("openDatabase() says nothing in the clear where the address asks for TLS", async () => {
  const words = await firstWords(async (url) => {
    const { database } = await openDatabase(new Secret(url), []);
    await database.query({ name: "one", text: "SELECT 1" }, []);
  });
  expect(words).toEqual(tlsRequest);
});
