import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../dev/testing/postgres.ts";
import { Database, type Statement } from "../platform/database.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { sha256 } from "../platform/secrets.ts";
import { issueKey, openEnvironmentTo } from "./issue-keys.ts";
import { KeyHolders } from "./key-holders.ts";

/** A database that records its statements. */
class WatchedDatabase extends Database {
  readonly statements: string[] = [];

  override query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    this.statements.push(statement.name);
    return super.query<Row>(statement, values);
  }
}

const maker = { runtime: systemRuntime, brand: "switchyard", environment: "test" };
let testDatabase: TestDatabase;
let database: WatchedDatabase;
let holders: KeyHolders;
beforeAll(async () => {
  testDatabase = await createTestDatabase("environment");
  database = new WatchedDatabase(new Pool({ connectionString: testDatabase.url, max: 4 }));
  holders = new KeyHolders(database);
});
afterAll(async () => {
  await database.pool.end();
  await testDatabase.drop();
});

async function newMerchant() {
  const merchantId = systemRuntime.uuid();
  const keys = await database.transaction((tx) => openEnvironmentTo(tx, maker, merchantId));
  return { merchantId, secret: keys.secretKey.expose(), publishable: keys.publishableKey.expose() };
}

describe("KeyHolders", () => {
  it("maps concurrent requests to their own merchants by one statement", async () => {
    const [first, second] = [await newMerchant(), await newMerchant()];
    database.statements.length = 0;
    const keys = [first.secret, second.publishable, "switchyard_test_sk_unknown", second.secret, first.secret];
    const found = await Promise.all(keys.map((key) => holders.find(sha256(key))));
    expect(found.map((holder) => holder && [holder.merchantId, holder.kind])).toEqual([
      [first.merchantId, "secret"],
      [second.merchantId, "publishable"],
      undefined,
      [second.merchantId, "secret"],
      [first.merchantId, "secret"],
    ]);
    expect(found[0]).toMatchObject({ publishableKey: first.publishable, checkoutOrigins: [] });
    expect(found[0]).not.toHaveProperty("hash");
    expect(database.statements).toEqual(["select_key_holders"]);
  });

  it("refuses a revoked key from the commit on", async () => {
    const { merchantId, secret } = await newMerchant();
    expect(await holders.find(sha256(secret))).toMatchObject({ merchantId });
    const renewed = await database.transaction((tx) => issueKey(tx, maker, { merchantId, kind: "secret" }));
    expect(await holders.find(sha256(secret))).toBeUndefined();
    expect(await holders.find(sha256(renewed.expose()))).toMatchObject({ merchantId });
  });

  it("rejects every concurrent request when the database does not answer", async () => {
    const pool = new Pool({ connectionString: "postgres://nobody@127.0.0.1:1/none" });
    const unreachable = new KeyHolders(new Database(pool));
    const failures = await Promise.allSettled([unreachable.find(sha256("a")), unreachable.find(sha256("b"))]);
    expect(failures.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await pool.end();
  });
});
