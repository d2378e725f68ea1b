import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { VaultService } from "../../gen/vault/v1/vault_pb.ts";
import { createGrpcClient } from "./grpc-client.ts";

/** A client of a port that hangs up on everybody, and how often it was tried. */
async function clientOfNobody() {
  let tries = 0;
  const server = createServer((socket) => {
    tries++;
    socket.on("error", () => {}).destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = createGrpcClient(VaultService, `127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  return { client, tries: () => tries };
}

it("says that there is no connection once it has waited so long for one", async () => {
  const { client } = await clientOfNobody();
  expect(await client.isConnected(50)).toBe(false);
});

it("tries again several times within two seconds, so that a server that is back is found soon", async () => {
  const { client, tries } = await clientOfNobody();
  expect(await client.isConnected(2_000)).toBe(false);
  expect(tries()).toBeGreaterThanOrEqual(4);
});
