/** The dice of a seeded run: every choice of a run comes from here, so the seed determines the whole run. */
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

// The generator's first numbers are similar for neighbouring seeds; these steps separate them.
const warmUp = 24;
const million = 1_000_000;

/** Draws the same numbers for the same seed on every machine. Seeds are integers from 0 to 2³¹ − 1. */
export class Dice {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
    for (let step = 0; step < warmUp; step++) this.#generator.next();
  }

  /** Draws an integer, both ends included. */
  between(min: number, max: number): number {
    return uniformInt(this.#generator, min, max);
  }

  /** Draws true with this probability, in steps of a millionth. */
  chance(probability: number): boolean {
    return probability > 0 && this.between(1, million) <= probability * million;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.between(0, values.length - 1)]!;
  }

  weighted<Value>(weights: readonly (readonly [weight: number, value: Value])[]): Value {
    let rest = this.between(
      1,
      weights.reduce((sum, [weight]) => sum + weight, 0),
    );
    for (const [weight, value] of weights) {
      rest -= weight;
      if (rest <= 0) return value;
    }
    throw new Error("weights are positive integers");
  }

  shuffled<Value>(values: readonly Value[]): Value[] {
    const rest = [...values];
    return values.map(() => rest.splice(this.between(0, rest.length - 1), 1)[0]!);
  }
}
