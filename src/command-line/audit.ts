/** `switchyard audit`: who did what. */
import { Command } from "commander";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";

/** Lists who changed what of a merchant's configuration. */
export function auditCommand(): Command {
  return new Command("audit").description("who did what to a merchant's configuration").addCommand(listCommand());
}

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list the entries, newest first",
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
        return withNextPage(table(["WHEN", "WHO", "WHAT", "TO"], rows, "Nothing was done yet."), nextPageToken);
      },
    );
  });
}
