/** `npm run bench`: every benchmark by name. Each prints ratios to peers that ran in the same minutes on the same machine. */
import { Command } from "commander";
import { dashboardCommand } from "./dashboard-command.ts";
import { edgeCommand } from "./edge-command.ts";
import { paymentCommand } from "./payment-command.ts";
import { webhookCommand } from "./webhook-command.ts";
import { widgetCommand } from "./widget-command.ts";

await new Command("bench")
  .description("Measures Switchyard beside peers that do the same work, by turns, on this machine.")
  .addHelpText("after", "\nExample:\n  npm run bench -- edge --rounds 7")
  .addCommand(edgeCommand())
  .addCommand(paymentCommand())
  .addCommand(dashboardCommand())
  .addCommand(webhookCommand())
  .addCommand(widgetCommand())
  .parseAsync();
