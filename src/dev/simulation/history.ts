/** The events of a run in order of time, for a person to read. */

/** Lines are kept only for a reader: a run is replayed for its history. */
export class History {
  readonly #keep: boolean;
  readonly #lines: string[] = [];
  #steps = 0;

  constructor(options: { keep: boolean }) {
    this.#keep = options.keep;
  }

  /** Number of lines, kept or not. */
  get steps(): number {
    return this.#steps;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** `what` is called only when the line is kept. */
  add(atMs: number, who: string, what: () => string): void {
    this.#steps++;
    if (this.#keep) this.#lines.push(`${(atMs / 1000).toFixed(3).padStart(10)} s  ${who.padEnd(10)} ${what()}`);
  }
}
