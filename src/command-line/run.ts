/** Runs a command, and reports errors plainly. */

import { ConfigError } from "../config/config.ts";
import { CannotStart } from "../demo/detached-server.ts";
import { SchemaError } from "../migrations/schema-error.ts";
import { exitSoon } from "../platform/process-end.ts";
import { UsageError } from "./attachment.ts";
import { describeRefusal } from "./output.ts";
import { asCalled, presentHelp } from "./present-help.ts";
import { createProgram } from "./program.ts";

/** Runs the command of this process; exits with 1 when it fails. */
export async function runCommandLine(): Promise<void> {
  try {
    const program = createProgram();
    presentHelp(program);
    // A wrong argument of a command that runs until it is stopped ends it too.
    for (const command of program.commands) command.exitOverride(({ exitCode }) => exitSoon(exitCode));
    await program.parseAsync();
  } catch (error) {
    // An error that a person can correct takes one line; any other is a bug and prints its stack.
    const refusal = describeRefusal(error, { json: process.argv.includes("--json") });
    console.error(refusal ?? (isPlain(error) ? asCalled(error.message) : error));
    exitSoon(1);
  }
}

function isPlain(error: unknown): error is Error {
  const ours = [CannotStart, ConfigError, SchemaError, UsageError];
  return ours.some((kind) => error instanceof kind) || isSystemError(error);
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
