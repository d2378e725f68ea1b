/** `switchyard work-queue`: alarms that need a person, and closing them. */
import { Command } from "commander";
import type { WorkItemView } from "../client/dashboard-client.ts";
import {
  type AttachOptions,
  administer,
  type EnvironmentOptions,
  environmentCommand,
  environmentOf,
} from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";

type WorkQueueOptions = AttachOptions & EnvironmentOptions;

/** Lists the alarms that need a person, and closes one in a person's name. */
export function workQueueCommand(): Command {
  return new Command("work-queue")
    .description("alarms that need a person, for all merchants of an environment")
    .addCommand(listCommand())
    .addCommand(closeCommand());
}

function listCommand(): Command {
  const command = environmentCommand("list", {
    description: "list open items, newest first",
    example: "switchyard work-queue list --environment live",
  }).option("--all", "include closed items");
  return addPaging(command).action(async (options: WorkQueueOptions & PagingOptions & { all?: boolean }) => {
    await administer(
      options,
      ({ workQueue }) =>
        workQueue.listWorkItems({ ...environmentOf(options), ...pageOf(options), includeClosed: options.all ?? false }),
      ({ workItems = [], nextPageToken }) =>
        withNextPage(
          table(
            ["ITEM", "KIND", "SESSION", "OPENED", "STATE", "DETAIL"],
            workItems.map((item) => [
              item.workItemId ?? "",
              item.kind ?? "",
              item.sessionId ?? "",
              item.openedAt ?? "",
              stateOf(item),
              item.detail ?? "",
            ]),
            "The work queue is empty.",
          ),
          nextPageToken,
        ),
    );
  });
}

function closeCommand(): Command {
  return environmentCommand("close", {
    description: "close an item in your name, with what you found and did",
    example: 'switchyard work-queue close wi_01h455vb4pex5vsknk084sn02q --note "Voided at the gateway by hand."',
  })
    .argument("<item>", "id of the item")
    .requiredOption("--note <text>", "note for later readers")
    .action(async (workItemId: string, options: WorkQueueOptions & { note: string }) => {
      const { note } = options;
      await administer(
        options,
        ({ workQueue }) => workQueue.closeWorkItem({ ...environmentOf(options), workItemId, note }),
        ({ workItem }) => [`Closed ${workItem?.workItemId} (${workItem?.kind}) in the name of ${workItem?.closedBy}.`],
      );
    });
}

function stateOf({ closedAt, resolvedAt }: WorkItemView): string {
  if (closedAt) return "closed";
  return resolvedAt ? "open, resolved by itself" : "open";
}
