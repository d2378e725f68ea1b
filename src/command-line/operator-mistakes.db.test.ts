import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { runCommand as run } from "../dev/testing/run-command.ts";

const folder = mkdtempSync(join(tmpdir(), "operator-mistakes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const fileOf = (name: string, text: string) => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};

const keys = join(folder, "keys-live.json");
const vaultKeys = join(folder, "vault-keys-live.json");
const accounts = await createTestDatabase("accounts");
beforeAll(() => run(["server-keys", "generate", "--environment", "live", "--out", keys]));

const migrate = (url: string, ...more: string[]) =>
  run(["migrate", "--url-file", fileOf("url", url), "--runtime-role", "nobody_here", "--kind", "accounts", ...more]);
const changed = (change: (url: URL) => void) => {
  const url = new URL(accounts.ownerUrl);
  change(url);
  return url.href;
};

it("says in one line what is wrong with the address of a database, and repeats no password", async () => {
  const cases: [string, string][] = [
    [changed((url) => (url.password = "wrong-horse-battery")), "Correct the role or its password"],
    [changed((url) => (url.pathname = "/no_such_database")), "Create the database, or correct its name"],
    [changed((url) => (url.port = "1")), "Start the server, or correct its address."],
    ["wrong-horse-battery", "must have one line, postgres://role:password@host/database"],
    [accounts.ownerUrl, 'role "nobody_here" does not exist. Create this role first'],
  ];
  for (const [url, says] of cases) {
    const { code, err } = await migrate(url);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(says) });
    expect(err.trim().split("\n")).toHaveLength(1);
    expect(err).not.toContain("wrong-horse-battery");
  }
});

it("refuses to migrate a database of another kind", async () => {
  const { code, err } = await migrate(accounts.ownerUrl, "--kind", "environment");
  expect({ code, err }).toEqual({
    code: 1,
    err: "This database is of kind accounts, not environment. Correct --kind or the address.\n",
  });
});

it("rotates a key only in the file that it belongs to", async () => {
  const before = [readFileSync(keys, "utf8"), readFileSync(vaultKeys, "utf8")];
  const rotate = (key: string, ...files: string[]) =>
    run(["server-keys", "rotate", "--key", key, "--step", "add", ...files]);
  expect((await rotate("store-ring", "--vault-keys", keys)).err).toBe(`${keys} is not the key file of the vault.\n`);
  expect((await rotate("sealing", "--keys", vaultKeys)).err).toContain(
    `${vaultKeys} is not the key file of edge, worker and dashboard.`,
  );
  expect((await rotate("accounts-sealing", "--accounts-keys", keys)).err).toContain("key file of the dashboard");
  expect((await rotate("signing", "--keys", vaultKeys, "--vault-keys", keys)).code).toBe(1);
  const separate = ["server-keys", "separate", "--keys", vaultKeys, "--vault-out", join(folder, "separated.json")];
  expect((await run(separate)).err).toBe(`${vaultKeys}: it is not the key file that this option needs.\n`);
  const reseal = ["server-keys", "reseal-accounts", "--accounts-keys", keys, "--url", accounts.ownerUrl];
  expect((await run(reseal)).err).toBe(`${keys}: these are the keys of an environment, not of the accounts.\n`);
  expect([readFileSync(keys, "utf8"), readFileSync(vaultKeys, "utf8")]).toEqual(before);
});

it("refuses a time of a backup in the future, with which no session would be in doubt", async () => {
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const { code, err } = await run(["restore", "declare", "--url", accounts.ownerUrl, "--backup-taken-at", later]);
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("must not be in the future") });
});

it("names the setting of a port that is taken", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as { port: number };
  const env = { SWITCHYARD_SANDBOX_PORT: String(port), SWITCHYARD_ERROR_DOCS_URL: "http://127.0.0.1/docs/errors" };
  const { code, err } = await run(["serve", "--role", "sandbox"], { env });
  taken.close();
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(/EADDRINUSE.*Change SWITCHYARD_SANDBOX_PORT or SWITCHYARD_HOST/),
  });
});

it("repeats nothing of a secret that stands where a key file should be", async () => {
  const secret = fileOf("password", "s3cretOfTheDatabase");
  chmodSync(secret, 0o600);
  const serve = await run(["serve", "--role", "edge"], {
    env: { SWITCHYARD_ENVIRONMENTS: "live", SWITCHYARD_LIVE_KEYS_FILE: secret },
  });
  expect(serve.err).toContain("SWITCHYARD_LIVE_KEYS_FILE: it must be JSON");
  const rotate = await run(["server-keys", "rotate", "--key", "sealing", "--step", "add", "--keys", secret]);
  expect(rotate.err).toContain(`${secret}: it must be JSON`);
  const owned = ["--vault-keys", secret, "--url", accounts.ownerUrl];
  const drop = await run(["server-keys", "rotate", "--key", "store-ring", "--step", "drop", ...owned]);
  expect(drop).toMatchObject({ code: 1, err: rotate.err });
  expect(serve.err + rotate.err + drop.err).not.toContain("s3cret");
});

it("refuses an address that is no host and port", async () => {
  const { err } = await run(["merchant", "list", "--grpc-address", "http://127.0.0.1:8081"], {
    env: { SWITCHYARD_OPERATOR_TOKEN: "token" },
  });
  expect(err).toContain("--grpc-address must be host:port");
});
