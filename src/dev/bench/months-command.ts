/** `npm run bench -- months`: the part of row 10 that compares numbers of monthly partitions. */
import { writeFile } from "node:fs/promises";
import { Command, InvalidArgumentError } from "commander";
import type { MonthsOptions } from "./months-bench.ts";
import { createStepReporter, notNegative, positive } from "./options.ts";

/** Returns the command, for `npm run bench`. */
export function monthsCommand(): Command {
  return new Command("months")
    .description(
      "Measures payments in installations whose tables have partitions of a few months and of years, by turns: " +
        "payments per second, CPU, and a submission after a quiet minute. Takes about eight minutes.",
    )
    .option("--months <counts>", "the numbers of months, the first of which is the baseline", parseMonths, [2, 24, 84])
    .option("--sessions-of-month <count>", "sessions in the tables for each month", positive, 10)
    .option("--rounds <count>", "rounds of each", positive, 7)
    .option("--seconds <seconds>", "how long customers pay concurrently in a round", positive, 8)
    .option("--warm-up <seconds>", "how long they pay before the first round", positive, 15)
    .option("--customers <count>", "the number of concurrent customers", positive, 32)
    .option("--quiet-samples <count>", "submissions of each after a quiet time; 0 for none", notNegative, 3)
    .option("--quiet-seconds <seconds>", "the quiet time before each", positive, 60)
    .option("--json <file>", "also write every round to a file")
    .addHelpText("after", "\nExample:\n  npm run bench -- months --months 2,84 --quiet-samples 0")
    .action(play);
}

function parseMonths(text: string): number[] {
  const months = text.split(",").map(Number);
  if (months.length > 1 && months.every((count) => Number.isInteger(count) && count >= 2)) return months;
  throw new InvalidArgumentError("It must be two or more numbers from 2 on, such as 2,24,84.");
}

type Options = Omit<MonthsOptions, "warmUpSeconds"> & { readonly warmUp: number; readonly json?: string };

async function play({ warmUp, json, ...options }: Options): Promise<void> {
  const { measureMonths } = await import("./months-bench.ts");
  const { linesOfMonths } = await import("./whole/growth-lines.ts");
  const { cellsOf, head } = await import("./whole/page.ts");
  const { writeTable } = await import("./table.ts");
  const aged = await measureMonths({ ...options, warmUpSeconds: warmUp }, createStepReporter());
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ options, aged }, null, 2)}\n`);
  console.log(writeTable([head, ...linesOfMonths(aged, options.quietSeconds).map(cellsOf)]));
}
