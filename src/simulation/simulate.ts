/** Plays many seeds on several processes, each with a database of its own on one private PostgreSQL. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPrivatePostgres } from "../demo/private-postgres.ts";
import type { RunResult } from "./run.ts";
import type { Order, Report } from "./seed-runner.ts";

/** A PostgreSQL for simulations only; `stop` leaves nothing of it. */
export type SimulationServer = { readonly url: string; stop(): Promise<void> };

/** Starts a PostgreSQL for simulations alone. Stop it at the end. */
export async function startSimulationServer(): Promise<SimulationServer> {
  const stateFolder = await mkdtemp(join(tmpdir(), "switchyard-simulation-"));
  const postgres = await startPrivatePostgres({ stateFolder, dataName: "postgres", forTests: true });
  return {
    url: postgres.ownerUrl,
    async stop() {
      await postgres.stop({ removeData: true });
      await rm(stateFolder, { recursive: true, force: true });
    },
  };
}

/** Which seeds are played, on which code, and how many at once. */
export type SimulationOptions = {
  readonly serverUrl: string;
  /** The folder of the code to simulate: this one's root, or a copy of it with a rule removed. */
  readonly root: string;
  readonly from: number;
  readonly seeds: number;
  readonly processes: number;
  /** No new seed is begun once so many have been violated. */
  readonly violationsMax: number;
  readonly signal: AbortSignal;
  /** True for a violation that counts. */
  readonly onResult: (result: RunResult) => boolean;
};

// So that no runner waits for another one at the end.
const seedsAtOnce = 10;

/** Resolves when every seed was played, enough were violated, or the signal fired. Rejects when a run itself breaks. */
export async function simulate(options: SimulationOptions): Promise<void> {
  const end = options.from + options.seeds;
  let next = options.from;
  let violations = 0;
  const takeSeeds = (): number[] => {
    if (options.signal.aborted || violations >= options.violationsMax) return [];
    const seeds = Array.from({ length: Math.min(seedsAtOnce, end - next) }, (_, index) => next + index);
    next += seeds.length;
    return seeds;
  };
  const runOne = async () => {
    const runner = await Runner.start(options);
    try {
      for (let seeds = takeSeeds(); seeds.length > 0; seeds = takeSeeds()) {
        await runner.play({ seeds, keepHistory: false }, (result) => {
          if (options.onResult(result)) violations++;
        });
      }
    } finally {
      await runner.close();
    }
  };
  await Promise.all(Array.from({ length: options.processes }, runOne));
}

/** Plays one seed again for its history. */
export async function replay(options: { serverUrl: string; root: string; seed: number }): Promise<RunResult> {
  const runner = await Runner.start(options);
  try {
    let played: RunResult | undefined;
    await runner.play({ seeds: [options.seed], keepHistory: true }, (result) => {
      played = result;
    });
    return played!;
  } finally {
    await runner.close();
  }
}

class Runner {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start({ serverUrl, root }: { serverUrl: string; root: string }): Promise<Runner> {
    // Ctrl-C is for us alone: what is begun is played to its end. A runner ends when we are gone.
    const child = fork(join(root, "src/simulation/seed-runner.ts"), [serverUrl], { detached: true });
    const runner = new Runner(child);
    await runner.#until(({ type }) => type === "ready");
    return runner;
  }

  async play(order: Order, onResult: (result: RunResult) => void): Promise<void> {
    let left = order.seeds.length;
    const finished = this.#until((report) => {
      if (report.type === "result") onResult(report.result);
      return report.type === "result" && --left === 0;
    });
    this.#child.send(order);
    await finished;
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, "exit");
  }

  #until(isLast: (report: Report) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error("a runner of the simulation has died"));
      const onMessage = (report: Report) => {
        if (report.type !== "failed" && !isLast(report)) return;
        this.#child.off("exit", onExit).off("message", onMessage);
        if (report.type === "failed") reject(new Error(report.message));
        else resolve();
      };
      this.#child.on("exit", onExit).on("message", onMessage);
    });
  }
}
