/** `switchyard listen`: forwards a merchant's test events to a server on the developer's machine, until Ctrl-C. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { webhookEventTypes } from "../client/merchant/webhook-event.ts";
import type { WatchedEvent } from "../client/watch-events.ts";
import type { Attempt } from "../events/record-delivery.ts";
import { exitSoon } from "../platform/process-end.ts";
import { Secret } from "../platform/secrets.ts";
import {
  addMerchant,
  commandLineVariables,
  demoOf,
  isDemo,
  isItRunning,
  readSecretFile,
  UsageError,
} from "./attachment.ts";
import type { ForwardContext, forwardEvent } from "./forward-event.ts";
import { shown } from "./output.ts";
import { stopRequested } from "./stop-requested.ts";
import { parseTime } from "./times.ts";

type ListenOptions = {
  readonly demo: string;
  readonly grpcAddress?: string;
  readonly tls?: true;
  readonly secretKeyFile?: string;
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
    .option("--since <time>", "start at this time instead of now; some earlier events may come, too", parseTime)
    .option("--cursor-file <file>", "file that keeps the place; the next run continues there")
    .option("--print-json", "also print the body of each event")
    .option("--demo <folder>", "state folder of a running demo", ".switchyard")
    .option("--grpc-address <host:port>", "gRPC address of an installation's edge, instead of a demo")
    .option("--tls", "encrypt the connection to it")
    .option(
      "--secret-key-file <file>",
      "file with a test key, secret or restricted with the right events.read; or set SWITCHYARD_SECRET_KEY",
    )
    .addHelpText("after", "\nExample:\n  switchyard listen --forward http://localhost:3000/hook");
  return addMerchant(command).action(listen);
}

async function listen(options: ListenOptions): Promise<void> {
  if (!/^https?:$/.test(URL.parse(options.forward)?.protocol ?? "")) {
    throw new UsageError("Give a URL to post to: --forward http://localhost:<port>/<path>.");
  }
  const eventTypes = options.events?.split(",") ?? [];
  const unknown = eventTypes.find((type) => !(webhookEventTypes as readonly string[]).includes(type));
  if (unknown !== undefined) {
    throw new UsageError(`${shown(unknown)} is no type of event: ${webhookEventTypes.join(", ")}.`);
  }
  const key = await keyOf(options);
  const { brand } = await commandLineVariables();
  if (key.expose().startsWith(`${brand}_live_`)) {
    throw new UsageError("This is a key of live, whose events are never forwarded. Give a test key.");
  }
  const { watchEvents } = await import("../client/watch-events.ts");
  const { deriveListenSecret, openForwardEgress } = await import("./forward-event.ts");
  const secret = deriveListenSecret(key, `${brand}_test_whsec_`);
  const egress = openForwardEgress();
  const stop = new AbortController();
  void stopRequested().then(() => {
    stop.abort();
    // Cuts a post under way: Ctrl-C does not wait for it.
    void egress.close();
  });
  console.log("Test events are signed with this secret, the same each time:");
  console.log(`  ${secret.expose()}`);
  const events = watchEvents({
    address: isDemo(options) ? demoOf(options).grpcAddress : options.grpcAddress!,
    ...(options.tls && { tls: {} }),
    credential: () => key.expose(),
    cursor: cursorIn(options),
    ...(options.since && { since: new Date(options.since) }),
    eventTypes,
    onTrouble: (trouble) => console.log(trouble ? describeTrouble(options, trouble) : "The service answers again."),
    signal: stop.signal,
  });
  const context = { egress, url: options.forward, secret, closing: stop.signal, refusals: { isReported: false } };
  let listening = false;
  for await (const { event, cursor } of events) {
    if (!listening) console.log(`Forwarding test events to ${options.forward} until Ctrl-C.`);
    listening = true;
    if (event !== undefined && !(await forward(options, context, event))) break;
    if (options.cursorFile) writeFileSync(options.cursorFile, `${cursor}\n`);
  }
  // A call without an answer would keep the process until its deadline.
  exitSoon(0);
}

async function keyOf(options: ListenOptions): Promise<Secret> {
  const given = options.secretKeyFile
    ? readSecretFile(options.secretKeyFile)
    : (await commandLineVariables()).secretKey;
  if (given !== undefined) return given;
  if (!isDemo(options)) {
    throw new UsageError("Give a test key with --secret-key-file, or set SWITCHYARD_SECRET_KEY.");
  }
  const { merchants } = demoOf(options);
  const merchant = options.merchant ? merchants.find((one) => one.merchantId === options.merchant) : merchants[0];
  if (merchant) return new Secret(merchant.test.secretKey);
  throw new UsageError("The demo does not know this merchant's key. Give it with --secret-key-file.");
}

type Context = Omit<ForwardContext, "onWait"> & { readonly refusals: { isReported: boolean } };

/** Forwards one event. Returns false when Ctrl-C interrupted it, so that the event is still to be forwarded. */
async function forward(
  options: ListenOptions,
  context: Context,
  event: NonNullable<WatchedEvent["event"]>,
): Promise<boolean> {
  const what = `${event.type}  ${event.eventId}`;
  const post: typeof forwardEvent = (await import("./forward-event.ts")).forwardEvent;
  const onWait = (reason: string) => console.log(`${what}  ${reason}: retrying …`);
  const attempt = await post({ ...context, onWait }, event);
  if (context.closing.aborted && attempt.type === "noAnswer") return false;
  console.log(`${new Date().toISOString()}  ${what}  ${describe(attempt)}`);
  // Receivers answer 400 to a signature that does not verify, usually because they use another endpoint's secret.
  if (attempt.type === "answered" && attempt.statusCode === 400 && !context.refusals.isReported) {
    context.refusals.isReported = true;
    console.log("  Check that your server verifies with the secret above.");
  }
  if (options.printJson) console.log(shown(event.body));
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

function cursorIn({ cursorFile }: ListenOptions): string | undefined {
  if (cursorFile === undefined || !existsSync(cursorFile)) return undefined;
  return readFileSync(cursorFile, "utf8").trim() || undefined;
}
