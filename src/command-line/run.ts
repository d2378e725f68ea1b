/** Runs a command, and reports errors plainly. */
import { exitSoon } from "../platform/process-end.ts";
import { presentHelp } from "./present-help.ts";
import { createProgram } from "./program.ts";

/** Runs the command of this process; exits with 1 when it fails. */
export async function runCommandLine(): Promise<void> {
  try {
    // `help` may stand before the command.
    const words = process.argv.slice(2, 4);
    const program = await createProgram((name) => words.includes(name));
    presentHelp(program);
    // A wrong argument of a command that runs until it is stopped ends it too.
    for (const command of program.commands) command.exitOverride(({ exitCode }) => exitSoon(exitCode));
    await program.parseAsync();
  } catch (error) {
    const { reportFailure } = await import("./report-failure.ts");
    reportFailure(error);
    exitSoon(1);
  }
}
