import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, expect, it, vi } from "vitest";
import { generateKeyFile, generateVaultKeyFile, parseVaultKeys } from "../config/server-keys.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { runCommandHere as run } from "../dev/testing/run-command-here.ts";
import { Database } from "../platform/database.ts";
import type { VaultEnvironment } from "../vault/vault-config.ts";
import { activateWalletKey, createWalletKey, listWalletKeys, usableWalletKeys } from "../vault/wallets/wallet-keys.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-wallet-keys-"));
const file = join(folder, "vault-keys.json");
writeFileSync(file, generateVaultKeyFile(generateKeyFile("test")), { mode: 0o600 });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const testDatabase = await forFile(() => createTestDatabase("vault"), "drop");
const pool = await forFile(() => new Pool({ connectionString: testDatabase.ownerUrl, max: 2, pipeline: true }), "end");
const database = new Database(pool);

const vault = (): VaultEnvironment => ({ environment: "test", ...parseVaultKeys(readFileSync(file, "utf8"), "test") });
const owner = ["--url", testDatabase.ownerUrl];
const rotate = (step: string, ...more: string[]) =>
  run(["server-keys", "rotate", "--key", "wallet-ring", "--step", step, "--vault-keys", file, ...more, "--json"]);

const merchantId = "mer_1";
async function makeKey(wallet: "apple_pay" | "google_pay", recipient: string) {
  const { id } = await createWalletKey(database, vault(), { merchantId, wallet, recipient });
  if (wallet === "google_pay")
    await activateWalletKey(database, vault(), { merchantId, id, certificate: new Uint8Array() });
  return id;
}

it("drops no key of the ring that a wallet's key needs, and leaves none that only the dropped key could open", async () => {
  await makeKey("google_pay", "BCR2DN4T263K6XYZ");
  expect(await rotate("add")).toMatchObject({ code: 0 });
  expect(await rotate("use")).toMatchObject({ code: 0 });
  expect(await rotate("drop")).toMatchObject({ code: 1, err: expect.stringContaining("--url") });
  expect(await rotate("drop", ...owner)).toMatchObject({
    code: 1,
    err: expect.stringContaining("wallet-test-1 still seals keys of wallets"),
  });
  const resealed = await run([
    ...["server-keys", "reseal-wallet-keys", "--environment", "test", "--vault-keys", file, ...owner, "--json"],
  ]);
  expect(JSON.parse(resealed.out)).toEqual({ keys: 1 });
  expect(await rotate("drop", ...owner)).toMatchObject({ code: 0 });
  expect(Object.keys(vault().walletRing!.keys)).toEqual(["wallet-test-2"]);
  const [key] = await usableWalletKeys(database, vault(), { merchantId, wallet: "google_pay" });
  expect(key!.privateKey.type).toBe("private");
});

it("drops every key of Google's after a restore, and none of Apple's", async () => {
  await makeKey("apple_pay", "merchant.com.example");
  await makeKey("google_pay", "BCR2DN4T263K6XYZ");
  const drop = () => run(["restore", "drop-wallet-keys", ...owner, "--json"]);
  const vaults = new Pool({ connectionString: testDatabase.url, max: 1 });
  vaults.on("error", () => {});
  await vaults.query("SELECT 1");
  expect(await drop()).toMatchObject({ code: 1, err: expect.stringContaining("Stop every role first") });
  await vaults.end();
  // PostgreSQL notices a little later that the connection has ended.
  const dropped = await vi.waitFor(
    async () => {
      const done = await drop();
      expect(done).toMatchObject({ code: 0 });
      return done;
    },
    { timeout: 20_000 },
  );
  expect(JSON.parse(dropped.out)).toEqual({ keys: 2, merchants: ["mer_1 (test)"] });
  const keys = await listWalletKeys(database, vault(), { merchantId });
  expect(keys.map(({ wallet, state }) => `${wallet} ${state}`).sort()).toEqual([
    ...["apple_pay STAGED", "google_pay DROPPED", "google_pay DROPPED"],
  ]);
  expect(JSON.parse((await drop()).out)).toMatchObject({ keys: 0 });
});
