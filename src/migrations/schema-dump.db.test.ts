import { readFileSync } from "node:fs";
import { Pool } from "pg";
import { describe, expect, it } from "vitest";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { schemaFileOf, writeSchema } from "../dev/testing/schema-text.ts";
import { Database } from "../platform/database.ts";
import { committedSchema, loadSchema } from "./schema-dump.ts";
import { type DatabaseKind, schemaHistory } from "./schema-history.ts";

describe.each(Object.keys(schemaHistory) as DatabaseKind[])("the committed schema of %s", (kind) => {
  const committed = readFileSync(schemaFileOf(kind), "utf8");

  it("is what the migrations make of an empty database; `npm run schema` writes it anew", async () => {
    const testDatabase = await createTestDatabase(kind);
    const database = new Database(new Pool({ connectionString: testDatabase.url, max: 1 }));
    const written = writeSchema(await loadSchema(database));
    await database.pool.end();
    await testDatabase.drop();
    expect(written).toBe(committed);
  });

  it("is read as it was written, object by object", () => {
    const { objects } = committedSchema(kind);
    const texts = [...objects.entries()].map(([key, { definition }]) => `-- ${key}\n${definition};\n`);
    expect(texts.length).toBeGreaterThan(10);
    expect([committed.slice(0, committed.indexOf("\n\n") + 1), ...texts].join("\n")).toBe(committed);
  });
});
