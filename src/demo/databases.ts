/** Creates and migrates the demo's four databases, each with a role that cannot see the others. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateAccountsKeyFile } from "../config/dashboard-settings.ts";
import { generateKeyFile, separateVaultKeys } from "../config/server-keys.ts";
import { migrate } from "../migrations/migrate.ts";
import { provision } from "../migrations/provision.ts";
import type { DatabaseKind } from "../migrations/schema-history.ts";

const kinds: Readonly<Record<"test" | "live" | "accounts" | "vault", DatabaseKind>> = {
  test: "environment",
  live: "environment",
  accounts: "accounts",
  vault: "vault",
};

export type DemoDatabases = Readonly<Record<keyof typeof kinds, string>>;

/** Creates and migrates missing databases. Stores the passwords in the state folder, readable by its owner only. */
export async function prepareDatabases(ownerUrl: string, stateFolder: string): Promise<DemoDatabases> {
  const names = Object.keys(kinds) as (keyof typeof kinds)[];
  const passwords = keptOnce(join(stateFolder, "database-passwords.json"), () =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, randomBytes(24).toString("base64url")]))),
  );
  const byName = JSON.parse(passwords) as Record<keyof typeof kinds, string>;
  const roleOf = (name: string) => `switchyard_${name}`;
  await provision(
    ownerUrl,
    names.map((name) => ({ database: roleOf(name), role: roleOf(name), password: byName[name] })),
  );
  await Promise.all(
    names.map((name) => {
      const url = withParts(ownerUrl, { database: roleOf(name) });
      return migrate({ ownerUrl: url, kind: kinds[name], runtimeRole: roleOf(name) });
    }),
  );
  const urlOf = (name: keyof typeof kinds) =>
    withParts(ownerUrl, { database: roleOf(name), user: roleOf(name), password: byName[name] });
  return { test: urlOf("test"), live: urlOf("live"), accounts: urlOf("accounts"), vault: urlOf("vault") };
}

/**
 * Creates the key files on the first start: for each environment one for edge and worker and one for the vault, and one
 * for the dashboard.
 */
export function prepareKeyFiles(stateFolder: string) {
  const filesOf = (environment: "test" | "live") => {
    const service = join(stateFolder, `keys-${environment}.json`);
    const vault = join(stateFolder, `vault-keys-${environment}.json`);
    const apart = separateVaultKeys(keptOnce(service, () => generateKeyFile(environment)));
    keptOnce(vault, () => apart.vaultKeyFile);
    writeFileSync(service, apart.keyFile, { mode: 0o600 });
    return { service, vault };
  };
  const accounts = join(stateFolder, "keys-accounts.json");
  keptOnce(accounts, generateAccountsKeyFile);
  const services = join(stateFolder, "services.json");
  keptOnce(services, () => "[]\n");
  return { test: filesOf("test"), live: filesOf("live"), accounts, services };
}

function keptOnce(file: string, make: () => string): string {
  if (!existsSync(file)) writeFileSync(file, make(), { mode: 0o600 });
  return readFileSync(file, "utf8");
}

function withParts(url: string, parts: { database: string; user?: string; password?: string }): string {
  const changed = new URL(url);
  changed.pathname = `/${parts.database}`;
  if (parts.user !== undefined) changed.username = parts.user;
  if (parts.password !== undefined) changed.password = parts.password;
  return changed.href;
}
