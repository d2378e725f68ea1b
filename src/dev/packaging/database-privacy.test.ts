/** Tests that an address that requires TLS gets TLS, before any part of a login is sent. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { openDatabase } from "../../processes/open-database.ts";

// The first message of a client that wants TLS (https://www.postgresql.org/docs/current/protocol-message-formats.html,
// SSLRequest).
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Returns the first bytes of a client to a server that then closes the connection. */
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

it("openDatabase() sends nothing in the clear if the address requires TLS", async () => {
  const words = await firstWords(async (url) => {
    const { database } = openDatabase(new Secret(url));
    await database.query({ name: "one", text: "SELECT 1" }, []);
  });
  expect(words).toEqual(tlsRequest);
});
