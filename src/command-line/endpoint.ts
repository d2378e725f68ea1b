/** `switchyard endpoint`: the addresses that receive a merchant's events. */
import { Command, InvalidArgumentError } from "commander";
import type { EndpointView } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { disableCommand, enableCommand, pauseCommand, removeCommand, resumeCommand } from "./endpoint-status.ts";
import { table } from "./output.ts";
import { sameScope } from "./same-scope.ts";

export function endpointCommand(): Command {
  return new Command("endpoint")
    .addCommand(addCommand())
    .addCommand(verifyCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(updateCommand())
    .addCommand(rotateCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(disableCommand())
    .addCommand(enableCommand())
    .addCommand(removeCommand());
}

function addCommand(): Command {
  return merchantCommand("add", {
    description: "register a webhook URL; its signing secret is shown only once",
    example: "switchyard endpoint add https://shop.example.com/webhooks --events payment_session.succeeded",
  })
    .argument("<url>", "URL to post events to")
    .option("--events <types>", "comma-separated event types (default: every type)")
    .action(async (url: string, options: MerchantOptions & { events?: string }) => {
      const eventTypes = options.events?.split(",") ?? [];
      await administer(
        options,
        ({ endpoints }) => endpoints.addWebhookEndpoint({ ...scopeOf(options), url, eventTypes }),
        ({ endpoint, signingSecret }) => [
          `Added ${endpoint?.endpointId}. Its signing secret, shown only once:`,
          `  ${signingSecret}`,
          "Events are posted after you verify it:",
          `  ${verifyLine(endpoint?.endpointId, options)}`,
        ],
      );
    });
}

function verifyCommand(): Command {
  return merchantCommand("verify", {
    description: "post a signed test event; a 2xx response verifies the endpoint; exits with 1 if it fails",
    example: "switchyard endpoint verify we_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<endpoint>", "id of the endpoint")
    .action(async (endpointId: string, options: MerchantOptions) => {
      const { verified } = await administer(
        options,
        ({ endpoints }) => endpoints.verifyWebhookEndpoint({ ...scopeOf(options), endpointId }),
        (answer) => [
          answer.noAnswer === undefined
            ? `The endpoint answered ${answer.statusCode} after ${answer.durationMs} ms.`
            : `The endpoint gave no answer: ${answer.noAnswer}.`,
          answer.verified
            ? "Verified. Events are posted, including those that waited."
            : "Not verified: nothing is posted to it.",
        ],
      );
      if (!verified) process.exitCode = 1;
    });
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list a merchant's endpoints, oldest first",
    example: "switchyard endpoint list --environment live",
  }).action(async (options: MerchantOptions) => {
    await administer(
      options,
      ({ endpoints }) => endpoints.listWebhookEndpoints(scopeOf(options)),
      ({ endpoints = [] }) =>
        table(
          ["ENDPOINT", "STATUS", "URL", "EVENTS"],
          endpoints.map(({ endpointId = "", status = "", url = "", eventTypes = [] }) => [
            endpointId,
            status,
            url,
            eventTypes.join(", ") || "all",
          ]),
          "The merchant has no endpoint in this environment.",
        ),
    );
  });
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show an endpoint with its status and the reason, its event types, and an overlap of its secrets",
    example: "switchyard endpoint show we_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<endpoint>", "id of the endpoint")
    .action(async (endpointId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ endpoints }) => endpoints.getWebhookEndpoint({ ...scopeOf(options), endpointId }),
        ({ endpoint = {} }) => describeEndpoint(endpoint),
      );
    });
}

function updateCommand(): Command {
  return merchantCommand("update", {
    description: "replace an endpoint's URL, which must then be verified again, or its event types",
    example: "switchyard endpoint update we_01h455vb4pex5vsknk084sn02q --events payment_session.succeeded",
  })
    .argument("<endpoint>", "id of the endpoint")
    .option("--url <url>", "URL to post events to")
    .option("--events <types>", "comma-separated event types, or `all`")
    .action(async (endpointId: string, options: MerchantOptions & { url?: string; events?: string }) => {
      const { url, events } = options;
      if (url === undefined && events === undefined) throw new UsageError("Give --url, --events, or both.");
      const eventTypes = events && { types: events === "all" ? [] : events.split(",") };
      await administer(
        options,
        ({ endpoints }) =>
          endpoints.updateWebhookEndpoint({
            ...scopeOf(options),
            endpointId,
            ...(url !== undefined && { url }),
            ...(eventTypes && { eventTypes }),
          }),
        ({ endpoint = {} }) => [
          ...describeEndpoint(endpoint),
          ...(endpoint.verifiedAt
            ? []
            : ["Nothing is posted until you verify it:", `  ${verifyLine(endpointId, options)}`]),
        ],
      );
    });
}

function rotateCommand(): Command {
  return merchantCommand("rotate", {
    description:
      "replace an endpoint's signing secret; the new one is shown only once; the old one stops immediately, or after an overlap",
    example: "switchyard endpoint rotate we_01h455vb4pex5vsknk084sn02q --overlap 24",
  })
    .argument("<endpoint>", "id of the endpoint")
    .option("--overlap <hours>", "hours for which the old secret also signs, at most 24", parseHours, 0)
    .action(async (endpointId: string, options: MerchantOptions & { overlap: number }) => {
      await administer(
        options,
        ({ endpoints }) =>
          endpoints.rotateWebhookSecret({ ...scopeOf(options), endpointId, overlapHours: options.overlap }),
        ({ endpoint, signingSecret }) => [
          "The new signing secret, shown only once:",
          `  ${signingSecret}`,
          endpoint?.overlapUntil
            ? `The old one also signs until ${endpoint.overlapUntil}.`
            : "The old one no longer signs.",
        ],
      );
    });
}

function parseHours(text: string): number {
  const hours = Number(text);
  if (Number.isInteger(hours) && hours >= 0 && hours <= 24) return hours;
  throw new InvalidArgumentError("It must be a number of hours from 0 to 24.");
}

function verifyLine(endpointId: string | undefined, options: MerchantOptions): string {
  return `switchyard endpoint verify ${endpointId}${sameScope(options)}`;
}

function describeEndpoint(endpoint: EndpointView): string[] {
  const { endpointId, url, status, eventTypes = [], disabledReason, disabledAt, failingSince, overlapUntil } = endpoint;
  return [
    `${endpointId}  ${status}  ${url}`,
    `events: ${eventTypes.join(", ") || "all"}`,
    ...(disabledAt ? [`disabled since ${disabledAt}: ${disabledReason}`] : []),
    ...(failingSince ? [`no delivery attempt has succeeded since ${failingSince}`] : []),
    ...(overlapUntil ? [`two secrets sign events until ${overlapUntil}`] : []),
  ];
}
