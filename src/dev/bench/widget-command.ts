/** `npm run bench -- widget`: the whole table of the widget's figures, in one run. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { positive } from "./options.ts";

type Options = {
  readonly openings: number;
  readonly cycles: number;
  readonly payments: number;
  readonly json?: string;
};

// A terminal shows a bar; other outputs get a line at this interval.
const lineEveryMs = 10_000;

/** Returns the command, for `npm run bench`. */
export function widgetCommand(): Command {
  return new Command("widget")
    .description(
      "Measures the widget in Chromium against the whole service: its size beside others, the time until it is usable, and " +
        "its behaviour in trouble. Exits with 1 when a budget is exceeded. Takes about five minutes.",
    )
    .option("--openings <count>", "how often the form is opened, under each of two conditions", positive, 20)
    .option("--cycles <count>", "how often the form is mounted and unmounted", positive, 1_000)
    .option("--payments <count>", "payments under each of three troubles; npm run test:long plays 200", positive, 10)
    .option("--json <file>", "also write every figure to a file")
    .addHelpText("after", "\nExample:\n  npm run bench -- widget --json widget.json")
    .action(play);
}

async function play(options: Options): Promise<void> {
  const { SingleBar } = await import("cli-progress");
  const { measureWidget, stepsInAll } = await import("./widget-bench.ts");
  const { isOverBudget, rowsOf, writeWidgetReport } = await import("./widget-report.ts");
  const bar = new SingleBar({
    format: "widget [{bar}] {value}/{total}, {eta_formatted} left",
    noTTYOutput: true,
    notTTYSchedule: lineEveryMs,
    stream: process.stderr,
    hideCursor: true,
  });
  bar.start(stepsInAll(options), 0);
  const figures = await measureWidget({ ...options, rivals: true }, () => bar.increment()).finally(() => bar.stop());
  const rows = rowsOf(figures);
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify({ rows, figures }, null, 2)}\n`);
  console.log(writeWidgetReport(rows, { times: options.openings }));
  if (isOverBudget(rows)) process.exitCode = 1;
}
