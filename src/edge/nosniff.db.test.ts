import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { WireClient } from "../dev/testing/edge/grpc-wire.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";

const edge = await forFile(startEdgeFixture);
const internal = await forFile(() => createGrpcServer(edge.parts, { reflection: false }));
const wire = await forFile(async () => new WireClient(await internal.listen(0, "127.0.0.1")));

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
