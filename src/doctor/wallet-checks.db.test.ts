/** What the doctor finds of wallets: in an environment's settings, and in the vault. */
import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { recordWallets } from "../accounts/merchant-wallets.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase, openTestDatabase } from "../dev/testing/postgres.ts";
import { Database } from "../platform/database.ts";
import type { KeyRing } from "../platform/secrets.ts";
import type { MerchantWallets } from "../platform/wallets.ts";
import { activateWalletKey, createWalletKey } from "../vault/wallets/wallet-keys.ts";
import { examineWalletKeys, examineWallets } from "./wallet-checks.ts";

const wordsOf = (findings: readonly { state: string; says: string }[]) =>
  findings.map(({ state, says }) => `${state} ${says}`);

describe("examineWallets()", async () => {
  const { owner, database } = await forFile(openTestDatabase);
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const origin = "https://shop.example";
  const apple = { merchantIdentifier: "merchant.com.example", endsAt: inDays(300), identityEndsAt: inDays(300) };
  const google = { merchantId: "BCR2", publicKey: "BAAA" };
  const whole: MerchantWallets = { countryCode: "DE", apple, google, domains: { [origin]: inDays(0) } };

  async function merchant(wallets: MerchantWallets, gateway = "SANDBOX_A", paused = false) {
    const id = v7();
    await owner.query(`SET session_replication_role = replica;
      INSERT INTO merchant_settings (merchant_id, publishable_key, session_lifetime_ms, checkout_origins) VALUES ('${id}', 'pk_${id}', 1800000, '{${origin}}');
      INSERT INTO connection (id, merchant_id, gateway, account, credential_version, first_verified_at, paused)
        VALUES ('${v7()}', '${id}', '${gateway}', '${id}', 1, now(), ${paused}); SET session_replication_role = origin`);
    await database.transaction((tx) => recordWallets(tx, id, { wallets, setUp: {} }));
  }
  const found = async (environment: "test" | "live" = "live") => wordsOf(await examineWallets(environment, database));

  beforeEach(() => owner.query("DELETE FROM connection; DELETE FROM merchant_settings"));

  it("finds nothing where no merchant has set up a wallet, and nothing wrong where all is whole", async () => {
    await merchant({});
    expect(await found()).toEqual([]);
    await merchant(whole);
    expect(await found()).toEqual(["OK certificates, domains and gateways of 1 merchant(s) are in order"]);
  });

  it.each<[string, MerchantWallets, string]>([
    [
      "an ended certificate",
      { ...whole, apple: { ...apple, endsAt: inDays(-1) } },
      "PROBLEM a certificate of Apple Pay has ended",
    ],
    [
      "an ending identity",
      { ...whole, apple: { ...apple, identityEndsAt: inDays(29) } },
      "WARNING a certificate of Apple Pay ends within 30 days",
    ],
    ["no country", { apple, google, domains: whole.domains }, "PROBLEM without a country no wallet is offered"],
    [
      "no identity",
      { ...whole, apple: { ...apple, identityEndsAt: undefined } },
      "PROBLEM without a merchant identity no sheet of Apple Pay opens",
    ],
    [
      "a domain that is no checkout origin",
      { ...whole, domains: { "https://other.example": inDays(0) } },
      "PROBLEM no checkout origin has passed",
    ],
  ])("finds %s", async (_, wallets, says) => {
    await merchant(wallets);
    expect(await found()).toEqual([expect.stringMatching(new RegExp(`^${says}.* for mer_`))]);
  });

  it("asks for neither identity nor domain in test, which has an emulator", async () => {
    await merchant({ ...whole, apple: { ...apple, identityEndsAt: undefined }, domains: undefined });
    expect(await found("test")).toEqual([expect.stringMatching(/^OK/)]);
  });

  it("finds that no gateway takes device numbers, and names one of many merchants", async () => {
    await merchant(whole, "STRIPE");
    await merchant(whole, "ADYEN", true);
    expect(await found()).toEqual([
      expect.stringMatching(
        /^WARNING no gateway takes device numbers for 2 merchants, such as mer_.*: Apple Pay is not/,
      ),
    ]);
  });
});

describe("examineWalletKeys()", async () => {
  const testDatabase = await forFile(() => createTestDatabase("vault"), "drop");
  const pool = await forFile(
    () => new Pool({ connectionString: testDatabase.ownerUrl, max: 2, pipeline: true }),
    "end",
  );
  const database = new Database(pool);
  const ring = (): KeyRing => ({ current: "wallet-1", keys: { "wallet-1": randomBytes(32) } });
  const walletRing = ring();

  it("finds a key that the ring does not open, and that live has no root of Google", async () => {
    const found = async (given: KeyRing | undefined) => wordsOf(await examineWalletKeys("live", given, database));
    expect(await found(walletRing)).toEqual([]);
    const vault = { environment: "live", ring: ring(), walletRing } as const;
    const key = { merchantId: "mer_1", wallet: "google_pay", recipient: "BCR2DN4T263K6XYZ" } as const;
    const { id } = await createWalletKey(database, vault, key);
    expect(await found(walletRing)).toEqual(["OK the wallet ring opens each of 1 key(s) of wallets"]);
    expect(await found(undefined)).toEqual([expect.stringMatching(/^PROBLEM the key wallet-1 .* is not in the file/)]);
    expect(await found(ring())).toEqual([expect.stringMatching(/^PROBLEM the key wallet-1 .* is another key in the/)]);
    await activateWalletKey(database, vault, { merchantId: "mer_1", id, certificate: new Uint8Array() });
    const none = [expect.stringMatching(/^WARNING the vault has no valid root key of Google/)];
    expect(await found(walletRing)).toEqual(none);
    const rootUntil = (at: number) =>
      pool.query(
        `INSERT INTO wallet_root VALUES ('live', $1, now()) ON CONFLICT (environment) DO UPDATE SET body = excluded.body`,
        [JSON.stringify({ keys: [{ protocolVersion: "ECv2", keyValue: "x", keyExpiration: String(at) }] })],
      );
    await rootUntil(Date.now() - 1_000);
    expect(await found(walletRing)).toEqual(none);
    await rootUntil(Date.now() + 60_000);
    expect(await found(walletRing)).toEqual([expect.stringMatching(/^OK/)]);
  });
});
