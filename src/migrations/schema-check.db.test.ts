import { Client, Pool } from "pg";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "../dev/testing/postgres.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { Database } from "../platform/database.ts";
import { migrate } from "./migrate.ts";
import { SchemaCheck } from "./schema-check.ts";
import { SchemaError } from "./schema-error.ts";
import { schemaHistory } from "./schema-history.ts";

const next = { ...schemaHistory, vault: [...schemaHistory.vault, { name: "002-of-this-version" }] };

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
    const error = await new SchemaCheck([{ name: "the vault", kind: "vault", database: new Database(pool) }], next)
      .begin({ warn: () => {} })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SchemaError);
    expect(String(error)).toContain("the vault lacks 002-of-this-version.");
    expect(String(error)).toContain("switchyard migrate --kind vault --url");
  });

  it("says in one sentence that a database of before the baseline has to be made anew, and so does migrate()", async () => {
    await owner.query("UPDATE migration SET name = '001-cards'");
    const sentence =
      "was made before version 0.1.0 and cannot be migrated: create an empty database and run `switchyard migrate` on it, " +
      "or for the demo remove its folder (`.switchyard`) and run `npm start`.";
    await expect(check().begin({ warn: () => {} })).rejects.toThrow(
      new SchemaError(`The database of the vault ${sentence}`),
    );
    const migrated = migrate({ ownerUrl: testDatabase.ownerUrl, kind: "vault", runtimeRole: "vault_runtime" });
    await expect(migrated).rejects.toThrow(new SchemaError(`This database ${sentence}`));
    const command = ["migrate", "--kind", "vault", "--url", testDatabase.ownerUrl, "--runtime-role", "vault_runtime"];
    const said = sentence.replace("`switchyard", "`npx switchyard");
    expect(await runCommandHere(command)).toEqual({ code: 1, out: "", err: `This database ${said}\n` });
  });

  it("refuses a database in which nothing says what was applied", async () => {
    await owner.query("DROP VIEW applied_migration");
    await expect(check().pass()).rejects.toThrow("The database of the vault has not been migrated yet.");
  });

  it("waits for one cell of an environment, and finds another that is too old when it answers", async () => {
    const silent = Promise.withResolvers<never>();
    const second = { query: () => silent.promise as Promise<never> };
    const cells = new SchemaCheck([
      { name: "live", oneOf: "live", kind: "vault", database: new Database(pool) },
      { name: "live-2", oneOf: "live", kind: "vault", database: second },
    ]);
    await cells.pass();
    second.query = async () => [] as never;
    await vi.waitFor(() => expect(cells.pass()).rejects.toThrow("live-2 has not been migrated"));
  });

  it("asks again where a database did not answer at the start, and not once it has passed", async () => {
    const unreachableDatabase = new Pool({ connectionString: "postgres://nobody@127.0.0.1:1/none" });
    const warned: string[] = [];
    await check(unreachableDatabase).begin({ warn: (_: object, text: string) => void warned.push(text) } as never);
    expect(warned).toEqual(["a database did not answer at the start and will be checked again"]);
    await expect(check(unreachableDatabase).pass()).rejects.toThrow("ECONNREFUSED");
    const once = check();
    await once.pass();
    await owner.query("DELETE FROM migration");
    await once.pass();
    await unreachableDatabase.end();
  });
});
