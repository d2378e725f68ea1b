import { constants, createServer as createHttp2Server } from "node:http2";
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

/** A client of a server that ends every stream with this code, having looked at none; and how many there were. */
async function clientOfRefuser(code: number) {
  let streams = 0;
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    streams++;
    stream.on("error", () => {}).close(code);
  });
  server.on("session", (session) => onTestFinished(() => session.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = createGrpcClient(VaultService, `127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  return { client, streams: () => streams };
}

// A server refuses calls unseen while it stops: what it may have begun must never be sent again.
it.each([
  ["sends a call once more that the server refused unseen", constants.NGHTTP2_REFUSED_STREAM, 2],
  ["sends a call once that the server may have begun", constants.NGHTTP2_INTERNAL_ERROR, 1],
])("%s", async (_, code, times) => {
  const { client, streams } = await clientOfRefuser(code);
  await expect(client.forget({ sessionId: "ps_one" }, { timeoutMs: 5_000 })).rejects.toThrow();
  expect(streams()).toBe(times);
});
