/** `switchyard endpoint`: where a merchant's events go. */
import { Command } from "commander";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";

type EndpointOptions = AttachOptions & ScopeOptions;

/** Adds, verifies and lists the addresses of a merchant that events are sent to. */
export function endpointCommand(): Command {
  return new Command("endpoint")
    .description("where a merchant's events go")
    .addCommand(addCommand())
    .addCommand(verifyCommand())
    .addCommand(listCommand());
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
          `  switchyard endpoint verify ${endpoint?.endpointId}`,
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
