/** Runs the command line as a separate process, as a person or a script does. */
import { type ChildProcess, type ExecFileException, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { compileCache } from "./test-run.ts";

/** The result of a command: its exit code, or -1 if it did not exit by itself, and its output. */
export type FinishedCommand = { readonly code: number; readonly out: string; readonly err: string };

const main = join(import.meta.dirname, "../../main.mjs");

/** `switchyard …`, with only these environment variables, and `input` on its standard input. */
export function runCommand(
  parts: readonly string[],
  options: { env?: Record<string, string>; input?: string } = {},
): Promise<FinishedCommand> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [main, ...parts],
      { env: { ...compileCache, ...options.env } },
      (error, out, err) => resolve({ code: error === null ? 0 : exitCodeOf(error), out, err }),
    );
    child.stdin?.end(options.input);
  });
}

/** `switchyard rpc METHOD`, with the request on standard input. */
export function runRpc(method: string, request: object, options: readonly string[]): Promise<FinishedCommand> {
  return runCommand(["rpc", method, "-", ...options, "--json"], { input: JSON.stringify(request) });
}

// A signal leaves no code, and a failed start a word such as ENOENT.
function exitCodeOf({ code }: ExecFileException): number {
  return typeof code === "number" ? code : -1;
}

// Longer than a command needs to start on a busy machine, shorter than a test's own timeout.
const lineWaitMs = 30_000;

/** Calls a method by `switchyard rpc`, and returns its answer. Throws unless it succeeds and reports nothing beside it. */
// biome-ignore lint/suspicious/noExplicitAny: each method answers in its own shape, which the test checks.
export async function callRpc(method: string, request: object, options: readonly string[]): Promise<any> {
  const { code, out, err } = await runRpc(method, request, options);
  if (code !== 0 || err !== "") throw new Error(`${method} ended with ${code}: ${err}${out}`);
  return JSON.parse(out);
}

/** A command that runs until it is stopped. Stop it at the test's end. */
export class RunningCommand {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #exit: Promise<number>;
  #look: () => void = () => {};

  constructor(parts: readonly string[]) {
    this.#child = spawn(process.execPath, [main, ...parts], {
      env: compileCache,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#exit = new Promise((resolve) => this.#child.on("exit", (code) => resolve(code ?? -1)));
    createInterface({ input: this.#child.stdout! }).on("line", (line) => {
      this.lines.push(line);
      this.#look();
    });
  }

  /** Returns the first matching line, past or future. */
  waitForLine(fits: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const tooLate = () => reject(new Error(`no line matches ${fits}; the lines are:\n${this.lines.join("\n")}`));
      const timer = setTimeout(tooLate, lineWaitMs);
      this.#look = () => {
        const line = this.lines.find((each) => fits.test(each));
        if (line === undefined) return;
        clearTimeout(timer);
        resolve(line);
      };
      this.#look();
    });
  }

  /** Sends Ctrl-C, and returns the exit code. */
  stop(signal: "SIGINT" | "SIGKILL" = "SIGINT"): Promise<number> {
    this.#child.kill(signal);
    return this.#exit;
  }
}
