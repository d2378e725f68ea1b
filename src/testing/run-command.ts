/** Runs the command line as a process of its own, as a person or a script does. */
import { execFile } from "node:child_process";
import { join } from "node:path";

/** What a command left behind: its exit code and what it printed. */
export type FinishedCommand = { readonly code: number; readonly out: string; readonly err: string };

const main = join(import.meta.dirname, "..", "main.ts");

/** `switchyard …`, with only these environment variables, and `input` on its standard input. */
export function runCommand(
  parts: readonly string[],
  options: { env?: Record<string, string>; input?: string } = {},
): Promise<FinishedCommand> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...parts], { env: options.env ?? {} }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    );
    child.stdin?.end(options.input);
  });
}
