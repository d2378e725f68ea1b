/** `npm run bench -- payments`: rows 4 to 6. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { natsVersion } from "./machine.ts";
import { createStepReporter, notNegative, positive } from "./options.ts";
import type { PaymentBenchOptions } from "./payment-bench.ts";

/** Returns the command, for `npm run bench`. */
export function paymentCommand(): Command {
  return new Command("payments")
    .description(
      "Measures payments through edge, vault and sandbox gateways that answer at once, and by turns those of a peer " +
        "written by hand: the duration of a payment, also after a quiet minute, what a failover adds, commits, round " +
        "trips, payments per second, CPU and memory. Takes about ten minutes.",
    )
    .option("--rounds <count>", "rounds of each figure", positive, 7)
    .option("--samples <count>", "payments of each kind, and commits, in a round, one at a time", positive, 60)
    .option("--seconds <seconds>", "how long customers pay concurrently in a round", positive, 8)
    .option("--warm-up <seconds>", "how long they pay at each side before the first round", positive, 20)
    .option("--customers <count>", "the number of concurrent customers", positive, 32)
    .option("--quiet-samples <count>", "submissions of each side after a quiet time; 0 for none", notNegative, 5)
    .option("--quiet-seconds <seconds>", "the quiet time before each", positive, 60)
    .option("--json <file>", "also write every round to a file")
    .option(
      "--profile <folder>",
      "profile the roles under many customers instead of measuring, and report where time and memory went",
    )
    .addHelpText("after", "\nExample:\n  npm run bench -- payments --json payments.json")
    .action(play);
}

type Options = Omit<PaymentBenchOptions, "warmUpSeconds"> & {
  readonly warmUp: number;
  readonly json?: string;
  readonly profile?: string;
};

async function play({ json, profile, warmUp, ...rest }: Options): Promise<void> {
  const options: PaymentBenchOptions = { ...rest, warmUpSeconds: warmUp };
  const { runPaymentBench } = await import("./payment-bench.ts");
  const { profilePayments } = await import("./payment-profile.ts");
  const { reportPayments, writePaymentReport } = await import("./payment-report.ts");
  const onStep = createStepReporter();
  if (profile !== undefined) return console.log(await profilePayments({ ...options, folder: profile }, onStep));
  const report = reportPayments(options, await runPaymentBench(options, onStep), await natsVersion());
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(writePaymentReport(report));
}
