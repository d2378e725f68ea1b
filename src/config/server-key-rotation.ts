/**
 * Rotates the server's own keys in three steps, so that no process of a role ever meets an unknown key: every process
 * learns the new key, then it is used, then the old one is dropped. Each process reads its file when it starts.
 */
import { unreachable } from "../platform/errors.ts";
import {
  freshKey,
  freshRing,
  freshSigningKey,
  type KeyFile,
  pageTokenRing,
  publicHalf,
  type RingFile,
  type VaultKeyFile,
} from "./server-keys.ts";

/** `add`: known everywhere; `use`: used for everything new; `drop`: the older ones are removed. */
export type RotationStep = "add" | "use" | "drop";

type Ring<Kid> = { current: Kid; keys: Record<string, string> };

/** Returns the vault's file after a step of its ring. Throws if the step before it has not been made. */
export function rotateVaultRing(file: VaultKeyFile, step: RotationStep): VaultKeyFile {
  return { ...file, vaultRing: rotateRing(file.vaultRing, step, (last) => nextKid(last)) };
}

/**
 * Returns the vault's file after a step of the key of fingerprints, which a file of the first version gets by `add`. Throws
 * if the step before it has not been made.
 */
export function rotateFingerprint(file: VaultKeyFile, step: RotationStep): VaultKeyFile {
  return { ...file, fingerprint: rotateLater(file.fingerprint, step, `fingerprint-${file.environment}-1`) };
}

/**
 * Returns the vault's file after a step of the ring that seals stored cards, which a file of the first version gets by
 * `add`. Before `drop` every card has to be resealed (`server-keys reseal-stored-cards`). Throws if the step before it has
 * not been made.
 */
export function rotateStoreRing(file: VaultKeyFile, step: RotationStep): VaultKeyFile {
  return { ...file, storeRing: rotateLater(file.storeRing, step, `store-${file.environment}-1`) };
}

/**
 * Returns the vault's file after a step of the ring that seals wallets' keys, which a file of the first version gets by
 * `add`. Before `drop` every key has to be resealed (`server-keys reseal-wallet-keys`). Throws if the step before it has
 * not been made.
 */
export function rotateWalletRing(file: VaultKeyFile, step: RotationStep): VaultKeyFile {
  return { ...file, walletRing: rotateLater(file.walletRing, step, `wallet-${file.environment}-1`) };
}

/** Returns the edge's file after a step of the key of client secrets. Throws if the step before is missing. */
export function rotateClientSecret(file: KeyFile, step: RotationStep): KeyFile {
  return { ...file, clientSecret: rotateRing(file.clientSecret, step, (last) => Number(last) + 1) };
}

/** Returns the edge's file after a step of the key that signs page tokens. Throws if the step before is missing. */
export function rotatePageToken(file: KeyFile, step: RotationStep): KeyFile {
  return { ...file, pageToken: rotateRing(pageTokenRing(file), step, nextKid) };
}

/**
 * Returns the edge's file after a step of the key that seals rows. Before `drop` every row has to be resealed
 * (`server-keys reseal`). Throws if the step before is missing.
 */
export function rotateSealing(file: KeyFile, step: RotationStep): KeyFile {
  return { ...file, sealing: rotateRing(file.sealing, step, nextKid) };
}

/**
 * Returns the dashboard's file after a step of the key that seals members' authenticator apps. Before `drop` they have
 * to be resealed (`server-keys reseal-accounts`). Throws if the step before is missing.
 */
export function rotateAccountsSealing(file: { sealing: RingFile }, step: RotationStep): { sealing: RingFile } {
  return { ...file, sealing: rotateRing(file.sealing, step, nextKid) };
}

type BothFiles = { keys: KeyFile; vaultKeys: VaultKeyFile };

/**
 * Returns both files after a step of the key that seals the facts in card tokens. Files of the first version get theirs
 * by `add`. Throws if the step before is missing.
 */
export function rotateCardToken({ keys, vaultKeys }: BothFiles, step: RotationStep): BothFiles {
  const cardToken = rotateLater(vaultKeys.cardToken, step, `card-token-${vaultKeys.environment}-1`);
  return { keys: { ...keys, cardToken }, vaultKeys: { ...vaultKeys, cardToken } };
}

/** Returns both files after a step of the key that signs for the vault. Throws if the step before is missing. */
export function rotateSigning({ keys, vaultKeys }: BothFiles, step: RotationStep): BothFiles {
  const { nextSigning, ...rest } = keys;
  switch (step) {
    case "add": {
      if (nextSigning) throw new Error(`${nextSigning.kid} is there already and waits to be used`);
      const added = { kid: nextKid(keys.signing.kid), privateKey: freshSigningKey() };
      const verification = { ...vaultKeys.verification, [added.kid]: publicHalf(added.privateKey) };
      return { keys: { ...keys, nextSigning: added }, vaultKeys: { ...vaultKeys, verification } };
    }
    case "use":
      if (!nextSigning) throw new Error("there is no new signing key: add one first");
      return { keys: { ...rest, signing: nextSigning }, vaultKeys };
    case "drop": {
      if (nextSigning) throw new Error(`${nextSigning.kid} is not used yet`);
      const { kid, privateKey } = keys.signing;
      return { keys, vaultKeys: { ...vaultKeys, verification: { [kid]: publicHalf(privateKey) } } };
    }
    default:
      return unreachable(step);
  }
}

/** Rotates a ring that files of the first version lack. */
function rotateLater(ring: RingFile | undefined, step: RotationStep, firstKid: string): RingFile {
  if (ring !== undefined) return rotateRing(ring, step, nextKid);
  if (step !== "add") throw new Error("there is no new key: add one first");
  return freshRing(firstKid);
}

function rotateRing<Kid extends string | number>(
  ring: Ring<Kid>,
  step: RotationStep,
  kidAfter: (last: string) => Kid,
): Ring<Kid> {
  // Keys are in the order in which they were added; JSON keeps it, but sorts names that are whole numbers.
  const last = Object.keys(ring.keys).at(-1) ?? "";
  const waits = last !== String(ring.current);
  switch (step) {
    case "add":
      if (waits) throw new Error(`${last} is there already and waits to be used`);
      return { ...ring, keys: { ...ring.keys, [kidAfter(last)]: freshKey() } };
    case "use":
      if (!waits) throw new Error("there is no new key: add one first");
      return { ...ring, current: (typeof ring.current === "number" ? Number(last) : last) as Kid };
    case "drop":
      if (waits) throw new Error(`${last} is not used yet`);
      return { ...ring, keys: { [last]: ring.keys[last]! } };
    default:
      return unreachable(step);
  }
}

/** Returns the next key's name: `vault-live-2` after `vault-live-1`. */
function nextKid(kid: string): string {
  const [, stem = `${kid}-`, number = "1"] = /^(.*-)(\d+)$/.exec(kid) ?? [];
  return `${stem}${Number(number) + 1}`;
}
