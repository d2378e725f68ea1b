import { describe, expect, it } from "vitest";
import { createTestDatabase } from "./postgres.ts";
import { askOne } from "./with-client.ts";

function at(url: string, other: string): string {
  const mixed = new URL(url);
  mixed.pathname = new URL(other).pathname;
  return mixed.href;
}

describe("createTestDatabase()", () => {
  it("clones a migrated database whose runtime role owns nothing, and may write rows but those of payments", async () => {
    const database = await createTestDatabase("environment");
    const tables = "SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public'";
    expect(await askOne(database.url, tables)).toBeGreaterThan(0);
    expect(await askOne(database.url, `${tables} AND tableowner = current_user`)).toBe(0);
    const writable = (table: string) =>
      askOne(database.url, `SELECT has_table_privilege(current_user, '${table}', 'INSERT')`);
    expect([await writable("merchant_settings"), await writable("payment_session")]).toEqual([true, false]);
    await expect(askOne(database.url, "DROP TABLE payment_session")).rejects.toThrow("must be owner");
    await database.drop();
    await expect(askOne(database.ownerUrl, "SELECT 1")).rejects.toThrow("does not exist");
  });

  it("keeps two databases of one kind apart by their roles", async () => {
    const [left, right] = await Promise.all([createTestDatabase("environment"), createTestDatabase("environment")]);
    await expect(askOne(at(left.url, right.url), "SELECT 1")).rejects.toThrow("permission denied for database");
    await expect(askOne(at(right.url, left.url), "SELECT 1")).rejects.toThrow("permission denied for database");
    await expect(askOne(at(left.url, "postgres://x/postgres"), "SELECT 1")).rejects.toThrow("permission denied");
  });

  it("makes every kind", async () => {
    for (const kind of ["accounts", "vault"] as const) {
      const database = await createTestDatabase(kind);
      expect(await askOne(database.url, "SELECT current_database()")).toMatch(kind);
    }
  });
});
