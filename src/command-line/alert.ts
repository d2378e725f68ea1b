/** `switchyard alert`: alerts about a merchant's failing endpoints, and how all alerts of the merchant are sent. */
import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import type { AlertSettingsView, AlertView } from "../client/dashboard-client.ts";
import { alertTopics } from "../events/alerts.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";

export function alertCommand(): Command {
  return new Command("alert")
    .addCommand(listCommand())
    .addCommand(acknowledgeCommand())
    .addCommand(mailToCommand())
    .addCommand(chatCommand())
    .addCommand(muteCommand())
    .addCommand(testCommand());
}

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list open alerts about webhook endpoints, newest first",
    example: "switchyard alert list --environment live",
  }).option("--all", "include acknowledged alerts");
  return addPaging(command).action(async (options: MerchantOptions & PagingOptions & { all?: boolean }) => {
    await administer(
      options,
      ({ alerts }) =>
        alerts.listWebhookAlerts({
          ...scopeOf(options),
          ...pageOf(options),
          includeAcknowledged: options.all ?? false,
        }),
      ({ alerts = [], nextPageToken }) =>
        withNextPage(
          table(
            ["ALERT", "KIND", "ENDPOINT", "FAILING SINCE", "LAST RESPONSE", "STATE", "URL"],
            alerts.map((alert) => [
              alert.alertId ?? "",
              alert.kind ?? "",
              alert.endpointId ?? "",
              alert.failingSince ?? "",
              String(alert.statusCode ?? alert.noAnswer ?? ""),
              stateOf(alert),
              alert.url ?? "",
            ]),
            "There are no alerts.",
          ),
          nextPageToken,
        ),
    );
  });
}

function acknowledgeCommand(): Command {
  return merchantCommand("acknowledge", {
    description: "acknowledge an alert in your name, which removes it from the list",
    example: "switchyard alert acknowledge ntc_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<alert>", "id of the alert")
    .action(async (alertId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ alerts }) => alerts.acknowledgeWebhookAlert({ ...scopeOf(options), alertId }),
        ({ alert }) => [`Acknowledged ${alert?.kind} of ${alert?.endpointId} by ${alert?.acknowledgedBy}.`],
      );
    });
}

function mailToCommand(): Command {
  return merchantCommand("mail-to", {
    description: "replace the addresses that alerts are mailed to; without an address, show them",
    example: "switchyard alert mail-to ops@example.com --environment live",
  })
    .argument("[addresses...]", "at most 10")
    .option("--none", "remove every address, so that alerts are only shown")
    .action(async (addresses: string[], options: MerchantOptions & { none?: boolean }) => {
      await administer(
        options,
        ({ alerts }) =>
          addresses.length > 0 || options.none
            ? alerts.setAlertAddresses({ ...scopeOf(options), addresses: options.none ? [] : addresses })
            : alerts.getAlertAddresses(scopeOf(options)),
        ({ addresses: set = [], unconfirmed = [] }) =>
          set.length > 0
            ? [
                ...set.map((address) => (unconfirmed.includes(address) ? `${address} (not confirmed)` : address)),
                ...(unconfirmed.length > 0
                  ? ["An address gets alerts once it has confirmed, by the link that is mailed to it."]
                  : []),
                "Alerts are mailed only if the workers have a mail server: set SWITCHYARD_SMTP_URL (docs/configuration.md).",
              ]
            : ["None: alerts are shown but not mailed."],
      );
    });
}

function stateOf({ acknowledgedAt, over }: AlertView): string {
  if (acknowledgedAt) return "acknowledged";
  return over ? "open, endpoint has recovered" : "open";
}

function chatCommand(): Command {
  return merchantCommand("chat", {
    description:
      "set the incoming webhook of a chat that alerts are posted to; its signing secret is shown only once; without an option, show the settings",
    example: "echo https://hooks.slack.com/services/T0/B0/x | switchyard alert chat --url-file - --environment live",
  })
    .option("--url-file <file>", "file with the chat's address, which is a secret; - reads standard input")
    .option("--none", "remove the chat")
    .action(async ({ urlFile, none, ...options }: MerchantOptions & { urlFile?: string; none?: boolean }) => {
      if (urlFile !== undefined && none) throw new UsageError("Give --url-file or --none.");
      const url = urlFile === undefined ? "" : readFileSync(urlFile === "-" ? 0 : urlFile, "utf8").trim();
      if (urlFile !== undefined && url === "")
        throw new UsageError("The file is empty. To remove the chat, give --none.");
      await administer(
        options,
        async ({ alertSettings }): Promise<{ settings?: AlertSettingsView; signingSecret?: string }> =>
          urlFile !== undefined || none
            ? alertSettings.setAlertChat({ ...scopeOf(options), url })
            : alertSettings.getAlertSettings(scopeOf(options)),
        ({ settings, signingSecret }) => [
          ...(signingSecret ? ["The signing secret of the messages, shown only once:", `  ${signingSecret}`] : []),
          ...describeSettings(settings),
        ],
      );
    });
}

/** The name of a topic on the command line, such as `approval-rate`. */
const namesOfTopics = alertTopics.map((topic) => topic.toLowerCase().replaceAll("_", "-"));

function muteCommand(): Command {
  return merchantCommand("mute", {
    description: "replace the topics whose alerts are shown and not sent",
    example: "switchyard alert mute holds-expiring unverified --environment live",
  })
    .argument("[topics...]", namesOfTopics.join(", "))
    .addOption(new Option("--none", "send every alert"))
    .action(async (topics: string[], { none, ...options }: MerchantOptions & { none?: boolean }) => {
      const unknown = topics.find((topic) => !namesOfTopics.includes(topic));
      if (unknown !== undefined) throw new UsageError(`${unknown} is not a topic: ${namesOfTopics.join(", ")}.`);
      if (topics.length > 0 === (none === true)) throw new UsageError("Give topics or --none.");
      const mutedTopics = alertTopics
        .filter((_, index) => topics.includes(namesOfTopics[index]!))
        .map((topic) => `ALERT_TOPIC_${topic}` as const);
      await administer(
        options,
        ({ alertSettings }) => alertSettings.setMutedAlerts({ ...scopeOf(options), mutedTopics }),
        ({ settings }) => describeSettings(settings),
      );
    });
}

function testCommand(): Command {
  return merchantCommand("test", {
    description: "send a test alert to every address and to the chat; exits with 1 if one does not accept it",
    example: "switchyard alert test --environment live",
  }).action(async (options: MerchantOptions) => {
    const { results = [] } = await administer(
      options,
      ({ alertSettings }) => alertSettings.sendTestAlert(scopeOf(options)),
      ({ results: sent = [] }) =>
        table(
          ["RECIPIENT", "RESULT"],
          sent.map(({ recipient = "", accepted, problem = "" }) => [recipient, accepted ? "accepted" : problem]),
          "Nothing was sent: no address and no chat is set.",
        ),
    );
    if (results.length === 0 || results.some(({ accepted }) => !accepted)) process.exitCode = 1;
  });
}

function describeSettings({ chatHost, mutedTopics = [] }: AlertSettingsView = {}): readonly string[] {
  const muted = mutedTopics.map((topic) =>
    String(topic).replace("ALERT_TOPIC_", "").toLowerCase().replaceAll("_", "-"),
  );
  return [
    chatHost ? `Alerts are posted to a chat at ${chatHost}.` : "No chat: alerts are not posted.",
    muted.length > 0 ? `Shown and not sent: ${muted.join(", ")}.` : "Every alert is sent.",
  ];
}
