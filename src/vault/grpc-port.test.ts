/** Tests the vault's gRPC port against unknown callers, and against bodies that never arrive. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { Pool } from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ForwardRequestSchema, VaultService } from "../../gen/vault/v1/vault_pb.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { internalHttp2 } from "../limits.ts";
import { Database } from "../platform/database.ts";
import { frameMessage } from "../platform/grpc-message.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { createServiceTokens } from "../platform/service-token-signing.ts";
import { destinations } from "./destinations.ts";
import { listenHttp2 } from "./listeners.ts";
import { keyPair } from "./vault.fixture.ts";
import { forwardBytesMax } from "./vault-limits.ts";
import { type VaultRpc, vaultRpcHandler } from "./vault-rpc.ts";

const { signing, verification } = keyPair("test");

/** Opens a connection to a port whose database is never asked. */
async function openPort(change: Partial<VaultRpc> = {}): Promise<ClientHttp2Session> {
  const http = new GatewayHttp();
  const handle = vaultRpcHandler({
    database: new Database(new Pool({ host: "127.0.0.1", port: 1 })),
    destinations,
    http,
    environments: [{ environment: "test", ring: { current: "1", keys: { 1: randomBytes(32) } }, testCards: new Set() }],
    serviceTokenKeys: [verification],
    logger: createStrictLog(),
    ...change,
  });
  const port = await listenHttp2({ host: "127.0.0.1", port: 0 }, { handle, tls: undefined });
  const session = connect(port.origin);
  session.on("error", () => {});
  onTestFinished(async () => {
    session.destroy();
    await port.close();
    await http.close();
  });
  await once(session, "remoteSettings");
  return session;
}

// The prefix of an uncompressed message of 100 000 bytes.
const frameHead = Buffer.from([0, 0, 1, 0x86, 0xa0]);

function openCall(session: ClientHttp2Session, headers: Record<string, string>): ClientHttp2Stream {
  const stream = session.request(
    { ":method": "POST", ":path": `/${VaultService.typeName}/Forward`, "content-type": "application/grpc", ...headers },
    { endStream: false },
  );
  stream.on("error", () => {});
  return stream;
}

/** Returns the headers of the answer to a call that is refused, once the call has ended. */
async function refusalOf(stream: ClientHttp2Stream): Promise<Record<string, unknown>> {
  const closed = once(stream, "close");
  const [head] = (await once(stream, "response")) as [Record<string, unknown>];
  stream.resume();
  await closed;
  return head;
}

/** Returns the status of a call whose body begins and does not end. */
async function statusOf(session: ClientHttp2Session, headers: Record<string, string>): Promise<unknown> {
  const stream = openCall(session, headers);
  stream.write(Buffer.concat([frameHead, Buffer.alloc(16 * 1024)]));
  return (await refusalOf(stream))["grpc-status"];
}

const unauthenticated = "16";
const deadlineExceeded = "4";
const unimplemented = "12";
const invalidArgument = "3";
const resourceExhausted = "8";

it("answers strangers by their headers, and releases bodies that they have not finished", async () => {
  const session = await openPort();
  const strange = [
    {},
    { authorization: "Bearer a.b.c" },
    { authorization: `Bearer ${createServiceTokens(keyPair("test").signing)()}` },
  ];
  const calls = Array.from({ length: 60 }, (_, at) => statusOf(session, strange[at % strange.length]!));
  expect(new Set(await Promise.all(calls))).toEqual(new Set([unauthenticated]));
  expect(session.destroyed).toBe(false);
});

it("ends the call of a known caller whose body does not arrive", async () => {
  const session = await openPort({ bodyWithinMs: 1 });
  const authorization = `Bearer ${createServiceTokens(signing)()}`;
  expect(await statusOf(session, { authorization })).toBe(deadlineExceeded);
});

const bytes = toBinary(
  ForwardRequestSchema,
  create(ForwardRequestSchema, {
    connector: "SANDBOX_A",
    operation: "authorize",
    token: "tok_1",
    sessionId: "ps_1",
    timeoutMs: 1_000,
    origin: "http://127.0.0.1:1",
    body: Buffer.from("card[number]={{card.number}}&card[cvc]={{card.cvc}}"),
  }),
);
const message = frameMessage(bytes);
it("refuses a message that arrives when its service token has expired, before a card is looked up", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const accepted = Promise.withResolvers<void>();
  const environment = {
    ring: { current: "1", keys: { 1: randomBytes(32) } },
    testCards: new Set<string>(),
    sandboxHosts: ["127.0.0.1"],
    get environment() {
      accepted.resolve();
      return "test" as const;
    },
  };
  const session = await openPort({ environments: [environment] });
  const stream = openCall(session, { authorization: `Bearer ${createServiceTokens(signing)()}` });
  const refusal = refusalOf(stream);
  await accepted.promise;
  vi.setSystemTime(Date.now() + 26_000);
  stream.end(message);
  expect((await refusal)["grpc-status"]).toBe(unauthenticated);
});

it("refuses the second call with a service token that has expired since the first", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const session = await openPort({ logger: createStrictLog((line) => lines.push(line)) });
  const authorization = `Bearer ${createServiceTokens(signing)()}`;
  const call = () => {
    const stream = openCall(session, { authorization, ":path": "/vault.v1.VaultService/Other" });
    stream.end(message);
    return refusalOf(stream);
  };
  expect((await call())["grpc-status"]).toBe(unimplemented);
  expect(lines).toEqual([]);
  vi.setSystemTime(Date.now() + 27_000);
  expect((await call())["grpc-status"]).toBe(unauthenticated);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ kind: "clock" }]);
});

describe("a known caller's request", () => {
  const refused = async (headers: Record<string, string>, body: Uint8Array = message) => {
    const session = await openPort();
    const stream = openCall(session, { authorization: `Bearer ${createServiceTokens(signing)()}`, ...headers });
    stream.end(body);
    return refusalOf(stream);
  };

  it.each([
    ["by another method", { ":method": "PUT" }, { ":status": 405, allow: "POST" }],
    ["of another content type", { "content-type": "application/json" }, { ":status": 415 }],
    ["of gRPC with JSON", { "content-type": "application/grpc+json" }, { ":status": 415 }],
    ["of gRPC-Web", { "content-type": "application/grpc-web" }, { ":status": 415 }],
    [
      "to another path",
      { ":path": `/${VaultService.typeName}/Reveal` },
      { ":status": 200, "grpc-status": unimplemented },
    ],
    ["to another service", { ":path": "/grpc.health.v1.Health/Check" }, { "grpc-status": unimplemented }],
    [
      "that announces compression",
      { "grpc-encoding": "gzip" },
      { "grpc-status": unimplemented, "grpc-accept-encoding": "identity" },
    ],
    ["with a time limit that is none", { "grpc-timeout": "soon" }, { "grpc-status": invalidArgument }],
  ])("%s is refused", async (_, headers, expected) => {
    expect(await refused(headers as Record<string, string>)).toMatchObject(expected);
  });

  const flagged = Buffer.from(message);
  flagged[0] = 1;
  it.each([
    ["is compressed", flagged, unimplemented],
    ["is empty", new Uint8Array(), invalidArgument],
    ["breaks off", message.subarray(0, -1), invalidArgument],
    ["is two messages", Buffer.concat([message, message]), invalidArgument],
    ["is no such message", frameMessage(Buffer.alloc(8, 0xff)), invalidArgument],
    ["lacks a field", frameMessage(new Uint8Array()), invalidArgument],
    ["is too large", frameMessage(Buffer.alloc(forwardBytesMax)), resourceExhausted],
  ])("whose body %s is refused", async (_, body, status) => {
    expect(await refused({}, body)).toMatchObject({ ":status": 200, "grpc-status": status });
  });

  it("that its caller cancels before the message is complete leaves nothing behind", async () => {
    const session = await openPort();
    const stream = openCall(session, { authorization: `Bearer ${createServiceTokens(signing)()}` });
    stream.write(message.subarray(0, 20));
    await new Promise((sent) => session.ping(sent));
    stream.close(constants.NGHTTP2_CANCEL);
    // The port closes only when no stream is left.
    await new Promise((sent) => session.ping(sent));
    expect(await statusOf(session, {})).toBe(unauthenticated);
  });
});

it("logs why a service token is refused, once a minute for each kind, and nothing of the token", async () => {
  const lines: string[] = [];
  const session = await openPort({ logger: createStrictLog((line) => lines.push(line)) });
  // The clock stands still, so that the age of a token is exact.
  const now = Date.now();
  vi.useFakeTimers({ toFake: ["Date"], now: now + 30_500 });
  onTestFinished(() => void vi.useRealTimers());
  const ahead = createServiceTokens(signing)();
  vi.setSystemTime(now);
  const stranger = createServiceTokens(keyPair("test").signing)();
  for (const token of [ahead, stranger, ahead, stranger]) {
    expect(await statusOf(session, { authorization: `Bearer ${token}` })).toBe(unauthenticated);
  }
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { kind: "clock", reason: expect.stringContaining("30 s ahead of this machine's clock") },
    { kind: "unknown_key", reason: expect.stringContaining("no key that the vault knows") },
  ]);
  const secrets = [ahead, stranger].flatMap((token) => token.split("."));
  for (const secret of secrets) expect(lines.join("")).not.toContain(secret);
});

it("has the limits of the edge's internal port", async () => {
  const { maxConcurrentStreams, maxHeaderListSize, initialWindowSize } = (await openPort()).remoteSettings;
  expect({ maxConcurrentStreams, maxHeaderListSize, initialWindowSize, enablePush: false }).toEqual(
    internalHttp2.settings,
  );
});
