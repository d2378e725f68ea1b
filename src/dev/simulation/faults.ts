/** The faults of a run, with their frequency and their end. After it there are none: then every session has to end. */
import type { Dice } from "./dice.ts";

/** Probabilities: the first three for each await of each process, the others for each message. */
export type FaultRates = {
  readonly kill: number;
  readonly stop: number;
  readonly cutConnection: number;
  readonly slowStep: number;
  readonly refuseConnection: number;
  readonly loseRequest: number;
  readonly executeLate: number;
  readonly executeTwice: number;
  readonly answerWithError: number;
  readonly loseAnswer: number;
  readonly breakAnswer: number;
  readonly delayNotification: number;
  readonly repeatNotification: number;
};

// Each kind is absent from about half of the runs: a few faults may show what many at once would hide.
const rates: { readonly [Kind in keyof FaultRates]: readonly number[] } = {
  kill: [0, 0, 0.005, 0.02, 0.06],
  stop: [0, 0, 0.005, 0.02],
  cutConnection: [0, 0, 0.005, 0.02],
  slowStep: [0, 0.01],
  refuseConnection: [0, 0, 0.1],
  loseRequest: [0, 0, 0.1, 0.4],
  executeLate: [0, 0, 0.1, 0.4],
  executeTwice: [0, 0.2],
  answerWithError: [0, 0, 0.1, 0.3],
  loseAnswer: [0, 0, 0.1, 0.4],
  breakAnswer: [0, 0, 0.1, 0.3],
  delayNotification: [0, 0.5],
  repeatNotification: [0, 0.3],
};

const second = 1_000;
const minute = 60 * second;
// Shorter than a lease, longer than it, longer than the time until an attempt's latest execution.
const stops: readonly (readonly [minMs: number, maxMs: number])[] = [
  [50, 2 * second],
  [5 * second, 40 * second],
  [minute, 8 * minute],
];

export class Faults {
  readonly rates: FaultRates;
  readonly endMs: number;
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
    this.rates = Object.fromEntries(
      Object.entries(rates).map(([kind, choices]) => [kind, dice.pick(choices)]),
    ) as FaultRates;
    this.endMs = dice.pick([0, 5 * second, 30 * second, 90 * second, 10 * minute]);
  }

  strikes(kind: keyof FaultRates, nowMs: number): boolean {
    return nowMs < this.endMs && this.#dice.chance(this.rates[kind]);
  }

  stopMs(): number {
    const [min, max] = this.#dice.pick(stops);
    return this.#dice.between(min, max);
  }

  restartMs(): number {
    return this.#dice.between(100, 30 * second);
  }

  /** Draws the duration of one await: almost nothing, a few milliseconds, or a stall. */
  latencyMs(nowMs: number): number {
    if (this.strikes("slowStep", nowMs)) return this.#dice.between(100, 4 * second);
    return this.#dice.chance(0.3) ? this.#dice.between(1, 20) : 0;
  }
}
