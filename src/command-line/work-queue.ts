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

export function workQueueCommand(): Command {
  return new Command("work-queue").addCommand(listCommand()).addCommand(closeCommand());
}

function listCommand(): Command {
  const command = environmentCommand("list", {
    description: "list open items, newest first; those of one cause are one row",
    example: "switchyard work-queue list --environment live",
  })
    .option("--all", "include closed items")
    .option("--each", "one row for each payment");
  return addPaging(command).action(
    async (options: WorkQueueOptions & PagingOptions & { all?: boolean; each?: boolean }) => {
      await administer(
        options,
        ({ workQueue }) =>
          workQueue.listWorkItems({
            ...environmentOf(options),
            ...pageOf(options),
            includeClosed: options.all ?? false,
            byCause: !options.each,
          }),
        ({ workItems = [], nextPageToken }) =>
          withNextPage(
            table(
              ["ITEM", "KIND", "COUNT", "GATEWAY", "SESSION", "OPENED", "STATE", "DETAIL"],
              workItems.map((item) => [
                item.workItemId ?? "",
                item.kind ?? "",
                String(item.count ?? 1),
                item.gateway ?? "",
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
    },
  );
}

function closeCommand(): Command {
  return environmentCommand("close", {
    description: "close an item in your name, with what you found and did",
    example: 'switchyard work-queue close wi_01h455vb4pex5vsknk084sn02q --note "Voided at the gateway by hand."',
  })
    .argument("<item>", "id of the item")
    .requiredOption("--note <text>", "note for later readers")
    .option("--whole-cause", "also close the older items of the same cause")
    .action(async (workItemId: string, options: WorkQueueOptions & { note: string; wholeCause?: boolean }) => {
      const { note, wholeCause = false } = options;
      await administer(
        options,
        ({ workQueue }) => workQueue.closeWorkItem({ ...environmentOf(options), workItemId, note, wholeCause }),
        ({ workItem, closedCount = 1 }) => [
          `Closed ${workItem?.workItemId} (${workItem?.kind})${closedCount > 1 ? ` and ${closedCount - 1} more of its cause` : ""} in the name of ${workItem?.closedBy}.`,
        ],
      );
    });
}

function stateOf({ closedAt, resolvedAt }: WorkItemView): string {
  if (closedAt) return "closed";
  return resolvedAt ? "open, resolved by itself" : "open";
}
