/**
 * The clock of the sandbox acquirers, which a test may set ahead; it decides when keys are forgotten, dates the holds
 * and starts the acquirers' own work.
 */

type Alarm = { readonly timeMs: number; readonly act: () => void; timer?: NodeJS.Timeout };

// The longest delay that a Node timer supports (2^31 − 1 ms, 24 days); a longer one fires at once.
const longestMs = 2_147_483_647;

/** Returns the true time until it is set ahead. Durations do not follow it. */
export class SandboxClock {
  #aheadMs = 0;
  readonly #alarms = new Set<Alarm>();

  /** Sets the clock, and does at once the work that is due at that time. */
  setAhead(ms: number): void {
    this.#aheadMs = ms;
    for (const alarm of [...this.#alarms]) this.#arm(alarm);
  }

  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Acts once this clock has reached the time; the result cancels that. Keeps no process alive. */
  at(timeMs: number, act: () => void): () => void {
    const alarm: Alarm = { timeMs, act };
    this.#alarms.add(alarm);
    this.#arm(alarm);
    return () => this.#end(alarm);
  }

  #arm(alarm: Alarm): void {
    clearTimeout(alarm.timer);
    const leftMs = alarm.timeMs - this.nowMs();
    if (leftMs > 0) {
      alarm.timer = setTimeout(() => this.#arm(alarm), Math.min(leftMs, longestMs)).unref();
      return;
    }
    this.#end(alarm);
    alarm.act();
  }

  #end(alarm: Alarm): void {
    clearTimeout(alarm.timer);
    this.#alarms.delete(alarm);
  }
}
