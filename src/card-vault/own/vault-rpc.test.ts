import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import {
  CheckTokenResponse_State,
  CheckTokenResponseSchema,
  ForwardResponseSchema,
  NeverSent_Reason,
} from "../../../gen/vault/v1/vault_pb.ts";
import { createStrictLog } from "../../dev/testing/strict-log.ts";
import { makeCardToken } from "../../platform/card-token.ts";
import { Secret } from "../../platform/secrets.ts";
import { verifyFramePolicy, verifySessionGrant } from "../../platform/service-token.ts";
import { orderHashOf } from "../../platform/wallets.ts";
import { openSelfHostedVault } from "./vault-rpc.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const keys = [{ kid: "k", environment: "test" as const, publicKey }];
const settings = {
  origin: "https://vault.example",
  apiOrigin: "https://pay.example",
  address: "127.0.0.1:1",
  signing: { kid: "k", environment: "test" as const, privateKey },
  log: createStrictLog(),
};
const vault = openSelfHostedVault(settings);
afterAll(() => vault.close());

// On a whole second: half a second later is still within it.
const expiresAt = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 60_000);
type Order = { orderRef: string; amountMinor: number; currency: string };
const sessionOf = (change: { sessionId?: string; checkoutOrigins?: string[]; expiresAt?: Date; order?: Order } = {}) =>
  vault.openSession({
    sessionId: "01890a5d-ac96-774b-bcce-b302099a8057",
    merchantId: "0110c853-1d09-52d8-d73e-1194e95b5f19",
    publishableKey: "switchyard_test_pk_1",
    checkoutOrigins: ["https://shop.example"],
    expiresAt,
    ...change,
  });

describe("openSelfHostedVault().describe()", () => {
  it("signs a separate grant for each session", async () => {
    const [first, second] = [await sessionOf(), await sessionOf({ sessionId: "01890a5d-ac96-774b-bcce-b302099a8058" })];
    const grants = await Promise.all(
      [first, second].map((described) => verifySessionGrant(keys, described.sdkAuthorization!)),
    );
    expect(grants.map((grant) => grant?.session)).toEqual([
      "ps_01h455vb4pex5vsknk084sn02q",
      "ps_01h455vb4pex5vsknk084sn02r",
    ]);
  });

  it("signs the order that a wallet may pay, and for a session without one a grant for cards alone", async () => {
    const order = { orderRef: "order-1", amountMinor: 4_900, currency: "EUR" };
    const [plain, ...others] = [
      await sessionOf(),
      await sessionOf({ order }),
      await sessionOf({ order: { ...order, orderRef: "order-2" } }),
      await sessionOf({ order, sessionId: "01890a5d-ac96-774b-bcce-b302099a8058" }),
    ].map(({ sdkAuthorization, profileId }) => ({
      order: verifySessionGrant(keys, sdkAuthorization!)?.order,
      profileId,
    }));
    expect(plain!.order).toBeUndefined();
    const hashOf = (orderRef: string) => orderHashOf(plain!.profileId!, orderRef);
    expect(others.map(({ order: signed }) => signed)).toEqual([
      { hash: hashOf("order-1"), amountMinor: 4_900, currency: "EUR" },
      { hash: hashOf("order-2"), amountMinor: 4_900, currency: "EUR" },
      // Of the same order, in another session.
      { hash: hashOf("order-1"), amountMinor: 4_900, currency: "EUR" },
    ]);
  });

  it("signs one policy for the sessions of one second and the same pages", async () => {
    const later = new Date(expiresAt.getTime() + 500);
    expect((await sessionOf({ expiresAt: later })).framePolicy).toBe((await sessionOf()).framePolicy);
  });

  it("never returns a policy for other pages or another expiry", async () => {
    const nextSecond = new Date(expiresAt.getTime() + 1_000);
    const asked = [
      {},
      { checkoutOrigins: ["https://other.example"] },
      {},
      { checkoutOrigins: [] },
      { expiresAt: nextSecond },
    ];
    const policies = [];
    for (const change of asked) policies.push(await verifyFramePolicy(keys, (await sessionOf(change)).framePolicy!));
    // The longest submission, its customer's time, and a minute.
    const graceMs = 15 * 60_000;
    expect(policies).toEqual(
      asked.map((change) => ({
        environment: "test",
        origins: change.checkoutOrigins ?? ["https://shop.example"],
        serviceOrigin: "https://pay.example",
        expiresAt: new Date((change.expiresAt ?? expiresAt).getTime() + graceMs),
      })),
    );
  });
});

it("limits and routes a card that needs its code by what its token says, also while the vault is silent", async () => {
  const cardToken = { current: "k1", keys: { k1: new Uint8Array(32).fill(7) } };
  const silent = openSelfHostedVault({ ...settings, cardToken });
  const sessionId = "ps_01h455vb4pex5vsknk084sn02q";
  const fingerprint = { versions: ["0f".repeat(16)], isCounted: true };
  const card = { brand: "visa", firstDigits: "42424242" };
  const facts = { ...card, fingerprint, expiresAt, needsCode: true };
  const token = new Secret(makeCardToken(cardToken, { environment: "test", sessionId }, facts));
  expect(await silent.checkToken({ sessionId, token })).toEqual({ state: "unknown", card, fingerprint });
  silent.close();
});

/** A vault from before wallets: it has lost a card, and says of each token that it is unused. */
async function olderVault() {
  const server = createServer().on("stream", (stream, { ":path": path }) => {
    const body = path?.endsWith("/Forward")
      ? toBinary(
          ForwardResponseSchema,
          create(ForwardResponseSchema, {
            result: { case: "neverSent", value: { reason: NeverSent_Reason.TOKEN_NOT_FOUND } },
          }),
        )
      : toBinary(
          CheckTokenResponseSchema,
          create(CheckTokenResponseSchema, { state: CheckTokenResponse_State.UNUSED, brand: "visa" }),
        );
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.concat([head, body]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("knows a wallet by what its token says where an older vault does not, and takes it for no card", async () => {
  const cardToken = { current: "k1", keys: { k1: new Uint8Array(32).fill(7) } };
  const sessionId = "ps_01h455vb4pex5vsknk084sn02q";
  const facts = { brand: "visa", firstDigits: "42424242", expiresAt };
  const wallet = { name: "google_pay", credential: "PAN" } as const;
  const token = new Secret(makeCardToken(cardToken, { environment: "test", sessionId }, { ...facts, wallet }));
  const plain = new Secret(makeCardToken(cardToken, { environment: "test", sessionId }, facts));
  const address = await olderVault();
  const [knowing, asking] = [
    openSelfHostedVault({ ...settings, address, cardToken }),
    openSelfHostedVault({ ...settings, address }),
  ];
  onTestFinished(() => [knowing, asking].forEach((client) => void client.close()));
  await knowing.forward({
    connector: "SANDBOX_A",
    operation: "authorize",
    sessionId,
    token,
    origin: "https://gateway.example",
    pathVariables: {},
    headers: {},
    body: "",
    timeoutMs: 1_000,
  });
  expect(await knowing.checkToken({ sessionId, token })).toMatchObject({
    state: "unused",
    wallet: { ...wallet, network: "visa" },
  });
  expect(await asking.checkToken({ sessionId, token })).toMatchObject({ state: "unknown" });
  expect(await asking.checkToken({ sessionId, token: plain })).toMatchObject({ state: "unused" });
});
