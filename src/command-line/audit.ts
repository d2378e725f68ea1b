/** `switchyard audit`: the audit trail of a merchant's configuration. */
import { Command } from "commander";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";

/** Lists the changes to a merchant's configuration, each with the member or operator who made it. */
export function auditCommand(): Command {
  return new Command("audit")
    .description("audit trail of changes to a merchant's configuration")
    .addCommand(listCommand());
}

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list changes, newest first",
    example: "switchyard audit list --count 50 --json",
  });
  return addPaging(command).action(async (options: AttachOptions & ScopeOptions & PagingOptions) => {
    await administer(
      options,
      ({ audit }) => audit.listAuditEntries({ ...scopeOf(options), ...pageOf(options) }),
      ({ entries = [], nextPageToken }) => {
        const rows = entries.map(({ createdAt = "", actor = "", action = "", subject = "" }) => [
          createdAt,
          actor,
          action,
          subject,
        ]);
        return withNextPage(table(["WHEN", "WHO", "WHAT", "TO"], rows, "There are no entries yet."), nextPageToken);
      },
    );
  });
}
