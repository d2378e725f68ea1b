/** What happened in a run, in the order in which it happened, for a person to read. */

/** Kept only where somebody will read it: a run is replayed for its history. */
export class History {
  readonly #keep: boolean;
  readonly #lines: string[] = [];
  #steps = 0;

  constructor(options: { keep: boolean }) {
    this.#keep = options.keep;
  }

  /** How many lines there are, kept or not. */
  get steps(): number {
    return this.#steps;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** `what` is asked for its text only when the line is kept. */
  add(atMs: number, who: string, what: () => string): void {
    this.#steps++;
    if (this.#keep) this.#lines.push(`${(atMs / 1000).toFixed(3).padStart(10)} s  ${who.padEnd(10)} ${what()}`);
  }
}
