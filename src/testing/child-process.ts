/** Processes of a benchmark or a run: servers and load generators apart from each other, asked one thing at a time over IPC. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

type Request = { readonly name: string; readonly order: unknown };
type Reply = { readonly result: unknown } | { readonly problem: string };

/** What a process can be asked for, by name. */
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
  process.once("disconnect", () => process.exit());
}

/** A process as its parent holds it. */
export class Child {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts `file` with nothing but these environment variables. */
  static start(file: string, variables: Readonly<Record<string, string>> = {}, nodeOptions: readonly string[] = []) {
    const execArgv = ["--disable-warning=ExperimentalWarning", ...nodeOptions];
    return new Child(fork(file, { env: { ...variables }, execArgv }));
  }

  /** The process's id. */
  get pid(): number {
    return this.#child.pid!;
  }

  /** Rejects with what the handler threw, or when the process dies over it. */
  async ask<Result>(name: string, order: unknown = null): Promise<Result> {
    const gone = new AbortController();
    const { signal } = gone;
    try {
      this.#child.send({ name, order } satisfies Request);
      const died = once(this.#child, "exit", { signal }).then(
        (): Reply => ({ problem: `died while asked to ${name}` }),
      );
      const answered = once(this.#child, "message", { signal }).then(([reply]): Reply => reply);
      const reply = await Promise.race([answered, died]);
      if ("problem" in reply) throw new Error(reply.problem);
      return reply.result as Result;
    } finally {
      gone.abort();
    }
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  /** Lets it end by itself. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, "exit");
  }
}

/** What every server process answers to `usage`. */
export type Usage = { readonly cpuMs: number; readonly residentBytes: number };

/** CPU time of all threads of this process, in user and system, and its memory. */
export function readUsage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1_000, residentBytes: process.memoryUsage.rss() };
}
