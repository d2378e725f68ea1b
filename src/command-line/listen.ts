/** `switchyard listen`: brings a merchant's test events to a server on the developer's machine, until Ctrl-C. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { createDashboardClient, type EventView } from "../client/dashboard-client.ts";
import { readCommandLineVariables } from "../config.ts";
import type { Try } from "../events/record-delivery.ts";
import {
  type AttachOptions,
  addAttachment,
  addMerchant,
  attach,
  isDemo,
  isItRunning,
  scopeOf,
  UsageError,
} from "./attachment.ts";
import { followEvents } from "./follow-events.ts";
import { deriveListenSecret, forwardEvent, openForwardEgress } from "./forward-event.ts";
import { stopRequested } from "./stop-requested.ts";

type ListenOptions = AttachOptions & {
  readonly merchant?: string;
  readonly forward: string;
  readonly events?: string;
  readonly since?: string;
  readonly cursorFile?: string;
  readonly printJson?: boolean;
};

/** Runs until Ctrl-C; needs no registered endpoint. */
export function listenCommand(): Command {
  const command = new Command("listen")
    .description("bring a merchant's test events, signed, to a server on this machine, until Ctrl-C")
    .requiredOption("--forward <url>", "where to post, such as http://localhost:3000/hook")
    .option("--events <types>", "comma-separated event types; every type when not given")
    .option("--since <event>", "begin after this event instead of now")
    .option("--cursor-file <file>", "keep the last event there, and begin after it next time")
    .option("--print-json", "print each event's body, too")
    .addHelpText("after", "\nExample:\n  switchyard listen --forward http://localhost:3000/hook");
  return addMerchant(addAttachment(command)).action(listen);
}

async function listen(options: ListenOptions): Promise<void> {
  if (!/^https?:$/.test(URL.parse(options.forward)?.protocol ?? "")) {
    throw new UsageError("Say where to post with --forward http://localhost:<port>/<path>.");
  }
  const { grpcAddress, operatorToken } = attach(options);
  const { merchantId } = scopeOf({ ...options, environment: "test" });
  const prefix = `${readCommandLineVariables().brand}_test_whsec_`;
  const secret = deriveListenSecret(operatorToken, { prefix, merchantId });
  const dashboard = createDashboardClient(grpcAddress, operatorToken);
  const egress = openForwardEgress();
  const stop = new AbortController();
  void stopRequested().then(() => {
    stop.abort();
    // A post under way is cut: whoever presses Ctrl-C does not wait for it.
    void egress.close();
  });
  console.log("Test events are signed with this secret, the same each time:");
  console.log(`  ${secret.expose()}`);
  let place = startOf(options);
  const following = followEvents(dashboard.deliveries, {
    scope: { merchantId, environment: "ENVIRONMENT_TEST" },
    eventTypes: options.events?.split(",") ?? [],
    after: place,
    onTrouble: (trouble) => console.log(trouble ? describeTrouble(options, trouble) : "It answers again."),
    closing: stop.signal,
  });
  const context = { egress, url: options.forward, secret, closing: stop.signal, refused: { told: false } };
  let listening = false;
  for await (const { event, place: reached } of following) {
    if (!listening) console.log(`Bringing events of ${merchantId} to ${options.forward} until Ctrl-C.`);
    listening = true;
    if (event !== undefined && !(await bring(options, context, event))) break;
    place = reached;
    if (options.cursorFile) writeFileSync(options.cursorFile, `${place}\n`);
  }
  if (place) console.log(`To go on from here: --since ${place}`);
  // A call that nobody answers would keep the process for its whole deadline.
  process.exit(0);
}

type Context = Omit<Parameters<typeof forwardEvent>[0], "onWait"> & { readonly refused: { told: boolean } };

/** False when Ctrl-C has cut it short, so that the event is still to be brought. */
async function bring(options: ListenOptions, context: Context, event: EventView): Promise<boolean> {
  const what = `${event.type}  ${event.eventId}`;
  const onWait = (because: string) => console.log(`${what}  ${because}: trying again …`);
  const tried = await forwardEvent({ ...context, onWait }, event);
  if (context.closing.aborted && tried.kind === "no_answer") return false;
  console.log(`${new Date().toISOString()}  ${what}  ${describe(tried)}`);
  // Receivers answer so to what does not verify, most often for another endpoint's secret.
  if (tried.kind === "answered" && tried.statusCode === 400 && !context.refused.told) {
    context.refused.told = true;
    console.log("  Does it verify with the secret above?");
  }
  if (options.printJson) console.log(event.body);
  return true;
}

function describeTrouble(options: ListenOptions, trouble: string): string {
  const question = isDemo(options) ? ` ${isItRunning}` : "";
  return `The service does not answer, and is tried again until it does: ${trouble}${question}`;
}

function describe(tried: Try): string {
  if (tried.kind === "answered") return `${tried.statusCode} after ${tried.durationMs} ms`;
  return `not brought: ${tried.because}`;
}

function startOf({ since, cursorFile }: ListenOptions): string | undefined {
  if (since !== undefined || cursorFile === undefined || !existsSync(cursorFile)) return since;
  // Empty: there was no event yet, so all of them are new.
  return readFileSync(cursorFile, "utf8").trim();
}
