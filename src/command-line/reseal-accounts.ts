/** `switchyard server-keys reseal-accounts`: seals members' authenticator apps anew, before the old key of the accounts goes. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { resealTotp } from "../accounts/reseal-totp.ts";
import { parseAccountsKeyFile } from "../dashboard-settings.ts";
import { Secret } from "../platform/secrets.ts";
import { describedCommand } from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

type Options = OutputOptions & { readonly accountsKeys: string; readonly url: string };

/** Seals everything in the accounts with the current key. */
export function resealAccountsCommand(): Command {
  return describedCommand("reseal-accounts", {
    description: "seal members' authenticator apps anew with the current key, before the old one is dropped",
    example:
      "switchyard server-keys reseal-accounts --accounts-keys keys-accounts.json --url postgres://owner@db/switchyard_accounts",
  })
    .requiredOption("--accounts-keys <file>", "the dashboard's key file, with both keys in it")
    .requiredOption("--url <url>", "address of the accounts database, as its owner")
    .action(async (options: Options) => {
      const ring = parseAccountsKeyFile(readFileSync(options.accountsKeys, "utf8"));
      const { openDatabase } = await import("../environment.ts");
      const { orm, database } = await openDatabase(new Secret(options.url), []);
      try {
        const members = await resealTotp(database, ring);
        print(options, { members }, () => [`Sealed the apps of ${members} members with ${ring.current}.`]);
      } finally {
        await orm.close(true);
      }
    });
}
