/** The settings of the vault's own role. */
import { X509Certificate } from "node:crypto";
import { databaseUrl, file, optional, port, required, text } from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";
import type { TlsPaths } from "../platform/tls-files.ts";
import { readServerTls } from "./server-tls.ts";

export const vaultRoleSettings = {
  databaseUrl: required("SWITCHYARD_VAULT_DATABASE_URL", {
    roles: ["vault"],
    kind: databaseUrl,
    about: "the vault's database",
    example: "postgres://vault:…@db-vault/vault?sslmode=verify-full",
  }),
  publicPort: required("SWITCHYARD_VAULT_PORT", {
    roles: ["vault"],
    kind: port,
    about: "its public port: the card frame",
    example: "8082",
  }),
  grpcPort: required("SWITCHYARD_VAULT_GRPC_PORT", {
    roles: ["vault"],
    kind: port,
    about: "its port for edge and worker; keep it private",
    example: "8083",
  }),
  grpcTlsCert: optional("SWITCHYARD_VAULT_GRPC_TLS_CERT_FILE", {
    roles: ["vault"],
    kind: file("the file of the certificate chain in PEM"),
    about: "that port's certificate with its chain, in PEM; without it the port has no TLS",
    example: "/etc/switchyard/vault.crt",
  }),
  grpcTlsKey: optional("SWITCHYARD_VAULT_GRPC_TLS_KEY_FILE", {
    roles: ["vault"],
    kind: file("the file of the certificate's key in PEM"),
    about: "its key; needed with the certificate",
    example: "/etc/switchyard/vault.key",
  }),
  grpcTlsClientCa: optional("SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CA_FILE", {
    roles: ["vault"],
    kind: file("the file of the authority's certificate in PEM"),
    about:
      "only edges and workers with a certificate of this authority can connect; required in live if other machines reach the port",
    example: "/etc/switchyard/vault-clients-ca.crt",
  }),
  keysFile: required("SWITCHYARD_{ENV}_VAULT_KEYS_FILE", {
    roles: ["vault"],
    kind: file("the key file that `switchyard server-keys generate` wrote"),
    about:
      "the vault's key file, written beside the other; without [a copy of it](keys.md#keys) stored cards can be lost",
    example: "/etc/switchyard/vault-keys-live.json",
  }),
  walletTestRoots: optional("SWITCHYARD_{ENV}_VAULT_WALLET_TEST_ROOTS_FILE", {
    roles: ["vault"],
    kind: file("the file of roots that the emulators of wallets sign under, in JSON"),
    about:
      "roots of emulated wallets, which count in test besides those of Apple and Google; live does not start with it",
    example: "/etc/switchyard/wallet-test-roots.json",
  }),
} as const;

/**
 * Reads the roots of emulated wallets: `{"apple": ["-----BEGIN CERTIFICATE-----…"], "google": {"keys": […]}}`. Throws an Error
 * that names the member and the rule.
 */
export function parseWalletTestRoots(text: string): WalletTestRoots {
  const { apple = [], google = { keys: [] } } = JSON.parse(text) as { apple?: string[]; google?: { keys?: object[] } };
  if (!Array.isArray(apple)) throw new Error("apple must be a list of certificates in PEM");
  for (const pem of apple) new X509Certificate(pem);
  if (!Array.isArray(google.keys)) throw new Error("google.keys must be a list of root keys, as Google serves them");
  return { apple, google: JSON.stringify(google) };
}

/** Certificates in PEM, and root keys in Google's own form. */
export type WalletTestRoots = { readonly apple: readonly string[]; readonly google: string };

/** Reads the files of the port for edge and worker; undefined if it is not encrypted. */
export function readVaultGrpcTls(reader: SettingReader): TlsPaths | undefined {
  const { grpcTlsCert: cert, grpcTlsKey: key, grpcTlsClientCa: clientCa } = vaultRoleSettings;
  return readServerTls(reader, { cert, key, clientCa });
}

/**
 * A variable of Node's own: the vault checks it for options that would write its memory to disk. It is not a setting of
 * ours, and on no page.
 */
export const nodeOptionsSetting = optional("NODE_OPTIONS", {
  roles: ["vault"],
  kind: text(/^/, "options of node"),
  about: "options of node",
  example: "",
});
