import { constants, createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer, type Server } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { VaultService } from "../../../gen/vault/v1/vault_pb.ts";
import { frameMessage } from "../../platform/grpc-message.ts";
import { statusCodes, VaultChannel } from "./vault-channel.ts";

async function listen(server: Server): Promise<VaultChannel> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const channel = new VaultChannel(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    channel.close();
    server.close();
  });
  return channel;
}

/** Returns a channel to a vault that answers each call by `answer`, and its streams and connections. */
async function channelTo(answer: (stream: ServerHttp2Stream) => void) {
  const streams: ServerHttp2Stream[] = [];
  const server = createHttp2Server();
  let connections = 0;
  server.on("stream", (stream) => {
    streams.push(stream.on("error", () => {}));
    answer(stream);
  });
  server.on("session", (session) => {
    connections++;
    onTestFinished(() => session.destroy());
  });
  return { channel: await listen(server), streams, connections: () => connections };
}

function forget(channel: VaultChannel, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  return channel.call(
    VaultService.method.forget,
    { sessionId: "ps_one" },
    { timeoutMs: 5_000, metadata: {}, ...options },
  );
}

const done = (stream: ServerHttp2Stream) => {
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.respond({ ":status": 200 }, { waitForTrailers: true });
  stream.end(frameMessage(new Uint8Array()));
};

// A stopping vault refuses calls unseen. A call that it may have begun must never be sent again: it may be a hold.
it.each([
  ["sends a call once more that the vault refused unseen", constants.NGHTTP2_REFUSED_STREAM, 2],
  ["sends a call once that the vault may have begun", constants.NGHTTP2_INTERNAL_ERROR, 1],
])("%s", async (_, code, times) => {
  const { channel, streams } = await channelTo((stream) => stream.close(code));
  await expect(forget(channel)).rejects.toMatchObject({ code: statusCodes.unavailable });
  expect(streams).toHaveLength(times);
});

it("sends a call once whose connection breaks", async () => {
  const { channel, streams } = await channelTo((stream) => stream.session!.destroy());
  await expect(forget(channel)).rejects.toMatchObject({ code: statusCodes.unavailable });
  expect(streams).toHaveLength(1);
});

it("calls over a new connection once the vault has announced the end of the first, whose call it still answers", async () => {
  const leaving = (stream: ServerHttp2Stream) => {
    stream.session!.goaway(constants.NGHTTP2_NO_ERROR);
    stream.session!.once("close", () => {});
    setImmediate(() => done(stream));
  };
  const { channel, connections } = await channelTo(leaving);
  await forget(channel);
  await forget(channel);
  expect(connections()).toBe(2);
});

it("reports the vault's refusal by its code", async () => {
  const refusal = { ":status": 200, "grpc-status": String(statusCodes.unauthenticated) };
  const { channel } = await channelTo((stream) => stream.respond(refusal, { endStream: true }));
  await expect(forget(channel)).rejects.toMatchObject({ code: statusCodes.unauthenticated });
});

it("takes an answer without the vault's status as none", async () => {
  const { channel } = await channelTo((stream) => {
    stream.respond({ ":status": 200 });
    stream.end(frameMessage(new Uint8Array()));
  });
  await expect(forget(channel)).rejects.toMatchObject({ code: statusCodes.unavailable });
});

it("ends a call at its deadline, and by its signal, and resets its stream", async () => {
  const { channel, streams } = await channelTo(() => {});
  await expect(forget(channel, { timeoutMs: 50 })).rejects.toMatchObject({ code: statusCodes.deadlineExceeded });
  const signal = AbortSignal.abort();
  await expect(forget(channel, { signal })).rejects.toMatchObject({ code: statusCodes.cancelled });
  await expect.poll(() => streams.map(({ closed }) => closed)).not.toContain(false);
});

it("is not connected to a port that only accepts connections", async () => {
  const silent = createServer((socket) => void onTestFinished(() => void socket.on("error", () => {}).destroy()));
  expect(await (await listen(silent)).isConnected(50)).toBe(false);
});

it("reconnects several times within two seconds, so that a vault that is back is found soon", async () => {
  let attempts = 0;
  const closing = createServer((socket) => {
    attempts++;
    socket.on("error", () => {}).destroy();
  });
  expect(await (await listen(closing)).isConnected(2_000)).toBe(false);
  expect(attempts).toBeGreaterThanOrEqual(4);
});
