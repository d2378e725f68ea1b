/** `npm run bench`: every benchmark by name. Each prints ratios to peers that ran in the same minutes on the same machine. */
import { Command } from "commander";
import { dashboardCommand } from "./dashboard-command.ts";
import { edgeCommand } from "./edge-command.ts";
import { paymentCommand } from "./payment-command.ts";
import { webhookCommand } from "./webhook-command.ts";
import { playsEverything } from "./whole/whole-command.ts";
import { widgetCommand } from "./widget-command.ts";

await playsEverything(new Command("bench"))
  .description(
    "Measures Switchyard beside peers that do the same work, by turns, on this machine. Without a name it measures " +
      "everything and ends with one table, which takes about 20 minutes.",
  )
  .addHelpText(
    "after",
    "\nExamples:\n  npm run bench -- --write\n  npm run bench -- --rows 4,5,10\n  npm run bench -- edge --rounds 7",
  )
  .addCommand(edgeCommand())
  .addCommand(paymentCommand())
  .addCommand(dashboardCommand())
  .addCommand(webhookCommand())
  .addCommand(widgetCommand())
  .parseAsync();
