import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { createTestDatabase } from "./postgres.ts";

async function ask(url: string, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return Object.values((await client.query(sql)).rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}

function at(url: string, other: string): string {
  const mixed = new URL(url);
  mixed.pathname = new URL(other).pathname;
  return mixed.href;
}

describe("createTestDatabase()", () => {
  it("clones a migrated database whose runtime role owns nothing, and may write rows but those of payments", async () => {
    const database = await createTestDatabase("environment");
    const tables = "SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public'";
    expect(await ask(database.url, tables)).toBeGreaterThan(0);
    expect(await ask(database.url, `${tables} AND tableowner = current_user`)).toBe(0);
    const writable = (table: string) =>
      ask(database.url, `SELECT has_table_privilege(current_user, '${table}', 'INSERT')`);
    expect([await writable("merchant_settings"), await writable("payment_session")]).toEqual([true, false]);
    await expect(ask(database.url, "DROP TABLE payment_session")).rejects.toThrow("must be owner");
    await database.drop();
    await expect(ask(database.ownerUrl, "SELECT 1")).rejects.toThrow("does not exist");
  });

  it("keeps two databases of one kind apart by their roles", async () => {
    const [left, right] = await Promise.all([createTestDatabase("environment"), createTestDatabase("environment")]);
    await expect(ask(at(left.url, right.url), "SELECT 1")).rejects.toThrow("permission denied for database");
    await expect(ask(at(right.url, left.url), "SELECT 1")).rejects.toThrow("permission denied for database");
    await expect(ask(at(left.url, "postgres://x/postgres"), "SELECT 1")).rejects.toThrow("permission denied");
  });

  it("makes every kind", async () => {
    for (const kind of ["accounts", "vault"] as const) {
      const database = await createTestDatabase(kind);
      expect(await ask(database.url, "SELECT current_database()")).toMatch(kind);
    }
  });
});
