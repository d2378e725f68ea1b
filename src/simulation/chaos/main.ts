/** `npm run chaos`: the whole product under load while its processes are killed, then the money is counted. */
import { randomInt } from "node:crypto";
import { Command, InvalidArgumentError, Option } from "commander";
import { CannotStart } from "../../demo/detached-server.ts";
import { type ChaosOptions, runChaos } from "./chaos-run.ts";
import { stopOrphans } from "./orphans.ts";
import { createProgress } from "./progress.ts";
import { writeReport } from "./report.ts";

const seedMax = 2 ** 31 - 1;
const ratePerSecond = 4;
// What a shell shows for a program that Ctrl-C ended.
const interruptedCode = 130;

const program = new Command("chaos")
  .description(
    "Runs everything with two edges and two workers on this machine, with pretend acquirers that lose, delay and repeat " +
      "messages; kills and stops processes, PostgreSQL and NATS under load; then counts the money. Ends with 0 only when " +
      "nothing is wrong.",
  )
  .requiredOption(
    "--minutes <minutes>",
    "how long things go wrong; coming to rest takes one to twelve minutes more",
    above(0),
  )
  .option("--seed <seed>", "what is done to whom, to do it again; by default another one each time", whole)
  .option("--rate <rate>", "new sessions in a second", above(0), ratePerSecond)
  .addOption(
    new Option("--gateways <which>", "the two pretend gateways, or stand-ins of STRIPE, ADYEN and PAYPAL before them")
      .choices(["pretend", "all"])
      .default("pretend"),
  )
  .option("--keep", "keep the state folder although nothing is wrong")
  .addHelpText("after", "\nExample:\n  npm run chaos -- --minutes 10 --seed 7 --rate 5")
  .action(async (options: Omit<ChaosOptions, "seed"> & { seed?: number }) => {
    const interrupted = new AbortController();
    process.on("SIGINT", () => interrupted.abort());
    process.on("SIGTERM", () => interrupted.abort());
    await stopOrphans();
    const progress = createProgress();
    const seed = options.seed ?? randomInt(seedMax);
    console.log(`Chaos for ${options.minutes} min with seed ${seed}. Starting …`);
    const { signal } = interrupted;
    const verdict = await runChaos({ ...options, seed }, { signal, show: progress.show }).finally(progress.end);
    if (verdict === undefined) console.log("Interrupted; everything was stopped and removed.");
    else console.log(writeReport(verdict));
    process.exit(verdict === undefined ? interruptedCode : verdict.violations.length > 0 ? 1 : 0);
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof CannotStart ? error.message : error);
  process.exit(1);
}

function above(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!Number.isFinite(number) || number <= least)
      throw new InvalidArgumentError(`It must be a number above ${least}.`);
    return number;
  };
}

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > seedMax) {
    throw new InvalidArgumentError(`It must be an integer from 0 to ${seedMax}.`);
  }
  return number;
}
