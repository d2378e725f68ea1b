/** Records every request sent to a gateway in a run, and finds those that must not be sent. */
import { encodeId } from "../../platform/ids.ts";
import type { Observed } from "./observed.ts";
import type { Sent } from "./simulated-connector.ts";
import type { Timeline } from "./timeline.ts";

/** The requests of one run, by the attempt's reference. */
export class RequestsSeen {
  /** Captures that were sent and may still be executed. */
  readonly capturesOnTheirWay = new Map<string, number>();
  /** Times of the last voids. */
  readonly voidsSentAt = new Map<string, Date>();
  readonly #authorized = new Set<string>();
  #toRepeat = 0;

  /** True while a request is still to be executed again. */
  get isRepeating(): boolean {
    return this.#toRepeat > 0;
  }

  /** Executes a request again after this delay; never if it is 0. */
  repeatAfter(delayMs: number, timeline: Timeline, execute: () => void): void {
    if (delayMs === 0) return;
    this.#toRepeat++;
    timeline.after(delayMs, () => {
      this.#toRepeat--;
      execute();
    });
  }

  captureOnItsWay(attemptReference: string, change: 1 | -1): void {
    this.capturesOnTheirWay.set(attemptReference, (this.capturesOnTheirWay.get(attemptReference) ?? 0) + change);
  }

  /** Records a request that is sent now, and returns its violation. */
  add(
    { type, attemptReference }: Sent,
    { observed, isRestored, now }: { observed: Observed | undefined; isRestored: boolean; now: Date },
  ): string | undefined {
    if (type === "void") this.voidsSentAt.set(attemptReference, now);
    if (type === "authorize" && this.#authorized.has(attemptReference)) return "one attempt requested money twice";
    if (type === "authorize") this.#authorized.add(attemptReference);
    const attempt = observed?.attempts.find(({ id }) => encodeId("att", id) === attemptReference);
    // After a restore the gateways are queried about attempts whose rows may be lost.
    const mayBeUnrecorded = isRestored && type !== "authorize" && type !== "capture";
    if (attempt === undefined && !mayBeUnrecorded) return `${type} was sent for an attempt that is not committed`;
    const isOrdered = type !== "capture" || attempt?.capture_ordered_at !== null;
    return isOrdered ? undefined : "a capture was sent before it was ordered";
  }
}
