import { once } from "node:events";
import { connect, constants } from "node:http2";
import { afterEach, describe, expect, it } from "vitest";
import { grpcFrame, WireClient } from "../dev/testing/edge/grpc-wire.ts";
import { FrameClient, http2Frame } from "../dev/testing/edge/http2-wire.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { internalConnections, internalHttp2 } from "../limits.ts";
import type { ConnectionBounds } from "../platform/http2-sessions.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer, type GrpcServer } from "./grpc-server.ts";

const started: { server: GrpcServer; neighbour: WireClient }[] = [];
const edge = await forFile(startEdgeFixture);
afterEach(async () => {
  for (const { server, neighbour } of started.splice(0)) {
    neighbour.close();
    await server.close();
  }
  expect(edge.bugs).toEqual([]);
});

/** Starts a server, and a well-behaved client that is connected from the beginning. */
async function start(connections: Partial<ConnectionBounds> = {}) {
  const bounds = { ...internalConnections, ...connections };
  const server = createGrpcServer(edge.parts, { reflection: false, connections: bounds });
  const port = await server.listen(0, "127.0.0.1");
  const neighbour = new WireClient(port);
  started.push({ server, neighbour });
  await requireServed(neighbour);
  return { server, port, neighbour };
}

const metaPath = "/payments.v1.MetaService/GetMeta";
async function requireServed(client: WireClient): Promise<void> {
  const answer = await client.call(metaPath, { "content-type": "application/grpc" }, grpcFrame(new Uint8Array()));
  expect(answer.grpcStatus).toBe(0);
}

const endHeaders = 4;

// HPACK: indexed fields of the static table, and a literal that is not indexed with an empty name's value.
const requestHeaders = Buffer.concat([
  Buffer.from([0x83, 0x86]),
  Buffer.from([0x04, metaPath.length]),
  Buffer.from(metaPath),
  Buffer.from([0x01, 1]),
  Buffer.from("x"),
]);

describe("a client that floods is disconnected, and its neighbour continues:", () => {
  it("rapid reset (CVE-2023-44487)", async () => {
    const { port, neighbour } = await start();
    const client = await FrameClient.connect(port);
    let stream = -1;
    let sent = 0;
    while (sent < 5_000 && client.socket.writable && client.goawayCode() === undefined) {
      stream += 2;
      sent++;
      client.socket.write(http2Frame("headers", { flags: endHeaders, stream, payload: requestHeaders }));
      client.socket.write(http2Frame("reset", { stream, payload: Buffer.from([0, 0, 0, 8]) }));
      if (sent % 50 === 0) await requireServed(neighbour);
    }
    expect(sent).toBeGreaterThanOrEqual(internalHttp2.streamResetBurst);
    expect(sent).toBeLessThan(5_000);
    await client.cut;
    await requireServed(neighbour);
  });

  it("CONTINUATION without an end", async () => {
    const { port, neighbour } = await start();
    const client = await FrameClient.connect(port);
    client.socket.write(http2Frame("headers", { stream: 1, payload: requestHeaders }));
    const field = Buffer.concat([Buffer.from([0x00, 1]), Buffer.from("a"), Buffer.from([100]), Buffer.alloc(100, "b")]);
    const more = http2Frame("continuation", { stream: 1, payload: Buffer.concat(Array(100).fill(field)) });
    expect(await client.flood(more, 1_000)).toBeLessThan(1_000);
    await client.cut;
    await requireServed(neighbour);
  });

  it.each([
    ["PING whose answers are not read", () => http2Frame("ping", { payload: Buffer.alloc(8) })],
    ["SETTINGS whose answers are not read", () => http2Frame("settings", { payload: Buffer.from([0, 4, 0, 1, 0, 0]) })],
  ])("%s", async (_, frame) => {
    const { port, neighbour } = await start();
    const client = await FrameClient.connect(port);
    client.socket.pause();
    const thousand = Buffer.concat(Array(1_000).fill(frame()));
    expect(await client.flood(thousand, 2_000)).toBeLessThan(2_000);
    client.socket.resume();
    await client.cut;
    await requireServed(neighbour);
  });

  it("SETTINGS with more entries than the protocol has", async () => {
    const { port, neighbour } = await start();
    const client = await FrameClient.connect(port);
    const entries = Buffer.concat(Array(internalHttp2.maxSettings + 1).fill(Buffer.from([0, 4, 0, 1, 0, 0])));
    client.socket.write(http2Frame("settings", { payload: entries }));
    await client.cut;
    await requireServed(neighbour);
  });

  it("a frame of a stream that does not exist", async () => {
    const { port, neighbour } = await start();
    const client = await FrameClient.connect(port);
    client.socket.write(http2Frame("data", { stream: 77, payload: Buffer.from("x") }));
    await client.cut;
    await requireServed(neighbour);
  });

  it("bytes that are not HTTP/2", async () => {
    const { port, neighbour } = await start();
    const socket = (await FrameClient.connect(port)).socket;
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(10));
    await once(socket, "close");
    await requireServed(neighbour);
  });
});

describe("too many headers", () => {
  it.each([
    ["by their bytes", () => ({ "x-long": "x".repeat(internalHttp2.settings.maxHeaderListSize + 1) })],
    ["by their number", () => Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-${index}`, "1"]))],
  ])("are refused with their call, %s, and the connection goes on", async (_, headers) => {
    const { neighbour } = await start();
    const many = { "content-type": "application/grpc", ...headers() };
    const answer = await neighbour.call(metaPath, many, grpcFrame(new Uint8Array()));
    expect(answer.grpcStatus).not.toBe(0);
    await requireServed(neighbour);
  });
});

describe("a connection", () => {
  const left = (port: number) => {
    const session = connect(`http://127.0.0.1:${port}`);
    session.on("error", () => {});
    const goawayCode = new Promise<number>((resolve) => session.once("goaway", (code) => resolve(code)));
    const closed = new Promise<void>((resolve) => session.once("close", () => resolve()));
    return { session, goawayCode, closed };
  };

  it("that has been idle for long is sent GOAWAY", async () => {
    const { port } = await start({ idleMs: 200, lookEveryMs: 50 });
    const { goawayCode, closed } = left(port);
    expect(await goawayCode).toBe(constants.NGHTTP2_NO_ERROR);
    await closed;
  });

  it("that is old is sent GOAWAY, and its running calls complete", async () => {
    const { port, neighbour } = await start({ ageMs: 100, lookEveryMs: 50 });
    const { session, goawayCode, closed } = left(port);
    const stream = session.request({ ":method": "POST", ":path": metaPath, "content-type": "application/grpc" });
    expect(await goawayCode).toBe(constants.NGHTTP2_NO_ERROR);
    const trailers = once(stream, "trailers");
    stream.resume();
    stream.end(grpcFrame(new Uint8Array()));
    expect((await trailers)[0]["grpc-status"]).toBe("0");
    await closed;
    neighbour.close();
  });

  it("whose client no longer answers is closed", async () => {
    const { port } = await start({ lookEveryMs: 100 });
    // Reads, but sends nothing after its preface: no PING of the server's is acknowledged.
    const silent = await FrameClient.connect(port);
    await silent.cut;
  });

  it("beyond the limit closes the idlest one", async () => {
    const { port, server, neighbour } = await start({ max: 3 });
    const [first, second] = [left(port), left(port)];
    await Promise.all([once(first.session, "connect"), once(second.session, "connect")]);
    await requireServed(neighbour);
    const newcomer = new WireClient(port);
    await requireServed(newcomer);
    await Promise.race([first.closed, second.closed]);
    await requireServed(neighbour);
    expect(server.connections()).toBeLessThanOrEqual(3);
    newcomer.close();
    first.session.destroy();
    second.session.destroy();
  });

  it("may have a bounded number of calls in flight", async () => {
    const { port } = await start();
    const { session } = left(port);
    await once(session, "remoteSettings");
    expect(session.remoteSettings).toMatchObject({
      maxConcurrentStreams: internalHttp2.settings.maxConcurrentStreams,
      maxHeaderListSize: internalHttp2.settings.maxHeaderListSize,
    });
    session.destroy();
  });
});
