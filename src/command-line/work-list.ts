/** `switchyard work-list`: what a person has to look at, and that somebody has. */
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

type WorkListOptions = AttachOptions & EnvironmentOptions;

/** Lists what waits for a person, and closes a row in a person's name. */
export function workListCommand(): Command {
  return new Command("work-list")
    .description("alarms that wait for a person, over all merchants of an environment")
    .addCommand(listCommand())
    .addCommand(closeCommand());
}

function listCommand(): Command {
  const command = environmentCommand("list", {
    description: "list what nobody has closed, newest first",
    example: "switchyard work-list list --environment live",
  }).option("--all", "what was closed, too");
  return addPaging(command).action(async (options: WorkListOptions & PagingOptions & { all?: boolean }) => {
    await administer(
      options,
      ({ workList }) =>
        workList.listWorkItems({ ...environmentOf(options), ...pageOf(options), includeClosed: options.all ?? false }),
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
            "There is nothing to look at.",
          ),
          nextPageToken,
        ),
    );
  });
}

function closeCommand(): Command {
  return environmentCommand("close", {
    description: "close an item in your name, with what you found and did",
    example: 'switchyard work-list close wi_01h455vb4pex5vsknk084sn02q --note "Voided at the gateway by hand."',
  })
    .argument("<item>", "its id")
    .requiredOption("--note <text>", "for whoever reads it later")
    .action(async (workItemId: string, options: WorkListOptions & { note: string }) => {
      const { note } = options;
      await administer(
        options,
        ({ workList }) => workList.closeWorkItem({ ...environmentOf(options), workItemId, note }),
        ({ workItem }) => [`Closed ${workItem?.workItemId} (${workItem?.kind}) in the name of ${workItem?.closedBy}.`],
      );
    });
}

function stateOf({ closedAt, resolvedAt }: WorkItemView): string {
  if (closedAt) return "closed";
  return resolvedAt ? "open, has settled itself" : "open";
}
