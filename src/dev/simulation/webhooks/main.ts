/** `npm run chaos:webhooks`: thousands of events, dead endpoints, killed workers; counts the webhooks. */
import { SingleBar } from "cli-progress";
import { Command, InvalidArgumentError, Option } from "commander";
import { CannotStart } from "../../../demo/detached-server.ts";
import { exitSoon } from "../../../platform/process-end.ts";
import { writeScaleReport } from "./scale-report.ts";
import { runScale, type ScaleOptions } from "./scale-run.ts";

// A terminal shows a bar; other outputs get a line at this interval.
const lineEveryMs = 10_000;
// The exit code that a shell shows for a program ended by Ctrl-C.
const interruptedCode = 130;

type Options = { events: number; dead: number; workers: number; killEvery: number; natsServers: string };

await new Command("chaos:webhooks")
  .description(
    "Writes events for 60 endpoints, some of them dead, while workers post them and are killed by turns; then compares " +
      "what was received with what was emitted. Exits with 0 only when every event arrived at every healthy endpoint, genuine " +
      "and unchanged, was repeated only where a worker died, and every webhook for a dead endpoint is kept.",
  )
  .requiredOption("--events <count>", "how many events", within(1, 10_000_000))
  .option("--dead <percent>", "the percentage of endpoints that are dead", within(0, 90), 10)
  .option("--workers <count>", "how many worker processes", within(1, 16), 2)
  .option("--kill-every <seconds>", "how often a worker is killed; 0 for never", within(0, 3_600), 10)
  .addOption(new Option("--nats-servers <count>", "1, or a cluster of 3").choices(["1", "3"]).default("1"))
  .addHelpText("after", "\nExample:\n  npm run chaos:webhooks -- --events 5000 --dead 10 --workers 2 --kill-every 10")
  .action(play)
  .parseAsync();

async function play(given: Options): Promise<void> {
  const interrupted = new AbortController();
  process.on("SIGINT", () => interrupted.abort());
  process.on("SIGTERM", () => interrupted.abort());
  const options: ScaleOptions = {
    events: given.events,
    deadPercent: given.dead,
    workers: given.workers,
    killEverySeconds: given.killEvery || undefined,
    natsServers: given.natsServers === "3" ? 3 : 1,
  };
  const bar = new SingleBar({
    format: "webhooks [{bar}] {value} received of {total} emitted so far | {kills} kills, {duration_formatted}",
    barsize: 20,
    noTTYOutput: true,
    notTTYSchedule: lineEveryMs,
    stream: process.stdout,
    hideCursor: true,
  });
  console.log("Starting …");
  bar.start(1, 0, { kills: 0 });
  const show = ({ received, wanted, kills }: { received: number; wanted: number; kills: number }) => {
    bar.setTotal(Math.max(1, wanted));
    bar.update(received, { kills });
  };
  try {
    const verdict = await runScale(options, { signal: interrupted.signal, show }).finally(() => bar.stop());
    console.log(verdict === undefined ? "Interrupted; everything was stopped and removed." : writeScaleReport(verdict));
    exitSoon(verdict === undefined ? interruptedCode : verdict.violations.length > 0 ? 1 : 0);
  } catch (error) {
    console.error(error instanceof CannotStart ? error.message : error);
    exitSoon(1);
  }
}

function within(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (Number.isInteger(number) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
