import { constants } from "node:http2";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { CreatePaymentSessionRequestSchema, PaymentSessionService } from "../../gen/payments/v1/payment_session_pb.ts";
import { grpcFrame, type WireAnswer, WireClient } from "../dev/testing/edge/grpc-wire.ts";
import { bodyBytesMax, internalConnections } from "../limits.ts";
import { type EdgeFixture, startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer, type GrpcServer } from "./grpc-server.ts";

let edge: EdgeFixture;
let server: GrpcServer;
let wire: WireClient;
beforeAll(async () => {
  edge = await startEdgeFixture();
  server = createGrpcServer(edge.parts, { reflection: false });
  wire = new WireClient(await server.listen(0, "127.0.0.1"));
});
afterAll(async () => {
  // After every call of this file the same connection still serves, and the server ends at once.
  expect((await callMeta()).grpcStatus).toBe(0);
  expect(server.connections()).toBe(1);
  const closing = performance.now();
  await server.close();
  expect(performance.now() - closing).toBeLessThan(internalConnections.closeWithinMs / 2);
  await edge.close();
});

const createPath = `/${PaymentSessionService.typeName}/CreatePaymentSession`;
const callMeta = () =>
  wire.call("/payments.v1.MetaService/GetMeta", { "content-type": "application/grpc" }, grpcFrame(new Uint8Array()));
const order = (orderRef: string) =>
  toBinary(
    CreatePaymentSessionRequestSchema,
    create(CreatePaymentSessionRequestSchema, { amountMinor: 4900n, currency: "EUR", orderRef }),
  );

const forms = [
  { name: "gRPC", type: "application/grpc", compression: "grpc-encoding", isFramed: true },
  { name: "gRPC-Web", type: "application/grpc-web+proto", compression: "grpc-encoding", isFramed: true },
  { name: "Connect", type: "application/proto", compression: "content-encoding", isFramed: false },
];

describe.each(forms)("a $name call", ({ type, compression, isFramed }) => {
  const headers = () => ({ "content-type": type, authorization: `Bearer ${edge.keys.secret}` });
  const body = (message: Uint8Array, isCompressed = false) =>
    isFramed ? grpcFrame(message, isCompressed ? 1 : 0) : message;
  const compressed = (name: string, bytes: Uint8Array) =>
    wire.call(createPath, { ...headers(), [compression]: name }, body(bytes, true));

  it.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ] as const)("is served compressed with %s", async (name, compress) => {
    expect((await compressed(name, compress(order("small")))).reason).toBeUndefined();
  });

  it("that is too large is refused at once, and the connection continues", async () => {
    const answer = await wire.call(createPath, headers(), body(order("x".repeat(20 * bodyBytesMax))));
    expect(answer.reason).toBe("payload_too_large");
    expect((await callMeta()).grpcStatus).toBe(0);
  });

  it.each([
    ["a gzip bomb", "gzip", () => gzipSync(Buffer.alloc(32 * 1024 * 1024)), "payload_too_large"],
    ["a brotli bomb", "br", () => brotliCompressSync(Buffer.alloc(32 * 1024 * 1024)), "payload_too_large"],
    ["broken gzip", "gzip", () => gzipSync(order("a")).fill(7, 12), "invalid_field"],
    ["gzip that breaks off", "gzip", () => gzipSync(order("a")).subarray(0, -9), "invalid_field"],
    ["what is no gzip", "gzip", () => order("a"), "invalid_field"],
    ["an unknown compression", "snappy", () => order("a"), "unsupported_encoding"],
    ["no Protobuf, compressed", "gzip", () => gzipSync(Buffer.from([0xff, 0xff, 0xff])), "invalid_field"],
  ])("with %s is refused", async (_, name, bytes, reason) => {
    expect((await compressed(name, bytes())).reason).toBe(reason);
  });

  it.each([
    ["bytes that are no Protobuf", Buffer.from([0xff, 0xff, 0xff])],
    ["a field of another wire type", Buffer.from([0x08, 0x01, 0x12, 0x00, 0x1a, 0x7f])],
    ["text that is no UTF-8", Buffer.from([0x12, 0x03, 0x45, 0xff, 0x52])],
    ["a length that leads out of the message", Buffer.from([0x12, 0x7f, 0x45])],
  ])("with %s is refused", async (_, bytes) => {
    expect((await wire.call(createPath, headers(), body(bytes))).reason).toBe("invalid_field");
  });

  it("reveals nothing of its body's problems to an unauthenticated caller", async () => {
    const answer = await wire.call(createPath, { "content-type": type }, body(Buffer.from([0xff])));
    expect(answer.reason).toBe("invalid_key");
  });

  it("to an unknown rpc is refused", async () => {
    const answers = await Promise.all(
      [`/${PaymentSessionService.typeName}/Nothing`, "/a.b.C/D", "/", "/%00"].map((path) =>
        wire.call(path, headers(), body(order("a"))),
      ),
    );
    for (const { reason, grpcStatus } of answers) {
      expect([reason, grpcStatus]).toEqual(["method_not_allowed", isFramed ? 12 : undefined]);
    }
  });

  it.each(["a b", "exa mple", "a:b:c", "[::", "user@host", "%zz", "a/b", ""])(
    "with a malformed :authority is refused: %s",
    async (authority) => {
      const answer = await wire.call(createPath, { ...headers(), ":authority": authority }, body(order("a")));
      // nghttp2 refuses some by itself, with a reset of that stream.
      expect([undefined, "invalid_parameter"]).toContain(answer.reason);
      expect(answer.grpcStatus === 0 || answer.status === 201).toBe(false);
    },
  );
});

describe("a gRPC call", () => {
  const headers = () => ({ "content-type": "application/grpc", authorization: `Bearer ${edge.keys.secret}` });
  const message = grpcFrame(order("a"));

  it.each([
    ["no frame", Buffer.alloc(0)],
    ["half a frame", message.subarray(0, 7)],
    ["two messages", Buffer.concat([message, message])],
    ["a flag that means nothing", grpcFrame(order("a"), 2)],
    ["a frame that says 4 GiB", Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1])],
  ])("with %s is refused", async (_, bytes) => {
    expect(await wire.call(createPath, headers(), bytes)).toMatchObject({ reason: "invalid_field", grpcStatus: 3 });
  });

  it("learns the accepted compressions", async () => {
    const answer = await wire.call(createPath, { ...headers(), "grpc-encoding": "snappy" }, grpcFrame(order("a"), 1));
    expect(answer).toMatchObject({ grpcStatus: 12, reason: "unsupported_encoding" });
    expect(answer.headers["grpc-accept-encoding"]).toBe("gzip,br");
  });

  it("that never ends is answered at its bound, and its stream is closed", async () => {
    const stream = wire.session.request({ ":method": "POST", ":path": createPath, ...headers() });
    stream.on("error", () => {});
    const closed = new Promise<number>((resolve) => stream.on("close", () => resolve(stream.rstCode)));
    const answered = new Promise<Record<string, unknown>>((resolve) => stream.on("response", resolve));
    stream.resume();
    stream.write(grpcFrame(order("x".repeat(2 * bodyBytesMax))));
    expect((await answered)["grpc-status"]).toBe("8");
    expect(await closed).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it("is too large by gRPC's own status", async () => {
    const large = grpcFrame(order("x".repeat(bodyBytesMax)));
    expect(await wire.call(createPath, headers(), large)).toMatchObject({ grpcStatus: 8, reason: "payload_too_large" });
  });
});

describe("a form without a strict reader", () => {
  const text = '{"amountMinor":1,"amountMinor":2,"currency":"EUR","orderRef":"a"}';
  const refused = (answer: WireAnswer) => expect([answer.reason, answer.grpcStatus ?? "none"]);

  it.each([
    ["application/grpc+json", 3],
    ["application/grpc+json; charset=utf-8", 3],
    ["application/grpc-web+json", 3],
    ["application/grpc-web-text+json", 3],
    ["application/grpc-web-text", 3],
    ["application/connect+json", "none"],
    ["application/jsonp", "none"],
    ["text/plain", "none"],
    ["", "none"],
  ])("is refused on the internal port: %s", async (type, status) => {
    const headers = { "content-type": type, authorization: `Bearer ${edge.keys.secret}` };
    const framed = grpcFrame(Buffer.from(text));
    refused(await wire.call(createPath, headers, framed)).toEqual(["unsupported_media_type", status]);
  });

  it.each(["application/grpc", "application/grpc+json", "application/grpc-web+json", "application/connect+json"])(
    "is refused on the public port: %s",
    async (type) => {
      const answer = await fetch(`http://127.0.0.1:${edge.port}/${CheckoutService.typeName}/GetCheckout`, {
        method: "POST",
        headers: { "content-type": type },
        body: new Uint8Array(grpcFrame(Buffer.from('{"sessionId":"a"}'))),
      });
      const text = decodeURIComponent(`${await answer.text()} ${answer.headers.get("grpc-message")}`);
      expect(text).toMatch(/content type|application\/grpc-web/);
      if (answer.status === 200) expect(answer.headers.get("grpc-status")).toBe("3");
      else expect(answer.status).toBe(415);
    },
  );

  it("is Connect by GET, on both ports", async () => {
    const path = `/${CheckoutService.typeName}/GetCheckout?connect=v1&encoding=json&message=%7B%22sessionId%22%3A%22a%22%7D`;
    const onPublic = await fetch(`http://127.0.0.1:${edge.port}${path}`);
    expect([onPublic.status, onPublic.headers.get("allow")]).toEqual([405, "POST"]);
    const onInternal = await wire.call(path, { ":method": "GET" }, new Uint8Array());
    expect([onInternal.status, onInternal.reason]).toEqual([405, "method_not_allowed"]);
    expect(onInternal.headers.allow).toBe("POST");
  });
});
