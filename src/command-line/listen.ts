/** `switchyard listen`: forwards a merchant's test events to a server on the developer's machine, until Ctrl-C. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import type { EventView } from "../client/dashboard-client.ts";
import type { Attempt } from "../events/record-delivery.ts";
import { exitSoon } from "../platform/process-end.ts";
import {
  type AttachOptions,
  addAttachment,
  addMerchant,
  attach,
  commandLineVariables,
  isDemo,
  isItRunning,
  scopeOf,
  UsageError,
} from "./attachment.ts";
import type { forwardEvent } from "./forward-event.ts";
import { stopRequested } from "./stop-requested.ts";

type ListenOptions = AttachOptions & {
  readonly merchant?: string;
  readonly forward: string;
  readonly events?: string;
  readonly since?: string;
  readonly cursorFile?: string;
  readonly printJson?: boolean;
};

/** Forwards events until Ctrl-C; needs no registered endpoint. */
export function listenCommand(): Command {
  const command = new Command("listen")
    .requiredOption("--forward <url>", "URL to post events to, such as http://localhost:3000/hook")
    .option("--events <types>", "comma-separated event types (default: every type)")
    .option("--since <event>", "start after this event instead of now")
    .option("--cursor-file <file>", "file that keeps the last event; the next run starts after it")
    .option("--print-json", "also print the body of each event")
    .addHelpText("after", "\nExample:\n  switchyard listen --forward http://localhost:3000/hook");
  return addMerchant(addAttachment(command)).action(listen);
}

async function listen(options: ListenOptions): Promise<void> {
  if (!/^https?:$/.test(URL.parse(options.forward)?.protocol ?? "")) {
    throw new UsageError("Give a URL to post to: --forward http://localhost:<port>/<path>.");
  }
  const { grpcAddress, operatorToken } = await attach(options);
  const { merchantId } = scopeOf({ ...options, environment: "test" });
  const { createDashboardClient } = await import("../client/dashboard-client.ts");
  const { followEvents } = await import("./follow-events.ts");
  const { deriveListenSecret, openForwardEgress } = await import("./forward-event.ts");
  const prefix = `${(await commandLineVariables()).brand}_test_whsec_`;
  const secret = deriveListenSecret(operatorToken, { prefix, merchantId });
  const dashboard = createDashboardClient(grpcAddress, operatorToken);
  const egress = openForwardEgress();
  const stop = new AbortController();
  void stopRequested().then(() => {
    stop.abort();
    // Cuts a post under way: Ctrl-C does not wait for it.
    void egress.close();
  });
  console.log("Test events are signed with this secret, the same each time:");
  console.log(`  ${secret.expose()}`);
  let position = startOf(options);
  const following = followEvents(dashboard.deliveries, {
    scope: { merchantId, environment: "ENVIRONMENT_TEST" },
    eventTypes: options.events?.split(",") ?? [],
    after: position,
    onTrouble: (trouble) => console.log(trouble ? describeTrouble(options, trouble) : "The service answers again."),
    closing: stop.signal,
  });
  const context = { egress, url: options.forward, secret, closing: stop.signal, refusals: { isReported: false } };
  let listening = false;
  for await (const { event, position: reached } of following) {
    if (!listening) console.log(`Forwarding events of ${merchantId} to ${options.forward} until Ctrl-C.`);
    listening = true;
    if (event !== undefined && !(await forward(options, context, event))) break;
    position = reached;
    if (options.cursorFile) writeFileSync(options.cursorFile, `${position}\n`);
  }
  if (position) console.log(`To continue from here: --since ${position}`);
  // A call without an answer would keep the process until its deadline.
  exitSoon(0);
}

type Context = Omit<Parameters<typeof forwardEvent>[0], "onWait"> & { readonly refusals: { isReported: boolean } };

/** Forwards one event. Returns false when Ctrl-C interrupted it, so that the event is still to be forwarded. */
async function forward(options: ListenOptions, context: Context, event: EventView): Promise<boolean> {
  const what = `${event.type}  ${event.eventId}`;
  const { forwardEvent } = await import("./forward-event.ts");
  const onWait = (reason: string) => console.log(`${what}  ${reason}: retrying …`);
  const attempt = await forwardEvent({ ...context, onWait }, event);
  if (context.closing.aborted && attempt.type === "noAnswer") return false;
  console.log(`${new Date().toISOString()}  ${what}  ${describe(attempt)}`);
  // Receivers answer 400 to a signature that does not verify, usually because they use another endpoint's secret.
  if (attempt.type === "answered" && attempt.statusCode === 400 && !context.refusals.isReported) {
    context.refusals.isReported = true;
    console.log("  Check that your server verifies with the secret above.");
  }
  if (options.printJson) console.log(event.body);
  return true;
}

function describeTrouble(options: ListenOptions, trouble: string): string {
  const question = isDemo(options) ? ` ${isItRunning}` : "";
  return `The service does not answer; retrying: ${trouble}${question}`;
}

function describe(attempt: Attempt): string {
  if (attempt.type === "answered") return `${attempt.statusCode} after ${attempt.durationMs} ms`;
  return `not forwarded: ${attempt.reason}`;
}

function startOf({ since, cursorFile }: ListenOptions): string | undefined {
  if (since !== undefined || cursorFile === undefined || !existsSync(cursorFile)) return since;
  // An empty file means that there was no event yet, so all of them are new.
  return readFileSync(cursorFile, "utf8").trim();
}
