/** `switchyard server-keys rotate`: one step of a key rotation, written into the files that it concerns. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { type Command, Option } from "commander";
import {
  type RotationStep,
  rotateAccountsSealing,
  rotateCardToken,
  rotateClientSecret,
  rotateFingerprint,
  rotatePageToken,
  rotateSealing,
  rotateSigning,
  rotateStoreRing,
  rotateVaultRing,
  rotateWalletRing,
} from "../config/server-key-rotation.ts";
import {
  type KeyFile,
  parseSecretJson,
  parseVaultKeys,
  printKeyFile,
  type VaultKeyFile,
} from "../config/server-keys.ts";
import { unreachable } from "../platform/errors.ts";
import { findSealingKeys } from "../platform/store-ring.ts";
import { findWalletSealingKeys } from "../platform/wallet-ring.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, onOwnerDatabase } from "./owner-url.ts";

const names = [
  "vault-ring",
  "card-token",
  "fingerprint",
  "store-ring",
  "wallet-ring",
  "signing",
  "client-secret",
  "page-token",
  "sealing",
  "accounts-sealing",
] as const;

// The keys that only edge and worker hold.
const rotations = { "client-secret": rotateClientSecret, "page-token": rotatePageToken, sealing: rotateSealing };

const vaultRotations = {
  "vault-ring": rotateVaultRing,
  fingerprint: rotateFingerprint,
  "store-ring": rotateStoreRing,
  "wallet-ring": rotateWalletRing,
};

type Options = OutputOptions &
  OwnerUrlOptions & {
    readonly key: (typeof names)[number];
    readonly step: RotationStep;
    readonly keys?: string;
    readonly vaultKeys?: string;
    readonly accountsKeys?: string;
  };

type AccountsKeyFile = Parameters<typeof rotateAccountsSealing>[0];
type AnyKeyFile = KeyFile | VaultKeyFile | AccountsKeyFile;

const afterwards: Readonly<Record<RotationStep, string>> = {
  add: "Restart every process that reads it; then run: --step use.",
  use: "Restart them again. When nothing that the old key made is still valid (docs/keys.md says when), run: --step drop.",
  drop: "Restart them once more; what the old key made is no longer valid.",
};

export function rotateCommand(): Command {
  const command = describedCommand("rotate", {
    description:
      "rotate a key in three steps: add the new key, use it, drop the old one; restart the processes after each",
    example: "switchyard server-keys rotate --key vault-ring --step add --vault-keys vault-keys-live.json",
  });
  return addOwnerUrl(
    command,
    "connection URL of the vault's database, as its owner; for dropping a store-ring or a wallet-ring",
  )
    .addOption(new Option("--key <name>", "key to rotate").choices(names).makeOptionMandatory())
    .addOption(
      new Option("--step <step>", "step to take, in this order").choices(["add", "use", "drop"]).makeOptionMandatory(),
    )
    .option(
      "--keys <file>",
      "key file of edge, worker and dashboard; for client-secret, page-token, sealing, card-token and signing",
    )
    .option(
      "--vault-keys <file>",
      "key file of the vault; for vault-ring, card-token, fingerprint, store-ring, wallet-ring and signing",
    )
    .option("--accounts-keys <file>", "key file of the dashboard; for accounts-sealing")
    .action(async (options: Options) => {
      if ((options.key === "store-ring" || options.key === "wallet-ring") && options.step === "drop")
        await refuseKeyInUse(options.key, options);
      const files = rotateOrExplain(options);
      print(options, { files, step: options.step }, () => [
        `Wrote ${files.join(" and ")}. ${afterwards[options.step]}`,
      ]);
    });
}

function rotateOrExplain(options: Options): string[] {
  try {
    return rotate(options);
  } catch (error) {
    // A step out of turn. An error of the file system names its file.
    if (!(error instanceof Error) || error instanceof UsageError || "syscall" in error) throw error;
    throw new UsageError(`The key ${options.key} is not changed: ${error.message}.`);
  }
}

function rotate({ key, step, ...files }: Options): string[] {
  switch (key) {
    case "vault-ring":
    case "fingerprint":
    case "store-ring":
    case "wallet-ring": {
      const path = given(files.vaultKeys, "--vault-keys");
      return [write(path, vaultRotations[key](readVaultKeys(path), step))];
    }
    case "accounts-sealing": {
      const path = given(files.accountsKeys, "--accounts-keys");
      return [write(path, rotateAccountsSealing(read<AccountsKeyFile>(path, "the dashboard", isOfDashboard), step))];
    }
    case "client-secret":
    case "page-token":
    case "sealing": {
      const path = given(files.keys, "--keys");
      return [write(path, rotations[key](readKeys(path), step))];
    }
    case "card-token":
    case "signing": {
      const paths = [given(files.keys, "--keys"), given(files.vaultKeys, "--vault-keys")] as const;
      const rotateBoth = key === "signing" ? rotateSigning : rotateCardToken;
      const rotated = rotateBoth({ keys: readKeys(paths[0]), vaultKeys: readVaultKeys(paths[1]) }, step);
      // The vault's first: a key that signs before it verifies would lock every client out.
      return [write(paths[1], rotated.vaultKeys), write(paths[0], rotated.keys)];
    }
    default:
      return unreachable(key);
  }
}

/** A key that is dropped is gone: throws while a stored card, or a wallet's key, is sealed by one before the current. */
async function refuseKeyInUse(key: "store-ring" | "wallet-ring", options: Options): Promise<void> {
  const path = given(options.vaultKeys, "--vault-keys");
  const { environment } = readVaultKeys(path);
  if (environment !== "test" && environment !== "live")
    throw new UsageError(`${path} is not the key file of the vault.`);
  const { storeRing, walletRing } = readKeyFile(path, (text) => parseVaultKeys(text, environment));
  const [ring, find, sealed, remedy] =
    key === "store-ring"
      ? ([storeRing, findSealingKeys, "stored cards", "reseal-stored-cards"] as const)
      : ([walletRing, findWalletSealingKeys, "keys of wallets", "reseal-wallet-keys"] as const);
  await onOwnerDatabase(options, async (database) => {
    const keys = await find(database, environment, ring);
    const older = keys.find(({ keyId }) => keyId !== ring?.current);
    if (older)
      throw new UsageError(`${older.keyId} still seals ${sealed}. Run first: switchyard server-keys ${remedy}.`);
  });
}

function given(path: string | undefined, option: string): string {
  if (path === undefined) throw new UsageError(`This key also needs ${option} <file>.`);
  return path;
}

const readKeys = (path: string) => read<KeyFile>(path, "edge, worker and dashboard", (file) => "clientSecret" in file);
const readVaultKeys = (path: string) => read<VaultKeyFile>(path, "the vault", (file) => "vaultRing" in file);
const isOfDashboard = (file: object) => "sealing" in file && !("environment" in file);

/** Reads a key file. A file that is not the one that the option means is a mistake of the caller. */
export function readKeyFile<Keys>(path: string, parse: (text: string) => Keys): Keys {
  const text = readFileSync(path, "utf8");
  try {
    return parse(text);
  } catch (error) {
    // A member that should be there is not.
    const isOther = error instanceof TypeError || !(error instanceof Error);
    throw new UsageError(`${path}: ${isOther ? "it is not the key file that this option needs" : error.message}.`);
  }
}

/** Reads a key file. Another process's file must not get a key: each would open what only one of them should. */
function read<File extends AnyKeyFile>(path: string, owner: string, isOwn: (file: object) => boolean): File {
  const file: unknown = readKeyFile(path, parseSecretJson);
  if (typeof file === "object" && file !== null && isOwn(file)) return file as File;
  throw new UsageError(`${path} is not the key file of ${owner}.`);
}

/** Writes the file completely or not at all: half a key file would prevent the next start. */
function write(path: string, file: AnyKeyFile): string {
  writeFileSync(`${path}.new`, printKeyFile(file), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}
