/** `npm run bench -- guards`: what the guards of the checkout cost a plain payment. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import type { GuardsOptions, GuardsPair } from "./guards-bench.ts";
import { createStepReporter, positive } from "./options.ts";

/** Returns the command, for `npm run bench`. */
export function guardsCommand(): Command {
  return new Command("guards")
    .description(
      "Measures payments whose merchant refuses repeated orders, whose cards and networks are counted and whose block " +
        "list is empty, and by turns payments of which nothing is counted and whose repeated orders only warn. The goal is " +
        "0.98 of their rate. Takes about ten minutes.",
    )
    .option("--pairs <count>", "pairs of turns", positive, 20)
    .option("--seconds <seconds>", "how long customers pay concurrently in a turn", positive, 12)
    .option("--warm-up <seconds>", "how long they pay on each side before the first pair", positive, 20)
    .option("--customers <count>", "the number of concurrent customers", positive, 32)
    .option("--json <file>", "also write every pair to a file")
    .addHelpText("after", "\nExample:\n  npm run bench -- guards --pairs 3 --seconds 5")
    .action(play);
}

type Options = Omit<GuardsOptions, "warmUpSeconds"> & { readonly warmUp: number; readonly json?: string };

async function play({ warmUp, json, ...options }: Options): Promise<void> {
  const { measureGuards } = await import("./guards-bench.ts");
  const { intervalOf, spreadOf } = await import("./rounds.ts");
  const { writeTable } = await import("./table.ts");
  const pairs = await measureGuards({ ...options, warmUpSeconds: warmUp }, createStepReporter());
  if (json !== undefined) await writeFile(json, `${JSON.stringify({ options, pairs }, null, 2)}\n`);
  type Turn = GuardsPair["on"];
  const rateOf = ({ payments, elapsedMs }: Turn) => (payments * 1_000) / elapsedMs;
  const cpuOf = ({ cpuMs }: Turn) => Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0);
  const line = (what: string, unit: string, figureOf: (turn: Turn) => number) => {
    const { median, from, to } = intervalOf(pairs.map(({ on, off }) => figureOf(on) / figureOf(off)));
    const medianOf = (side: keyof GuardsPair) => spreadOf(pairs.map((pair) => figureOf(pair[side]))).median;
    const figures = [medianOf("on"), medianOf("off")].map((figure) => `${figure.toFixed(1)}${unit}`);
    return [what, ...figures, `${median.toFixed(3)} (${from.toFixed(3)}–${to.toFixed(3)})`];
  };
  const head = [`${pairs.length} pairs`, "with guards", "without", "ratio, 95 % interval of its median"];
  console.log(writeTable([head, line("payments", "/s", rateOf), line("CPU of one", " ms", cpuOf)]));
}
