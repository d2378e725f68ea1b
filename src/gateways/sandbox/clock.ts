/**
 * The clock of the sandbox acquirers, which a test may set ahead; it decides when keys are forgotten and dates the
 * holds.
 */

/** Returns the true time until it is set ahead. Durations do not follow it. */
export class SandboxClock {
  #aheadMs = 0;

  setAhead(ms: number): void {
    this.#aheadMs = ms;
  }

  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }
}
