/** `switchyard alert`: alerts about a merchant's failing endpoints, and the addresses that they are mailed to. */
import { Command } from "commander";
import type { AlertView } from "../client/dashboard-client.ts";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";

type AlertOptions = AttachOptions & ScopeOptions;

/** Lists and acknowledges endpoint alerts, and sets the addresses that they are mailed to. */
export function alertCommand(): Command {
  return new Command("alert")
    .description("alerts about webhook endpoints that fail or are disabled")
    .addCommand(listCommand())
    .addCommand(acknowledgeCommand())
    .addCommand(mailToCommand());
}

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list open alerts, newest first",
    example: "switchyard alert list --environment live",
  }).option("--all", "include acknowledged alerts");
  return addPaging(command).action(async (options: AlertOptions & PagingOptions & { all?: boolean }) => {
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
    .action(async (alertId: string, options: AlertOptions) => {
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
    .action(async (addresses: string[], options: AlertOptions & { none?: boolean }) => {
      await administer(
        options,
        ({ alerts }) =>
          addresses.length > 0 || options.none
            ? alerts.setAlertAddresses({ ...scopeOf(options), addresses: options.none ? [] : addresses })
            : alerts.getAlertAddresses(scopeOf(options)),
        ({ addresses: set = [] }) =>
          set.length > 0
            ? [
                ...set,
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
