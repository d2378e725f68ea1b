/** A process of the service, with its loops. Turns that would find nothing are skipped. */
import type { Core } from "../../core/core.ts";
import { expireOnce } from "../../core/expire-sessions.ts";
import { recoverSessionsOnce } from "../../core/submit-payment.ts";
import { readFeedOnce } from "../../disputes/gateway-feeds.ts";
import { answerDueOnce } from "../../disputes/respond.ts";
import { reconciliationEveryMs } from "../../limits.ts";
import { processNotificationsOnce } from "../../oversight/notifications/process-notifications.ts";
import { createOrphanTurn } from "../../oversight/orphaned-authorizations.ts";
import { reconcileOnce } from "../../oversight/reconcile.ts";
import { createRefundTurn } from "../../refunds/refund-once.ts";
import { matchLinesOnce } from "../../settlement/record-lines.ts";
import { readStatementsOnce } from "../../settlement/statement-feed.ts";
import type { Observed } from "./observed.ts";
import type { SimulatedPool } from "./simulated-pool.ts";
import { SimulatedProcess, type Stage } from "./simulated-process.ts";

export type MemberParts = {
  readonly stage: Stage;
  readonly createPool: (process: SimulatedProcess) => SimulatedPool;
  /** Creates the core of one life of the process: nothing of it outlives a death. */
  readonly createCore: (process: SimulatedProcess, pool: SimulatedPool) => Core;
  readonly observed: () => Observed | undefined;
  /** Converts a time of the database to milliseconds since the run began. */
  readonly sinceStart: (moment: string) => number;
};

// The pause between two turns of a loop.
const turnMs = 1_000;
// A process that dies closes nothing.
const neverClosing = new AbortController().signal;

function loopsOf(core: Core) {
  return { refunds: createRefundTurn(core), orphans: createOrphanTurn(core) };
}

/** A process that serves submissions, receives notifications and runs its turns. */
export class Member {
  readonly process: SimulatedProcess;
  readonly #parts: MemberParts;
  readonly #pool: SimulatedPool;
  #core: Core;
  #loops: ReturnType<typeof loopsOf>;
  #recoversAtMs = Number.POSITIVE_INFINITY;
  #refundsAtMs = Number.POSITIVE_INFINITY;
  #isVoidingOrphans = false;
  #isProcessingNotifications = false;
  #isReadingFeeds = false;
  #isAnsweringDisputes = false;

  constructor(name: string, parts: MemberParts) {
    this.#parts = parts;
    this.process = new SimulatedProcess(name, parts.stage);
    this.#pool = parts.createPool(this.process);
    this.#core = parts.createCore(this.process, this.#pool);
    this.#loops = loopsOf(this.#core);
    this.process.onKill = () => this.#pool.abandon();
    this.process.onStop = (ms) => this.#pool.stopFor(ms);
    this.process.onStart = () => {
      this.#core = parts.createCore(this.process, this.#pool);
      this.#loops = loopsOf(this.#core);
      this.#recoversAtMs = Number.POSITIVE_INFINITY;
      this.#refundsAtMs = Number.POSITIVE_INFINITY;
      this.#isVoidingOrphans = false;
      this.#isProcessingNotifications = false;
      this.#isReadingFeeds = false;
      this.#isAnsweringDisputes = false;
      this.start();
    };
  }

  get core(): Core {
    return this.#core;
  }

  start(): void {
    this.onChange();
    this.expireWhenDue();
    this.#reconcileHourly();
  }

  /** Rows have changed: a turn may be due earlier than before. */
  onChange(): void {
    this.#recoverWhenDue();
    this.#processNotificationsWhenDue();
    this.#voidOrphansWhenDue();
    this.#refundWhenDue();
    this.#readFeedsWhenDue();
    this.#answerDisputesWhenDue();
  }

  abandon(): Promise<void> {
    return this.#pool.abandon();
  }

  #processNotificationsWhenDue(): void {
    const dueAt = this.#parts.observed()?.notificationDueAt;
    if (dueAt == null || this.#isProcessingNotifications) return;
    this.#isProcessingNotifications = true;
    const again = () => {
      this.#isProcessingNotifications = false;
      this.#processNotificationsWhenDue();
    };
    this.#inTurn(this.#delayUntil(dueAt), () => void processNotificationsOnce(this.#core).then(again, again));
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
      void recoverSessionsOnce(this.#core).then(again, again);
    });
  }

  #refundWhenDue(): void {
    const { timeline, dice } = this.#parts.stage;
    const dueAt = this.#parts.observed()?.refundDueAt;
    if (dueAt == null) return;
    const atMs = timeline.nowMs + this.#delayUntil(dueAt) + dice.between(1, turnMs);
    if (this.#refundsAtMs <= atMs) return;
    this.#refundsAtMs = atMs;
    this.process.later(atMs - timeline.nowMs, () => {
      if (this.#refundsAtMs !== atMs) return;
      this.#refundsAtMs = Number.POSITIVE_INFINITY;
      const nowDueAt = this.#parts.observed()?.refundDueAt;
      if (nowDueAt != null && this.#parts.sinceStart(nowDueAt) >= timeline.nowMs) return this.#refundWhenDue();
      const again = () => this.process.later(turnMs, () => this.#refundWhenDue());
      void this.#loops.refunds(neverClosing).then(again, again);
    });
  }

  #voidOrphansWhenDue(): void {
    const dueAt = this.#parts.observed()?.orphanDueAt;
    if (dueAt == null || this.#isVoidingOrphans) return;
    this.#isVoidingOrphans = true;
    const again = () => {
      this.#isVoidingOrphans = false;
      this.#voidOrphansWhenDue();
    };
    this.#inTurn(this.#delayUntil(dueAt), () => void this.#loops.orphans(neverClosing).then(again, again));
  }

  #readFeedsWhenDue(): void {
    const dueAt = this.#parts.observed()?.feedDueAt;
    if (dueAt == null || this.#isReadingFeeds) return;
    this.#isReadingFeeds = true;
    const again = () => {
      this.#isReadingFeeds = false;
      this.#readFeedsWhenDue();
    };
    this.#inTurn(this.#delayUntil(dueAt), () => void readFeeds(this.#core).then(again, again));
  }

  #answerDisputesWhenDue(): void {
    const dueAt = this.#parts.observed()?.responseDueAt;
    if (dueAt == null || this.#isAnsweringDisputes) return;
    this.#isAnsweringDisputes = true;
    const again = () => {
      this.#isAnsweringDisputes = false;
      this.#answerDisputesWhenDue();
    };
    this.#inTurn(this.#delayUntil(dueAt), () => void answerDueOnce(this.#core).then(again, again));
  }

  #reconcileHourly(): void {
    const { timeline } = this.#parts.stage;
    const again = () => this.#reconcileHourly();
    this.#inTurn(reconciliationEveryMs - (timeline.nowMs % reconciliationEveryMs), () => {
      void reconcilePass(this.#core).then(again, again);
    });
  }

  #delayUntil(moment: string): number {
    return Math.max(0, this.#parts.sinceStart(moment) - this.#parts.stage.timeline.nowMs);
  }

  /** Runs after this delay, in the next turn of its loop. */
  #inTurn(delayMs: number, run: () => void): void {
    this.process.later(delayMs + this.#parts.stage.dice.between(0, turnMs), run);
  }
}

/** Reads one feed, as the worker's loop does. */
async function readFeeds(core: Core): Promise<void> {
  await matchLinesOnce(core);
  if (!(await readFeedOnce(core))) await readStatementsOnce(core);
}

async function reconcilePass(core: Core): Promise<void> {
  while (await reconcileOnce(core));
}
