import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { credentials } from "@grpc/grpc-js";
import { afterAll, describe, expect, it } from "vitest";
import { MetaService } from "../../gen/payments/v1/meta_pb.ts";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createGrpcClient } from "../platform/grpc-client.ts";
import { checkTlsFiles, TlsFiles } from "../platform/tls-files.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";

const ours = new TestAuthority("ours");
const strangers = new TestAuthority("strangers");
const server = ours.issue("server");
const service = ours.issue("orders");
const stranger = strangers.issue("orders");
const edge = await forFile(startEdgeFixture);
afterAll(async () => {
  ours.close();
  strangers.close();
});

async function withServer(isMutual: boolean, work: (port: number, broken: Promise<unknown>) => Promise<void>) {
  const { certFile, keyFile } = server;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const paths = { certFile, keyFile, clientCaFile: isMutual ? ours.certFile : undefined };
  const tls = new TlsFiles(paths, { onBroken: resolve, lookEveryMs: 20 });
  const grpc = createGrpcServer(edge.parts, { reflection: false, tls });
  try {
    await work(await grpc.listen(0, "127.0.0.1"), promise);
  } finally {
    await grpc.close();
  }
}

async function callMeta(port: number, own?: { cert: string; key: string }): Promise<string> {
  const [key, cert] = own ? [Buffer.from(own.key), Buffer.from(own.cert)] : [null, null];
  const channel = credentials.createSsl(Buffer.from(ours.cert), key, cert);
  const client = createGrpcClient(MetaService, `127.0.0.1:${port}`, channel);
  try {
    return (await client.getMeta({}, { timeoutMs: 3_000 })).service;
  } finally {
    client.close();
  }
}

describe("the gRPC port with TLS", () => {
  it("serves clients that trust its authority", () =>
    withServer(false, async (port) => expect(await callMeta(port)).toBe("switchyard")));

  it("speaks h2, over TLS 1.2 or later", () =>
    withServer(false, async (port) => {
      const socket = connectTls({ port, host: "127.0.0.1", ca: ours.cert, ALPNProtocols: ["http/1.1", "h2"] });
      await once(socket, "secureConnect");
      expect(socket.alpnProtocol).toBe("h2");
      socket.destroy();
      const old = connectTls({
        port,
        host: "127.0.0.1",
        ca: ours.cert,
        minVersion: "TLSv1",
        maxVersion: "TLSv1.1",
        ciphers: "DEFAULT@SECLEVEL=0",
        ALPNProtocols: ["h2"],
      });
      await expect(once(old, "secureConnect")).rejects.toThrow();
    }));

  it("with a client authority serves only that authority's services", () =>
    withServer(true, async (port) => {
      expect(await callMeta(port, service)).toBe("switchyard");
      await expect(callMeta(port)).rejects.toThrow();
      await expect(callMeta(port, stranger)).rejects.toThrow();
      expect(await callMeta(port, service)).toBe("switchyard");
    }));

  it("loads a renewed certificate without losing a connection", () =>
    withServer(false, async (port) => {
      const open = await session(port);
      const before = fingerprintOf(open);
      ours.issue("server");
      while (fingerprintOf(await session(port)) === before);
      expect(await callMeta(port)).toBe("switchyard");
      expect(open.closed).toBe(false);
      await new Promise<void>((resolve, reject) => open.ping((error) => (error ? reject(error) : resolve())));
    }));

  it("keeps its certificate while the files are broken, and reports it", () =>
    withServer(false, async (port, broken) => {
      const before = fingerprintOf(await session(port));
      writeFileSync(server.certFile, "half a file");
      expect(String(await broken)).toMatch(/PEM/i);
      expect(fingerprintOf(await session(port))).toBe(before);
    }));
});

describe("TlsFiles", () => {
  it("returns the end of the current certificate", () => {
    const { certFile, keyFile } = service;
    const { validUntil } = new TlsFiles({ certFile, keyFile, clientCaFile: undefined }, { onBroken: () => {} });
    const hoursLeft = (validUntil.getTime() - Date.now()) / 3_600_000;
    expect(hoursLeft).toBeGreaterThan(23);
    expect(hoursLeft).toBeLessThan(25);
  });
});

describe("checkTlsFiles()", () => {
  it("refuses a key of another certificate, and missing files", () => {
    const { certFile, keyFile } = service;
    expect(() => checkTlsFiles({ certFile, keyFile: stranger.keyFile, clientCaFile: undefined })).toThrow(/mismatch/i);
    expect(() => checkTlsFiles({ certFile: `${certFile}.gone`, keyFile, clientCaFile: undefined })).toThrow(/ENOENT/);
  });
});

async function session(port: number): Promise<ClientHttp2Session> {
  const opened = connectHttp2(`https://127.0.0.1:${port}`, { ca: ours.cert });
  opened.on("error", () => {});
  await once(opened, "connect");
  return opened;
}

function fingerprintOf({ socket }: ClientHttp2Session): string {
  return (socket as TLSSocket).getPeerCertificate().fingerprint256;
}
