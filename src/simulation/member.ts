/** One process of the service in a run, with everything that it does by itself. Turns that would find nothing are left out: they change no row. */
import { compareOnce } from "../core/compare.ts";
import type { Core } from "../core/core.ts";
import { expireOnce } from "../core/expire-sessions.ts";
import { reconcileOnce } from "../core/reconcile.ts";
import { voidStraysOnce } from "../core/stray-holds.ts";
import { comparisonEveryMs } from "../limits.ts";
import { processNoticesOnce } from "../notifications/process-notices.ts";
import type { Observed } from "./observed.ts";
import type { SimulatedPool } from "./simulated-pool.ts";
import { SimulatedProcess, type Stage } from "./simulated-process.ts";

/** What a member knows of its run. */
export type MemberParts = {
  readonly stage: Stage;
  readonly createPool: (process: SimulatedProcess) => SimulatedPool;
  /** The core of one life of the process: nothing of it outlives a death. */
  readonly createCore: (process: SimulatedProcess, pool: SimulatedPool) => Core;
  readonly observed: () => Observed | undefined;
  /** A moment of the database, in milliseconds since the run began. */
  readonly sinceStart: (moment: string) => number;
};

// The pause between two turns of a loop.
const turnMs = 1_000;

/** A process that serves submissions, takes notices in and runs its turns. */
export class Member {
  readonly process: SimulatedProcess;
  readonly #parts: MemberParts;
  readonly #pool: SimulatedPool;
  #core: Core;
  #recoversAtMs = Number.POSITIVE_INFINITY;
  #isVoidingStrays = false;

  constructor(name: string, parts: MemberParts) {
    this.#parts = parts;
    this.process = new SimulatedProcess(name, parts.stage);
    this.#pool = parts.createPool(this.process);
    this.#core = parts.createCore(this.process, this.#pool);
    this.process.onKill = () => this.#pool.abandon();
    this.process.onStop = (ms) => this.#pool.stopFor(ms);
    this.process.onStart = () => {
      this.#core = parts.createCore(this.process, this.#pool);
      this.#recoversAtMs = Number.POSITIVE_INFINITY;
      this.#isVoidingStrays = false;
      this.start();
    };
  }

  get core(): Core {
    return this.#core;
  }

  /** Its loops begin. */
  start(): void {
    this.onChange();
    this.expireWhenDue();
    this.processNotices();
    this.#compareHourly();
  }

  /** Rows have changed: something may be due earlier than it was. */
  onChange(): void {
    this.#recoverWhenDue();
    this.#voidStraysWhenDue();
  }

  /** Gives back what it holds of the database. */
  abandon(): Promise<void> {
    return this.#pool.abandon();
  }

  processNotices(): void {
    const again = () => this.process.later(turnMs, () => this.processNotices());
    this.#inTurn(0, () => void processNoticesOnce(this.#core).catch(again));
  }

  expireWhenDue(): void {
    const session = this.#parts.observed()?.session;
    if (session?.phase !== "IDLE") return;
    const again = () => this.expireWhenDue();
    this.#inTurn(this.#delayUntil(session.expires_at), () => {
      if (this.#parts.observed()?.session.phase === "IDLE") void expireOnce(this.#core).then(again, again);
    });
  }

  #recoverWhenDue(): void {
    const { timeline, dice } = this.#parts.stage;
    const session = this.#parts.observed()?.session;
    if (session?.phase !== "PROCESSING" || session.lease_until === null) return;
    const atMs = timeline.nowMs + this.#delayUntil(session.lease_until) + dice.between(1, turnMs);
    if (this.#recoversAtMs <= atMs) return;
    this.#recoversAtMs = atMs;
    this.process.later(atMs - timeline.nowMs, () => {
      if (this.#recoversAtMs !== atMs) return;
      this.#recoversAtMs = Number.POSITIVE_INFINITY;
      const leaseUntil = this.#parts.observed()?.session.lease_until;
      if (leaseUntil != null && this.#parts.sinceStart(leaseUntil) >= timeline.nowMs) return this.#recoverWhenDue();
      const again = () => this.process.later(turnMs, () => this.#recoverWhenDue());
      void reconcileOnce(this.#core).then(again, again);
    });
  }

  #voidStraysWhenDue(): void {
    const dueAt = this.#parts.observed()?.strayDueAt;
    if (dueAt == null || this.#isVoidingStrays) return;
    this.#isVoidingStrays = true;
    const again = () => {
      this.#isVoidingStrays = false;
      this.#voidStraysWhenDue();
    };
    this.#inTurn(this.#delayUntil(dueAt), () => void voidStraysOnce(this.#core).then(again, again));
  }

  #compareHourly(): void {
    const { timeline } = this.#parts.stage;
    const again = () => this.#compareHourly();
    this.#inTurn(comparisonEveryMs - (timeline.nowMs % comparisonEveryMs), () => {
      void comparePass(this.#core).then(again, again);
    });
  }

  #delayUntil(moment: string): number {
    return Math.max(0, this.#parts.sinceStart(moment) - this.#parts.stage.timeline.nowMs);
  }

  /** After so long, in the next turn of its loop. */
  #inTurn(delayMs: number, run: () => void): void {
    this.process.later(delayMs + this.#parts.stage.dice.between(0, turnMs), run);
  }
}

async function comparePass(core: Core): Promise<void> {
  while (await compareOnce(core));
}
