/**
 * Tests the vault's port for edge and worker over TLS: their own client connects, and sends nothing to any other
 * server.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { status } from "@grpc/grpc-js";
import { Pool } from "pg";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { probe } from "../card-vault/card-vault.ts";
import { VaultClient } from "../card-vault/own/vault-rpc.ts";
import type { VaultTlsPaths } from "../card-vault/vault-settings.ts";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { Database } from "../platform/database.ts";
import { createLogger } from "../platform/log.ts";
import { TlsFiles } from "../platform/tls-files.ts";
import { startVault } from "./main.ts";
import { keyPair, payment } from "./vault.fixture.ts";

const ours = new TestAuthority("ours");
const strangers = new TestAuthority("strangers");
const server = ours.issue("vault");
const edge = ours.issue("edge");
const { signing, verification } = keyPair("test");
const logger = createLogger({ name: "vault", level: "silent" });
const gateway = createServer((_, response) => response.end("{}")).listen(0, "127.0.0.1");
afterAll(() => {
  ours.close();
  strangers.close();
  gateway.close();
});

/** Opens the port of a vault with TLS. Its database is never asked: the card is the one of connectors' test calls. */
async function startTlsVault(clientCaFile?: string): Promise<number> {
  const { certFile, keyFile } = server;
  const vault = await startVault({
    publicListen: { host: "127.0.0.1", port: 0 },
    grpcListen: { host: "127.0.0.1", port: 0 },
    grpcTls: new TlsFiles({ certFile, keyFile, clientCaFile }, { onBroken: () => {} }),
    database: new Database(new Pool({ host: "127.0.0.1", port: 1 })),
    logger,
    environments: [{ environment: "test", ring: { current: "1", keys: { 1: randomBytes(32) } }, testCards: new Set() }],
    grantKeys: [],
    serviceTokenKeys: [verification],
    trustedProxies: [],
    errorsUrl: "https://docs.example/errors",
  });
  onTestFinished(() => vault.close());
  return Number(new URL(vault.origins.grpc).port);
}

/** Forwards a card to the vault with these settings and returns the result. */
async function forward(port: number, tls: VaultTlsPaths | undefined) {
  const client = new VaultClient({ address: `localhost:${port}`, tls, signing, log: logger });
  try {
    const origin = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
    const asked = payment({ token: probe.vaultToken, sessionId: probe.sessionId, origin });
    const { reply } = await client.forward({ ...asked, headers: { authorization: "Bearer key_a" } });
    return reply;
  } finally {
    client.close();
  }
}

const answered = { type: "answer", status: 200 };
const unreached = { type: "neverSent", cause: "vault_unavailable" };

it("serves a client that trusts its authority; one that trusts another, or uses no TLS, sends nothing", async () => {
  const port = await startTlsVault();
  const ways = [{ caFile: ours.certFile }, { caFile: strangers.certFile }, undefined];
  const replies = await Promise.all(ways.map((tls) => forward(port, tls)));
  expect(replies).toMatchObject([answered, unreached, unreached]);
});

it("with a client authority serves only clients with a certificate of it", async () => {
  const port = await startTlsVault(ours.certFile);
  const caFile = ours.certFile;
  const ways = [{ ...edge, caFile }, { caFile }, { ...strangers.issue("edge"), caFile }];
  const replies = await Promise.all(ways.map((tls) => forward(port, tls)));
  expect(replies).toMatchObject([answered, unreached, unreached]);
});

it("opens to the dashboard's certificate the keys of wallets, and no card", async () => {
  const port = await startTlsVault(ours.certFile);
  const tls = { ...ours.issue("vault-dashboard"), caFile: ours.certFile };
  expect(await forward(port, tls)).toMatchObject(unreached);
  const client = new VaultClient({ address: `localhost:${port}`, tls, signing, log: logger });
  onTestFinished(() => client.close());
  const asked = { sessionId: probe.sessionId, token: probe.vaultToken };
  expect(await client.checkToken(asked)).toEqual({ state: "unknown" });
  const merchantId = "01980000-0000-7000-8000-000000000000";
  const codeOf = (call: Promise<unknown>) => call.catch((error) => error.code === "unavailable" && error.cause.code);
  expect(await codeOf(client.stored.erase(Buffer.alloc(32), merchantId))).toBe(status.PERMISSION_DENIED);
  // The vault's database is not there.
  expect(await codeOf(client.walletKeys.list(merchantId))).toBe(status.UNAVAILABLE);
});

it("refuses a file without a certificate as an authority's", () => {
  const tls = { caFile: server.keyFile };
  expect(() => new VaultClient({ address: "localhost:1", tls, signing, log: logger })).toThrow();
});
