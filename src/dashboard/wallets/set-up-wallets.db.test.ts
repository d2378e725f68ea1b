import { beforeEach, describe, expect, it } from "vitest";
import { recordSettings } from "../../accounts/merchant-settings.ts";
import { loadWallets, recordWallets, resealIdentities, unsealIdentity } from "../../accounts/merchant-wallets.ts";
import type { WalletKey } from "../../card-vault/card-vault.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { startEdgeFixture } from "../../edge/edge.fixture.ts";
import type { Tx } from "../../platform/database.ts";
import { walletsInUse } from "../../platform/wallets.ts";
import { AppleAuthority } from "../../sandbox/wallets/apple-authority.ts";
import { makeIdentityKey } from "./apple-identity.ts";
import {
  activateIdentity,
  createIdentity,
  dropIdentity,
  noteDomain,
  publishKeys,
  setCountry,
  setDomainFile,
} from "./set-up-wallets.ts";

const edge = await forFile(startEdgeFixture);
const apple = await AppleAuthority.create();
const { database, sealing } = edge.core.core;
const { merchantId } = edge.core.owner;
const parts = { merchantId, keys: undefined, sealing, now: new Date() };
const recipient = "merchant.com.example";
const hour = 3_600_000;
const inOne = <Result>(work: (tx: Tx) => Promise<Result>) => database.transaction(work);
const found = () => loadWallets(database, merchantId);

beforeEach(() => inOne((tx) => recordWallets(tx, merchantId, { wallets: {}, setUp: {} })));

function keyOf(given: Partial<WalletKey>): WalletKey {
  return {
    id: "1",
    wallet: "apple_pay",
    state: "ACTIVE",
    recipient,
    publicKey: "BAAA",
    signingRequest: "",
    createdAt: new Date(),
    retiresAt: undefined,
    certificateEndsAt: new Date("2099-01-01"),
    ...given,
  };
}

describe("keys of the vault", () => {
  const google = keyOf({ id: "2", wallet: "google_pay", recipient: "BCR2", certificateEndsAt: undefined });

  it("are published by their public halves, the active ones alone", async () => {
    const others = [keyOf({ id: "3", state: "STAGED", recipient: "other" }), keyOf({ id: "4", state: "RETIRING" })];
    await inOne((tx) => setCountry(tx, parts, "DE"));
    await inOne((tx) => publishKeys(tx, parts, [...others, keyOf({}), google]));
    expect((await found()).wallets).toEqual({
      countryCode: "DE",
      apple: { merchantIdentifier: recipient, endsAt: "2099-01-01T00:00:00.000Z" },
      google: { merchantId: "BCR2", publicKey: "BAAA" },
    });
  });

  it("leave the settings before they are erased", async () => {
    await inOne((tx) => publishKeys(tx, parts, [keyOf({}), google]));
    await inOne((tx) => publishKeys(tx, parts, [keyOf({}), google], "1"));
    expect((await found()).wallets).toEqual({ google: { merchantId: "BCR2", publicKey: "BAAA" } });
  });

  it("need a country that exists", async () => {
    await expect(inOne((tx) => setCountry(tx, parts, "XX"))).rejects.toMatchObject({ field: "countryCode" });
  });
});

describe("the identity at Apple", () => {
  const create = async () => {
    const id = await inOne((tx) => createIdentity(tx, parts, recipient));
    const identity = (await found()).setUp.identities!.find((one) => one.id === id)!;
    return { id, identity };
  };
  const activate = (id: string, certificate: Uint8Array) =>
    inOne((tx) => activateIdentity(tx, parts, { id, certificate }));

  it("is used once Apple has issued its certificate, and its key is sealed", async () => {
    const { id, identity } = await create();
    const rows = await database.query(
      { name: "raw_set_up", text: "SELECT wallet_set_up::text FROM merchant_settings" },
      [],
    );
    expect(JSON.stringify(rows)).not.toContain("PRIVATE KEY");
    expect(unsealIdentity(sealing, merchantId, identity).expose()).toContain("PRIVATE KEY");
    await inOne((tx) => publishKeys(tx, parts, [keyOf({})]));
    expect((await found()).wallets.apple?.identityEndsAt).toBeUndefined();
    const to = new Date(Math.floor(Date.now() / 1_000) * 1_000 + hour);
    await activate(id, await apple.issueFor(identity.signingRequest, recipient, { to }));
    const { wallets } = await found();
    expect(wallets.apple?.identityEndsAt).toBe(to.toISOString());
    const offered = (at: Date) => walletsInUse({ ...wallets, countryCode: "DE" }, at);
    expect([offered(new Date()), offered(to)]).toEqual([["apple_pay"], []]);
    await inOne((tx) => dropIdentity(tx, parts, id));
    expect((await found()).wallets.apple?.identityEndsAt).toBeUndefined();
  });

  it("serves no other merchant identifier", async () => {
    const { id, identity } = await create();
    await inOne((tx) => publishKeys(tx, parts, [keyOf({ recipient: "merchant.com.other" })]));
    await activate(id, await apple.issueFor(identity.signingRequest, recipient));
    expect((await found()).wallets.apple?.identityEndsAt).toBeUndefined();
  });

  it.each([
    ["is of another key", async () => apple.issueFor((await makeIdentityKey(recipient)).signingRequest, recipient)],
    ["has expired", (request: string) => apple.issueFor(request, recipient, { to: new Date(Date.now() - hour) })],
    [
      "is not valid yet",
      (request: string) => apple.issueFor(request, recipient, { from: new Date(Date.now() + hour) }),
    ],
    ["is not of the merchant identifier", (request: string) => apple.issueFor(request, "merchant.com.other")],
    ["is not of the merchant identifier", (request: string) => apple.issueFor(request, `${recipient} + UID=x`)],
    ["is no certificate", async () => Buffer.from("none")],
  ] as const)("takes no certificate that %s", async (words, issue) => {
    const { id, identity } = await create();
    const certificate = await issue(identity.signingRequest);
    await expect(activate(id, certificate)).rejects.toThrow(`The certificate ${words}`);
  });

  it("is sealed again under the current key", async () => {
    await create();
    const next = { current: "next", keys: { ...sealing.keys, next: Buffer.alloc(32, 3) } };
    expect(await inOne((tx) => resealIdentities(tx, next))).toBe(1);
    expect(await inOne((tx) => resealIdentities(tx, next))).toBe(0);
    const [identity] = (await found()).setUp.identities!;
    expect(identity?.sealed).toMatch(/^next\./);
    expect(unsealIdentity(next, merchantId, identity!).expose()).toContain("PRIVATE KEY");
  });
});

describe("domains", () => {
  const origin = "https://shop.example";

  const settings = { ...edge.core.owner, checkoutOrigins: [origin], statementDescriptor: null };
  const passed = async () => Object.keys((await found()).wallets.domains ?? {});
  beforeEach(() => inOne((tx) => recordSettings(tx, settings)));

  it("have passed until another file is stored, or a check fails", async () => {
    await inOne((tx) => setDomainFile(tx, parts, "7b22"));
    await inOne((tx) => noteDomain(tx, parts, { origin, passed: true, checked: "7b22" }));
    await inOne((tx) => setDomainFile(tx, parts, "7b22"));
    expect(await passed()).toEqual([origin]);
    await inOne((tx) => setDomainFile(tx, parts, "7b23"));
    expect(await passed()).toEqual([]);
    await inOne((tx) => noteDomain(tx, parts, { origin, passed: true, checked: "7b23" }));
    await inOne((tx) => noteDomain(tx, parts, { origin, passed: false, checked: "7b23" }));
    expect(await passed()).toEqual([]);
  });

  it("do not pass with a file that was replaced during the check, nor as an origin that was left out", async () => {
    await inOne((tx) => setDomainFile(tx, parts, "7b22"));
    const note = (checked: string) => inOne((tx) => noteDomain(tx, parts, { origin, passed: true, checked }));
    expect([await note("7b21"), await passed()]).toEqual([false, []]);
    expect([await note("7b22"), await passed()]).toEqual([true, [origin]]);
    await inOne((tx) => recordSettings(tx, { ...settings, checkoutOrigins: [] }));
    expect([await passed(), await note("7b22")]).toEqual([[], false]);
    await inOne((tx) => recordSettings(tx, settings));
    expect(await passed()).toEqual([]);
  });
});
