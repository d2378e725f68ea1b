/** Tests deploy/compose/prepare.sh: it makes every secret, adds those of a newer version, keeps the rest. */
import { execFile, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { composeFile, deployFolder } from "./compose-file.ts";

const run = promisify(execFile);

const folder = mkdtempSync(join(tmpdir(), "prepare-"));
const secrets = join(folder, "secrets");
const made = join(folder, "made");

/** Runs a copy of the script without root: a `chown` of the test replaces the system's. */
async function prepare(anew = ""): Promise<{ code: number; stderr: string }> {
  const { code, stderr } = await runScript(anew);
  return { code, stderr };
}

function runScript(anew = ""): Promise<{ code: number; stdout: string; stderr: string }> {
  const script = 'PATH="$0/bin:$PATH" SWITCHYARD=switchyard MAKE_ANEW="$1" exec bash "$0/compose/prepare.sh"';
  return run("bash", ["-c", script, folder, anew]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

/** Reads every file; in those that end with srl, openssl counts certificates. */
function read(): Record<string, string> {
  const names = readdirSync(secrets).filter((name) => !name.endsWith(".srl"));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(secrets, name), "utf8")]));
}

const certificate = (name: string) => new X509Certificate(readFileSync(join(secrets, `${name}.crt`)));
const remove = (...names: string[]) => {
  for (const name of names) rmSync(join(secrets, name));
};

const isMissing = spawnSync("openssl", ["version"]).error !== undefined;
if (isMissing) console.info("not run: there is no openssl on this machine");

describe("prepare.sh", () => {
  beforeAll(async () => {
    if (isMissing) return;
    for (const name of ["bin", "compose"]) mkdirSync(join(folder, name));
    const commandLine = `exec "${process.execPath}" "${join(import.meta.dirname, "../../main.mjs")}" "$@"`;
    for (const [name, command] of Object.entries({ chown: "", switchyard: commandLine })) {
      writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
    }
    cpSync(join(deployFolder, "compose", "prepare.sh"), join(folder, "compose", "prepare.sh"));
    expect(await prepare()).toEqual({ code: 0, stderr: "" });
    cpSync(secrets, made, { recursive: true });
  }, 60_000);
  beforeEach(({ skip }) => {
    skip(isMissing, "there is no openssl on this machine");
    rmSync(secrets, { recursive: true });
    cpSync(made, secrets, { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("makes every secret that compose.yaml names, and leaves nothing else behind", () => {
    const named = Object.values(composeFile.secrets).map(({ file }) => join(folder, file));
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
    expect(Object.keys(read()).filter((name) => name.startsWith("."))).toEqual([]);
    expect(certificate("vault").checkIssued(certificate("ca"))).toBe(true);
    expect(certificate("vault-client").checkIssued(certificate("vault-clients-ca"))).toBe(true);
  });

  it("adds files that an earlier version did not make, and changes no existing ones", async () => {
    const client = ["vault-clients-ca.crt", "vault-clients-ca.key", "vault-client.crt", "vault-client.key"];
    // The first authority's key was moved away, as the script says at its end.
    remove("ca.key", ...client);
    const before = read();
    expect(await prepare()).toEqual({ code: 0, stderr: "" });
    const after = read();
    expect(after).toEqual({ ...before, ...Object.fromEntries(client.map((name) => [name, expect.any(String)])) });
    expect(certificate("vault-client").checkIssued(certificate("vault-clients-ca"))).toBe(true);
    expect(await prepare()).toEqual({ code: 0, stderr: "" });
    expect(read()).toEqual(after);
  });

  it.each([
    ["a certificate whose authority's key was moved away", ["ca.key", "vault.crt", "vault.key"], "bring ca.key back"],
    ["one half of a pair: an environment's keys", ["keys-live.json"], "has vault-keys-live.json, but not what belongs"],
    ["one half of a pair: an authority", ["vault-clients-ca.crt"], "has vault-clients-ca.key, but not what belongs"],
  ])("reports the missing files and makes nothing again for %s", async (_what, gone, said) => {
    remove(...gone);
    const before = read();
    expect(await prepare()).toEqual({ code: 1, stderr: expect.stringContaining(said) });
    expect(read()).toEqual(before);
  });

  it.each([
    ["an environment's keys", ["keys-live.json", "vault-keys-live.json"], "keys-live.json"],
    ["the keys of the accounts", ["keys-accounts.json"], "keys-accounts.json"],
    ["a role's password", ["postgres-switchyard_live"], "postgres-switchyard_live"],
    ["an owner's password", ["vault-postgres-owner-password"], "vault-postgres-owner-password"],
    ["a password of NATS", ["live-nats-password"], "live-nats-password"],
  ])("makes %s anew for an installation in use only if it is named as an argument", async (_what, gone, missed) => {
    remove(...gone);
    const before = read();
    expect(await prepare()).toEqual({ code: 1, stderr: expect.stringContaining(`misses ${missed}`) });
    expect(read()).toEqual(before);
    expect(await prepare(missed)).toEqual({ code: 0, stderr: "" });
    expect(Object.keys(read())).toEqual(expect.arrayContaining(gone));
  });

  it("says what it has made", async () => {
    remove("vault.crt", "vault.key");
    expect((await runScript()).stdout).toMatch(/^Made vault\.key vault\.crt\.$/m);
    expect((await runScript()).stdout).toMatch(/^Nothing was missing\.$/m);
  });

  it("goes on with a first run that broke off before the keys", async () => {
    remove("nats.env", "keys-live.json", "vault-keys-live.json", "keys-accounts.json");
    expect(await prepare()).toEqual({ code: 0, stderr: "" });
    expect(Object.keys(read()).toSorted()).toEqual(
      readdirSync(made)
        .filter((name) => !name.endsWith(".srl"))
        .toSorted(),
    );
  });
});
