/** Tests the vault's check of a token before it is paid with, through the core's client. */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { VaultClient } from "../card-vault/own/vault-rpc.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { makeCardToken } from "../platform/card-token.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { type KeyRing, Secret } from "../platform/secrets.ts";
import { payment, startVaultFixture, testCard } from "./vault.fixture.ts";
import { cardLifetimeMs, usesPerToken } from "./vault-limits.ts";

const fixture = await forFile(startVaultFixture);
const client = await forFile(() => clientOf(new URL(fixture.vault.origins.grpc).host));
const gateway = await forFile(() => createServer((_, response) => response.end("{}")));
await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));

/** Without the key of tokens it has to ask the vault. */
function clientOf(address: string, cardToken?: KeyRing): VaultClient {
  return new VaultClient({ address, signing: fixture.signing.test, cardToken, log: createStrictLog() });
}

async function tokenFor(session: string): Promise<Secret> {
  const { token } = (await (await fixture.tokenize(session, testCard)).json()) as { token: string };
  return new Secret(token);
}

const origin = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
const pay = (sessionId: string, token: Secret, by = client) => by.forward(payment({ token, sessionId, origin }));

const stateOf = async (sessionId: string, token: Secret) => (await client.checkToken({ sessionId, token })).state;

it("reports the network and the first eight digits of an unused token's card, and of no other", async () => {
  const token = await tokenFor("ps_begins");
  expect(await client.checkToken({ sessionId: "ps_begins", token })).toEqual({
    state: "unused",
    card: { brand: "visa", firstDigits: "42424242" },
    fingerprint: { versions: [expect.stringMatching(/^[0-9a-f]{32}$/)], isCounted: true },
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

describe("with the key of the facts in tokens", () => {
  const nowhere = "127.0.0.1:1";
  const keyOf = (at = 0) => fixture.config.environments[at]!.cardToken!;
  /** Returns a client that reaches no vault unless told to; it ends with its test. */
  const knowing = (address = nowhere, key = keyOf()) => {
    const made = clientOf(address, key);
    onTestFinished(() => made.close());
    return made;
  };
  const vaultAddress = () => new URL(fixture.vault.origins.grpc).host;
  const facts = { expiresAt: new Date(Date.now() + 60_000), brand: "visa", firstDigits: "42424242" };
  const inTest = { environment: "test", sessionId: "ps_forged" } as const;

  it("needs no vault for a token of the session, and reports its card", async () => {
    const token = await tokenFor("ps_proven");
    const card = { brand: "visa", firstDigits: "42424242" };
    expect(await knowing().checkToken({ sessionId: "ps_proven", token })).toMatchObject({
      state: "unused",
      card,
      fingerprint: { isCounted: true },
    });
  });

  it.each([
    ["another session's", () => makeCardToken(keyOf(), { ...inTest, sessionId: "ps_other" }, facts)],
    ["the other environment's", () => makeCardToken(keyOf(1), { ...inTest, environment: "live" }, facts)],
    [
      "one for the other environment by the same key",
      () => makeCardToken(keyOf(), { ...inTest, environment: "live" }, facts),
    ],
    ["one by a key of a stranger", () => makeCardToken({ current: "1", keys: { 1: randomBytes(32) } }, inTest, facts)],
    ["an expired", () => makeCardToken(keyOf(), inTest, { ...facts, expiresAt: new Date(Date.now() - 1) })],
    ["a changed", () => makeCardToken(keyOf(), inTest, facts).replace(/.$/, (last) => (last === "A" ? "Q" : "A"))],
    ["a bare", () => makeCardToken(undefined, inTest, facts)],
  ])("asks the vault about %s token, which refuses it", async (_, make) => {
    const asked = { sessionId: inTest.sessionId, token: new Secret(make()) };
    expect(await knowing().checkToken(asked)).toEqual({ state: "unknown" });
    const reaching = knowing(vaultAddress());
    await expect.poll(async () => (await reaching.checkToken(asked)).state).toBe("not_found");
  });

  it("has an expired token of a card that is still there refused as expired", async () => {
    const token = await tokenFor("ps_ended");
    await fixture.database.pool.query("UPDATE card SET expires_at = clock_timestamp() WHERE session_id = 'ps_ended'");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + cardLifetimeMs });
    const state = knowing(vaultAddress()).checkToken({ sessionId: "ps_ended", token });
    vi.useRealTimers();
    expect(await state).toMatchObject({ state: "expired" });
  });

  it("asks the vault about each token once it has lost a card, for as long as others may be lost", async () => {
    const [lost, alsoLost] = [await tokenFor("ps_lost"), await tokenFor("ps_also_lost")];
    await fixture.database.pool.query("DELETE FROM card WHERE session_id IN ('ps_lost', 'ps_also_lost')");
    const client = knowing(vaultAddress());
    const stateOfLost = async () => (await client.checkToken({ sessionId: "ps_also_lost", token: alsoLost })).state;
    expect(await stateOfLost()).toBe("unused");
    const { reply } = await pay("ps_lost", lost, client);
    expect(reply).toMatchObject({ type: "neverSent", cause: "token_unusable" });
    expect(await stateOfLost()).toBe("not_found");
    const token = await tokenFor("ps_kept");
    expect(await client.checkToken({ sessionId: "ps_kept", token })).toMatchObject({ state: "unused" });
    const afterwards = vi.spyOn(performance, "now").mockReturnValue(performance.now() + cardLifetimeMs);
    expect(await stateOfLost()).toBe("unused");
    afterwards.mockRestore();
  });
});

describe("forget()", () => {
  it("ends sessions together, soon, and before the client closes", async () => {
    const client = clientOf(new URL(fixture.vault.origins.grpc).host);
    const ids = Array.from({ length: 3 }, () => systemRuntime.uuid());
    const sessions = ids.map((id) => encodeId("ps", id));
    for (const session of sessions) await tokenFor(session);
    const left = async () =>
      (await fixture.database.pool.query("SELECT 1 FROM card WHERE session_id = ANY ($1)", [sessions])).rowCount;
    client.forget(ids[0]!);
    client.forget(ids[1]!);
    await expect.poll(left).toBe(1);
    client.forget(ids[2]!);
    client.close();
    await expect.poll(left).toBe(0);
  });
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
