#!/usr/bin/env node
/** The command line. Puts the commands together, and says plainly what went wrong. */
import { Command } from "commander";
import { UsageError } from "./command-line/attachment.ts";
import { auditCommand } from "./command-line/audit.ts";
import { connectionCommand } from "./command-line/connection.ts";
import { demoCommand } from "./command-line/demo.ts";
import { endpointCommand } from "./command-line/endpoint.ts";
import { keysCommand } from "./command-line/keys.ts";
import { merchantsCommand } from "./command-line/merchant.ts";
import { migrateCommand } from "./command-line/migrate.ts";
import { operatorsCommand } from "./command-line/operator.ts";
import { originsCommand } from "./command-line/origins.ts";
import { describeRefusal } from "./command-line/output.ts";
import { routingCommand } from "./command-line/routing.ts";
import { serveCommand } from "./command-line/serve.ts";
import { serverKeysCommand } from "./command-line/server-keys.ts";
import { sessionCommand } from "./command-line/session.ts";
import { ConfigError } from "./config.ts";
import { CannotStart } from "./demo/detached-server.ts";
import { version } from "./version.ts";

const program = new Command("switchyard")
  .description("Payment sessions with gateway failover that can never capture twice.")
  .version(version)
  .showHelpAfterError()
  .addHelpText("after", "\nExample:\n  switchyard demo        everything on this machine, ready to be tried");

const commands = [
  demoCommand(),
  serveCommand(),
  migrateCommand(),
  serverKeysCommand(),
  operatorsCommand(),
  merchantsCommand(),
  keysCommand(),
  connectionCommand(),
  routingCommand(),
  originsCommand(),
  endpointCommand(),
  auditCommand(),
  sessionCommand(),
];
for (const command of commands) program.addCommand(command);

try {
  await program.parseAsync();
} catch (error) {
  // What a person can put right is said in one line; anything else is a bug and shows where.
  const refusal = describeRefusal(error, { json: process.argv.includes("--json") });
  console.error(refusal ?? (isPlain(error) ? error.message : error));
  process.exit(1);
}

function isPlain(error: unknown): error is Error {
  const isOurs = error instanceof CannotStart || error instanceof ConfigError || error instanceof UsageError;
  return isOurs || isSystemError(error);
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
