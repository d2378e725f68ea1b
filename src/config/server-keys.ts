/**
 * The server's own keys of one environment: making, reading and checking its two files. Edge and worker hold one, the
 * vault the other: a process with the sessions' tokens must not have the ring that opens cards, and the vault signs
 * nothing.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import type { ClientSecretKeys } from "../core/client-secret.ts";
import type { PageTokenKeys } from "../core/page-token.ts";
import { type KeyRing, Secret } from "../platform/secrets.ts";

/** Keys of edge and worker. The vault's ring is not among them. */
export type ServerKeys = {
  readonly clientSecret: ClientSecretKeys;
  readonly sealing: KeyRing;
  readonly pageToken: PageTokenKeys;
  /**
   * Opens the facts in card tokens; files of the first version have none, and then each token needs a call to the
   * vault.
   */
  readonly cardToken: KeyRing | undefined;
  /** Ed25519: signs session grants, frame policies and service tokens; the vault has the public half. */
  readonly signing: { readonly kid: string; readonly privateKey: KeyObject };
};

export type VaultKeys = {
  readonly ring: KeyRing;
  /** Seals the facts in card tokens; the edge has it too. */
  readonly cardToken: KeyRing | undefined;
  /** Makes fingerprints of cards; files of the first version have none. */
  readonly fingerprint: KeyRing | undefined;
  /** Seals stored cards, besides their handles; without it the vault stores none. */
  readonly storeRing: KeyRing | undefined;
  /** Seals the keys of wallets; without it the vault makes none. */
  readonly walletRing: KeyRing | undefined;
  /** Public halves of the valid signing keys; two while one replaces the other. */
  readonly verification: readonly { readonly kid: string; readonly publicKey: KeyObject }[];
};

/** Keys by their kid in base64, 32 bytes each. */
export type RingFile = { current: string; keys: Record<string, string> };

/** The key file of edge, worker and dashboard, as JSON. Private keys are in PEM. */
export type KeyFile = {
  environment: string;
  clientSecret: { current: number; keys: Record<string, string> };
  sealing: RingFile;
  /** Files of the first version have a single key. */
  pageToken: RingFile | string;
  /** The same keys as in the vault's file. */
  cardToken?: RingFile;
  signing: { kid: string; privateKey: string };
  /** The next signing key; the vault already knows it. */
  nextSigning?: { kid: string; privateKey: string };
};

export type VaultKeyFile = {
  environment: string;
  vaultRing: RingFile;
  cardToken?: RingFile;
  fingerprint?: RingFile;
  /** Files of the first version have none. Without it, every stored card is lost. */
  storeRing?: RingFile;
  /** Files of the first version have none. Without it, new keys have to be registered at Apple and Google. */
  walletRing?: RingFile;
  /** Public keys in PEM by kid. */
  verification: Record<string, string>;
};

const keyBytes = 32;

/** Returns the text of a new key file for edge and worker: fresh keys for everything, version 1 of each. */
export function generateKeyFile(environment: "test" | "live"): string {
  return printKeyFile({
    environment,
    clientSecret: { current: 1, keys: { 1: freshKey() } },
    sealing: freshRing(`sealing-${environment}-1`),
    pageToken: freshRing(`page-token-${environment}-1`),
    cardToken: freshRing(`card-token-${environment}-1`),
    signing: { kid: `signing-${environment}-1`, privateKey: freshSigningKey() },
  });
}

/**
 * Returns the text of a new key file for the vault that matches this file of the edge's: fresh rings of cards being paid,
 * of stored ones and of wallets' keys, the key of card tokens, a fresh key of fingerprints, and the verification keys.
 */
export function generateVaultKeyFile(keyFile: string): string {
  const { environment, signing, cardToken } = JSON.parse(keyFile) as KeyFile;
  return printKeyFile({
    environment,
    vaultRing: freshRing(`vault-${environment}-1`),
    ...(cardToken && { cardToken }),
    fingerprint: freshRing(`fingerprint-${environment}-1`),
    storeRing: freshRing(`store-${environment}-1`),
    walletRing: freshRing(`wallet-${environment}-1`),
    verification: { [signing.kid]: publicHalf(signing.privateKey) },
  });
}

/**
 * Returns the two files of a key file that may contain the vault's ring as well, as those of the first version do. If
 * it has no ring, the vault's file gets a fresh one.
 */
export function separateVaultKeys(keyFile: string): { keyFile: string; vaultKeyFile: string } {
  const { vaultRing, ...file } = parseSecretJson<KeyFile & Partial<VaultKeyFile>>(keyFile);
  const fresh = generateVaultKeyFile(keyFile);
  const vaultKeyFile = vaultRing ? printKeyFile({ ...(JSON.parse(fresh) as VaultKeyFile), vaultRing }) : fresh;
  return { keyFile: printKeyFile(file), vaultKeyFile };
}

/** Returns a key for the file: 32 random bytes in base64. */
export function freshKey(): string {
  return randomBytes(keyBytes).toString("base64");
}

export function freshRing(kid: string): RingFile {
  return { current: kid, keys: { [kid]: freshKey() } };
}

export function freshSigningKey(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

export function publicHalf(privateKey: string): string {
  return createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString();
}

export function printKeyFile(file: KeyFile | VaultKeyFile | { sealing: RingFile }): string {
  return `${JSON.stringify(file, null, 2)}\n`;
}

/** Reads a key file. Throws an Error that names the member and the rule, never a key. */
export function parseKeyFile(text: string, environment: "test" | "live"): ServerKeys {
  const file = readFile<KeyFile>(text, environment);
  // A process that can read every session's token must not be able to open the cards as well.
  for (const member of ["vaultRing", "fingerprint", "storeRing", "walletRing"]) {
    if (member in file) throw new Error(`${member} belongs into the vault's key file alone`);
  }
  if ("internalServices" in file) throw new Error("internalServices belongs into SWITCHYARD_SERVICES_FILE");
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
    pageToken: pageTokenKeysOf(pageTokenRing(file)),
    cardToken: file.cardToken && ringOf(file.cardToken, "cardToken"),
    signing: { kid: file.signing.kid, privateKey: createPrivateKey(file.signing.privateKey) },
  };
}

/** Reads the vault's key file. Throws an Error that names the member and the rule, never a key. */
export function parseVaultKeys(text: string, environment: "test" | "live"): VaultKeys {
  const file = readFile<VaultKeyFile>(text, environment);
  // A vault that could sign could grant itself any access.
  for (const member of ["signing", "nextSigning", "clientSecret", "sealing", "pageToken"]) {
    if (member in file) throw new Error(`${member} belongs into the edge's key file, not into the vault's`);
  }
  return {
    ring: ringOf(file.vaultRing, "vaultRing"),
    cardToken: file.cardToken && ringOf(file.cardToken, "cardToken"),
    fingerprint: file.fingerprint && ringOf(file.fingerprint, "fingerprint"),
    storeRing: file.storeRing && ringOf(file.storeRing, "storeRing"),
    walletRing: file.walletRing && ringOf(file.walletRing, "walletRing"),
    verification: Object.entries(file.verification).map(([kid, pem]) => {
      if (pem.includes("PRIVATE")) throw new Error(`verification.${kid} must be a public key`);
      return { kid, publicKey: createPublicKey(pem) };
    }),
  };
}

/** Returns the ring of page tokens, also of a file with a single key. */
export function pageTokenRing({ pageToken, environment }: KeyFile): RingFile {
  if (typeof pageToken !== "string") return pageToken;
  const kid = `page-token-${environment}-1`;
  return { current: kid, keys: { [kid]: pageToken } };
}

function pageTokenKeysOf(file: RingFile): PageTokenKeys {
  const { current, keys } = ringOf(file, "pageToken");
  const secretOf = (key: Uint8Array) => new Secret(Buffer.from(key).toString("base64"));
  const others = Object.entries(keys).filter(([kid]) => kid !== current);
  return [secretOf(keys[current]!), ...others.map(([, key]) => secretOf(key))];
}

/** Parses a file of secrets. Throws an Error that repeats none of it, as that of JSON.parse does. */
export function parseSecretJson<File>(text: string): File {
  try {
    return JSON.parse(text) as File;
  } catch {
    throw new Error("it must be JSON, as `switchyard server-keys` writes it");
  }
}

function readFile<File extends KeyFile | VaultKeyFile>(text: string, environment: "test" | "live"): File {
  const file = parseSecretJson<File>(text);
  if (file.environment !== environment) throw new Error(`these are not the keys of ${environment}`);
  return file;
}

/** Returns a ring from a key file. Throws an Error that names the member and the rule, never a key. */
export function ringOf(ring: RingFile, member: string): KeyRing {
  const keys = Object.entries(ring.keys).map(([kid, key]) => [kid, keyOf(key, `${member}.keys.${kid}`)]);
  if (!(ring.current in ring.keys)) throw new Error(`${member}.current names no key`);
  return { current: ring.current, keys: Object.fromEntries(keys) };
}

function keyOf(text: string, member: string): Buffer {
  const key = Buffer.from(text ?? "", "base64");
  if (key.length !== keyBytes) throw new Error(`${member} must be ${keyBytes} bytes in base64`);
  return key;
}
