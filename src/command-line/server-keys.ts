/** `switchyard server-keys`: the installation's own keys. Merchants' API keys are `switchyard keys`. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Command, Option } from "commander";
import { generateAccountsKeyFile } from "../config/dashboard-settings.ts";
import { addInternalService, generateKeyFile, generateVaultKeyFile, separateVaultKeys } from "../config/server-keys.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { resealAccountsCommand } from "./reseal-accounts.ts";
import { resealCommand } from "./reseal-keys.ts";
import { rotateCommand } from "./rotate-keys.ts";

/** Generates and rotates the installation's own keys. */
export function serverKeysCommand(): Command {
  return new Command("server-keys")
    .addCommand(generateCommand())
    .addCommand(generateAccountsCommand())
    .addCommand(separateCommand())
    .addCommand(rotateCommand())
    .addCommand(resealCommand())
    .addCommand(resealAccountsCommand())
    .addCommand(addServiceCommand());
}

function generateCommand(): Command {
  return describedCommand("generate", {
    description:
      "write new key files, one for edge and worker and one for the vault; an existing one is never overwritten",
    example: "switchyard server-keys generate --environment live --out /etc/switchyard/keys-live.json",
  })
    .addOption(
      new Option("--environment <name>", "environment of the keys").choices(["test", "live"]).makeOptionMandatory(),
    )
    .requiredOption("--out <file>", "file to create for edge and worker")
    .option("--vault-out <file>", "file to create for the vault (default: vault-… beside the other)")
    .action((options: OutputOptions & { environment: "test" | "live"; out: string; vaultOut?: string }) => {
      const { out, vaultOut = join(dirname(out), `vault-${basename(out)}`) } = options;
      const keyFile = generateKeyFile(options.environment);
      writeNew(out, keyFile);
      try {
        writeNew(vaultOut, generateVaultKeyFile(keyFile));
      } catch (error) {
        // One file is useless without the other.
        rmSync(out);
        throw error;
      }
      print(options, { file: out, vaultFile: vaultOut }, () => [
        `Wrote the keys of ${options.environment} to ${out}, and the vault's to ${vaultOut}.`,
        "Keep both secret and keep copies. Give the vault's file to the vault only, and never give it the other.",
      ]);
    });
}

function generateAccountsCommand(): Command {
  return describedCommand("generate-accounts", {
    description: "write a new key file for the dashboard, which belongs to both environments",
    example: "switchyard server-keys generate-accounts --out /etc/switchyard/keys-accounts.json",
  })
    .requiredOption("--out <file>", "file to create; an existing file is never overwritten")
    .action((options: OutputOptions & { out: string }) => {
      writeNew(options.out, generateAccountsKeyFile());
      print(options, { file: options.out }, () => [
        `Wrote the dashboard's keys to ${options.out}. Keep it secret and keep a copy: members' apps need it.`,
      ]);
    });
}

function separateCommand(): Command {
  return describedCommand("separate", {
    description: "move the vault's keys out of a shared key file into a separate new file",
    example: "switchyard server-keys separate --keys keys-live.json --vault-out vault-keys-live.json",
  })
    .requiredOption("--keys <file>", "key file to change")
    .requiredOption("--vault-out <file>", "file to create for the vault; an existing file is never overwritten")
    .action((options: OutputOptions & { keys: string; vaultOut: string }) => {
      const { keyFile, vaultKeyFile } = separateVaultKeys(readFileSync(options.keys, "utf8"));
      writeNew(options.vaultOut, vaultKeyFile);
      writeFileSync(options.keys, keyFile, { mode: 0o600 });
      print(options, { file: options.keys, vaultFile: options.vaultOut }, () => [
        `Moved the vault's keys from ${options.keys} to ${options.vaultOut}.`,
      ]);
    });
}

function writeNew(path: string, text: string): void {
  mkdirSync(dirname(resolve(path)), { recursive: true });
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
}

function addServiceCommand(): Command {
  return describedCommand("add-service", {
    description: "let an internal service call the gRPC port for any merchant of the key file's environment",
    example: "switchyard server-keys add-service --name orders --keys keys-live.json --out orders.pem",
  })
    .requiredOption("--name <name>", "name of the service; an existing service gets a new key")
    .requiredOption("--keys <file>", "key file of the environment; the edge reads it at its start")
    .requiredOption(
      "--out <file>",
      "file to create for the service's private key; an existing file is never overwritten",
    )
    .action((options: OutputOptions & { name: string; keys: string; out: string }) => {
      const { keyFile, privateKey } = addInternalService(readFileSync(options.keys, "utf8"), options.name);
      writeFileSync(options.out, privateKey, { mode: 0o600, flag: "wx" });
      writeFileSync(options.keys, keyFile, { mode: 0o600 });
      print(options, { file: options.out }, () => [
        `Wrote the key of ${options.name} to ${options.out}. Give it to that service only, and restart the edge.`,
      ]);
    });
}
