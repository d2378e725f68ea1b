import { randomBytes, X509Certificate } from "node:crypto";
import { Pool } from "pg";
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { createTestDatabase } from "../../dev/testing/postgres.ts";
import type { WalletName } from "../../platform/card-token.ts";
import { Database } from "../../platform/database.ts";
import type { KeyRing } from "../../platform/secrets.ts";
import { findWalletSealingKeys, resealWalletKeys } from "../../platform/wallet-ring.ts";
import { AppleAuthority, publicKeyOf } from "../../sandbox/wallets/apple-authority.ts";
import { expireOnce } from "../card-store.ts";
import type { VaultEnvironment } from "../vault-config.ts";
import { readAppleCertificate } from "./apple-certificate.ts";
import { basisTheoryVisaNew, galaMastercard } from "./vectors.fixture.ts";
import {
  activateWalletKey,
  anyWalletKey,
  createWalletKey,
  dropWalletKey,
  listWalletKeys,
  missingWalletSealingKeys,
  usableWalletKeys,
} from "./wallet-keys.ts";

const testDatabase = await forFile(() => createTestDatabase("vault"), "drop");
const pool = await forFile(() => new Pool({ connectionString: testDatabase.url, max: 4, pipeline: true }), "end");
const ownerPool = await forFile(
  () => new Pool({ connectionString: testDatabase.ownerUrl, max: 2, pipeline: true }),
  "end",
);
const [database, owner] = [new Database(pool), new Database(ownerPool)];
beforeEach(() => owner.pool.query("DELETE FROM wallet_key"));

const freshRing = (kid = "wallet-1"): KeyRing => ({ current: kid, keys: { [kid]: randomBytes(32) } });
const test: VaultEnvironment = { environment: "test", ring: freshRing(), walletRing: freshRing() };
const live: VaultEnvironment = { environment: "live", ring: freshRing(), walletRing: freshRing() };
const authority = await AppleAuthority.create();
const merchantId = "mer_1";
const [appleId, googleId] = ["merchant.com.example", "BCR2DN4T263K6XYZ"];

const createApple = (vault = test) =>
  createWalletKey(database, vault, { merchantId, wallet: "apple_pay", recipient: appleId });
const createGoogle = (vault = test) =>
  createWalletKey(database, vault, { merchantId, wallet: "google_pay", recipient: googleId });
const activate = (id: string, certificate: Uint8Array = new Uint8Array()) =>
  activateWalletKey(database, test, { merchantId, id, certificate });
const drop = (id: string) => dropWalletKey(database, test, { merchantId, id });
const list = () => listWalletKeys(database, test, { merchantId });
const states = async () => Object.fromEntries((await list()).map(({ id, state }) => [id, state]));
const usable = (wallet: WalletName = "google_pay", vault = test) =>
  usableWalletKeys(database, vault, { merchantId, wallet });
const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => "done",
    ({ code, message }) => `${code}: ${message}`,
  );

/** Changes the algorithm of a certificate's key to one that nobody knows. */
function ofUnknownAlgorithm(certificate: Buffer): Buffer {
  const ecPublicKey = "06072a8648ce3d0201";
  return Buffer.from(certificate.toString("hex").replace(ecPublicKey, "06072a8648ce3d0279"), "hex");
}

/** Writes the length of a certificate's body in an octet more than DER does. */
function inLongerForm(certificate: Buffer): Buffer {
  const [outer, body] = [certificate.subarray(0, 4), certificate.subarray(4)];
  outer.writeUInt16BE(outer.readUInt16BE(2) + 1, 2);
  return Buffer.concat([outer, Buffer.from([0x30, 0x83, 0]), body.subarray(2)]);
}

async function activeApple() {
  const { id, signingRequest } = await createApple();
  return activate(id, await authority.issueFor(signingRequest!, appleId));
}

describe("a key", () => {
  it("of Google is made, and decrypts once it is active", async () => {
    const { id, state, signingRequest } = await createGoogle();
    expect({ state, signingRequest }).toEqual({ state: "STAGED", signingRequest: null });
    expect(await codeOf(usable())).toContain("wallet_not_enabled");
    expect(await activate(id)).toMatchObject({ id, state: "ACTIVE", activatedAt: expect.any(Date) });
    const [key] = await usable();
    expect(key).toMatchObject({ recipient: googleId });
    expect(key!.privateKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
    expect(await activate(id)).toMatchObject({ state: "ACTIVE" });
  });

  it("of Apple comes with a request for a certificate that its own key has signed", async () => {
    const key = await createApple();
    expect((await publicKeyOf(key.signingRequest!)).export({ format: "der", type: "spki" })).toEqual(key.publicKey);
    const certificate = await authority.issueFor(key.signingRequest!, appleId);
    const active = await activate(key.id, certificate);
    expect(active.certificateEndsAt).toEqual(new Date(new X509Certificate(certificate).validTo));
    expect(await usable("apple_pay")).toHaveLength(1);
  });

  it("has no private half in clear in its row, and none that another row opens", async () => {
    const [one, other] = [await createGoogle(), await createApple()];
    const { rows } = await owner.pool.query("SELECT * FROM wallet_key");
    expect(JSON.stringify(rows)).not.toContain("PRIVATE");
    await activate(one.id);
    await owner.pool.query(
      "UPDATE wallet_key SET sealed = (SELECT sealed FROM wallet_key WHERE id = $1) WHERE id = $2",
      [other.id, one.id],
    );
    expect(await codeOf(usable())).toContain("wallet_unavailable");
  });

  it("is another merchant's, or another environment's, to nobody", async () => {
    const { id } = await createGoogle();
    const certificate = new Uint8Array();
    expect(await codeOf(activateWalletKey(database, test, { merchantId: "mer_2", id, certificate }))).toContain(
      "not_found",
    );
    expect(await codeOf(activateWalletKey(database, live, { merchantId, id, certificate }))).toContain("not_found");
    expect(await codeOf(dropWalletKey(database, live, { merchantId, id }))).toContain("not_found");
    expect(await codeOf(drop("no-id"))).toContain("not_found");
    await activate(id);
    expect(await codeOf(usable("google_pay", live))).toContain("wallet_not_enabled");
    expect(await codeOf(usableWalletKeys(database, test, { merchantId: "mer_2", wallet: "google_pay" }))).toContain(
      "wallet_not_enabled",
    );
  });

  it.each([
    ["apple_pay", "merchant example"],
    ["google_pay", "merchant:1"],
  ] as const)("of %s is made for no recipient like %s", async (wallet, recipient) => {
    expect(await codeOf(createWalletKey(database, test, { merchantId, wallet, recipient }))).toContain("invalid_field");
  });

  it("is made and used with a wallet ring alone", async () => {
    const without = { ...test, walletRing: undefined };
    expect(await codeOf(createGoogle(without))).toContain("wallet_unavailable");
    await activate((await createGoogle()).id);
    expect(await codeOf(usable("google_pay", without))).toContain("wallet_unavailable");
    expect(await codeOf(usable("google_pay", { ...test, walletRing: freshRing("wallet-2") }))).toContain(
      "wallet_unavailable",
    );
  });
});

describe("a rotation", () => {
  it("lets the key before decrypt for seven days more, and then erases it", async () => {
    const [before, after] = [await createGoogle(), await createGoogle()];
    await activate(before.id);
    await activate(after.id);
    const retiring = (await list()).find(({ id }) => id === before.id)!;
    expect(retiring.state).toBe("RETIRING");
    expect(Math.round((retiring.retiresAt!.getTime() - Date.now()) / 3_600_000)).toBe(7 * 24);
    expect((await usable()).map(({ publicKey }) => publicKey)).toEqual([after.publicKey, before.publicKey]);
    await owner.pool.query(`SET session_replication_role = replica;
      UPDATE wallet_key SET retires_at = clock_timestamp() WHERE id = '${before.id}'; SET session_replication_role = origin`);
    expect((await usable()).map(({ publicKey }) => publicKey)).toEqual([after.publicKey]);
    expect(await states()).toEqual({ [before.id]: "RETIRING", [after.id]: "ACTIVE" });
    await expireOnce(database);
    expect(await states()).toEqual({ [before.id]: "DROPPED", [after.id]: "ACTIVE" });
    expect((await owner.pool.query("SELECT sealed FROM wallet_key WHERE id = $1", [before.id])).rows).toEqual([
      { sealed: null },
    ]);
  });

  it("goes on with the active key where the one that retires cannot be unsealed", async () => {
    const [before, after] = [await createGoogle(), await createGoogle()];
    await activate(before.id);
    await activate(after.id);
    const damage = (id: string) => owner.pool.query("UPDATE wallet_key SET sealed = 'wallet-1.x' WHERE id = $1", [id]);
    await damage(before.id);
    expect((await usable()).map(({ publicKey }) => publicKey)).toEqual([after.publicKey]);
    await damage(after.id);
    expect(await codeOf(usable())).toContain("wallet_unavailable");
  });

  it("does not go back: a key that retires or was dropped is not activated again", async () => {
    const [one, two] = [await createGoogle(), await createGoogle()];
    await activate(one.id);
    await activate(two.id);
    expect(await codeOf(activate(one.id))).toContain("state_conflict");
    await drop(one.id);
    expect(await codeOf(activate(one.id))).toContain("state_conflict");
    for (const change of ["state = 'ACTIVE', sealed = 'x.y'", "state = 'STAGED', sealed = 'x.y'"])
      await expect(owner.pool.query(`UPDATE wallet_key SET ${change} WHERE id = $1`, [one.id])).rejects.toMatchObject({
        code: "23000",
      });
  });

  it("has one active key, also when two are activated at once", async () => {
    const keys = [await createGoogle(), await createGoogle()];
    await Promise.all(keys.map(({ id }) => activate(id)));
    expect(Object.values(await states()).sort()).toEqual(["ACTIVE", "RETIRING"]);
    await expect(owner.pool.query("UPDATE wallet_key SET state = 'ACTIVE' WHERE state = 'RETIRING'")).rejects.toThrow();
  });

  it("has three keys at most, of which a dropped one gives its place to the next", async () => {
    const made = await Promise.all([createGoogle(), createGoogle(), createGoogle()]);
    expect(await codeOf(createGoogle())).toContain("state_conflict");
    await createApple();
    await drop(made[1].id);
    const next = await createGoogle();
    expect(Object.keys(await states()).filter((id) => id !== made[1].id)).toContain(next.id);
    expect((await list()).filter(({ wallet }) => wallet === "google_pay")).toHaveLength(3);
    expect(await codeOf(createGoogle())).toContain("state_conflict");
  });

  it("drops a key at once, also the active one, and can be repeated", async () => {
    const { id } = await createGoogle();
    await activate(id);
    await drop(id);
    await drop(id);
    expect(await states()).toEqual({ [id]: "DROPPED" });
    expect(await codeOf(usable())).toContain("wallet_not_enabled");
    expect(await anyWalletKey(database)).toBe(false);
  });
});

it.each([
  ["STAGED", "signing_request = 'x'"],
  ["STAGED", "activated_at = clock_timestamp()"],
  ["ACTIVE", "activated_at = clock_timestamp()"],
  ["ACTIVE", "retires_at = clock_timestamp()"],
  ["RETIRING", "retires_at = retires_at + interval '1 day'"],
  ["RETIRING", "certificate = 'x'"],
  ["RETIRING", "certificate_ends_at = clock_timestamp()"],
])("has nothing changed while it is %s: %s", async (state, change) => {
  await activeApple();
  await activeApple();
  await createApple();
  const { rows } = await owner.pool.query("SELECT state FROM wallet_key WHERE state = $1", [state]);
  expect(rows).toHaveLength(1);
  await expect(owner.pool.query(`UPDATE wallet_key SET ${change} WHERE state = $1`, [state])).rejects.toMatchObject({
    code: "23000",
  });
});

describe("Apple's certificate", () => {
  it("is replaced by a renewed one of the same key, and not by the one before", async () => {
    const { id, signingRequest, certificateEndsAt: endsAt } = await activeApple();
    const certificate = await authority.issueFor(signingRequest!, appleId);
    const renewed = await authority.issueFor(signingRequest!, appleId, {
      to: new Date(endsAt!.getTime() + 86_400_000),
    });
    const renewedEnd = new Date(new X509Certificate(renewed).validTo);
    expect((await activate(id, renewed)).certificateEndsAt).toEqual(renewedEnd);
    expect(await activate(id, certificate)).toMatchObject({ state: "ACTIVE", certificateEndsAt: renewedEnd });
    const other = (await createApple()).signingRequest!;
    expect(await codeOf(activate(id, await authority.issueFor(other, appleId)))).toContain("is of another key");
    expect((await list()).find((key) => key.id === id)!.certificateEndsAt).toEqual(renewedEnd);
  });

  it.each([
    ["is of another key", async () => authority.issueFor((await createApple()).signingRequest!, appleId)],
    ["has expired", (request: string) => authority.issueFor(request, appleId, { to: new Date(Date.now() - 1_000) })],
    [
      "is not valid yet",
      (request: string) => authority.issueFor(request, appleId, { from: new Date(Date.now() + 60_000) }),
    ],
    [
      "is not of the merchant identifier",
      (request: string) => authority.issueFor(request, appleId, { userId: "merchant.com.other" }),
    ],
    [
      "is no Apple Pay payment processing",
      (request: string) => authority.issueFor(request, appleId, { hashOf: "merchant.com.other" }),
    ],
    ["is no certificate", async () => Buffer.from("x")],
    ["is no certificate", async (request: string) => ofUnknownAlgorithm(await authority.issueFor(request, appleId))],
    ["is no certificate", async (request: string) => inLongerForm(await authority.issueFor(request, appleId))],
    ["is no certificate", async () => Buffer.alloc(0)],
  ])("is refused if it %s", async (reason, issue) => {
    const { id, signingRequest } = await createApple();
    expect(await codeOf(activate(id, await issue(signingRequest!)))).toContain(
      `invalid_field: The certificate ${reason}`,
    );
    expect(await states()).toMatchObject({ [id]: "STAGED" });
  });

  it.each([
    ["Spreedly", galaMastercard],
    ["Basis Theory", basisTheoryVisaNew],
  ])(
    "is accepted as Apple has issued it, in PEM and in DER: %s",
    (_, { certificate, merchantIdentifier: recipient, signingTime }) => {
      const x509 = new X509Certificate(certificate);
      const of = {
        publicKey: x509.publicKey.export({ format: "der", type: "spki" }),
        recipient,
        now: new Date(signingTime),
      };
      const read = { der: x509.raw, endsAt: new Date(x509.validTo) };
      expect(readAppleCertificate(Buffer.from(certificate), of)).toEqual(read);
      expect(readAppleCertificate(x509.raw, of)).toEqual(read);
      expect(() => readAppleCertificate(x509.raw, { ...of, recipient: "merchant.other" })).toThrow(
        "is not of the merchant",
      );
    },
  );
});

describe("a rotation of the wallet ring", () => {
  it("seals every key of the environment again, and no key of the other", async () => {
    const active = await activeApple();
    await activate((await createGoogle()).id);
    await createGoogle(live);
    const ring = { current: "wallet-2", keys: { ...test.walletRing!.keys, "wallet-2": randomBytes(32) } };
    expect(await resealWalletKeys(owner, { environment: "test", ring })).toBe(2);
    expect(await resealWalletKeys(owner, { environment: "test", ring })).toBe(0);
    const dropped = { ...test, walletRing: { current: "wallet-2", keys: { "wallet-2": ring.keys["wallet-2"]! } } };
    for (const wallet of ["apple_pay", "google_pay"] as const) {
      const [key] = await usable(wallet, dropped);
      expect(key!.privateKey.type).toBe("private");
    }
    expect((await usable("apple_pay", dropped))[0]!.publicKey).toEqual(active.publicKey);
    expect(await findWalletSealingKeys(owner, "live", live.walletRing)).toEqual([{ keyId: "wallet-1" }]);
  });

  it("names a key that the file lacks, or has another one of its name", async () => {
    await createGoogle();
    const missing = (walletRing: KeyRing | undefined) =>
      missingWalletSealingKeys(database, [{ ...test, walletRing }, live]);
    expect(await missing(test.walletRing)).toEqual([]);
    expect(await missing(undefined)).toEqual(["wallet-1 is not in the file of SWITCHYARD_TEST_VAULT_KEYS_FILE"]);
    expect(await missing(freshRing())).toEqual([
      "wallet-1 is another key in the file of SWITCHYARD_TEST_VAULT_KEYS_FILE",
    ]);
    await expect(resealWalletKeys(owner, { environment: "test", ring: freshRing("wallet-2") })).rejects.toThrow();
    expect(await missing(test.walletRing)).toEqual([]);
  });
});

it("are logged, unlike the cards being paid: a crash of the server keeps keys and messages", async () => {
  const { rows } = await owner.pool.query(
    "SELECT relname FROM pg_class WHERE relname IN ('wallet_key', 'wallet_seen') AND relpersistence = 'p'",
  );
  expect(rows).toHaveLength(2);
});
