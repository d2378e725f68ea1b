import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../testing/postgres.ts";
import { rules } from "./rules/rules.ts";
import { removeFromSchema, type SchemaRemoval } from "./schema-removals.ts";

let database: TestDatabase;
let owner: Client;
beforeEach(async () => {
  database = await createTestDatabase("environment");
  owner = new Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterEach(async () => {
  await owner.end();
  await database.drop();
});

describe("removeFromSchema()", () => {
  it("finds every safeguard of every rule by its name", async () => {
    const removals = rules.flatMap((rule) => rule.database);
    expect(removals.length).toBeGreaterThan(20);
    await removeFromSchema(database.ownerUrl, removals);
    const named = removals.flatMap((removal) => ("name" in removal && !("instead" in removal) ? [removal.name] : []));
    const { rows } = await owner.query(
      `SELECT conname AS name FROM pg_constraint WHERE conname = ANY ($1)
       UNION SELECT relname FROM pg_class WHERE relname = ANY ($1)`,
      [named],
    );
    expect(rows).toEqual([]);
  });

  it("lets pass what a guard refused for this reason, and for no other", async () => {
    const refuse = (reason: string) => owner.query("SELECT app.refuse($1)", [reason]);
    await removeFromSchema(database.ownerUrl, [
      { type: "refusal", reason: "the lease epoch never goes back" },
      { type: "refusal", reason: "illegal attempt transition " },
    ]);
    await refuse("the lease epoch never goes back");
    await refuse("illegal attempt transition UNKNOWN to FAILED");
    await expect(refuse("a final status never changes")).rejects.toThrow("a final status never changes");
  });

  it.each<SchemaRemoval>([
    { type: "refusal", reason: "the sky is blue" },
    { type: "constraint", name: "attempt_sky" },
    { type: "uniqueIndex", name: "attempt_by_id" },
    { type: "lock", guard: "partitions.guard_session_rest" },
  ])("throws where the schema has no %o", async (removal) => {
    await expect(removeFromSchema(database.ownerUrl, [removal])).rejects.toThrow("Update src/dev/simulation/rules.");
  });
});
