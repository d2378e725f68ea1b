/** Plays contestants by turns, so that other load on the machine affects all of them alike. */
import type { Contestant, Round } from "./contestant.ts";

export type Turn = Readonly<Record<string, Round>>;

/** Plays every contestant as a warm-up, then in `rounds` turns, every other one in reverse order. */
export async function playRounds(
  contestants: readonly Contestant[],
  options: { rounds: number; seconds: number; warmUp: number; onPlayed: () => void },
): Promise<Turn[]> {
  for (const contestant of contestants) {
    await contestant.play(options.warmUp);
    options.onPlayed();
  }
  const turns: Turn[] = [];
  for (let number = 0; number < options.rounds; number++) {
    const turn: Record<string, Round> = {};
    for (const contestant of number % 2 === 0 ? contestants : contestants.toReversed()) {
      turn[contestant.name] = await contestant.play(options.seconds);
      options.onPlayed();
    }
    turns.push(turn);
  }
  return turns;
}

export type Spread = { readonly median: number; readonly min: number; readonly max: number };

/** The median of an even number of figures is the mean of the two in the middle. */
export function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  const median = (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** Median of some figures, and the interval that has the median of all such figures with 95% confidence. */
export type Interval = { readonly median: number; readonly from: number; readonly to: number };

/** Returns the interval by the ranks of the figures, whatever their distribution. Of fewer than six, it is all of them. */
export function intervalOf(figures: readonly number[]): Interval {
  const sorted = figures.toSorted((left, right) => left - right);
  // Half of all figures are below the median: the chance that so few of these are is that of a coin.
  let left = 0;
  let chance = 0.5 ** sorted.length;
  for (let sum = chance; sum <= 0.025; sum += chance) {
    left += 1;
    chance *= (sorted.length - left + 1) / left;
  }
  const first = Math.max(0, left - 1);
  return { median: spreadOf(figures).median, from: sorted[first]!, to: sorted.at(-1 - first)! };
}

/** Returns the spread of one contestant's rate over another's, turn by turn. */
export function ratioOf(turns: readonly Turn[], ours: string, peer: string): Spread {
  return spreadOf(turns.map((turn) => turn[ours]!.requestsPerSecond / turn[peer]!.requestsPerSecond));
}
