/** What happened in a run, counted by name, for the report and the progress line. */

/** Names are shown as they are. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, this.of(name) + count);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Every count whose name begins so, the most frequent first, without that beginning. */
  under(beginning: string): readonly (readonly [name: string, count: number])[] {
    return [...this.#counts]
      .filter(([name]) => name.startsWith(beginning))
      .map(([name, count]) => [name.slice(beginning.length), count] as const)
      .sort(([, left], [, right]) => right - left);
  }

  /** The sum of every count whose name begins so. */
  sum(beginning: string): number {
    return this.under(beginning).reduce((sum, [, count]) => sum + count, 0);
  }
}
