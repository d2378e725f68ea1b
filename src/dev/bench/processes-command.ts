/** `npm run bench -- processes`: the cost of one process more on the same machine. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { createStepReporter, positive } from "./options.ts";
import type { ProcessesOptions } from "./processes-bench.ts";

/** Returns the command, for `npm run bench`. */
export function processesCommand(): Command {
  return new Command("processes")
    .description(
      "Measures payments with one process of each role, with another edge, and with another worker on the same " +
        "machine, by turns: a machine that is fully used gains nothing, so the ratio is the cost of a process more. " +
        "Takes about nine minutes.",
    )
    .option("--rounds <count>", "rounds of each", positive, 7)
    .option("--seconds <seconds>", "how long customers pay concurrently in a round", positive, 8)
    .option("--warm-up <seconds>", "how long they pay before each turn", positive, 15)
    .option("--customers <count>", "the number of concurrent customers", positive, 32)
    .option("--json <file>", "also write every round to a file")
    .addHelpText("after", "\nExample:\n  npm run bench -- processes --rounds 5")
    .action(play);
}

type Options = Omit<ProcessesOptions, "warmUpSeconds"> & { readonly warmUp: number; readonly json?: string };

async function play({ warmUp, json, ...options }: Options): Promise<void> {
  const { arrangements, measureProcesses } = await import("./processes-bench.ts");
  const { spreadOf } = await import("./rounds.ts");
  const { writeRatio, writeTable } = await import("./table.ts");
  const rounds = await measureProcesses({ ...options, warmUpSeconds: warmUp }, createStepReporter());
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ options, rounds }, null, 2)}\n`);
  const lines = arrangements.map((arrangement) => {
    const turns = rounds.map((round) => round[arrangement]);
    const ratio = rounds.map((round) => round[arrangement].paymentsPerSecond / round["one of each"].paymentsPerSecond);
    const perSecond = spreadOf(turns.map(({ paymentsPerSecond }) => paymentsPerSecond)).median;
    const cpuMs = spreadOf(turns.map((turn) => turn.cpuMs)).median;
    return [arrangement, `${perSecond.toFixed(0)}/s`, `${cpuMs.toFixed(1)} ms`, writeRatio(spreadOf(ratio))];
  });
  console.log(writeTable([["processes", "payments", "CPU of one", "payments beside one of each"], ...lines]));
}
