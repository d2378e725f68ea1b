/** `switchyard audit`: who did what. */
import { Command } from "commander";
import { pageSizeMax } from "../limits.ts";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { parseCount } from "./paging.ts";

/** Lists who changed what of a merchant's configuration. */
export function auditCommand(): Command {
  return new Command("audit").description("who did what to a merchant's configuration").addCommand(listCommand());
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list the newest entries, newest first",
    example: "switchyard audit list --count 50 --json",
  })
    .option("--count <count>", `how many, at most ${pageSizeMax}`, parseCount, 20)
    .action(async (options: AttachOptions & ScopeOptions & { count: number }) => {
      await administer(
        options,
        ({ audit }) => audit.listAuditEntries({ ...scopeOf(options), pageSize: options.count }),
        ({ entries = [] }) =>
          table(
            ["WHEN", "WHO", "WHAT", "TO"],
            entries.map(({ createdAt = "", actor = "", action = "", subject = "" }) => [
              createdAt,
              actor,
              action,
              subject,
            ]),
            "Nothing was done yet.",
          ),
      );
    });
}
