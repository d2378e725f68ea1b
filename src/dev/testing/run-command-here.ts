/** Runs the command line in the test's process, which takes a tenth of the time of a separate process. */
import { Console } from "node:console";
import { join } from "node:path";
import { Writable } from "node:stream";
import { type Command, CommanderError } from "commander";
import { vi } from "vitest";
import { presentHelp } from "../../command-line/present-help.ts";
import { createProgram } from "../../command-line/program.ts";
import { reportFailure } from "../../command-line/report-failure.ts";
import type { FinishedCommand } from "./run-command.ts";

const main = join(import.meta.dirname, "../../main.mjs");

/**
 * `switchyard …`, with these environment variables. One at a time: meanwhile, what the process prints is the
 * command's. That a real process begins and ends is tested by `runCommand`.
 */
export async function runCommandHere(
  parts: readonly string[],
  { env = {} }: { env?: Record<string, string> } = {},
): Promise<FinishedCommand> {
  const [out, err] = [new Output(), new Output()];
  const ours = { console, argv: process.argv };
  globalThis.console = new Console(out, err);
  process.argv = [process.execPath, main, ...parts];
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  process.exitCode = undefined;
  try {
    const code = await codeOf(parts, out, err);
    return { code, out: out.text, err: err.text };
  } finally {
    globalThis.console = ours.console;
    process.argv = ours.argv;
    vi.unstubAllEnvs();
    process.exitCode = undefined;
  }
}

async function codeOf(parts: readonly string[], out: Output, err: Output): Promise<number> {
  try {
    const program = await createProgram((name) => parts.includes(name));
    prepare(program, out, err);
    presentHelp(program);
    await program.parseAsync(parts, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    reportFailure(error);
    return 1;
  }
}

function prepare(command: Command, out: Output, err: Output): void {
  command.exitOverride().configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });
  for (const inner of command.commands) prepare(inner, out, err);
}

class Output extends Writable {
  text = "";
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}
