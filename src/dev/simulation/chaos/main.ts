/** `npm run chaos`: runs the whole product under load while its processes are killed, then counts the money. */
import { randomInt } from "node:crypto";
import { Command, InvalidArgumentError, Option } from "commander";
import { CannotStart } from "../../../demo/detached-server.ts";
import { exitSoon } from "../../../platform/process-end.ts";
import { type ChaosOptions, runChaos } from "./chaos-run.ts";
import { stopOrphans } from "./orphans.ts";
import { createProgress } from "./progress.ts";
import { writeReport } from "./report.ts";

const seedMax = 2 ** 31 - 1;
const ratePerSecond = 4;
// The exit code that a shell shows for a program ended by Ctrl-C.
const interruptedCode = 130;

const program = new Command("chaos")
  .description(
    "Runs everything with two edges and two workers on this machine, with sandbox gateways that lose, delay and repeat " +
      "messages; kills and stops processes, PostgreSQL and NATS under load; then counts the money. Exits with 0 only when " +
      "nothing is wrong.",
  )
  .requiredOption(
    "--minutes <minutes>",
    "how long faults are injected; settling takes another one to twelve minutes",
    above(0),
  )
  .option("--seed <seed>", "the seed of the faults, to repeat a run (default: a random one)", whole)
  .option("--rate <rate>", "new sessions per second", above(0), ratePerSecond)
  .addOption(
    new Option("--gateways <which>", "the two sandbox gateways, or also the emulators of STRIPE, ADYEN and PAYPAL")
      .choices(["sandbox", "all"])
      .default("sandbox"),
  )
  .addOption(
    new Option(
      "--cells <number>",
      "the environment in one database, or in two cells with a PostgreSQL and a merchant each",
    )
      .choices(["1", "2"])
      .default("1"),
  )
  .option("--keep", "keep the state folder even when nothing is wrong")
  .addHelpText(
    "after",
    "\nExamples:\n  npm run chaos -- --minutes 10 --seed 7 --rate 5\n  npm run chaos -- --minutes 10 --gateways all\n  npm run chaos -- --minutes 10 --cells 2",
  )
  .action(async (given: Omit<ChaosOptions, "seed" | "cells"> & { seed?: number; cells: string }) => {
    const options = { ...given, cells: Number(given.cells) };
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
    exitSoon(verdict === undefined ? interruptedCode : verdict.violations.length > 0 ? 1 : 0);
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof CannotStart ? error.message : error);
  exitSoon(1);
}

function above(bound: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!Number.isFinite(number) || number <= bound)
      throw new InvalidArgumentError(`It must be a number above ${bound}.`);
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
