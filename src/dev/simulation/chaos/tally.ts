/** Counts events of a run by name, for the report and the progress line. */

/** The names are shown unchanged. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, this.of(name) + count);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Returns every count whose name has this prefix, the most frequent first, without the prefix. */
  under(beginning: string): readonly (readonly [name: string, count: number])[] {
    return [...this.#counts]
      .filter(([name]) => name.startsWith(beginning))
      .map(([name, count]) => [name.slice(beginning.length), count] as const)
      .sort(([, left], [, right]) => right - left);
  }

  sum(beginning: string): number {
    return this.under(beginning).reduce((sum, [, count]) => sum + count, 0);
  }
}
