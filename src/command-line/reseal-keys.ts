/** `switchyard server-keys reseal`: seals the rows of an environment again, before its old sealing key is dropped. */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { parseKeyFile } from "../config/server-keys.ts";
import { Secret } from "../platform/secrets.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, ownerUrlOf } from "./owner-url.ts";

type ResealOptions = OutputOptions &
  OwnerUrlOptions & {
    readonly environment: "test" | "live";
    readonly keys: string;
  };

/**
 * Seals gateways' credentials and signing secrets with the current key. Stored idempotent answers expire by themselves.
 */
export function resealCommand(): Command {
  const command = describedCommand("reseal", {
    description:
      "seal gateways' credentials and webhook secrets again with the current key, before the old key is dropped",
    example:
      "switchyard server-keys reseal --environment live --keys keys-live.json --url postgres://owner@db/switchyard_live",
  });
  return addOwnerUrl(command)
    .addOption(
      new Option("--environment <name>", "environment of the database").choices(["test", "live"]).makeOptionMandatory(),
    )
    .requiredOption("--keys <file>", "key file of edge and worker, which contains both sealing keys")
    .action(async (options: ResealOptions) => {
      const { environment: environmentName, keys } = options;
      const { sealing } = parseKeyFile(readFileSync(keys, "utf8"), environmentName);
      const { resealAlertChats } = await import("../events/alert-settings.ts");
      const { resealSigningSecrets } = await import("../events/signing-secrets.ts");
      const { resealCredentials } = await import("../gateways/reseal-credentials.ts");
      const { openDatabase } = await import("../processes/open-database.ts");
      const { database, close } = openDatabase(new Secret(ownerUrlOf(options)));
      try {
        const credentials = await resealCredentials(database, sealing);
        const endpoints = await resealSigningSecrets(database, { sealing, environmentName });
        const chats = await resealAlertChats(database, { sealing, environmentName });
        print(options, { credentials, endpoints, chats }, () => [
          `Sealed ${credentials} credentials and the secrets of ${endpoints} endpoints with ${sealing.current}.`,
          ...(chats > 0 ? [`Sealed ${chats} chats for alerts with ${sealing.current}.`] : []),
        ]);
      } finally {
        await close();
      }
    });
}
