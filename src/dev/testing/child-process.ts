/** Processes of a benchmark or a run: servers and load generators, one request at a time over IPC. */
import { type ChildProcess, fork, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { finished } from "node:stream/promises";
import { exitSoon } from "../../platform/process-end.ts";
import { requireCleanOutput } from "./clean-output.ts";
import { compileCache } from "./test-run.ts";

// The output that a process may write before it ends; one that writes more is searched at its end.
const writtenCharactersMax = 4_000_000;

type Request = { readonly name: string; readonly order: unknown };
type Reply = { readonly result: unknown } | { readonly problem: string };

export type Handlers = Readonly<Record<string, (order: never) => unknown>>;

/** Called in the process itself: answers its parent, and ends with it. */
export function answerParent(handlers: Handlers): void {
  process.on("message", async ({ name, order }: Request) => {
    const reply = await Promise.resolve()
      .then(() => handlers[name]!(order as never))
      .then<Reply, Reply>(
        (result) => ({ result }),
        (error: Error) => ({ problem: error.stack ?? error.message }),
      );
    process.send!(reply);
  });
  process.once("disconnect", () => exitSoon(0));
}

export class Child {
  readonly #child: ChildProcess;
  readonly #file: string;
  #written = "";

  private constructor(child: ChildProcess, file: string) {
    this.#child = child;
    this.#file = file;
    for (const [from, to] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ] as const) {
      from?.on("data", (chunk: Buffer) => {
        to.write(chunk);
        this.#written = (this.#written + chunk.toString("latin1")).slice(-writtenCharactersMax);
      });
    }
  }

  static start(file: string, variables: Readonly<Record<string, string>> = {}, nodeOptions: readonly string[] = []) {
    const execArgv = ["--disable-warning=ExperimentalWarning", ...nodeOptions];
    // Its output is shown as it arrives, and searched when it has ended.
    const stdio: StdioOptions = ["ignore", "pipe", "pipe", "ipc"];
    return new Child(fork(file, { env: { ...compileCache, ...variables }, execArgv, stdio }), file);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Rejects with the handler's error, or when the process dies. */
  async ask<Result>(name: string, order: unknown = null): Promise<Result> {
    const gone = new AbortController();
    const { signal } = gone;
    try {
      this.#child.send({ name, order } satisfies Request);
      const died = once(this.#child, "exit", { signal }).then(
        (): Reply => ({ problem: `the process died during ${name}` }),
      );
      const answered = once(this.#child, "message", { signal }).then(([reply]): Reply => reply);
      const reply = await Promise.race([answered, died]);
      if ("problem" in reply) throw new Error(reply.problem);
      return reply.result as Result;
    } finally {
      gone.abort();
    }
  }

  async kill(): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  /** Lets it end by itself. Throws if it has written a card or a secret. */
  async close(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.disconnect();
      await once(this.#child, "exit");
    }
    // Its last output may arrive after its end.
    await Promise.all([this.#child.stdout, this.#child.stderr].map((stream) => stream && finished(stream)));
    requireCleanOutput([{ where: basename(this.#file), text: this.#written }]);
  }
}

/** The answer of every server process to `usage`. */
export type Usage = { readonly cpuMs: number; readonly residentBytes: number };

/** CPU time of all threads of this process, in user and system, and its memory. */
export function readUsage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1_000, residentBytes: process.memoryUsage.rss() };
}
