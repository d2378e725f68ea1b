/** `npm run bench -- payments`: rows 4 to 6. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { natsVersion } from "./machine.ts";
import { createStepReporter, positive } from "./options.ts";
import type { PaymentBenchOptions } from "./payment-bench.ts";

/** Returns the command, for `npm run bench`. */
export function paymentCommand(): Command {
  return new Command("payments")
    .description(
      "Measures payments through edge, vault and sandbox gateways that answer at once: the duration of one payment beside " +
        "a commit of its database, what a failover adds, commits, round trips, and payments per second. Takes about two minutes.",
    )
    .option("--rounds <count>", "rounds of each figure", positive, 5)
    .option("--samples <count>", "payments of each kind, and commits, in a round, one at a time", positive, 60)
    .option("--seconds <seconds>", "how long customers pay concurrently in a round", positive, 8)
    .option("--customers <count>", "the number of concurrent customers", positive, 32)
    .option("--json <file>", "also write every round to a file")
    .option(
      "--profile <folder>",
      "profile the roles under many customers instead of measuring, and report where time and memory went",
    )
    .addHelpText("after", "\nExample:\n  npm run bench -- payments --json payments.json")
    .action(play);
}

type Options = PaymentBenchOptions & { readonly json?: string; readonly profile?: string };

async function play({ json, profile, ...options }: Options): Promise<void> {
  const { runPaymentBench } = await import("./payment-bench.ts");
  const { profilePayments } = await import("./payment-profile.ts");
  const { reportPayments, writePaymentReport } = await import("./payment-report.ts");
  const onStep = createStepReporter();
  if (profile !== undefined) return console.log(await profilePayments({ ...options, folder: profile }, onStep));
  const report = reportPayments(options, await runPaymentBench(options, onStep), await natsVersion());
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(writePaymentReport(report));
}
