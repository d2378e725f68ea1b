/**
 * `switchyard server-keys reseal-accounts`: seals members' authenticator apps again, before the accounts' old key is
 * dropped.
 */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { parseAccountsKeyFile } from "../config/dashboard-settings.ts";
import { Secret } from "../platform/secrets.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";
import { addOwnerUrl, type OwnerUrlOptions, ownerUrlOf } from "./owner-url.ts";

type Options = OutputOptions & OwnerUrlOptions & { readonly accountsKeys: string };

export function resealAccountsCommand(): Command {
  const command = describedCommand("reseal-accounts", {
    description: "seal members' authenticator apps again with the current key, before the old key is dropped",
    example:
      "switchyard server-keys reseal-accounts --accounts-keys keys-accounts.json --url postgres://owner@db/switchyard_accounts",
  });
  return addOwnerUrl(command)
    .requiredOption("--accounts-keys <file>", "key file of the dashboard, which contains both keys")
    .action(async (options: Options) => {
      const ring = parseAccountsKeyFile(readFileSync(options.accountsKeys, "utf8"));
      const { resealTotp } = await import("../accounts/reseal-totp.ts");
      const { openDatabase } = await import("../processes/open-database.ts");
      const { database, close } = openDatabase(new Secret(ownerUrlOf(options)));
      try {
        const members = await resealTotp(database, ring);
        print(options, { members }, () => [`Sealed the apps of ${members} members with ${ring.current}.`]);
      } finally {
        await close();
      }
    });
}
