/** Judges whether so many cards are declined in testers' ways that a merchant brakes. PURE. */

const minute = 60_000;

/** The time over which cards are counted, and for which few enough have to be declined before braking ends. */
export const windowMs = 10 * minute;
/** The days from which the hour is predicted. */
export const daysOfHistory = 28;

// The least thresholds, in cards; the second applies when too little is known of the merchant.
const cardsMin = 20;
const cardsWithoutHistory = 60;
// A week has each of its days.
const daysMin = 7;
const timesPredicted = 3;
// For a normal distribution, this many median absolute deviations are one standard deviation.
const deviation = 1.4826;

/**
 * Returns the number of cards in ten minutes above which a merchant brakes. `earlier` has the numbers of the same hour of
 * `days` earlier days, without those that are zero.
 */
export function thresholdOf(earlier: readonly number[], days: number): number {
  if (days < daysMin) return cardsWithoutHistory;
  const windows = days * (60 / (windowMs / minute));
  const counts = [...earlier, ...Array<number>(Math.max(0, windows - earlier.length)).fill(0)];
  const middle = median(counts);
  const predicted = middle + deviation * median(counts.map((count) => Math.abs(count - middle)));
  return Math.max(cardsMin, Math.ceil(timesPredicted * predicted));
}

/** Reports whether so many cards may be above the threshold of any merchant. */
export function isSuspicious(cards: number): boolean {
  return cards > cardsMin;
}

/** A merchant that brakes. */
type Braking = { readonly threshold: number; readonly calmSince: Date | null };

/** Returns since when fewer cards are declined than half of the threshold; null while there are more. */
export function calmSince({ threshold, calmSince: since }: Braking, cards: number, now: Date): Date | null {
  if (2 * cards >= threshold) return null;
  return since ?? now;
}

/** Reports whether braking ends. A person who holds it on or off decides alone. */
export function isOver(calm: Date | null, heldOn: boolean | null, now: Date): boolean {
  if (heldOn !== null) return !heldOn;
  return calm !== null && now.getTime() - calm.getTime() >= windowMs; // rule:braking-ends
}

function median(counts: readonly number[]): number {
  const sorted = counts.toSorted((one, other) => one - other);
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1]! + sorted[Math.floor(half)]!) / 2;
}
