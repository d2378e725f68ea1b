/** `switchyard server-keys rotate`: one step of turning a key over, written into the files that it concerns. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { type Command, Option } from "commander";
import {
  type RotationStep,
  rotateAccountsSealing,
  rotateClientSecret,
  rotatePageToken,
  rotateSealing,
  rotateSigning,
  rotateVaultRing,
} from "../server-key-rotation.ts";
import { type KeyFile, printKeyFile, type VaultKeyFile } from "../server-keys.ts";
import { describedCommand, UsageError } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

const names = ["vault-ring", "signing", "client-secret", "page-token", "sealing", "accounts-sealing"] as const;

// The keys that edge and worker alone hold.
const rotations = { "client-secret": rotateClientSecret, "page-token": rotatePageToken, sealing: rotateSealing };

type Options = OutputOptions & {
  readonly key: (typeof names)[number];
  readonly step: RotationStep;
  readonly keys?: string;
  readonly vaultKeys?: string;
  readonly accountsKeys?: string;
};

type AccountsKeyFile = Parameters<typeof rotateAccountsSealing>[0];
type AnyKeyFile = KeyFile | VaultKeyFile | AccountsKeyFile;

/** What a person does after each step, before the next one. */
const afterwards: Readonly<Record<RotationStep, string>> = {
  add: "Start every copy of the roles that read it anew; then: --step use.",
  use: "Start them anew again. When nothing made before is alive any more (docs/security.md says when): --step drop.",
  drop: "Start them anew once more; what the old key made counts no longer.",
};

/** Turns one key over, a step at a time. */
export function rotateCommand(): Command {
  return describedCommand("rotate", {
    description: "turn a key over in three steps: every copy learns the new one, uses it, forgets the old one",
    example: "switchyard server-keys rotate --key vault-ring --step add --vault-keys vault-keys-live.json",
  })
    .addOption(new Option("--key <name>").choices(names).makeOptionMandatory())
    .addOption(new Option("--step <step>").choices(["add", "use", "drop"]).makeOptionMandatory())
    .option("--keys <file>", "the key file of edge and worker; for every key but vault-ring and accounts-sealing")
    .option("--vault-keys <file>", "the vault's key file; for vault-ring and signing")
    .option("--accounts-keys <file>", "the dashboard's key file; for accounts-sealing")
    .action((options: Options) => {
      const files = rotate(options);
      print(options, { files, step: options.step }, () => [
        `Wrote ${files.join(" and ")}. ${afterwards[options.step]}`,
      ]);
    });
}

function rotate({ key, step, ...files }: Options): string[] {
  switch (key) {
    case "vault-ring": {
      const path = given(files.vaultKeys, "--vault-keys");
      return [write(path, rotateVaultRing(read<VaultKeyFile>(path), step))];
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
    case "signing": {
      const paths = [given(files.keys, "--keys"), given(files.vaultKeys, "--vault-keys")] as const;
      const rotated = rotateSigning({ keys: read(paths[0]), vaultKeys: read(paths[1]) }, step);
      // The vault's first: a key that signs before it verifies would lock everybody out.
      return [write(paths[1], rotated.vaultKeys), write(paths[0], rotated.keys)];
    }
  }
}

function given(path: string | undefined, option: string): string {
  if (path === undefined) throw new UsageError(`Name the file: ${option}.`);
  return path;
}

function read<File extends AnyKeyFile>(path: string): File {
  return JSON.parse(readFileSync(path, "utf8")) as File;
}

/** Whole or not at all: half a key file would stop the next start. */
function write(path: string, file: AnyKeyFile): string {
  writeFileSync(`${path}.new`, printKeyFile(file), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}
