/** Runs one role as a process that is killed, stopped and restarted, as by an installation's supervisor. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Role } from "../../../config/checked-config.ts";
import { CannotStart } from "../../../demo/detached-server.ts";
import { type RoleProcess, startRole } from "../../../demo/roles.ts";
import { capturesInFlight } from "./later.ts";
import { refundsInFlight } from "./refunds.ts";
import type { Tally } from "./tally.ts";

export type KeptRole = {
  /** For example `edge-2`; log files are named after it. */
  readonly name: string;
  readonly role: Role;
  readonly variables: Readonly<Record<string, string>>;
  readonly logFolder: string;
  readonly tally: Tally;
};

// A process that has never run while its servers did will not run.
const firstStartsMax = 10;

/** Keeps one role's process running, except for the faults of the run. */
export class RoleKeeper {
  readonly #kept: KeptRole;
  readonly #startProcess: typeof startRole;
  #process: RoleProcess | undefined;
  #starts = 0;
  #hasRun = false;
  #isStopped = false;
  #isExpected = false;
  #ended = false;
  #goOn: NodeJS.Timeout | undefined;
  #starting: Promise<void> = Promise.resolve();

  readonly #startAgainMs: number;

  constructor(kept: KeptRole, startProcess = startRole, startAgainMs = 1_000) {
    this.#kept = kept;
    this.#startProcess = startProcess;
    this.#startAgainMs = startAgainMs;
  }

  get name(): string {
    return this.#kept.name;
  }

  /** True if it runs and is not stopped. */
  get isUp(): boolean {
    return this.#process !== undefined && !this.#isStopped;
  }

  /** Starts it and keeps it running until `end`. Throws CannotStart if it has never run, and does not after ten tries. */
  start(): Promise<void> {
    this.#starting = this.#keepStarting();
    return this.#starting;
  }

  /** Sends SIGKILL; the role restarts after a while. */
  kill(downMs: number): void {
    // A busy machine may report the end of a killed process later than the next strike: it is started again only once.
    if (this.#process === undefined || this.#isExpected) return;
    this.#isExpected = true;
    this.#goOnNow();
    const { tally, role } = this.#kept;
    tally.add(`kill ${role}`);
    const isServing = role === "edge" || role === "worker";
    if (isServing && tally.of(refundsInFlight) > 0) tally.add("mid-refund kill");
    if (isServing && tally.of(capturesInFlight) > 0) tally.add("mid-capture kill");
    process.kill(this.#process.pid, "SIGKILL");
    void this.#process.ended.then(() => pause(downMs)).then(() => this.start());
  }

  /** Sends SIGSTOP, and SIGCONT after this time. */
  stop(forMs: number): void {
    if (!this.isUp) return;
    this.#kept.tally.add(`stop ${this.#kept.role}`);
    this.#isStopped = true;
    process.kill(this.#process!.pid, "SIGSTOP");
    this.#goOn = setTimeout(() => this.#goOnNow(), forMs);
  }

  async wake(): Promise<void> {
    this.#goOnNow();
    await this.#starting;
    while (this.#process === undefined && !this.#ended) await pause(this.#startAgainMs / 10);
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#isExpected = true;
    this.#goOnNow();
    await this.#starting;
    await this.#process?.close();
  }

  #goOnNow(): void {
    clearTimeout(this.#goOn);
    if (this.#isStopped && this.#process) process.kill(this.#process.pid, "SIGCONT");
    this.#isStopped = false;
  }

  async #keepStarting(): Promise<void> {
    const { name, role, variables, logFolder } = this.#kept;
    mkdirSync(logFolder, { recursive: true });
    while (!this.#ended) {
      const logFile = join(logFolder, `${name}.${++this.#starts}.log`);
      try {
        this.#process = await this.#startProcess(role, { variables, logFile });
        this.#hasRun = true;
        this.#isExpected = this.#ended;
        void this.#process.ended.then(() => this.#afterEnd());
        return;
      } catch (error) {
        if (!(error instanceof CannotStart) || (!this.#hasRun && this.#starts >= firstStartsMax)) throw error;
        this.#kept.tally.add("start failed");
        // Waits a supervisor's interval: the role's database may be down.
        await pause(this.#startAgainMs);
      }
    }
  }

  #afterEnd(): void {
    this.#process = undefined;
    if (this.#isExpected) return;
    this.#kept.tally.add(`ended by itself: ${this.#kept.role}`);
    void pause(this.#startAgainMs).then(() => this.start());
  }
}
