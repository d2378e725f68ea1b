/** `switchyard server-keys`: the installation's own keys. Merchants' API keys are `switchyard keys`. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Command, Option } from "commander";
import { addInternalService, generateKeyFile } from "../server-keys.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

/** Makes the installation's own keys. */
export function serverKeysCommand(): Command {
  return new Command("server-keys")
    .description("the installation's own keys (merchants' API keys: switchyard keys)")
    .addCommand(generateCommand())
    .addCommand(addServiceCommand());
}

function generateCommand(): Command {
  return describedCommand("generate", {
    description: "write a new key file; an existing one is never overwritten",
    example: "switchyard server-keys generate --environment live --out /etc/switchyard/keys-live.json",
  })
    .addOption(new Option("--environment <name>").choices(["test", "live"]).makeOptionMandatory())
    .requiredOption("--out <file>", "where to write it")
    .action((options: OutputOptions & { environment: "test" | "live"; out: string }) => {
      mkdirSync(dirname(resolve(options.out)), { recursive: true });
      writeFileSync(options.out, generateKeyFile(options.environment), { mode: 0o600, flag: "wx" });
      print(options, { file: options.out }, () => [
        `Wrote the keys of ${options.environment} to ${options.out}. Keep it secret and keep a copy.`,
      ]);
    });
}

function addServiceCommand(): Command {
  return describedCommand("add-service", {
    description: "let an internal service call the gRPC port for any merchant of the key file's environment",
    example: "switchyard server-keys add-service --name orders --keys keys-live.json --out orders.pem",
  })
    .requiredOption("--name <name>", "what the service is called; a name that is there already gets a new key")
    .requiredOption("--keys <file>", "the key file of the environment; the edge reads it when it starts")
    .requiredOption("--out <file>", "where to write the service's private key; an existing file is never overwritten")
    .action((options: OutputOptions & { name: string; keys: string; out: string }) => {
      const { keyFile, privateKey } = addInternalService(readFileSync(options.keys, "utf8"), options.name);
      writeFileSync(options.out, privateKey, { mode: 0o600, flag: "wx" });
      writeFileSync(options.keys, keyFile, { mode: 0o600 });
      print(options, { file: options.out }, () => [
        `Wrote the key of ${options.name} to ${options.out}. Give it to that service only, and start the edge anew.`,
      ]);
    });
}
