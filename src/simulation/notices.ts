/** Brings gateways' notices to the service until one of its processes has acknowledged them: late, twice, in any order. */
import type { Core } from "../core/core.ts";
import type { Notice } from "../gateways/connector.ts";
import { takeNotification } from "../notifications/intake.ts";
import { encodeId } from "../platform/ids.ts";
import type { SimulatedProcess, Stage } from "./simulated-process.ts";

// Gateways repeat a notice that was not acknowledged, a few seconds later at first.
const repeatMs = 15_000;
const delayedMs = 180_000;

export type Intake = { readonly process: SimulatedProcess; readonly core: () => Core; readonly onStored: () => void };

export class NoticeCarrier {
  readonly #stage: Stage;
  readonly #intakes: readonly Intake[];
  #sent = 0;
  /** Notices that no process has acknowledged yet. */
  #open = 0;

  constructor(stage: Stage, intakes: readonly Intake[]) {
    this.#stage = stage;
    this.#intakes = intakes;
  }

  get open(): number {
    return this.#open;
  }

  send(connectionId: string, notice: Omit<Notice, "noticeId">): void {
    const { timeline, dice, faults } = this.#stage;
    const noticeId = `notice-${++this.#sent}-of-${notice.attemptReference}`;
    const body = Buffer.from(JSON.stringify({ noticeId, ...notice }));
    const strikes = (kind: "delayNotice" | "repeatNotice") => faults.strikes(kind, timeline.nowMs);
    const copies = strikes("repeatNotice") ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const delayMs = strikes("delayNotice") ? dice.between(1_000, delayedMs) : dice.between(20, 1_500);
      this.#open++;
      timeline.after(delayMs, () => this.#deliver(connectionId, body));
    }
  }

  #deliver(connectionId: string, body: Uint8Array): void {
    const { timeline, dice } = this.#stage;
    const { process, core, onStored } = dice.pick(this.#intakes);
    if (!process.isRunning) return timeline.after(repeatMs, () => this.#deliver(connectionId, body));
    let isAcknowledged = false;
    process.note(() => `is told ${Buffer.from(body).toString()}`);
    takeNotification(core(), encodeId("gc", connectionId), { headers: {}, body }).then(
      () => {
        if (!isAcknowledged) this.#open--;
        isAcknowledged = true;
        onStored();
      },
      () => process.note(() => "does not acknowledge the notice"),
    );
    timeline.after(repeatMs, () => {
      if (!isAcknowledged) this.#deliver(connectionId, body);
    });
  }
}
