/** `switchyard reconciliation`: compares our records with those of the gateways. */
import { Command } from "commander";
import {
  type AttachOptions,
  administer,
  type EnvironmentOptions,
  environmentCommand,
  environmentOf,
} from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";

export function reconciliationCommand(): Command {
  return new Command("reconciliation").addCommand(listCommand());
}

function listCommand(): Command {
  const command = environmentCommand("list", {
    description: "list the passes with their coverage and their findings, newest first",
    example: "switchyard reconciliation list --environment live --count 24",
  });
  return addPaging(command).action(async (options: AttachOptions & EnvironmentOptions & PagingOptions) => {
    await administer(
      options,
      ({ reconciliation }) => reconciliation.listReconciliationRuns({ ...environmentOf(options), ...pageOf(options) }),
      ({ reconciliationRuns = [], nextPageToken }) =>
        withNextPage(
          table(
            ["STARTED", "FINISHED", "ATTEMPTS", "READ", "BY NOTIFICATIONS", "INCONCLUSIVE", "MISMATCHES", "ORPHANED"],
            reconciliationRuns.map((run) => [
              run.startedAt ?? "",
              run.finishedAt ?? "running",
              ...[run.attempts, run.read, run.byNotifications, run.inconclusive, run.mismatches, run.orphans].map(
                String,
              ),
            ]),
            "There was no reconciliation yet; a worker runs one every hour.",
          ),
          nextPageToken,
        ),
    );
  });
}
