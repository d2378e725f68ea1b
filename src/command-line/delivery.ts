/** `switchyard delivery`: what became of a merchant's events, and sending them again. */
import { Command, Option } from "commander";
import type { DashboardClient, TryView } from "../client/dashboard-client.ts";
import { type AttachOptions, administer, merchantCommand, type ScopeOptions, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";
import { sameScope } from "./same-scope.ts";
import { parseTime } from "./times.ts";

type DeliveryOptions = AttachOptions & ScopeOptions;

type ListOptions = DeliveryOptions &
  PagingOptions & {
    readonly endpoint?: string;
    readonly session?: string;
    readonly event?: string;
    readonly status?: "pending" | "succeeded" | "exhausted";
  };

/** The delivery log, replay of one, recovery since a time. */
export function deliveryCommand(): Command {
  return new Command("delivery")
    .description("what became of a merchant's events, and sending them again")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(replayCommand())
    .addCommand(recoverCommand());
}

const statuses = { pending: "PENDING", succeeded: "SUCCEEDED", exhausted: "EXHAUSTED" } as const;

// Nothing is tried at such an endpoint, whenever a delivery would be due.
const waitsFor: Readonly<Record<string, string>> = {
  PENDING: "waits for verification",
  PAUSED: "waits for resumption",
  DISABLED: "none: its endpoint is disabled",
};

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list deliveries, newest event first",
    example: "switchyard delivery list --endpoint we_01h455vb4pex5vsknk084sn02q --status exhausted",
  })
    .option("--endpoint <id>", "to this endpoint only")
    .option("--session <id>", "of this payment session only")
    .option("--event <id>", "of this event only")
    .addOption(new Option("--status <status>", "in this state only").choices(Object.keys(statuses)));
  return addPaging(command).action(async (options: ListOptions) => {
    const { endpoint: endpointId = "", session: sessionId = "", event: eventId = "", status } = options;
    const filter = { endpointId, sessionId, eventId, ...(status && { status: statuses[status] }) };
    const waiting = new Map<string | undefined, string>();
    await administer(
      options,
      async ({ deliveries, endpoints }) => {
        const page = await deliveries.listWebhookDeliveries({ ...scopeOf(options), ...filter, ...pageOf(options) });
        if (options.json || !page.deliveries?.some(({ nextTryAt }) => nextTryAt)) return page;
        const { endpoints: known = [] } = await endpoints.listWebhookEndpoints(scopeOf(options));
        for (const { endpointId, status } of known) waiting.set(endpointId, waitsFor[status ?? ""] ?? "");
        return page;
      },
      ({ deliveries = [], nextPageToken }) =>
        withNextPage(
          table(
            ["EVENT", "ENDPOINT", "TYPE", "STATUS", "TRIES", "NEXT TRY"],
            deliveries.map((delivery) => [
              delivery.eventId ?? "",
              delivery.endpointId ?? "",
              delivery.type ?? "",
              delivery.status ?? "",
              String(delivery.tries ?? 0),
              delivery.nextTryAt ? waiting.get(delivery.endpointId) || delivery.nextTryAt : "",
            ]),
            "There is no such delivery.",
          ),
          nextPageToken,
        ),
    );
  });
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show a delivery with each try: when, how long, what came back",
    example: "switchyard delivery show evt_01h455vb4pex5vsknk084sn02q we_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<event>", "the event's id")
    .argument("<endpoint>", "the endpoint's id")
    .action(async (eventId: string, endpointId: string, options: DeliveryOptions) => {
      await administer(
        options,
        ({ deliveries }) => deliveries.getWebhookDelivery({ ...scopeOf(options), eventId, endpointId }),
        ({ delivery = {}, log = [] }) => [
          `${delivery.eventId}  ${delivery.type}  ${delivery.status}  ${delivery.sessionId}`,
          ...log.map(describeTry),
          ...(delivery.nextTryAt ? [`next try at ${delivery.nextTryAt}`] : []),
        ],
      );
    });
}

function replayCommand(): Command {
  return merchantCommand("replay", {
    description: "post a delivery once more, whatever became of it; exits with 1 when it is not taken",
    example: "switchyard delivery replay evt_01h455vb4pex5vsknk084sn02q we_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<event>", "the event's id")
    .argument("<endpoint>", "the endpoint's id")
    .action(async (eventId: string, endpointId: string, options: DeliveryOptions) => {
      const { taken } = await administer(
        options,
        ({ deliveries }) => deliveries.replayWebhookDelivery({ ...scopeOf(options), eventId, endpointId }),
        ({ tried = {}, delivery }) => [describeTry(tried), `The delivery is ${delivery?.status}.`],
      );
      if (!taken) process.exitCode = 1;
    });
}

function recoverCommand(): Command {
  return merchantCommand("recover", {
    description: "send an endpoint every event since a time that it has not taken with a 2xx answer",
    example: "switchyard delivery recover we_01h455vb4pex5vsknk084sn02q --since 2026-11-01T08:00:00Z",
  })
    .argument("<endpoint>", "the endpoint's id")
    .requiredOption("--since <time>", "such as 2026-11-01T08:00:00Z", parseTime)
    .action(async (endpointId: string, options: DeliveryOptions & { since: string }) => {
      await administer(
        options,
        ({ deliveries }) => recoverAll(deliveries, { ...scopeOf(options), endpointId, since: options.since }),
        ({ due }) => [
          `${due} deliveries are due now. To see them:`,
          `  switchyard delivery list --endpoint ${endpointId}${sameScope(options)}`,
        ],
      );
    });
}

/** Batch by batch, and says on the way how far it is. */
async function recoverAll(
  deliveries: DashboardClient["deliveries"],
  request: ReturnType<typeof scopeOf> & { endpointId: string; since: string },
): Promise<{ due: number }> {
  let due = 0;
  for (let afterEventId = ""; ; ) {
    const batch = await deliveries.recoverWebhookDeliveries({ ...request, afterEventId });
    due += batch.due ?? 0;
    afterEventId = batch.nextAfterEventId ?? "";
    if (afterEventId === "") return { due };
    console.error(`${due} so far …`);
  }
}

function describeTry({ startedAt, durationMs, statusCode, noAnswer, answerExcerpt }: TryView): string {
  const answer = noAnswer ? `no answer: ${noAnswer}` : String(statusCode);
  const excerpt = answerExcerpt ? `  ${JSON.stringify(answerExcerpt)}` : "";
  return `  ${startedAt}  ${answer} after ${durationMs} ms${excerpt}`;
}
