/** Reports a command's failure plainly. Loaded only when there is one. */
import { ConfigError } from "../config/config.ts";
import { CannotStart } from "../demo/detached-server.ts";
import { SchemaError } from "../migrations/schema-error.ts";
import { UsageError } from "./attachment.ts";
import { describeRefusal } from "./output.ts";
import { asCalled } from "./present-help.ts";

/** Prints an error: one line if a person can correct it; any other is a bug and prints its stack. */
export function reportFailure(error: unknown): void {
  const refusal = describeRefusal(error, { json: process.argv.includes("--json") });
  console.error(refusal ?? (isPlain(error) ? asCalled(error.message) : error));
}

function isPlain(error: unknown): error is Error {
  const ours = [CannotStart, ConfigError, SchemaError, UsageError];
  return ours.some((kind) => error instanceof kind) || isSystemError(error);
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
