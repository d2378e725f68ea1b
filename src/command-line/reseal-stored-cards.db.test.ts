import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, expect, it } from "vitest";
import { generateKeyFile, generateVaultKeyFile, parseVaultKeys } from "../config/server-keys.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { runCommandHere as run } from "../dev/testing/run-command-here.ts";
import { Database } from "../platform/database.ts";
import { keepCard } from "../vault/card-store.ts";
import { openCard, requireStoreKeys, storeCard } from "../vault/stored-cards.ts";
import type { VaultEnvironment } from "../vault/vault-config.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-reseal-stored-"));
const file = join(folder, "vault-keys.json");
writeFileSync(file, generateVaultKeyFile(generateKeyFile("test")), { mode: 0o600 });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const testDatabase = await forFile(() => createTestDatabase("vault"), "drop");
const pool = await forFile(() => new Pool({ connectionString: testDatabase.url, max: 2, pipeline: true }), "end");
const database = new Database(pool);

const vault = (): VaultEnvironment => ({ environment: "test", ...parseVaultKeys(readFileSync(file, "utf8"), "test") });
const owner = ["--url", testDatabase.ownerUrl];
const rotate = (step: string, ...more: string[]) =>
  run(["server-keys", "rotate", "--key", "store-ring", "--step", step, "--vault-keys", file, ...more, "--json"]);
const reseal = () =>
  run(["server-keys", "reseal-stored-cards", "--environment", "test", "--vault-keys", file, ...owner, "--json"]);

async function store(session: string): Promise<string> {
  const card = { number: "4242424242424242", expMonth: 4, expYear: 2031, cvc: "987" };
  const { token } = await keepCard(database, vault(), { session, profile: "mer_1" }, card);
  const handle = `vc_${randomBytes(24).toString("base64url")}`;
  await storeCard(database, vault(), { sessionId: session, merchantId: "mer_1", token: token.expose(), handle });
  return handle;
}

const open = (handle: string) =>
  openCard(database, vault(), { sessionId: "ps_opening", merchantId: "mer_1", handle, needsCode: false });

it("drops no key that a card needs, and leaves none that only the dropped key could open", async () => {
  const first = await store("ps_1");
  expect(await rotate("add")).toMatchObject({ code: 0 });
  expect(await rotate("use")).toMatchObject({ code: 0 });
  const second = await store("ps_2");
  const before = readFileSync(file, "utf8");
  expect(await rotate("drop")).toMatchObject({ code: 1, err: expect.stringContaining("--url") });
  expect(await rotate("drop", ...owner)).toMatchObject({
    code: 1,
    err: expect.stringContaining("store-test-1 still seals"),
  });
  expect(readFileSync(file, "utf8")).toBe(before);

  const resealed = await reseal();
  expect(JSON.parse(resealed.out)).toEqual({ cards: 1 });
  expect(resealed.err).toContain("Sealed 1 of 1 cards.");
  expect(await rotate("drop", ...owner)).toMatchObject({ code: 0 });
  expect(Object.keys(vault().storeRing!.keys)).toEqual(["store-test-2"]);
  await requireStoreKeys(database, [vault()]);
  for (const handle of [first, second]) expect(await open(handle)).toBeDefined();
});
