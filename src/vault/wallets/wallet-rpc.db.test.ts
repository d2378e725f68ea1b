/** Tests the rpcs for wallets' keys, and Forward and CheckToken of wallets' tokens, as the core calls them. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { NeverSent_Reason, VaultService, Wallet, WalletKey_State } from "../../../gen/vault/v1/vault_pb.ts";
import { VaultClient } from "../../card-vault/own/vault-rpc.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { Receiver } from "../../dev/testing/receiver.ts";
import { createStrictLog } from "../../dev/testing/strict-log.ts";
import type { GatewayHttp } from "../../platform/outbound-http.ts";
import { Secret } from "../../platform/secrets.ts";
import { publicKeyOf, publicKeyOfPoint } from "../../sandbox/wallets/apple-authority.ts";
import { keepCard } from "../card-store.ts";
import { destinations } from "../destinations.ts";
import { forward as forwardTo } from "../forward.ts";
import { device, listedCard, newCryptogram, startWalletVault } from "./wallet-vault.fixture.ts";

const vault = await forFile(startWalletVault);
const gateway = await forFile(() => Receiver.start());
const { fixture } = vault;
const rpc = createClient(VaultService, createGrpcTransport({ baseUrl: fixture.vault.origins.grpc }));
const address = new URL(fixture.vault.origins.grpc).host;
const clientOf = (cardToken = fixture.config.environments[0]!.cardToken) =>
  new VaultClient({ address, signing: fixture.signing.test, cardToken, log: createStrictLog() });
const asking = await forFile(() => new VaultClient({ address, signing: fixture.signing.test, log: createStrictLog() }));
const knowing = await forFile(() => clientOf());
const options = (environment: "test" | "live" = "test") => ({
  headers: { authorization: `Bearer ${fixture.serviceToken(environment)}` },
});

let sessions = 0;
async function tokenOf(wallet: "apple_pay" | "google_pay", token: string) {
  const sessionId = `ps_rpc_${++sessions}`;
  const answer = await (await vault.post(sessionId, wallet, token)).json();
  return { sessionId, token: answer.token as string };
}

const forms = {
  card: "card[number]={{card.number}}&card[cvc]={{card.cvc}}&card[exp_month]={{card.expMonth}}",
  device:
    "network_token[number]={{token.number}}&network_token[exp_year]={{token.expYear}}&network_token[cryptogram]={{token.cryptogram}}&network_token[eci]={{token.eci}}&network_token[wallet]=apple_pay",
};

const forward = (of: { sessionId: string; token: string }, operation: string, body: string) =>
  rpc.forward(
    {
      connector: "SANDBOX_A",
      operation,
      ...of,
      origin: gateway.url,
      timeoutMs: 5_000,
      body: Buffer.from(body),
    },
    options(),
  );
const arrived = () => new URLSearchParams(gateway.requests.at(-1)!.body.toString());

describe("Forward", () => {
  it("sends a device's number with its cryptogram, once for each use, and masks both in the answer", async () => {
    const cryptogram = newCryptogram();
    const of = await tokenOf("apple_pay", await vault.appleToken({}, { cryptogram }));
    gateway.answerWith({
      status: 200,
      headers: { "content-type": "application/json", "x-echo": cryptogram },
      body: JSON.stringify({ number: device, cryptogram, hex: Buffer.from(cryptogram, "base64").toString("hex") }),
    });
    const answer = await forward(of, "network_token", forms.device);
    expect(Object.fromEntries(arrived())).toEqual({
      "network_token[number]": device,
      "network_token[exp_year]": String(new Date().getUTCFullYear() + 2),
      "network_token[cryptogram]": cryptogram,
      "network_token[eci]": "5",
      "network_token[wallet]": "apple_pay",
    });
    expect(answer).toMatchObject({ brand: "visa", last4: device.slice(-4), wallet: Wallet.APPLE_PAY, network: "visa" });
    const { headers, body } = answer.result.value as { headers: Record<string, string>; body: Uint8Array };
    expect(headers["x-echo"]).toMatch(/^\*+=*$/);
    expect(JSON.parse(Buffer.from(body).toString())).toEqual({
      number: `${"*".repeat(12)}${device.slice(-4)}`,
      cryptogram: expect.stringMatching(/^\*+=*$/),
      hex: expect.stringMatching(/^\*+$/),
    });
  });

  it("sends a wallet's card as cards are sent, without a security code", async () => {
    const of = await tokenOf("google_pay", vault.googleToken());
    gateway.answerWith({ status: 200, body: "{}" });
    const answer = await forward(of, "authorize", forms.card);
    expect(Object.fromEntries(arrived())).toEqual({ "card[number]": listedCard, "card[exp_month]": "12" });
    expect(answer).toMatchObject({ wallet: Wallet.GOOGLE_PAY, network: "visa", last4: "1111" });
  });

  it("fills a row of one wallet from no other one, whose token has other parts", async () => {
    const emulated = fixture.config.environments[0]! as { sandboxHosts?: readonly string[] };
    emulated.sandboxHosts = [new URL(gateway.url).host];
    const ofApple = await tokenOf("apple_pay", await vault.appleToken());
    gateway.answerWith({ status: 200, body: "{}" });
    const send = (operation: string, wallet: string, number: string) =>
      rpc.forward(
        {
          connector: "PAYPAL",
          operation,
          ...ofApple,
          origin: gateway.url,
          timeoutMs: 5_000,
          pathVariables: { id: "1" },
          body: Buffer.from(
            JSON.stringify({ payment_source: { [wallet]: { decrypted_token: number } } }).replace(
              '"number"',
              '{"tokenized_card":{"number":"{{token.number}}"},"card":{}}',
            ),
          ),
        },
        options(),
      );
    const sent = gateway.requests.length;
    const other = await send("google_pay", "other", "none");
    expect(other.result).toMatchObject({ case: "neverSent", value: { reason: NeverSent_Reason.OTHER_CREDENTIAL } });
    expect(gateway.requests).toHaveLength(sent);
    const own = await send("apple_pay", "apple_pay", "number");
    expect(own.result.case).toBe("answer");
    expect(gateway.requests.at(-1)!.body.toString()).toContain(device);
    emulated.sandboxHosts = [];
  });

  it("sends neither where the other is taken, and uses nothing up", async () => {
    const ofDevice = await tokenOf("apple_pay", await vault.appleToken());
    const ofCard = await tokenOf("google_pay", vault.googleToken());
    const sent = gateway.requests.length;
    for (const [of, operation, form] of [
      [ofDevice, "authorize", forms.card],
      [ofCard, "network_token", forms.device],
    ] as const) {
      const { result } = await forward(of, operation, form);
      expect(result).toMatchObject({ case: "neverSent", value: { reason: NeverSent_Reason.OTHER_CREDENTIAL } });
      expect(await asking.checkToken({ ...of, token: new Secret(of.token) })).toMatchObject({ state: "unused" });
    }
    expect(gateway.requests).toHaveLength(sent);
    const { reply } = await asking.forward({
      connector: "SANDBOX_A",
      operation: "authorize",
      sessionId: ofDevice.sessionId,
      origin: gateway.url,
      token: new Secret(ofDevice.token),
      pathVariables: {},
      headers: {},
      body: forms.card,
      timeoutMs: 5_000,
    });
    expect(reply).toMatchObject({ type: "neverSent", cause: "request_refused" });
  });

  it("writes a device's number into no field of a card's row", async () => {
    const of = await tokenOf("apple_pay", await vault.appleToken());
    const mixed = forward(of, "network_token", `${forms.device}&metadata={{token.cryptogram}}`);
    await expect(mixed).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(forward(of, "authorize", "card[number]={{token.number}}")).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
  });
});

it("sends no device's number in a demo's live, whose gateways are emulators", async () => {
  const demo = { ...vault.live, testCards: new Set([listedCard]), sandboxHosts: [new URL(gateway.url).host] };
  const of = {
    credential: "NETWORK_TOKEN",
    cryptogram: newCryptogram(),
    messageId: "1",
    messageExpiration: "1",
  } as const;
  const kept = await keepCard(
    fixture.database,
    vault.live,
    { session: "ps_demo", profile: "mer_1" },
    { number: device, expMonth: 12, expYear: 2040, wallet: { name: "apple_pay", eci: undefined, ...of } },
  );
  const request = {
    connector: "SANDBOX_A",
    operation: "network_token",
    sessionId: "ps_demo",
    token: kept.token.expose(),
    origin: gateway.url,
    pathVariables: {},
    headers: {},
    body: Buffer.from(forms.device),
    timeoutMs: 5_000,
  };
  const http = { send: () => Promise.reject(new Error("a device's number was sent")) } as unknown as GatewayHttp;
  // As a gateway's row, which a demo's emulator stands in for.
  const rows = destinations.map((row) => ({ ...row, hosts: { test: /^$/, live: /^$/ } }));
  const forwarder = { database: fixture.database, destinations: rows, http };
  expect(await forwardTo(forwarder, demo, request)).toEqual({ type: "noCard", reason: "not_found" });
});

describe("CheckToken", () => {
  it("returns wallet and network, which a token also proves without the vault", async () => {
    for (const [wallet, token, credential, firstDigits] of [
      ["apple_pay", await vault.appleToken(), "NETWORK_TOKEN", ""],
      ["google_pay", vault.googleToken(), "PAN", listedCard.slice(0, 8)],
    ] as const) {
      const of = await tokenOf(wallet, token);
      const expected = {
        state: "unused",
        card: { brand: "visa", firstDigits },
        wallet: { name: wallet, credential, network: "visa" },
      };
      for (const client of [asking, knowing])
        expect(await client.checkToken({ ...of, token: new Secret(of.token) })).toMatchObject(expected);
    }
  });
});

describe("the rpcs of keys", () => {
  const merchantId = "mer_keys";

  it("make, activate, list and drop keys of one merchant in one environment", async () => {
    const recipient = "merchant.com.example";
    const made = (await rpc.createWalletKey({ merchantId, wallet: Wallet.APPLE_PAY, recipient }, options())).key!;
    expect(made).toMatchObject({ wallet: Wallet.APPLE_PAY, state: WalletKey_State.STAGED, recipient });
    const publicKey = await publicKeyOf(made.signingRequest);
    expect(publicKeyOfPoint(made.publicKey).equals(publicKey)).toBe(true);
    const certificate = await vault.apple.issueFor(made.signingRequest, recipient);
    const active = (await rpc.activateWalletKey({ merchantId, id: made.id, certificate }, options())).key!;
    expect(active).toMatchObject({ id: made.id, state: WalletKey_State.ACTIVE, certificateEndsAt: expect.anything() });
    const google = { merchantId, wallet: Wallet.GOOGLE_PAY, recipient: "BCR2DN4T263K6XYZ" };
    const { key: staged } = await rpc.createWalletKey(google, options());
    expect(Buffer.from(staged!.publicKey, "base64")).toHaveLength(65);
    const { keys } = await rpc.listWalletKeys({ merchantId }, options());
    expect(keys.map(({ id }) => id)).toEqual([staged!.id, made.id]);
    expect((await rpc.listWalletKeys({ merchantId }, options("live"))).keys).toEqual([]);
    expect((await rpc.listWalletKeys({ merchantId: "mer_other" }, options())).keys).toEqual([]);
    await rpc.dropWalletKey({ merchantId, id: made.id }, options());
    expect((await rpc.listWalletKeys({ merchantId }, options())).keys[1]!.state).toBe(WalletKey_State.DROPPED);
  });

  it.each([
    ["no wallet", { merchantId, recipient: "x" }, Code.InvalidArgument],
    ["another recipient", { merchantId, wallet: Wallet.GOOGLE_PAY, recipient: "a b" }, Code.InvalidArgument],
  ])("refuse %s", async (_, asked, code) => {
    const error = await rpc.createWalletKey(asked, options()).catch(ConnectError.from);
    expect(error).toMatchObject({ code });
  });

  it("refuse a key that is not the merchant's, and a certificate of another", async () => {
    const asked = { merchantId, id: "00000000-0000-4000-8000-000000000000", certificate: new Uint8Array() };
    await expect(rpc.activateWalletKey(asked, options())).rejects.toMatchObject({ code: Code.NotFound });
    await expect(rpc.dropWalletKey(asked, options())).rejects.toMatchObject({ code: Code.NotFound });
    const { key } = await rpc.createWalletKey(
      { merchantId, wallet: Wallet.APPLE_PAY, recipient: "merchant.x" },
      options(),
    );
    const wrong = rpc.activateWalletKey({ merchantId, id: key!.id, certificate: Buffer.from("x") }, options());
    await expect(wrong).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  it("are for the core alone", async () => {
    await expect(rpc.listWalletKeys({ merchantId })).rejects.toMatchObject({ code: Code.Unauthenticated });
  });
});
