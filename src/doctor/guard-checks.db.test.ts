/** What is read out of the migrations is what a migrated database has. */
import { Client } from "pg";
import { expect, it } from "vitest";
import { createTestDatabase } from "../testing/postgres.ts";
import { guardsOf } from "./guard-checks.ts";

it.for(["environment", "accounts", "vault"] as const)("knows the guards of a database of kind %s", async (kind) => {
  const database = await createTestDatabase(kind);
  const client = new Client({ connectionString: database.ownerUrl });
  await client.connect();
  const names = async (sql: string) => (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name).sort();
  const triggers =
    await names(`SELECT c.relname || '.' || t.tgname AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND t.tgparentid = 0`);
  const uniqueIndexes = await names(`SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indisunique AND c.relnamespace = 'public'::regnamespace AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid)`);
  const checks =
    await names(`SELECT c.relname || ': ' || count(*) AS name FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE k.contype = 'c' AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'migration' GROUP BY c.relname`);
  const constraints = await names(
    `SELECT c.relname || '.' || k.conname AS name FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid`,
  );
  await client.end();
  await database.drop();
  const guards = guardsOf(kind);
  const counted = [...guards.checks].filter(([, count]) => count > 0).map(([table, count]) => `${table}: ${count}`);
  expect([...guards.triggers].sort()).toEqual(triggers);
  expect([...guards.uniqueIndexes].sort()).toEqual(uniqueIndexes);
  expect(counted.sort()).toEqual(checks);
  expect(constraints).toEqual(expect.arrayContaining([...guards.constraints]));
});
