/** Tests the vault's check of a token before it is paid with, through the core's client. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { VaultClient } from "../card-vault/own/vault-rpc.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { Secret } from "../platform/secrets.ts";
import { startVaultFixture, testCard, type VaultFixture } from "./vault.fixture.ts";
import { usesPerToken } from "./vault-limits.ts";

let fixture: VaultFixture;
let client: VaultClient;
let gateway: Server;
beforeAll(async () => {
  fixture = await startVaultFixture();
  client = clientOf(new URL(fixture.vault.origins.grpc).host);
  gateway = createServer((_, response) => response.end("{}"));
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  client.close();
  await fixture.close();
  gateway.close();
});

function clientOf(address: string): VaultClient {
  return new VaultClient({ address, signing: fixture.signing.test, log: createStrictLog() });
}

async function tokenFor(session: string): Promise<Secret> {
  const { token } = (await (await fixture.tokenize(session, testCard)).json()) as { token: string };
  return new Secret(token);
}

function pay(session: string, token: Secret) {
  return client.forward({
    connector: "SANDBOX_A",
    operation: "authorize",
    token,
    sessionId: session,
    origin: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`,
    pathVariables: {},
    headers: {},
    body: "card[number]={{card.number}}",
    timeoutMs: 5_000,
  });
}

const stateOf = async (sessionId: string, token: Secret) => (await client.checkToken({ sessionId, token })).state;

it("reports the network and the first eight digits of an unused token's card, and of no other", async () => {
  const token = await tokenFor("ps_begins");
  expect(await client.checkToken({ sessionId: "ps_begins", token })).toEqual({
    state: "unused",
    card: { brand: "visa", firstDigits: "42424242" },
  });
  expect(await client.checkToken({ sessionId: "ps_other", token })).toEqual({ state: "not_found", card: undefined });
  await pay("ps_begins", token);
  expect(await client.checkToken({ sessionId: "ps_begins", token })).toEqual({ state: "used", card: undefined });
});

it("recognizes a session's own token, and uses nothing up", async () => {
  const token = await tokenFor("ps_own");
  for (let call = 0; call <= usesPerToken; call++) expect(await stateOf("ps_own", token)).toBe("unused");
  expect((await pay("ps_own", token)).reply).toMatchObject({ type: "answer", status: 200 });
});

it("recognizes neither another session's token nor one that was never made", async () => {
  const token = await tokenFor("ps_mine");
  expect(await stateOf("ps_yours", token)).toBe("not_found");
  expect(await stateOf("ps_mine", new Secret("tok_never"))).toBe("not_found");
});

it("distinguishes a used token and an expired one", async () => {
  const token = await tokenFor("ps_paid");
  await pay("ps_paid", token);
  expect(await stateOf("ps_paid", token)).toBe("used");
  const old = await tokenFor("ps_old");
  await fixture.database.pool.query("UPDATE card SET expires_at = clock_timestamp() WHERE session_id = 'ps_old'");
  expect(await stateOf("ps_old", old)).toBe("expired");
});

it("is unknown if no vault answers", async () => {
  const nowhere = clientOf("127.0.0.1:1");
  expect(await nowhere.checkToken({ sessionId: "ps_own", token: new Secret("tok_1") })).toEqual({ state: "unknown" });
  nowhere.close();
});

it("uses one time limit for the connection and the call together", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const asked = Promise.withResolvers<string>();
  const slow = createHttp2Server()
    // The time that connecting took, by the clock of the client.
    .on("session", () => vi.advanceTimersByTime(250))
    .on("stream", (stream, headers) => {
      asked.resolve(String(headers["grpc-timeout"]));
      stream.on("error", () => {}).close();
    })
    .listen(0, "127.0.0.1");
  await once(slow, "listening");
  const other = clientOf(`127.0.0.1:${(slow.address() as AddressInfo).port}`);
  onTestFinished(() => {
    other.close();
    slow.close();
  });
  expect(await other.checkToken({ sessionId: "ps_own", token: new Secret("tok_slow") })).toEqual({ state: "unknown" });
  const [, milliseconds] = /^([0-9]+)m$/.exec(await asked.promise) ?? [];
  expect(Number(milliseconds)).toBeLessThanOrEqual(250);
});
