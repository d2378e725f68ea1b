/** Tests stored cards through the vault's two ports: the core's client, the card frame's calls, and a gateway. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { StoredCardVault } from "../card-vault/card-vault.ts";
import { VaultClient } from "../card-vault/own/vault-rpc.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { readCardToken } from "../platform/card-token.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import type { EnvironmentName } from "../platform/signed-claims.ts";
import { startVault } from "./main.ts";
import { takeSecurityCode } from "./tokenize.ts";
import { listingCounts, liveCard, payment, startVaultFixture, testCard } from "./vault.fixture.ts";
import { usesPerToken } from "./vault-limits.ts";

const fixture = await forFile(() => startVaultFixture({ trustedProxies: ["127.0.0.1"] }));
const gateway = await forFile(() => Receiver.start());
const clientOf = (environment: EnvironmentName) =>
  new VaultClient({
    address: new URL(fixture.vault.origins.grpc).host,
    signing: fixture.signing[environment],
    cardToken: fixture.config.environments.find((one) => one.environment === environment)!.cardToken,
    log: createStrictLog(),
  });
const client = await forFile(() => clientOf("test"));
const liveClient = await forFile(() => clientOf("live"));
afterEach(() => void gateway.requests.splice(0));

const merchantId = systemRuntime.uuid();
const profile = encodeId("mer", merchantId);
const newHandle = () => new Secret(`vc_${randomBytes(24).toString("base64url")}`);
const newSession = () => {
  const sessionId = systemRuntime.uuid();
  const name = encodeId("ps", sessionId);
  return { sessionId, name, grant: fixture.grant(name, { profile }) };
};
type Session = ReturnType<typeof newSession>;

async function stored(card: object = testCard) {
  const { sessionId, name, grant } = newSession();
  const answer = await (await fixture.tokenize(name, card, { grant })).json();
  const asked = { sessionId, merchantId, token: new Secret(answer.token as string), handle: newHandle() };
  return { ...asked, kept: await client.stored.keep(asked) };
}

async function open(handle: Secret, code: "required" | "none", session: Session) {
  const opened = await client.stored.open({ sessionId: session.sessionId, merchantId, handle, code });
  if (opened === "lost") throw new Error("the card is lost");
  return opened;
}

const pay = ({ name }: Session, token: Secret) =>
  client.forward(
    payment({
      token,
      sessionId: name,
      origin: gateway.url,
      body: "amount=4900&card[number]={{card.number}}&card[cvc]={{card.cvc}}",
    }),
  );

const sent = () => gateway.requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body.toString())));

/** Asks until the vault has answered: on a busy machine it may take longer than a customer would wait. */
async function stateOf({ name }: Session, token: Secret) {
  for (;;) {
    const check = await client.checkToken({ sessionId: name, token });
    if (check.state !== "unknown") return check;
  }
}

async function addCode(session: Session, body: unknown, change: { grant?: string; headers?: HeadersInit } = {}) {
  const response = await fixture.addCode(session.name, body, { grant: session.grant, ...change });
  return { status: response.status, code: response.status === 204 ? undefined : (await response.json()).code };
}

describe("StoredCardVault", () => {
  it("stores a card that was entered, and answers a repeat the same", async () => {
    const { kept, ...asked } = await stored();
    const fingerprint = { versions: [expect.stringMatching(/^[0-9a-f]{32}$/)], isCounted: true };
    expect(kept).toEqual({ brand: "visa", last4: "4242", expMonth: 4, expYear: 2031, fingerprint });
    expect(await client.stored.keep(asked)).toEqual(kept);
    expect(await client.stored.keep({ ...asked, handle: newHandle() })).toBe("lost");
  });

  it("opens a card for a session at once, as an ordinary token that is sent without a code", async () => {
    const { handle } = await stored();
    const session = newSession();
    const { token, expiresAt } = await open(handle, "none", session);
    expect(expiresAt.getTime()).toBeGreaterThan(Date.now());
    const { cardToken } = fixture.config.environments[0]!;
    const facts = readCardToken(cardToken!, { environment: "test", sessionId: session.name }, token.expose());
    expect(facts).toMatchObject({ brand: "visa", firstDigits: "42424242", fingerprint: { isCounted: true } });
    expect(facts).not.toHaveProperty("needsCode");
    expect(await stateOf(session, token)).toMatchObject({ state: "unused" });
    expect(await pay(session, token)).toMatchObject({ reply: { type: "answer" }, card: { last4: "4242" } });
    expect(sent()).toEqual([{ amount: "4900", "card[number]": "4242424242424242" }]);
  });

  it("erases a card by the hash of its handle", async () => {
    const { handle } = await stored();
    await client.stored.erase(sha256(handle.expose()), merchantId);
    await client.stored.erase(sha256(handle.expose()), merchantId);
    const asked = { sessionId: newSession().sessionId, merchantId, handle, code: "none" } as const;
    expect(await client.stored.open(asked)).toBe("lost");
  });

  it("reaches no card of the other environment", async () => {
    const { handle } = await stored();
    const { sessionId } = newSession();
    expect(await liveClient.stored.open({ sessionId, merchantId, handle, code: "none" })).toBe("lost");
    await liveClient.stored.erase(sha256(handle.expose()), merchantId);
    expect(await open(handle, "none", newSession())).toMatchObject({ token: expect.any(Secret) });
    const { name, sessionId: entered } = newSession();
    const grant = fixture.grant(name, { environment: "live", profile });
    const token = new Secret((await (await fixture.tokenize(name, liveCard, { grant })).json()).token);
    const keep = { sessionId: entered, merchantId, token, handle: newHandle() };
    expect(await client.stored.keep(keep)).toBe("lost");
    expect(await liveClient.stored.keep(keep)).toMatchObject({ brand: "mastercard" });
  });

  it("says that a session takes no more cards", async () => {
    const { handle, sessionId } = await stored();
    const asked = { merchantId, handle, code: "none" } as const;
    await expect(client.stored.open({ ...asked, sessionId })).rejects.toMatchObject({ code: "session_ended" });
    const many = newSession();
    for (let times = 0; times < 10; times++) await open(handle, "none", many);
    await expect(open(handle, "none", many)).rejects.toMatchObject({ code: "rate_limited" });
  });

  it.each<[string, (cards: StoredCardVault) => Promise<unknown>]>([
    [
      "keep",
      (cards) => cards.keep({ sessionId: merchantId, merchantId, token: new Secret("tok_1"), handle: newHandle() }),
    ],
    ["open", (cards) => cards.open({ sessionId: merchantId, merchantId, handle: newHandle(), code: "none" })],
    ["erase", (cards) => cards.erase(sha256("vc_"), merchantId)],
  ])("is unavailable to %s without a vault, and for a caller that the vault does not know", async (_, ask) => {
    const { privateKey } = fixture.signing.live;
    const signing = { ...fixture.signing.test, privateKey };
    for (const address of ["127.0.0.1:1", new URL(fixture.vault.origins.grpc).host]) {
      const other = new VaultClient({ address, signing, log: createStrictLog() });
      onTestFinished(() => other.close());
      await expect(ask(other.stored)).rejects.toMatchObject({ code: "unavailable" });
    }
  });

  it.each(["", "vc_short", `vc_${"a".repeat(31)}!`, `tok_${"a".repeat(32)}`])(
    "refuses a handle that could be guessed: %j",
    async (handle) => {
      const asked = {
        sessionId: newSession().sessionId,
        merchantId,
        handle: new Secret(handle),
        code: "none",
      } as const;
      await expect(client.stored.open(asked)).rejects.toMatchObject({ cause: { code: Code.InvalidArgument } });
    },
  );
});

describe("startVault()", () => {
  it("does not start without the key of a stored card, nor with another key of its name", async () => {
    await stored();
    for (const storeRing of [undefined, { current: "1", keys: { 1: randomBytes(32) } }]) {
      const environments = fixture.config.environments.map((one) => ({ ...one, storeRing }));
      await expect(startVault({ ...fixture.config, environments })).rejects.toThrow("does not start without it");
    }
  });
});

describe("a stored card that needs its security code", () => {
  it("is sent to no gateway, and passes no check, before the card frame has posted the code", async () => {
    const { handle } = await stored();
    const session = newSession();
    const { token } = await open(handle, "required", session);
    expect(await stateOf(session, token)).toEqual({ state: "code_missing", card: undefined });
    expect((await pay(session, token)).reply).toMatchObject({ type: "neverSent" });
    expect(sent()).toEqual([]);
    expect(await addCode(session, { token: token.expose(), cvc: "321" })).toMatchObject({ status: 204 });
    expect(await stateOf(session, token)).toMatchObject({ state: "unused", card: { brand: "visa" } });
    await pay(session, token);
    expect(sent()).toEqual([{ amount: "4900", "card[number]": "4242424242424242", "card[cvc]": "321" }]);
  });

  it("takes a code once more while it was not used, and no longer", async () => {
    const { handle } = await stored();
    const session = newSession();
    const { token } = await open(handle, "required", session);
    for (const cvc of ["111", "222"]) await addCode(session, { token: token.expose(), cvc });
    await pay(session, token);
    expect(sent()).toEqual([expect.objectContaining({ "card[cvc]": "222" })]);
    const late = await addCode(session, { token: token.expose(), cvc: "333" });
    expect(late).toEqual({ status: 409, code: "token_used" });
    for (let use = 1; use < usesPerToken; use++) await pay(session, token);
    // Used up, it gets no more uses by another code either.
    expect(await addCode(session, { token: token.expose(), cvc: "333" })).toMatchObject({ code: "token_used" });
    expect((await pay(session, token)).reply).toMatchObject({ type: "neverSent" });
  });

  it("takes a code only under the grant of its own session, from the card frame's page", async () => {
    const { handle } = await stored();
    const [session, other] = [newSession(), newSession()];
    const body = { token: (await open(handle, "required", session)).token.expose(), cvc: "321" };
    expect(await addCode(other, body)).toEqual({ status: 404, code: "token_not_found" });
    const inLive = fixture.grant(session.name, { environment: "live", profile });
    expect(await addCode(session, body, { grant: inLive })).toEqual({ status: 404, code: "token_not_found" });
    expect(await addCode(session, body, { grant: "" })).toEqual({ status: 401, code: "invalid_client_secret" });
    const foreign = { headers: { origin: "https://shop.example" } };
    expect(await addCode(session, body, foreign)).toEqual({ status: 403, code: "origin_not_allowed" });
    expect(await stateOf(session, new Secret(body.token))).toMatchObject({ state: "code_missing" });
  });

  it("takes no code for a card that was entered, nor for one that needs none, nor for an expired one", async () => {
    const [session, { handle }] = [newSession(), await stored()];
    const { token } = await (await fixture.tokenize(session.name, testCard, { grant: session.grant })).json();
    const { token: free } = await open(handle, "none", session);
    for (const one of [token, free.expose(), "tok_never"])
      expect(await addCode(session, { token: one, cvc: "321" })).toEqual({ status: 404, code: "token_not_found" });
    const { token: old } = await open(handle, "required", session);
    await fixture.database.pool.query("UPDATE card SET expires_at = clock_timestamp() WHERE session_id = $1", [
      session.name,
    ]);
    const late = await addCode(session, { token: old.expose(), cvc: "321" });
    expect(late).toEqual({ status: 410, code: "token_expired" });
  });

  it.each<[string, unknown, string]>([
    ["a code of the wrong length for the card", { cvc: "1234" }, "invalid_field"],
    ["a code of letters", { cvc: "abc" }, "invalid_field"],
    ["no code", {}, "missing_field"],
    ["a code as a number", { cvc: 321 }, "invalid_field"],
    ["a card", { cvc: "321", number: "4242424242424242" }, "unknown_field"],
  ])("refuses %s, and repeats nothing of it", async (_, body, code) => {
    const { handle } = await stored();
    const session = newSession();
    const token = (await open(handle, "required", session)).token.expose();
    const response = await fixture.addCode(session.name, { token, ...(body as object) }, { grant: session.grant });
    const text = await response.text();
    expect([response.status, JSON.parse(text).code]).toEqual([400, code]);
    expect(text).not.toMatch(/1234|abc|321|4242/);
    expect(await stateOf(session, new Secret(token))).toMatchObject({ state: "code_missing" });
  });

  it("counts a call before anything else, and charges the merchant for what may be a code only", async () => {
    const { counted, callCounts } = listingCounts();
    const { grant } = newSession();
    const post = (body: string) => {
      const headers = { authorization: `Bearer ${grant}`, "content-type": "application/json" };
      const request = Object.assign(Readable.from([Buffer.from(body)]), { headers, method: "POST" });
      const tokenizer = { ...fixture.config, clientOf: () => undefined, callCounts };
      return takeSecurityCode(tokenizer, request as unknown as IncomingMessage).catch(({ code }) => code);
    };
    for (const body of ["", "{}", '{"token":"tok_1","cvc":"12"}', '{"token":"tok_1","cvc":"12345"}'])
      expect(await post(body)).toMatch(/^(invalid_json|missing_field|invalid_field)$/);
    expect(counted).toEqual(Array(4).fill("call"));
    expect(await post('{"token":"tok_1","cvc":"123"}')).toBe("token_not_found");
    expect(counted.slice(4)).toEqual(["call", "merchant"]);
  });
});
