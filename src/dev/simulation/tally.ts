/** Counts the results of a simulation, and shows its progress. */
import { SingleBar } from "cli-progress";
import type { RunResult } from "./run.ts";

// An interval for lines where the output is no terminal.
const lineEveryMs = 10_000;
// Seeds take from some milliseconds to seconds: a rate of fewer of them changes from line to line.
const seedsOfEstimate = 1_000;

export class SimulationTally {
  readonly #bar: SingleBar;
  readonly #startedAt = performance.now();
  readonly #statuses = new Map<string, number>();
  readonly #refusals = new Map<string, number>();
  /** The first seed of each end and of each refusal, to play it again. */
  readonly #firstSeeds = new Map<string, number>();
  readonly #violations: RunResult[] = [];
  #played = 0;
  #steps = 0;

  /** The bar stays on the terminal until `end`. */
  constructor(seeds: number) {
    this.#bar = new SingleBar({
      format: "[{bar}] {value}/{total} seeds, {rate}/s, {violations} violations, {eta_formatted} left",
      barsize: 30,
      noTTYOutput: true,
      notTTYSchedule: lineEveryMs,
      hideCursor: true,
      etaBuffer: seedsOfEstimate,
    });
    this.#bar.start(seeds, 0, this.#shown());
  }

  /** Returns true if it was a violation. */
  add(result: RunResult): boolean {
    this.#played++;
    this.#steps += result.steps;
    count(this.#statuses, result.status);
    for (const refusal of result.refusals) count(this.#refusals, refusal);
    for (const what of [result.status, ...result.refusals])
      this.#firstSeeds.set(what, Math.min(result.seed, this.#firstSeeds.get(what) ?? result.seed));
    if (result.violation !== undefined) {
      this.#violations.push(result);
      // The violation is printed at once: a run takes hours, and the seed can be played beside it.
      console.error(`\nseed ${result.seed}: ${result.violation}`);
    }
    this.#bar.update(this.#played, this.#shown());
    return result.violation !== undefined;
  }

  shortestViolation(): RunResult | undefined {
    return this.#violations.toSorted((left, right) => left.steps - right.steps)[0];
  }

  /** Removes the bar and prints all counts; the last line is the sum. */
  end(): string {
    this.#bar.stop();
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    return [
      ...listed("ended", this.#statuses, this.#firstSeeds),
      ...listed("refused by the database", this.#refusals, this.#firstSeeds),
      ...this.#violations.map(({ seed, violation }) => `seed ${seed}: ${violation}`),
      `${this.#played} seeds, ${this.#steps} steps, ${this.#violations.length} violations, ${seconds} s, ${this.#rate()} seeds/s`,
    ].join("\n");
  }

  #shown() {
    return { rate: this.#rate(), violations: this.#violations.length };
  }

  #rate(): string {
    return (this.#played / ((performance.now() - this.#startedAt) / 1000)).toFixed(1);
  }
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

function listed(title: string, counts: ReadonlyMap<string, number>, seeds: ReadonlyMap<string, number>): string[] {
  const rows = [...counts].toSorted((left, right) => right[1] - left[1]);
  const texts = rows.map(([what, times]) => `${what} ${times} (seed ${seeds.get(what)})`);
  return rows.length === 0 ? [] : [`${title}: ${texts.join(", ")}`];
}
