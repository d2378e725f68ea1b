/** `switchyard delivery`: the delivery log of a merchant's events, and sending them again. */
import { Command, Option } from "commander";
import type { AttemptView, DashboardClient } from "../client/dashboard-client.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { addPaging, type PagingOptions, pageOf, withNextPage } from "./paging.ts";
import { sameScope } from "./same-scope.ts";
import { parseTime } from "./times.ts";

type ListOptions = MerchantOptions &
  PagingOptions & {
    readonly endpoint?: string;
    readonly session?: string;
    readonly event?: string;
    readonly status?: "pending" | "succeeded" | "exhausted";
  };

/** Shows the delivery log, replays one delivery, and recovers all since a time. */
export function deliveryCommand(): Command {
  return new Command("delivery")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(replayCommand())
    .addCommand(recoverCommand());
}

const statuses = { pending: "PENDING", succeeded: "SUCCEEDED", exhausted: "EXHAUSTED" } as const;

// Nothing is sent to such an endpoint, even if a delivery is due.
const waitsFor: Readonly<Record<string, string>> = {
  PENDING: "waits until the endpoint is verified",
  PAUSED: "waits until the endpoint is resumed",
  DISABLED: "none: its endpoint is disabled",
};

function listCommand(): Command {
  const command = merchantCommand("list", {
    description: "list deliveries, newest event first",
    example: "switchyard delivery list --endpoint we_01h455vb4pex5vsknk084sn02q --status exhausted",
  })
    .option("--endpoint <id>", "only deliveries to this endpoint")
    .option("--session <id>", "only deliveries of this payment session")
    .option("--event <id>", "only deliveries of this event")
    .addOption(new Option("--status <status>", "only deliveries with this status").choices(Object.keys(statuses)));
  return addPaging(command).action(async (options: ListOptions) => {
    const { endpoint: endpointId = "", session: sessionId = "", event: eventId = "", status } = options;
    const filter = { endpointId, sessionId, eventId, ...(status && { status: statuses[status] }) };
    const waiting = new Map<string | undefined, string>();
    await administer(
      options,
      async ({ deliveries, endpoints }) => {
        const page = await deliveries.listWebhookDeliveries({ ...scopeOf(options), ...filter, ...pageOf(options) });
        if (options.json || !page.deliveries?.some(({ nextAttemptAt }) => nextAttemptAt)) return page;
        const { endpoints: known = [] } = await endpoints.listWebhookEndpoints(scopeOf(options));
        for (const { endpointId, status } of known) waiting.set(endpointId, waitsFor[status ?? ""] ?? "");
        return page;
      },
      ({ deliveries = [], nextPageToken }) =>
        withNextPage(
          table(
            ["EVENT", "ENDPOINT", "TYPE", "ORDER", "STATUS", "HTTP", "ATTEMPTS", "NEXT ATTEMPT"],
            deliveries.map((delivery) => [
              delivery.eventId ?? "",
              delivery.endpointId ?? "",
              delivery.type ?? "",
              delivery.orderRef ?? "",
              delivery.status ?? "",
              delivery.lastNoAnswer ?? String(delivery.lastStatusCode ?? ""),
              String(delivery.scheduledAttempts ?? 0),
              delivery.nextAttemptAt ? waiting.get(delivery.endpointId) || delivery.nextAttemptAt : "",
            ]),
            "No delivery matches.",
          ),
          nextPageToken,
        ),
    );
  });
}

function showCommand(): Command {
  return merchantCommand("show", {
    description: "show a delivery with the time, the duration and the response of each delivery attempt",
    example: "switchyard delivery show evt_01h455vb4pex5vsknk084sn02q we_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<event>", "id of the event")
    .argument("<endpoint>", "id of the endpoint")
    .action(async (eventId: string, endpointId: string, options: MerchantOptions) => {
      await administer(
        options,
        ({ deliveries }) => deliveries.getWebhookDelivery({ ...scopeOf(options), eventId, endpointId }),
        ({ delivery = {}, log = [] }) => [
          `${delivery.eventId}  ${delivery.type}  ${delivery.status}  ${delivery.sessionId}`,
          ...log.map(describeAttempt),
          ...(delivery.nextAttemptAt ? [`next delivery attempt at ${delivery.nextAttemptAt}`] : []),
        ],
      );
    });
}

function replayCommand(): Command {
  return merchantCommand("replay", {
    description: "post a delivery once more, whatever its status; exits with 1 if the endpoint does not accept it",
    example: "switchyard delivery replay evt_01h455vb4pex5vsknk084sn02q we_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<event>", "id of the event")
    .argument("<endpoint>", "id of the endpoint")
    .action(async (eventId: string, endpointId: string, options: MerchantOptions) => {
      const { accepted } = await administer(
        options,
        ({ deliveries }) => deliveries.replayWebhookDelivery({ ...scopeOf(options), eventId, endpointId }),
        ({ attempt = {}, delivery }) => [describeAttempt(attempt), `The delivery is ${delivery?.status}.`],
      );
      if (!accepted) process.exitCode = 1;
    });
}

function recoverCommand(): Command {
  return merchantCommand("recover", {
    description: "send an endpoint every event since a time that it has not accepted with a 2xx response",
    example: "switchyard delivery recover we_01h455vb4pex5vsknk084sn02q --since 2026-11-01T08:00:00Z",
  })
    .argument("<endpoint>", "id of the endpoint")
    .requiredOption("--since <time>", "start time, such as 2026-11-01T08:00:00Z", parseTime)
    .action(async (endpointId: string, options: MerchantOptions & { since: string }) => {
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

function describeAttempt({ startedAt, durationMs, statusCode, noAnswer, answerExcerpt }: AttemptView): string {
  const answer = noAnswer ? `no answer: ${noAnswer}` : String(statusCode);
  const excerpt = answerExcerpt ? `  ${JSON.stringify(answerExcerpt)}` : "";
  return `  ${startedAt}  ${answer} after ${durationMs} ms${excerpt}`;
}
