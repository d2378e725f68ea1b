/** `switchyard reconciliation`: how our records compare with the gateways'. */
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

/** Lists what the passes of the comparison could see. */
export function reconciliationCommand(): Command {
  return new Command("reconciliation")
    .description("the hourly comparison of payments with the gateways' own records")
    .addCommand(listCommand());
}

function listCommand(): Command {
  const command = environmentCommand("list", {
    description: "list the passes with what each could see and what it found, newest first",
    example: "switchyard reconciliation list --environment live --count 24",
  });
  return addPaging(command).action(async (options: AttachOptions & EnvironmentOptions & PagingOptions) => {
    await administer(
      options,
      ({ reconciliation }) => reconciliation.listComparisonRuns({ ...environmentOf(options), ...pageOf(options) }),
      ({ comparisonRuns = [], nextPageToken }) =>
        withNextPage(
          table(
            ["STARTED", "FINISHED", "ATTEMPTS", "READ", "BY NOTICES", "COULD NOT TELL", "MISMATCHES", "STRAYS"],
            comparisonRuns.map((run) => [
              run.startedAt ?? "",
              run.finishedAt ?? "under way",
              ...[run.attempts, run.read, run.byNotices, run.couldNotTell, run.mismatches, run.strays].map(String),
            ]),
            "There was no comparison yet.",
          ),
          nextPageToken,
        ),
    );
  });
}
