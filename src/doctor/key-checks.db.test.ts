import { Pool } from "pg";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import {
  type RotationStep,
  rotateClientSecret,
  rotateSealing,
  rotateStoreRing,
} from "../config/server-key-rotation.ts";
import {
  generateKeyFile,
  generateVaultKeyFile,
  type KeyFile,
  parseKeyFile,
  parseVaultKeys,
  type VaultKeyFile,
} from "../config/server-keys.ts";
import { answerAssociatedData } from "../core/create-session.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { Database } from "../platform/database.ts";
import { seal } from "../platform/secrets.ts";
import { sealForStore } from "../platform/store-ring.ts";
import { examineKeys, examineStoreRing } from "./key-checks.ts";

const rotated = (file: KeyFile, step: RotationStep) => rotateClientSecret(rotateSealing(file, step), step);

it("reports keys that can be removed once nothing of the last day needs them", async () => {
  const testDatabase = await createTestDatabase("environment");
  const database = new Database(new Pool({ connectionString: testDatabase.ownerUrl, max: 1, pipeline: true }));
  const complaintsOf = async (file: KeyFile) => {
    const findings = await examineKeys("test", parseKeyFile(JSON.stringify(file), "test"), database);
    return findings.filter(({ state }) => state !== "OK").map(({ says }) => says);
  };
  const first = JSON.parse(generateKeyFile("test")) as KeyFile;
  const added = rotated(first, "add");
  const used = rotated(added, "use");
  const ofNothing = [await complaintsOf(added), await complaintsOf(used)];

  const [session, merchant] = [v7(), v7()];
  await database.query(
    {
      name: "ended",
      text: `WITH created AS (
          INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
          VALUES ($1, $2, 4900, 'EUR', 'o', 1, now() + interval '1 h'))
        INSERT INTO idempotency (merchant_id, key, request_hash, session_id, answer_sealed, expires_at)
        VALUES ($2, 'k', sha256('o'), $1, $3, now() + interval '1 h')`,
    },
    [session, merchant, seal(parseKeyFile(JSON.stringify(first), "test").sealing, answerAssociatedData(session), "{}")],
  );
  const text = "UPDATE payment_session SET status = 'EXPIRED', phase = 'DONE', settled_at = now() WHERE id = $1";
  await database.query({ name: "expire", text }, [session]);
  const ofToday = [await complaintsOf(used), await complaintsOf(rotated(used, "drop"))];
  await database.pool.end();
  await testDatabase.drop();

  expect(ofNothing).toEqual([
    [],
    ["sealing-test-1 no longer seals anything", expect.stringMatching(/^no session .* client secret of version 1$/)],
  ]);
  expect(ofToday).toEqual([
    [],
    [
      "answers to Idempotency-Keys are sealed with sealing-test-1, which is not in the file",
      expect.stringMatching(/^sessions .* client secrets of version 1, which is not in the file$/),
    ],
  ]);
});

it("reports a key that stored cards need and the vault's file does not have, and one that none needs", async () => {
  const testDatabase = await createTestDatabase("vault");
  const database = new Database(new Pool({ connectionString: testDatabase.url, max: 1 }));
  const findingsOf = async (file: VaultKeyFile) => {
    const { storeRing } = parseVaultKeys(JSON.stringify(file), "test");
    const findings = await examineStoreRing("test", storeRing, database);
    expect(findings.every(({ area }) => area === "keys test")).toBe(true);
    return findings.map(({ state, says }) => `${state} ${says}`);
  };
  const newFile = () => JSON.parse(generateVaultKeyFile(generateKeyFile("test"))) as VaultKeyFile;
  const first = newFile();
  const used = rotateStoreRing(rotateStoreRing(first, "add"), "use");
  const { storeRing: _, ...without } = first;
  const ofNothing = [await findingsOf(first), await findingsOf(used), await findingsOf(without)];

  const row = { handleHash: Buffer.alloc(32, 1), merchantId: "mer_1", sealed: "handle.x" };
  const sealed = sealForStore(parseVaultKeys(JSON.stringify(first), "test").storeRing!, "test", row);
  const text = `INSERT INTO stored_card (handle_hash, environment, merchant_id, session_id, sealed) VALUES ($1, 'test', 'mer_1', 'ps_1', $2)`;
  await database.query({ name: "store", text }, [row.handleHash, sealed]);
  const ofOne = [await findingsOf(first), await findingsOf(used)];
  const lost = [
    await findingsOf(rotateStoreRing(used, "drop")),
    await findingsOf(newFile()),
    await findingsOf(without),
  ];
  await database.pool.end();
  await testDatabase.drop();

  const copy = expect.stringMatching(/^OK keep a copy of the file of SWITCHYARD_TEST_VAULT_KEYS_FILE/);
  const opens = expect.stringMatching(/^OK store-test-\d and the keys before it open every stored card$/);
  expect(ofNothing).toEqual([
    [opens, copy],
    [opens, "WARNING store-test-1 no longer seals stored cards", copy],
    ["WARNING the vault has no store ring, so no card can be stored"],
  ]);
  expect(ofOne).toEqual([
    [opens, copy],
    [opens, "WARNING store-test-1 still seals stored cards, besides store-test-2", copy],
  ]);
  expect(lost.map(([says]) => says)).toEqual([
    "PROBLEM stored cards are sealed with store-test-1, which is not in the file: the vault does not start",
    "PROBLEM stored cards do not open with store-test-1: the file has another key of this name, and the vault does not start",
    "PROBLEM stored cards are sealed with store-test-1, which is not in the file: the vault does not start",
  ]);
});
