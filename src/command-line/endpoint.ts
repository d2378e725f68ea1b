/** `switchyard endpoint`: where a merchant's events go. */
import { Command, InvalidArgumentError } from "commander";
import type { EndpointView } from "../client/dashboard-client.ts";
import {
  type AttachOptions,
  administer,
  merchantCommand,
  type ScopeOptions,
  scopeOf,
  UsageError,
} from "./attachment.ts";
import { disableCommand, enableCommand, pauseCommand, removeCommand, resumeCommand } from "./endpoint-status.ts";
import { table } from "./output.ts";
import { sameScope } from "./same-scope.ts";

type EndpointOptions = AttachOptions & ScopeOptions;

/** Adds, verifies and lists the addresses of a merchant that events are sent to. */
export function endpointCommand(): Command {
  return new Command("endpoint")
    .description("where a merchant's events go")
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
    description: "register a webhook URL; its signing secret is shown this once",
    example: "switchyard endpoint add https://shop.example.com/webhooks --events payment_session.succeeded",
  })
    .argument("<url>", "where to post")
    .option("--events <types>", "comma-separated event types; every type when not given")
    .action(async (url: string, options: EndpointOptions & { events?: string }) => {
      const eventTypes = options.events?.split(",") ?? [];
      await administer(
        options,
        ({ endpoints }) => endpoints.addWebhookEndpoint({ ...scopeOf(options), url, eventTypes }),
        ({ endpoint, signingSecret }) => [
          `Added ${endpoint?.endpointId}. Its signing secret, shown this once:`,
          `  ${signingSecret}`,
          "Events are posted once it is verified:",
          `  ${verifyLine(endpoint?.endpointId, options)}`,
        ],
      );
    });
}

function verifyCommand(): Command {
  return merchantCommand("verify", {
    description: "post a signed test event, which a 2xx answer verifies; exits with 1 when it fails",
    example: "switchyard endpoint verify we_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<endpoint>", "its id")
    .action(async (endpointId: string, options: EndpointOptions) => {
      const { verified } = await administer(
        options,
        ({ endpoints }) => endpoints.verifyWebhookEndpoint({ ...scopeOf(options), endpointId }),
        (answer) => [
          answer.noAnswer === undefined
            ? `It answered ${answer.statusCode} after ${answer.durationMs} ms.`
            : `It gave no answer: ${answer.noAnswer}.`,
          answer.verified ? "Verified: events are posted from now on." : "Not verified: nothing is posted to it.",
        ],
      );
      if (!verified) process.exitCode = 1;
    });
}

function listCommand(): Command {
  return merchantCommand("list", {
    description: "list a merchant's endpoints, oldest first",
    example: "switchyard endpoint list --environment live",
  }).action(async (options: EndpointOptions) => {
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
    description: "show an endpoint: its status and why, its event types, an overlap of its secrets",
    example: "switchyard endpoint show we_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<endpoint>", "its id")
    .action(async (endpointId: string, options: EndpointOptions) => {
      await administer(
        options,
        ({ endpoints }) => endpoints.getWebhookEndpoint({ ...scopeOf(options), endpointId }),
        ({ endpoint = {} }) => describeEndpoint(endpoint),
      );
    });
}

function updateCommand(): Command {
  return merchantCommand("update", {
    description: "replace an endpoint's URL, which has to be verified then, or its event types",
    example: "switchyard endpoint update we_01h455vb4pex5vsknk084sn02q --events payment_session.succeeded",
  })
    .argument("<endpoint>", "its id")
    .option("--url <url>", "where to post")
    .option("--events <types>", "comma-separated event types, or `all`")
    .action(async (endpointId: string, options: EndpointOptions & { url?: string; events?: string }) => {
      const { url, events } = options;
      if (url === undefined && events === undefined) throw new UsageError("Say what to replace: --url or --events.");
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
            : ["Nothing is posted until it is verified:", `  ${verifyLine(endpointId, options)}`]),
        ],
      );
    });
}

function rotateCommand(): Command {
  return merchantCommand("rotate", {
    description:
      "give an endpoint a new signing secret, shown this once; the old one stops at once, or after an overlap",
    example: "switchyard endpoint rotate we_01h455vb4pex5vsknk084sn02q --overlap 24",
  })
    .argument("<endpoint>", "its id")
    .option("--overlap <hours>", "for how long the old one signs, too: at most 24", parseHours, 0)
    .action(async (endpointId: string, options: EndpointOptions & { overlap: number }) => {
      await administer(
        options,
        ({ endpoints }) =>
          endpoints.rotateWebhookSecret({ ...scopeOf(options), endpointId, overlapHours: options.overlap }),
        ({ endpoint, signingSecret }) => [
          "The new signing secret, shown this once:",
          `  ${signingSecret}`,
          endpoint?.overlapUntil
            ? `The old one signs beside it until ${endpoint.overlapUntil}.`
            : "The old one signs nothing more.",
        ],
      );
    });
}

function parseHours(text: string): number {
  const hours = Number(text);
  if (Number.isInteger(hours) && hours >= 0 && hours <= 24) return hours;
  throw new InvalidArgumentError("It must be a number of hours from 0 to 24.");
}

function verifyLine(endpointId: string | undefined, options: EndpointOptions): string {
  return `switchyard endpoint verify ${endpointId}${sameScope(options)}`;
}

function describeEndpoint(endpoint: EndpointView): string[] {
  const {
    endpointId,
    url,
    status,
    eventTypes = [],
    disabledBecause,
    disabledAt,
    failingSince,
    overlapUntil,
  } = endpoint;
  return [
    `${endpointId}  ${status}  ${url}`,
    `events: ${eventTypes.join(", ") || "all"}`,
    ...(disabledAt ? [`disabled since ${disabledAt}: ${disabledBecause}`] : []),
    ...(failingSince ? [`no try has succeeded since ${failingSince}`] : []),
    ...(overlapUntil ? [`two secrets sign until ${overlapUntil}`] : []),
  ];
}
