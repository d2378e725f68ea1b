/** Runs a command, and says plainly what went wrong. */

import { ConfigError } from "../config.ts";
import { CannotStart } from "../demo/detached-server.ts";
import { SchemaError } from "../migrations/schema-error.ts";
import { UsageError } from "./attachment.ts";
import { describeRefusal } from "./output.ts";
import { asCalled, presentHelp } from "./present-help.ts";
import { createProgram } from "./program.ts";

/** Runs what this process was called with; exits with 1 when it fails. */
export async function runCommandLine(): Promise<void> {
  try {
    const program = createProgram();
    presentHelp(program);
    await program.parseAsync();
  } catch (error) {
    // What a person can put right is said in one line; anything else is a bug and shows where.
    const refusal = describeRefusal(error, { json: process.argv.includes("--json") });
    console.error(refusal ?? (isPlain(error) ? asCalled(error.message) : error));
    process.exit(1);
  }
}

function isPlain(error: unknown): error is Error {
  const ours = [CannotStart, ConfigError, SchemaError, UsageError];
  return ours.some((kind) => error instanceof kind) || isSystemError(error);
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
