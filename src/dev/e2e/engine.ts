/** A browser engine as the tests of all engines use it: one page, and expressions that run in it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A page. Expressions may be promises; their results must be JSON. */
export type EnginePage = {
  open(url: string): Promise<void>;
  reload(): Promise<void>;
  run<Result>(expression: string): Promise<Result>;
  /** Runs an expression in the first frame of the page. */
  runInFrame<Result>(expression: string): Promise<Result>;
  /** Runs an expression in the innermost frame of the page's last one. */
  runInLastFrame<Result>(expression: string): Promise<Result>;
  close(): Promise<void>;
};

export type StartEngine = () => Promise<EnginePage>;

// The first start of a profile on a busy machine.
const startTimeoutMs = 60_000;

export class Companion {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts it, and returns the pattern's match in the first line that fits. */
  static async start(
    command: string,
    args: readonly string[],
    { ready, env = {} }: { ready: RegExp; env?: Readonly<Record<string, string>> },
  ): Promise<{ companion: Companion; found: string }> {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { HOME: "/tmp", ...searchPath, ...env },
    });
    const companion = new Companion(child);
    const failed = once(child, "error").then(([error]) => {
      throw new Error(`${command} does not start: apt-get install firefox-esr webkit2gtk-driver xvfb`, {
        cause: error,
      });
    });
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`${command} was not ready within ${startTimeoutMs / 1_000} s`);
      setTimeout(reject, startTimeoutMs, error).unref();
    });
    const found = await Promise.race([
      Promise.any([child.stdout, child.stderr].map((out) => lineOf(out, ready))),
      failed,
      late,
    ]);
    return { companion, found };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}

// No other variable of the caller changes a browser's behaviour.
const searchPath = { PATH: "/usr/local/bin:/usr/bin:/bin" };

async function lineOf(output: NodeJS.ReadableStream, pattern: RegExp): Promise<string> {
  let found: string | undefined;
  const lines = createInterface({ input: output });
  return new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      found ??= pattern.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
    lines.on("close", () => reject(new Error("it ended")));
  });
}
