/** Brings gateways' notices to the service until one of its processes has acknowledged them: late, twice, in any order. */
import type { Notice } from "../gateways/connector.ts";
import { takeNotification } from "../notifications/intake.ts";
import { encodeId } from "../platform/ids.ts";
import type { Member } from "./member.ts";
import type { Stage } from "./simulated-process.ts";

// Gateways repeat a notice that was not acknowledged, a few seconds later at first.
const repeatMs = 15_000;
const delayedMs = 180_000;

/** Carries every notice of a run. */
export class NoticeCarrier {
  readonly #stage: Stage;
  readonly #members: readonly Member[];
  #sent = 0;

  constructor(stage: Stage, members: readonly Member[]) {
    this.#stage = stage;
    this.#members = members;
  }

  send(connectionId: string, notice: Omit<Notice, "noticeId">): void {
    const { timeline, dice, faults } = this.#stage;
    const noticeId = `notice-${++this.#sent}-of-${notice.attemptReference}`;
    const body = Buffer.from(JSON.stringify({ noticeId, ...notice }));
    const strikes = (kind: "delayNotice" | "repeatNotice") => faults.strikes(kind, timeline.nowMs);
    const copies = strikes("repeatNotice") ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      const delayMs = strikes("delayNotice") ? dice.between(1_000, delayedMs) : dice.between(20, 1_500);
      timeline.after(delayMs, () => this.#deliver(connectionId, body));
    }
  }

  #deliver(connectionId: string, body: Uint8Array): void {
    const { timeline, dice } = this.#stage;
    const { process, core } = dice.pick(this.#members);
    let isAcknowledged = false;
    timeline.after(repeatMs, () => {
      if (!isAcknowledged) this.#deliver(connectionId, body);
    });
    if (!process.isRunning) return;
    process.note(() => `is told ${Buffer.from(body).toString()}`);
    takeNotification(core, encodeId("gc", connectionId), async () => ({ headers: {}, body })).then(
      () => {
        isAcknowledged = true;
        for (const member of this.#members) member.processNotices();
      },
      () => process.note(() => "does not acknowledge the notice"),
    );
  }
}
