/**
 * `npm run bench`: every benchmark by name. Each prints ratios to peers that ran in the same minutes on the same
 * machine.
 */
import { setFlagsFromString } from "node:v8";

// Help ends soon, and gives V8's workers nothing to optimize (src/main.mjs); a benchmark uses all of V8.
if (process.argv.includes("--help") || process.argv.includes("-h")) {
  setFlagsFromString("--no-opt");
  setFlagsFromString("--no-maglev");
}

const { Command } = await import("commander");
const { dashboardCommand } = await import("./dashboard-command.ts");
const { edgeCommand } = await import("./edge-command.ts");
const { guardsCommand } = await import("./guards-command.ts");
const { monthsCommand } = await import("./months-command.ts");
const { paymentCommand } = await import("./payment-command.ts");
const { processesCommand } = await import("./processes-command.ts");
const { webhookCommand } = await import("./webhook-command.ts");
const { playsEverything } = await import("./whole/whole-command.ts");
const { exitSoon } = await import("../../platform/process-end.ts");
const { widgetCommand } = await import("./widget-command.ts");

await playsEverything(new Command("bench"))
  .description(
    "Measures Switchyard and peers that do the same work, by turns, on this machine. Without a command, measures " +
      "everything and prints one table at the end, which takes about half an hour.",
  )
  .addHelpText(
    "after",
    "\nExamples:\n  npm run bench -- --write\n  npm run bench -- --rows 4,5,10\n  npm run bench -- edge --rounds 7",
  )
  .addCommand(edgeCommand())
  .addCommand(paymentCommand())
  .addCommand(guardsCommand())
  .addCommand(monthsCommand())
  .addCommand(processesCommand())
  .addCommand(dashboardCommand())
  .addCommand(webhookCommand())
  .addCommand(widgetCommand())
  .parseAsync();
// A benchmark has released everything; Node must not delay the end.
exitSoon(Number(process.exitCode ?? 0));
