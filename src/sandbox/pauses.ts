/** Pauses of the sandbox acquirers: each lasts for a duration, or until a release signal, whichever comes first. */

type Pause = { readonly operation: string; readonly reference: string; readonly resume: () => void };

/** Selects pauses; an absent member matches everything. */
export type PauseFilter = { readonly operation?: string | undefined; readonly reference?: string | undefined };

// The longest delay that a Node timer supports (2^31 − 1 ms, 24 days); a longer one fires at once.
const longestMs = 2_147_483_647;

/** All pauses at the acquirers, which tests can prolong and end. */
export class Pauses {
  readonly #waiting = new Set<Pause>();
  readonly #heldOperations = new Set<string>();
  #onArrival: (() => void)[] = [];
  #closed = false;

  /** Waits `durationMs`, or less if released. */
  wait(operation: string, reference: string, durationMs: number): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const resume = () => {
        clearTimeout(timer);
        this.#waiting.delete(pause);
        resolve();
      };
      const pause: Pause = { operation, reference, resume };
      const timer = setTimeout(resume, Math.min(durationMs, longestMs));
      this.#waiting.add(pause);
      for (const arrived of this.#onArrival.splice(0)) arrived();
    });
  }

  /** Waits only while the operation is held back. */
  async gate(operation: string, reference: string): Promise<void> {
    if (this.#heldOperations.has(operation)) await this.wait(operation, reference, longestMs);
  }

  /** Makes answers of this operation wait for `release` from now on. */
  holdBack(operation: string): void {
    this.#heldOperations.add(operation);
  }

  /** Stops holding back an operation and ends every matching pause; returns their number. */
  release(filter: PauseFilter): number {
    if (filter.operation === undefined) this.#heldOperations.clear();
    else this.#heldOperations.delete(filter.operation);
    const matching = this.#matching(filter);
    for (const pause of matching) pause.resume();
    return matching.length;
  }

  /** Resolves with the number of matching pauses as soon as there is one, so that a test need not poll. */
  async arrival(filter: PauseFilter): Promise<number> {
    while (!this.#closed && this.#matching(filter).length === 0) {
      await new Promise<void>((resolve) => this.#onArrival.push(resolve));
    }
    return this.#matching(filter).length;
  }

  close(): void {
    this.#closed = true;
    this.release({});
    for (const arrived of this.#onArrival.splice(0)) arrived();
  }

  #matching(filter: PauseFilter): Pause[] {
    return [...this.#waiting].filter(
      (pause) =>
        (filter.operation === undefined || pause.operation === filter.operation) &&
        (filter.reference === undefined || pause.reference === filter.reference),
    );
  }
}
