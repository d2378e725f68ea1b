import { Client, Pool } from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../platform/database.ts";
import { createTestDatabase, type TestDatabase } from "../testing/postgres.ts";
import { SchemaCheck } from "./schema-check.ts";
import { SchemaError } from "./schema-error.ts";
import { schemaHistory } from "./schema-history.ts";

const newest = schemaHistory.vault.at(-1)!.name;

let testDatabase: TestDatabase;
let owner: Client;
let pool: Pool;
beforeEach(async () => {
  testDatabase = await createTestDatabase("vault");
  owner = new Client({ connectionString: testDatabase.ownerUrl });
  pool = new Pool({ connectionString: testDatabase.url });
  await owner.connect();
});
afterEach(async () => {
  await Promise.all([owner.end(), pool.end()]);
  await testDatabase.drop();
});

const check = (from = pool) => new SchemaCheck([{ name: "the vault", kind: "vault", database: new Database(from) }]);

describe("SchemaCheck", () => {
  it("passes on its own schema, and on a newer one", async () => {
    await check().pass();
    await owner.query("INSERT INTO migration (name) VALUES ('999-of-the-next-version')");
    await check().pass();
  });

  it("refuses an older schema, with what is missing and what to run", async () => {
    await owner.query("DELETE FROM migration WHERE name = $1", [newest]);
    const error = await check()
      .begin({ warn: () => {} })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SchemaError);
    expect(String(error)).toContain(`the vault lacks ${newest}`);
    expect(String(error)).toContain("switchyard migrate --kind vault --url");
  });

  it("refuses a database in which nothing says what was applied", async () => {
    await owner.query("DROP VIEW applied_migration");
    await expect(check().pass()).rejects.toThrow("The database of the vault was not migrated yet.");
  });

  it("asks again where a database did not answer at the start, and not once it has passed", async () => {
    const nobody = new Pool({ connectionString: "postgres://nobody@127.0.0.1:1/none" });
    const warned: string[] = [];
    await check(nobody).begin({ warn: (_: object, text: string) => void warned.push(text) } as never);
    expect(warned).toEqual(["a database did not answer at the start, and is asked again"]);
    await expect(check(nobody).pass()).rejects.toThrow("ECONNREFUSED");
    const once = check();
    await once.pass();
    await owner.query("DELETE FROM migration");
    await once.pass();
    await nobody.end();
  });
});
