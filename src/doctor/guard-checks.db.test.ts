/** What is read out of the migrations is what a migrated database has, and no less. */
import { Pool } from "pg";
import { expect, it } from "vitest";
import { Database } from "../platform/database.ts";
import { createTestDatabase } from "../testing/postgres.ts";
import { examineGuards, guardsOf, loadGuards } from "./guard-checks.ts";

const namesOf = (rows: readonly { readonly name: string }[]) => [...new Set(rows.map(({ name }) => name))].sort();

it.for(["environment", "accounts", "vault"] as const)("knows the guards of a database of kind %s", async (kind) => {
  const testDatabase = await createTestDatabase(kind);
  const database = new Database(new Pool({ connectionString: testDatabase.url, max: 1 }));
  const [findings, found] = [await examineGuards(kind, kind, database), await loadGuards(database)];
  await database.pool.end();
  await testDatabase.drop();
  expect(findings).toMatchObject([{ state: "OK" }]);
  const guards = guardsOf(kind);
  expect([...guards.triggers].sort()).toEqual(namesOf(found.triggers));
  expect([...guards.uniqueIndexes].sort()).toEqual(namesOf(found.uniqueIndexes));
  const counted = [...guards.checks].flatMap(([table, count]) => Array.from({ length: count }, () => table));
  const checks = found.constraints.filter(({ isPart, isCheck }) => isCheck && !isPart).map(({ table }) => table);
  expect(counted.sort()).toEqual(checks.sort());
});
