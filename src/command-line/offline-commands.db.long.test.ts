import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { listAudit } from "../accounts/audit-trail.ts";
import { findMemberByEmail } from "../accounts/members.ts";
import { createMerchant } from "../accounts/merchants.ts";
import { findOperator } from "../accounts/operator-tokens.ts";
import { verifyPassword } from "../accounts/passwords.ts";
import { parseVaultKeys } from "../config/server-keys.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { runCommand as run } from "../dev/testing/run-command.ts";
import { Database } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret } from "../platform/secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-offline-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("switchyard server-keys", () => {
  it("writes a key file and the vault's, readable by their owner only, and overwrites no other", async () => {
    const out = join(folder, "keys", "keys-test.json");
    const vaultFile = join(folder, "keys", "vault-keys-test.json");
    const generate = ["server-keys", "generate", "--environment", "test", "--out", out, "--json"];
    expect(JSON.parse((await run(generate)).out)).toEqual({ file: out, vaultFile });
    expect(statSync(vaultFile).mode & 0o777).toBe(0o600);
    const content = readFileSync(out, "utf8");
    expect(await run(generate)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${out} exists already and is never overwritten`),
    });
    expect(readFileSync(out, "utf8")).toBe(content);
    expect(statSync(out).mode & 0o777).toBe(0o600);
  });

  it("writes neither file if the vault's exists already", async () => {
    const vaultOut = join(folder, "there.json");
    writeFileSync(vaultOut, "kept");
    const out = join(folder, "alone.json");
    const files = ["--out", out, "--vault-out", vaultOut];
    expect(await run(["server-keys", "generate", "--environment", "test", ...files])).toMatchObject({ code: 1 });
    expect([existsSync(out), readFileSync(vaultOut, "utf8")]).toEqual([false, "kept"]);
  });

  it("rotates a key step by step, and refuses a step out of turn", async () => {
    const [out, vaultFile] = [join(folder, "turned.json"), join(folder, "vault-turned.json")];
    await run(["server-keys", "generate", "--environment", "test", "--out", out]);
    const rotate = (key: string, step: string) =>
      run(["server-keys", "rotate", "--key", key, "--step", step, "--keys", out, "--vault-keys", vaultFile, "--json"]);
    const readRing = () => parseVaultKeys(readFileSync(vaultFile, "utf8"), "test").ring;
    expect(await rotate("vault-ring", "use")).toMatchObject({ code: 1, err: expect.stringContaining("add one first") });
    await rotate("vault-ring", "add");
    expect(readRing().current).toBe("vault-test-1");
    await rotate("vault-ring", "use");
    expect(readRing().current).toBe("vault-test-2");
    expect(Object.keys(readRing().keys)).toEqual(["vault-test-1", "vault-test-2"]);
    await rotate("vault-ring", "drop");
    expect(Object.keys(readRing().keys)).toEqual(["vault-test-2"]);
    expect(await rotate("signing", "add")).toMatchObject({ code: 0 });
    expect(statSync(vaultFile).mode & 0o777).toBe(0o600);
    expect(parseVaultKeys(readFileSync(vaultFile, "utf8"), "test").verification).toHaveLength(2);
  });
});

describe("switchyard migrate", () => {
  it("leaves an up-to-date schema alone, and says so", async () => {
    const database = await createTestDatabase("accounts");
    const migrate = ["migrate", "--kind", "accounts", "--url", database.ownerUrl, "--runtime-role", "accounts_runtime"];
    expect(await run([...migrate, "--json"])).toEqual({ code: 0, out: '{\n  "applied": []\n}\n', err: "" });
    expect((await run(migrate)).out).toBe("Nothing to do: the schema is up to date.\n");
    await database.drop();
  });

  it("takes the owner's address from a file, and accepts only one address", async () => {
    const urlFile = join(folder, "owner-url");
    writeFileSync(urlFile, "postgres://owner:password@127.0.0.1:1/nowhere\n", { mode: 0o600 });
    const migrate = ["migrate", "--kind", "accounts", "--runtime-role", "accounts_runtime", "--url-file", urlFile];
    const { code, err } = await run(migrate);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("127.0.0.1:1") });
    const refused = { code: 1, out: "", err: "Give either --url or --url-file.\n" };
    expect(await run([...migrate, "--url", "postgres://owner@127.0.0.1:1/nowhere"])).toEqual(refused);
    expect(await run(migrate.slice(0, -2))).toEqual(refused);
  });
});

describe("switchyard operator", () => {
  it("grants a person access by a token, and ends it", async () => {
    const database = await createTestDatabase("accounts");
    const pool = new Pool({ connectionString: database.url, max: 1, pipeline: true });
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

describe("switchyard member create", () => {
  it("makes a member who can sign in, with an audit row that names who made them", async () => {
    const database = await createTestDatabase("accounts");
    const pool = new Pool({ connectionString: database.url, max: 1, pipeline: true });
    const accounts = new Database(pool);
    const merchantId = systemRuntime.uuid();
    await createMerchant(accounts, { id: merchantId, name: "Corner Coffee" });
    const create = ["member", "create", "--email", "Ada@example.com", "--name", "Ada", "--json"];
    const env = { SWITCHYARD_ACCOUNTS_DATABASE_URL: database.url };
    const created = await run([...create, "--merchant", encodeId("mer", merchantId)], { env });
    const { memberId, password } = JSON.parse(created.out);
    const { passwordHash } = (await findMemberByEmail(accounts, "ada@example.com"))!;
    expect(
      await verifyPassword(new Secret(password), passwordHash ?? undefined, { kind: "member", name: memberId }),
    ).toBe(true);
    const rows = await listAudit(accounts, { merchantId, filter: { without: [] }, after: undefined, count: 10 });
    expect(rows).toMatchObject([
      { action: "CreateMember", subject: memberId, actor: expect.stringMatching(/^command line \(.+\)$/) },
    ]);
    expect(JSON.stringify(rows)).not.toContain(password);
    await pool.end();
    await database.drop();
  });
});
