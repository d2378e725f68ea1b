#!/usr/bin/env node
/** The process behind the command line: runs a command, and says plainly what went wrong. */
import { UsageError } from "./command-line/attachment.ts";
import { describeRefusal } from "./command-line/output.ts";
import { asCalled, presentHelp } from "./command-line/present-help.ts";
import { createProgram } from "./command-line/program.ts";
import { ConfigError } from "./config.ts";
import { CannotStart } from "./demo/detached-server.ts";
import { SchemaError } from "./migrations/schema-error.ts";

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

function isPlain(error: unknown): error is Error {
  const ours = [CannotStart, ConfigError, SchemaError, UsageError];
  return ours.some((kind) => error instanceof kind) || isSystemError(error);
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
