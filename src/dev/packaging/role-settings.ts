/** Reads the settings of a manifest as the role itself would, with generated secrets in mounted files. */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Role } from "../../config/checked-config.ts";
import { inspectConfig } from "../../config/config.ts";
import { generateAccountsKeyFile } from "../../config/dashboard-settings.ts";
import { generateKeyFile, generateVaultKeyFile } from "../../config/server-keys.ts";
import { type IssuedCertificate, TestAuthority } from "../testing/certificates.ts";

export type GivenToRole = {
  readonly variables: Readonly<Record<string, string>>;
  /** True if something is mounted at this path. */
  readonly hasFile: (path: string) => boolean;
};

/** Returns the role's own errors and warnings about its settings. Hosts of example.com count as real ones. */
export function findSettingProblems(role: Role, { variables, hasFile }: GivenToRole): string[] {
  const folder = mkdtempSync(join(tmpdir(), "manifest-settings-"));
  try {
    const paths = Object.entries(variables).filter(([name]) => name.endsWith("_FILE"));
    const missing = paths.filter(([, path]) => !hasFile(path)).map(([name, path]) => `${name}: no file at ${path}`);
    for (const [name, path] of paths) writeSecret(join(folder, path), name);
    const moved = Object.entries(variables).map(([name, value]): [string, string] => [
      name,
      name.endsWith("_FILE") ? join(folder, value) : value.replaceAll("example.com", "acme.test"),
    ]);
    const { problems, config } = inspectConfig([role], Object.fromEntries(moved));
    return [...missing, ...problems, ...config.warnings];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// The whole run has a single pair of files, because related keys have to match.
const keyFiles = { TEST: generateKeyFile("test"), LIVE: generateKeyFile("live") };

function writeSecret(path: string, variable: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, secretFor(variable), { mode: 0o400 });
}

function secretFor(variable: string): string {
  const side = variable.includes("_LIVE_") ? "LIVE" : "TEST";
  if (variable.endsWith("_VAULT_KEYS_FILE")) return generateVaultKeyFile(keyFiles[side]);
  if (variable.endsWith("_ACCOUNTS_KEYS_FILE")) return generateAccountsKeyFile();
  if (variable.endsWith("_KEYS_FILE")) return keyFiles[side];
  if (/_GRPC_TLS_(CERT|KEY|CLIENT_CA)_FILE$/.test(variable)) {
    portCertificate ??= issueOne();
    return portCertificate[variable.endsWith("_KEY_FILE") ? "key" : "cert"];
  }
  if (/_(SERVICES|IDENTITY_PROVIDERS)_FILE$/.test(variable)) return "[]";
  const password = randomBytes(24).toString("base64url");
  if (variable.endsWith("_SMTP_URL_FILE")) return `smtps://switchyard:${password}@mail.internal`;
  const database = variable.replace(/^SWITCHYARD_|_DATABASE_(READ_)?URL_FILE$/g, "").toLowerCase();
  return /_DATABASE_(READ_)?URL_FILE$/.test(variable)
    ? `postgres://${database}:${password}@db.internal/${database}?sslmode=verify-full`
    : password;
}

// Roles read the files of the ports that they serve.
let portCertificate: IssuedCertificate | undefined;

function issueOne(): IssuedCertificate {
  const authority = new TestAuthority("manifests");
  try {
    return authority.issue("port");
  } finally {
    authority.close();
  }
}
