/** The server's own keys of one environment: how a key file is made, read and checked. Keys of merchants are elsewhere. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import type { ClientSecretKeys } from "./core/client-secret.ts";
import { type KeyRing, Secret } from "./platform/secrets.ts";

/** Keys that edge and worker hold. The vault's ring is not among them. */
export type ServerKeys = {
  readonly clientSecret: ClientSecretKeys;
  readonly sealing: KeyRing;
  readonly pageToken: Secret;
  /** Ed25519: signs session grants, frame policies and service tokens; the vault holds the public half. */
  readonly signing: { readonly kid: string; readonly privateKey: KeyObject };
  /** Public halves of internal services' keys, Ed25519: each holds its own private one. */
  readonly internalServices: readonly { readonly kid: string; readonly publicKey: KeyObject }[];
};

/** Keys that the vault holds. */
export type VaultKeys = {
  readonly ring: KeyRing;
  readonly verification: { readonly kid: string; readonly publicKey: KeyObject };
};

/** A key file as JSON. Every key is 32 bytes in base64, but for the Ed25519 pair in PEM. */
type KeyFile = {
  environment: string;
  clientSecret: { current: number; keys: Record<string, string> };
  sealing: { current: string; keys: Record<string, string> };
  pageToken: string;
  signing: { kid: string; privateKey: string };
  vaultRing: { current: string; keys: Record<string, string> };
  /** Public keys in PEM by the service's name; files of the first version have none. */
  internalServices?: Record<string, string>;
};

const keyBytes = 32;

/** The text of a new key file: fresh keys for everything, version 1 of each. */
export function generateKeyFile(environment: "test" | "live"): string {
  const fresh = () => randomBytes(keyBytes).toString("base64");
  const kid = (purpose: string) => `${purpose}-${environment}-1`;
  const file: KeyFile = {
    environment,
    clientSecret: { current: 1, keys: { 1: fresh() } },
    sealing: { current: kid("sealing"), keys: { [kid("sealing")]: fresh() } },
    pageToken: fresh(),
    signing: {
      kid: kid("signing"),
      privateKey: generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    },
    vaultRing: { current: kid("vault"), keys: { [kid("vault")]: fresh() } },
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

/** A key file that lets in one more internal service, and the private key in PEM for that service alone. */
export function addInternalService(keyFile: string, name: string): { keyFile: string; privateKey: string } {
  const file = JSON.parse(keyFile) as KeyFile;
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const internalServices = {
    ...file.internalServices,
    [name]: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
  return {
    keyFile: `${JSON.stringify({ ...file, internalServices }, null, 2)}\n`,
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Reads a key file. Throws an Error that names the member and the rule, never a key. */
export function parseKeyFile(text: string, environment: "test" | "live"): ServerKeys {
  const file = readKeyFile(text, environment);
  const versions = Object.entries(file.clientSecret.keys).map(([version, key]): [number, Uint8Array] => [
    Number(version),
    keyOf(key, `clientSecret.keys.${version}`),
  ]);
  const clientSecretKeys = new Map(versions);
  if (!clientSecretKeys.has(file.clientSecret.current)) throw new Error("clientSecret.current names no key");
  return {
    clientSecret: {
      letter: environment === "live" ? "l" : "t",
      current: file.clientSecret.current,
      keys: clientSecretKeys,
    },
    sealing: ringOf(file.sealing, "sealing"),
    pageToken: new Secret(keyOf(file.pageToken, "pageToken").toString("base64")),
    signing: { kid: file.signing.kid, privateKey: createPrivateKey(file.signing.privateKey) },
    internalServices: Object.entries(file.internalServices ?? {}).map(([kid, pem]) => ({
      kid,
      publicKey: createPublicKey(pem),
    })),
  };
}

/** What the vault needs of a key file: its ring, and the public half of the signing key. */
export function parseVaultKeys(text: string, environment: "test" | "live"): VaultKeys {
  const file = readKeyFile(text, environment);
  return {
    ring: ringOf(file.vaultRing, "vaultRing"),
    verification: { kid: file.signing.kid, publicKey: createPublicKey(file.signing.privateKey) },
  };
}

function readKeyFile(text: string, environment: "test" | "live"): KeyFile {
  const file = JSON.parse(text) as KeyFile;
  if (file.environment !== environment) throw new Error(`these are not the keys of ${environment}`);
  return file;
}

function ringOf(ring: KeyFile["sealing"], member: string): KeyRing {
  const keys = Object.entries(ring.keys).map(([kid, key]) => [kid, keyOf(key, `${member}.keys.${kid}`)]);
  if (!(ring.current in ring.keys)) throw new Error(`${member}.current names no key`);
  return { current: ring.current, keys: Object.fromEntries(keys) };
}

function keyOf(text: string, member: string): Buffer {
  const key = Buffer.from(text ?? "", "base64");
  if (key.length !== keyBytes) throw new Error(`${member} must be ${keyBytes} bytes in base64`);
  return key;
}
