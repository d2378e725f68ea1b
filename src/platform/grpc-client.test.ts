import { execFile } from "node:child_process";
import { constants, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { VaultService } from "../../gen/vault/v1/vault_pb.ts";
import { createGrpcClient } from "./grpc-client.ts";

async function clientWithoutServer() {
  let attempts = 0;
  const server = createServer((socket) => {
    attempts++;
    socket.on("error", () => {}).destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = createGrpcClient(VaultService, `127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  return { client, attempts: () => attempts };
}

it("calls the server directly, whatever proxy the environment names", async () => {
  const script = (file: URL, port: number) => `
    import { createGrpcClient } from ${JSON.stringify(file.href)};
    import { VaultService } from ${JSON.stringify(new URL("../../gen/vault/v1/vault_pb.ts", import.meta.url).href)};
    const client = createGrpcClient(VaultService, "127.0.0.1:${port}");
    console.log(await client.isConnected(5_000));
    client.close();`;
  const asked: string[] = [];
  const proxy = createServer((socket) => {
    socket.on("error", () => {}).on("data", (bytes) => asked.push(bytes.toString().split("\r\n")[0]!) && socket.end());
  });
  const server = createHttp2Server();
  for (const each of [proxy, server]) {
    await new Promise<void>((resolve) => each.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void each.close());
  }
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const names = ["http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
  const env = { ...Object.fromEntries(names.map((name) => [name, address])), NODE_USE_ENV_PROXY: "1" };
  const port = (server.address() as AddressInfo).port;
  const evaluate = ["--input-type=module", "--eval", script(new URL("grpc-client.ts", import.meta.url), port)];
  const { stdout } = await promisify(execFile)(process.execPath, evaluate, { env });
  expect({ isConnected: stdout.trim(), asked }).toEqual({ isConnected: "true", asked: [] });
});

it("reports that there is no connection once it has waited that long for one", async () => {
  const { client } = await clientWithoutServer();
  expect(await client.isConnected(50)).toBe(false);
});

it("reconnects several times within two seconds, so that a server that is back is found soon", async () => {
  const { client, attempts } = await clientWithoutServer();
  expect(await client.isConnected(2_000)).toBe(false);
  expect(attempts()).toBeGreaterThanOrEqual(4);
});

/** Returns a client of a server that ends every stream unread with this code, and a counter of the streams. */
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

// A stopping server refuses calls unseen; a call that it may have begun must never be sent again.
it.each([
  ["sends a call once more that the server refused unseen", constants.NGHTTP2_REFUSED_STREAM, 2],
  ["sends a call once that the server may have begun", constants.NGHTTP2_INTERNAL_ERROR, 1],
])("%s", async (_, code, times) => {
  const { client, streams } = await clientOfRefuser(code);
  await expect(client.forget({ sessionId: "ps_one" }, { timeoutMs: 5_000 })).rejects.toThrow();
  expect(streams()).toBe(times);
});
