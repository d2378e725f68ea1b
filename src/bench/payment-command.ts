/** `npm run bench -- payments`: benches 4 to 6. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { natsVersion } from "./machine.ts";
import { positive, stepTeller } from "./options.ts";
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
  const onStep = stepTeller();
  if (profile !== undefined) return console.log(await profilePayments({ ...options, folder: profile }, onStep));
  const report = reportPayments(options, await runPaymentBench(options, onStep), await natsVersion());
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(writePaymentReport(report));
}
