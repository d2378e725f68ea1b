/** `switchyard notice`: what a merchant is told of endpoints that fail, and where that is mailed to. */
import { Command } from "commander";
import type { NoticeView } from "../client/dashboard-client.ts";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";

type NoticeOptions = AttachOptions & ScopeOptions;

/** Lists and acknowledges notices, and sets the addresses that they are mailed to. */
export function noticeCommand(): Command {
  return new Command("notice")
    .description("notices of webhook endpoints that fail or are disabled")
    .addCommand(listCommand())
    .addCommand(acknowledgeCommand())
    .addCommand(mailToCommand());
}

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list what nobody has acknowledged, newest first",
    example: "switchyard notice list --environment live",
  }).option("--all", "what was acknowledged, too");
  return addPaging(command).action(async (options: NoticeOptions & PagingOptions & { all?: boolean }) => {
    await administer(
      options,
      ({ notices }) =>
        notices.listWebhookNotices({
          ...scopeOf(options),
          ...pageOf(options),
          includeAcknowledged: options.all ?? false,
        }),
      ({ notices = [], nextPageToken }) =>
        withNextPage(
          table(
            ["NOTICE", "KIND", "ENDPOINT", "FAILING SINCE", "LAST ANSWER", "STATE", "URL"],
            notices.map((notice) => [
              notice.noticeId ?? "",
              notice.kind ?? "",
              notice.endpointId ?? "",
              notice.failingSince ?? "",
              String(notice.statusCode ?? notice.noAnswer ?? ""),
              stateOf(notice),
              notice.url ?? "",
            ]),
            "There is no notice.",
          ),
          nextPageToken,
        ),
    );
  });
}

function acknowledgeCommand(): Command {
  return merchantCommand("acknowledge", {
    description: "take a notice from the list, in your name",
    example: "switchyard notice acknowledge ntc_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<notice>", "its id")
    .action(async (noticeId: string, options: NoticeOptions) => {
      await administer(
        options,
        ({ notices }) => notices.acknowledgeWebhookNotice({ ...scopeOf(options), noticeId }),
        ({ notice }) => [`Acknowledged ${notice?.kind} of ${notice?.endpointId} by ${notice?.acknowledgedBy}.`],
      );
    });
}

function mailToCommand(): Command {
  return merchantCommand("mail-to", {
    description: "replace the addresses that notices are mailed to; without any, show them",
    example: "switchyard notice mail-to ops@example.com --environment live",
  })
    .argument("[addresses...]", "at most 10")
    .option("--none", "mail notices to nobody")
    .action(async (addresses: string[], options: NoticeOptions & { none?: boolean }) => {
      await administer(
        options,
        ({ notices }) =>
          addresses.length > 0 || options.none
            ? notices.setNoticeAddresses({ ...scopeOf(options), addresses: options.none ? [] : addresses })
            : notices.getNoticeAddresses(scopeOf(options)),
        ({ addresses: set = [] }) =>
          set.length > 0
            ? [
                ...set,
                "Notices are mailed where the workers have a mail server: SWITCHYARD_SMTP_URL, docs/configuration.md.",
              ]
            : ["None: notices are shown and not mailed."],
      );
    });
}

function stateOf({ acknowledgedAt, over }: NoticeView): string {
  if (acknowledgedAt) return "acknowledged";
  return over ? "open, is over" : "open";
}
