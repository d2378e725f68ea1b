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
  rotateVaultRing,
} from "../config/server-key-rotation.ts";
import { type KeyFile, printKeyFile, type VaultKeyFile } from "../config/server-keys.ts";
import { unreachable } from "../platform/errors.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

const names = [
  "vault-ring",
  "card-token",
  "fingerprint",
  "signing",
  "client-secret",
  "page-token",
  "sealing",
  "accounts-sealing",
] as const;

// The keys that only edge and worker hold.
const rotations = { "client-secret": rotateClientSecret, "page-token": rotatePageToken, sealing: rotateSealing };

const vaultRotations = { "vault-ring": rotateVaultRing, fingerprint: rotateFingerprint };

type Options = OutputOptions & {
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
  return describedCommand("rotate", {
    description:
      "rotate a key in three steps: add the new key, use it, drop the old one; restart the processes after each",
    example: "switchyard server-keys rotate --key vault-ring --step add --vault-keys vault-keys-live.json",
  })
    .addOption(new Option("--key <name>", "key to rotate").choices(names).makeOptionMandatory())
    .addOption(
      new Option("--step <step>", "step to take, in this order").choices(["add", "use", "drop"]).makeOptionMandatory(),
    )
    .option(
      "--keys <file>",
      "key file of edge and worker; for every key except vault-ring, fingerprint and accounts-sealing",
    )
    .option("--vault-keys <file>", "key file of the vault; for vault-ring, card-token, fingerprint and signing")
    .option("--accounts-keys <file>", "key file of the dashboard; for accounts-sealing")
    .action((options: Options) => {
      const files = rotate(options);
      print(options, { files, step: options.step }, () => [
        `Wrote ${files.join(" and ")}. ${afterwards[options.step]}`,
      ]);
    });
}

function rotate({ key, step, ...files }: Options): string[] {
  switch (key) {
    case "vault-ring":
    case "fingerprint": {
      const path = given(files.vaultKeys, "--vault-keys");
      return [write(path, vaultRotations[key](read<VaultKeyFile>(path), step))];
    }
    case "accounts-sealing": {
      const path = given(files.accountsKeys, "--accounts-keys");
      return [write(path, rotateAccountsSealing(read<AccountsKeyFile>(path), step))];
    }
    case "client-secret":
    case "page-token":
    case "sealing": {
      const path = given(files.keys, "--keys");
      return [write(path, rotations[key](read<KeyFile>(path), step))];
    }
    case "card-token":
    case "signing": {
      const paths = [given(files.keys, "--keys"), given(files.vaultKeys, "--vault-keys")] as const;
      const rotateBoth = key === "signing" ? rotateSigning : rotateCardToken;
      const rotated = rotateBoth({ keys: read(paths[0]), vaultKeys: read(paths[1]) }, step);
      // The vault's first: a key that signs before it verifies would lock every client out.
      return [write(paths[1], rotated.vaultKeys), write(paths[0], rotated.keys)];
    }
    default:
      return unreachable(key);
  }
}

function given(path: string | undefined, option: string): string {
  if (path === undefined) throw new UsageError(`This key also needs ${option} <file>.`);
  return path;
}

function read<File extends AnyKeyFile>(path: string): File {
  return JSON.parse(readFileSync(path, "utf8")) as File;
}

/** Writes the file completely or not at all: half a key file would prevent the next start. */
function write(path: string, file: AnyKeyFile): string {
  writeFileSync(`${path}.new`, printKeyFile(file), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}
