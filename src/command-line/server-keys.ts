/** `switchyard server-keys`: the installation's own keys. Merchants' API keys are `switchyard keys`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Command, Option } from "commander";
import { generateKeyFile } from "../server-keys.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

/** Makes the installation's own keys. */
export function serverKeysCommand(): Command {
  return new Command("server-keys")
    .description("the installation's own keys (merchants' API keys: switchyard keys)")
    .addCommand(generateCommand());
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
