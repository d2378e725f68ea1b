/** The command line as a whole: every command under one name. */
import { Command } from "commander";
import { version } from "../version.ts";
import { alertCommand } from "./alert.ts";
import { analyticsCommand } from "./analytics.ts";
import { auditCommand } from "./audit.ts";
import { blocklistCommand } from "./blocklist.ts";
import { cellCommand } from "./cell.ts";
import { configurationCommand } from "./configuration.ts";
import { connectionCommand } from "./connection.ts";
import { customerCommand } from "./customer.ts";
import { deliveryCommand } from "./delivery.ts";
import { demoCommand } from "./demo.ts";
import { doctorCommand } from "./doctor.ts";
import { endpointCommand } from "./endpoint.ts";
import { gatewayCommand } from "./gateway.ts";
import { keysCommand } from "./keys.ts";
import { ledgerCommand } from "./ledger.ts";
import { listenCommand } from "./listen.ts";
import { membersCommand } from "./member.ts";
import { merchantsCommand } from "./merchant.ts";
import { migrateCommand } from "./migrate.ts";
import { operatorsCommand } from "./operator.ts";
import { originsCommand } from "./origins.ts";
import { paymentCommand } from "./payment.ts";
import { reconciliationCommand } from "./reconciliation.ts";
import { refundCommand } from "./refund.ts";
import { restoreCommand } from "./restore.ts";
import { retentionCommand } from "./retention.ts";
import { routingCommand } from "./routing.ts";
import { serveCommand } from "./serve.ts";
import { serverKeysCommand } from "./server-keys.ts";
import { sessionCommand } from "./session.ts";
import { settingsCommand } from "./settings.ts";
import { workQueueCommand } from "./work-queue.ts";

/** Returns all commands, ready to parse arguments. */
export function createProgram(): Command {
  const program = new Command("switchyard")
    .description("Payment sessions with gateway failover that can never capture twice.")
    .version(version)
    .showHelpAfterError()
    .addHelpText("after", "\nExample:\n  switchyard demo        run everything on this machine");
  const commands = [
    demoCommand(),
    serveCommand(),
    migrateCommand(),
    configurationCommand(),
    doctorCommand(),
    retentionCommand(),
    serverKeysCommand(),
    restoreCommand(),
    operatorsCommand(),
    merchantsCommand(),
    cellCommand(),
    membersCommand(),
    keysCommand(),
    connectionCommand(),
    gatewayCommand(),
    routingCommand(),
    originsCommand(),
    settingsCommand(),
    customerCommand(),
    blocklistCommand(),
    endpointCommand(),
    deliveryCommand(),
    listenCommand(),
    alertCommand(),
    analyticsCommand(),
    auditCommand(),
    workQueueCommand(),
    reconciliationCommand(),
    sessionCommand(),
    paymentCommand(),
    refundCommand(),
    ledgerCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  return program;
}
