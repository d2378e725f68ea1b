import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createTestDatabase } from "../testing/postgres.ts";
import { runCommand as run } from "../testing/run-command.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-offline-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("switchyard --help", () => {
  it("shows every command with an example", async () => {
    const nouns = ["merchant", "keys", "connection", "routing", "origins", "endpoint", "audit", "session"];
    const overview = await run(["--help"]);
    for (const noun of [...nouns, "server-keys", "serve", "migrate", "demo"])
      expect(overview.out).toContain(`  ${noun}`);
    const commands = [
      ["merchant", "create"],
      ["merchant", "list"],
      ["keys", "list"],
      ["keys", "regenerate"],
      ["connection", "add"],
      ["connection", "verify"],
      ["connection", "list"],
      ["routing", "set"],
      ["routing", "show"],
      ["origins", "set"],
      ["origins", "show"],
      ["endpoint", "add"],
      ["endpoint", "verify"],
      ["endpoint", "list"],
      ["audit", "list"],
      ["session", "create"],
      ["session", "show"],
      ["server-keys", "generate"],
      ["migrate"],
    ];
    const helps = await Promise.all(commands.map((command) => run([...command, "--help"])));
    for (const [index, { code, out }] of helps.entries()) {
      expect(code).toBe(0);
      expect(out).toContain("--json");
      expect(out).toMatch(new RegExp(`Example:\n.*switchyard ${commands[index]?.join(" ")} `.trim()));
    }
  });
});

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
