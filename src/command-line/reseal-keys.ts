/** `switchyard server-keys reseal`: seals the rows of an environment anew, before its old sealing key goes. */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { resealSigningSecrets } from "../events/reseal-signing-secrets.ts";
import { resealCredentials } from "../gateways/reseal-credentials.ts";
import { Secret } from "../platform/secrets.ts";
import { parseKeyFile } from "../server-keys.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, ownerUrlOf } from "./owner-url.ts";

type ResealOptions = OutputOptions &
  OwnerUrlOptions & {
    readonly environment: "test" | "live";
    readonly keys: string;
  };

/** Seals gateways' credentials and signing secrets with the current key. Answers that wait to be repeated end by themselves. */
export function resealCommand(): Command {
  const command = describedCommand("reseal", {
    description:
      "seal gateways' credentials and webhook secrets anew with the current key, before the old one is dropped",
    example:
      "switchyard server-keys reseal --environment live --keys keys-live.json --url postgres://owner@db/switchyard_live",
  });
  return addOwnerUrl(command)
    .addOption(new Option("--environment <name>").choices(["test", "live"]).makeOptionMandatory())
    .requiredOption("--keys <file>", "the key file of edge and worker, with both sealing keys in it")
    .action(async (options: ResealOptions) => {
      const { environment: environmentName, keys } = options;
      const { sealing } = parseKeyFile(readFileSync(keys, "utf8"), environmentName);
      const { openDatabase } = await import("../environment.ts");
      const { orm, database } = await openDatabase(new Secret(ownerUrlOf(options)), []);
      try {
        const credentials = await resealCredentials(database, sealing);
        const endpoints = await resealSigningSecrets(database, { sealing, environmentName });
        print(options, { credentials, endpoints }, () => [
          `Sealed ${credentials} credentials and the secrets of ${endpoints} endpoints with ${sealing.current}.`,
        ]);
      } finally {
        await orm.close(true);
      }
    });
}
