import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { findOperator } from "../accounts/operator-tokens.ts";
import { Database } from "../platform/database.ts";
import { createTestDatabase } from "../testing/postgres.ts";
import { runCommand as run } from "../testing/run-command.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-offline-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("switchyard server-keys", () => {
  it("writes a key file for its owner only, and never over another", async () => {
    const out = join(folder, "keys", "keys-test.json");
    const generate = ["server-keys", "generate", "--environment", "test", "--out", out, "--json"];
    expect(JSON.parse((await run(generate)).out)).toEqual({ file: out });
    const content = readFileSync(out, "utf8");
    expect(await run(generate)).toMatchObject({ code: 1, err: expect.stringContaining("EEXIST") });
    expect(readFileSync(out, "utf8")).toBe(content);
    expect(statSync(out).mode & 0o777).toBe(0o600);
  });
});

describe("switchyard migrate", () => {
  it("leaves a schema alone that is up to date, and says so", async () => {
    const database = await createTestDatabase("accounts");
    const migrate = ["migrate", "--kind", "accounts", "--url", database.ownerUrl, "--runtime-role", "accounts_runtime"];
    expect(await run([...migrate, "--json"])).toEqual({ code: 0, out: '{\n  "applied": []\n}\n', err: "" });
    expect((await run(migrate)).out).toBe("Nothing to do: the schema is up to date.\n");
    await database.drop();
  });
});

describe("switchyard operator", () => {
  it("lets a person in by a token, and out again", async () => {
    const database = await createTestDatabase("accounts");
    const pool = new Pool({ connectionString: database.url, max: 1 });
    const accounts = new Database(pool);
    const env = { SWITCHYARD_ACCOUNTS_DATABASE_URL: database.url };
    const created = await run(["operator", "create", "--label", "ada"], { env });
    expect(created).toMatchObject({ code: 0, out: expect.stringMatching(/^switchyard_operator_[\w-]{43}\n$/) });
    expect(await findOperator(accounts, created.out.trim())).toMatchObject({ label: "ada" });
    const revoked = await run(["operator", "revoke", "--label", "ada", "--json"], { env });
    expect(JSON.parse(revoked.out)).toEqual({ revoked: 1 });
    expect(await findOperator(accounts, created.out.trim())).toBeUndefined();
    const without = await run(["operator", "create", "--label", "ada"]);
    expect(without).toMatchObject({ code: 1, err: expect.stringMatching(/^Set SWITCHYARD_ACCOUNTS_DATABASE_URL/) });
    await pool.end();
    await database.drop();
  });
});
