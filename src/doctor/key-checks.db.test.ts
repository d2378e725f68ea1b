/**
 * Checks that no needed key is reported as retired: one that is not in use yet, and those of the last day's records.
 */
import { Pool } from "pg";
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { type RotationStep, rotateClientSecret, rotateSealing } from "../config/server-key-rotation.ts";
import { generateKeyFile, type KeyFile, parseKeyFile } from "../config/server-keys.ts";
import { answerAssociatedData } from "../core/create-session.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { Database } from "../platform/database.ts";
import { seal } from "../platform/secrets.ts";
import { examineKeys } from "./key-checks.ts";

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
