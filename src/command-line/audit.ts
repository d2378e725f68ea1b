/** `switchyard audit`: the audit trail of a merchant's configuration. */
import { Command } from "commander";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";
import { parseTime } from "./times.ts";

type ListOptions = MerchantOptions &
  PagingOptions & {
    readonly by?: string;
    readonly action?: string;
    readonly about?: string;
    readonly since?: string;
    readonly until?: string;
    readonly reads?: boolean;
  };

/** Lists the changes to a merchant's configuration, each with the member or operator who made it. */
export function auditCommand(): Command {
  return new Command("audit").addCommand(listCommand());
}

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list changes, newest first",
    example: "switchyard audit list --action SetRoutingRule --since 2026-11-01",
  })
    .option("--by <text>", "only changes by these members or operators: a part of the name or address")
    .option("--action <name>", "only this action, such as SetRoutingRule")
    .option("--about <id>", "only changes of the object with this id")
    .option("--since <time>", "only changes since this time", parseTime)
    .option("--until <time>", "only changes before this time", parseTime)
    .option("--reads", "also what operators have read");
  return addPaging(command).action(async (options: ListOptions) => {
    const { by = "", action: named = "", about = "", since, until, reads = false } = options;
    const period = { ...(since && { createdAfter: since }), ...(until && { createdBefore: until }) };
    const filter = { actor: by, action: named, subject: about, includeReads: reads, ...period };
    await administer(
      options,
      ({ audit }) => audit.listAuditEntries({ ...scopeOf(options), ...pageOf(options), ...filter }),
      ({ entries = [], nextPageToken }) => {
        const rows = entries.map(({ createdAt = "", actor = "", action = "", subject = "" }) => [
          createdAt,
          actor,
          action,
          subject,
        ]);
        return withNextPage(table(["WHEN", "WHO", "WHAT", "TO"], rows, "No entry matches."), nextPageToken);
      },
    );
  });
}
