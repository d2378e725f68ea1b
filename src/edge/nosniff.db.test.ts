import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WireClient } from "../dev/testing/edge/grpc-wire.ts";
import { type EdgeFixture, startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer, type GrpcServer } from "./grpc-server.ts";

let edge: EdgeFixture;
let internal: GrpcServer;
let wire: WireClient;
beforeAll(async () => {
  edge = await startEdgeFixture();
  internal = createGrpcServer(edge.parts, { reflection: false });
  wire = new WireClient(await internal.listen(0, "127.0.0.1"));
});
afterAll(async () => {
  wire?.close();
  await internal?.close();
  await edge?.close();
});

describe("every answer forbids to guess its content type", () => {
  it.each([
    "/healthz",
    "/nothing",
    "/docs",
    "/api/v1/payment-sessions",
    "/authentication/test/window",
    "/widget/v1.js",
  ])("at the public port: %s", async (path) => {
    const { headers } = await fetch(`http://127.0.0.1:${edge.port}${path}`, { redirect: "manual" });
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  it.each([
    ["bytes that are no HTTP", "\x16\x03\x01\r\n\r\n"],
    ["an expectation", "GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n"],
    ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ])("at the public port: %s", async (_, bytes) => {
    const socket = connect(edge.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.end(Buffer.from(bytes, "latin1"));
    await once(socket, "close");
    expect(answer.match(/^x-content-type-options: nosniff\r$/gim)).toHaveLength(1);
  });

  it.each([
    ["a call", "/payments.v1.MetaService/GetMeta", "application/json"],
    ["a refused call", "/payments.v1.MetaService/GetMeta", "text/plain"],
    ["an unknown path", "/", "application/json"],
  ])("at the internal port: %s", async (_, path, type) => {
    const { headers } = await wire.call(path, { "content-type": type }, Buffer.from("{}"));
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });
});
