/** `npm run bench -- payments`: benches 4 to 6. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { Command } from "commander";
import { findNatsServer } from "../demo/private-nats.ts";
import { positive } from "./options.ts";
import { type PaymentBenchOptions, runPaymentBench } from "./payment-bench.ts";
import { profilePayments } from "./payment-profile.ts";
import { reportPayments, writePaymentReport } from "./payment-report.ts";

/** The command, for `npm run bench`. */
export function paymentCommand(): Command {
  return new Command("payments")
    .description(
      "Payments through edge, vault and pretend gateways that answer at once: how long one takes beside a commit of its " +
        "database, what failing over adds, commits and round trips, and how many a second. Takes about two minutes.",
    )
    .option("--rounds <count>", "rounds of each figure", positive, 5)
    .option("--samples <count>", "payments of each kind and commits, one at a time, in a round", positive, 60)
    .option("--seconds <seconds>", "how long customers pay at once in a round", positive, 8)
    .option("--customers <count>", "how many pay at once", positive, 32)
    .option("--json <file>", "also write every round to a file")
    .option(
      "--profile <folder>",
      "instead of measuring, profile the roles under many customers, and say where time and memory went",
    )
    .addHelpText("after", "\nExample:\n  npm run bench -- payments --json payments.json")
    .action(play);
}

type Options = PaymentBenchOptions & { readonly json?: string; readonly profile?: string };

async function play({ json, profile, ...options }: Options): Promise<void> {
  const startedAt = performance.now();
  const onStep = (step: string) => {
    const passed = ((performance.now() - startedAt) / 1_000).toFixed(0);
    console.error(`${passed.padStart(4)} s  ${step}`);
  };
  if (profile !== undefined) return console.log(await profilePayments({ ...options, folder: profile }, onStep));
  const { stdout } = await promisify(execFile)(await findNatsServer(), ["--version"]);
  const report = reportPayments(options, await runPaymentBench(options, onStep), /v?([\d.]+)/.exec(stdout)![1]!);
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(writePaymentReport(report));
}
