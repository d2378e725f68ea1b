import { Pool } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { Database } from "../platform/database.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { sha256 } from "../platform/secrets.ts";
import { findKeyHolder } from "./api-keys.ts";
import { issueKey, openEnvironmentTo } from "./issue-keys.ts";

const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
const testDatabase = await forFile(() => createTestDatabase("environment"), "drop");
const database = new Database(new Pool({ connectionString: testDatabase.url, max: 4 }));
afterAll(() => database.pool.end());

async function newMerchant() {
  const merchantId = systemRuntime.uuid();
  const keys = await database.transaction((tx) => openEnvironmentTo(tx, maker, merchantId));
  return { merchantId, secret: keys.secretKey.expose(), publishable: keys.publishableKey.expose() };
}

describe("findKeyHolder()", () => {
  it("maps concurrent requests to their own merchants", async () => {
    const [first, second] = [await newMerchant(), await newMerchant()];
    const keys = [first.secret, second.publishable, "switchyard_test_sk_unknown", second.secret, first.secret];
    const found = await Promise.all(keys.map((key) => findKeyHolder(database, sha256(key))));
    expect(found.map((holder) => holder && [holder.merchantId, holder.kind])).toEqual([
      [first.merchantId, "secret"],
      [second.merchantId, "publishable"],
      undefined,
      [second.merchantId, "secret"],
      [first.merchantId, "secret"],
    ]);
    expect(found[0]).toMatchObject({ publishableKey: first.publishable, checkoutOrigins: [] });
  });

  it("refuses a revoked key from the commit on", async () => {
    const { merchantId, secret } = await newMerchant();
    expect(await findKeyHolder(database, sha256(secret))).toMatchObject({ merchantId });
    const renewed = await database.transaction((tx) => issueKey(tx, maker, { merchantId, kind: "secret" }));
    expect(await findKeyHolder(database, sha256(secret))).toBeUndefined();
    expect(await findKeyHolder(database, sha256(renewed.expose()))).toMatchObject({ merchantId });
  });

  it("rejects every concurrent request when the database does not answer", async () => {
    const pool = new Pool({ connectionString: "postgres://nobody@127.0.0.1:1/none" });
    const unreachable = new Database(pool);
    const failures = await Promise.allSettled([
      findKeyHolder(unreachable, sha256("a")),
      findKeyHolder(unreachable, sha256("b")),
    ]);
    expect(failures.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await pool.end();
  });
});
