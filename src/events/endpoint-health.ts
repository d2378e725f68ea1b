/**
 * The policy for the health of a webhook endpoint: its window, its breaker and its automatic disabling. The statements
 * that record delivery attempts apply these numbers to the newest version of the endpoint's row.
 */

/** Deliveries of one endpoint in flight at most. A success widens the window by one, a slow or failed attempt halves it. */
export const windowMax = 64;

/** Failures in a row at which the breaker opens. An open breaker lets one delivery through at a time, as a probe. */
export const breakerOpensAt = 5;

// Long enough to spare a dead host, short enough for one that comes back.
const pauseFirstMs = 5_000;
const pauseLongestMs = 300_000;

/** Returns the time from a failure to the next probe: 5 s, 10 s, 20 s … at most 5 minutes. */
function breakerPauseMs(failuresInRow: number): number {
  return Math.min(pauseLongestMs, pauseFirstMs * 2 ** (failuresInRow - breakerOpensAt));
}

const pauses = 1 + Math.ceil(Math.log2(pauseLongestMs / pauseFirstMs));

/** Pauses before the next probe, in milliseconds: after the failure that opens the breaker, after the next one, and so on. */
export const breakerPausesMs: readonly number[] = Array.from({ length: pauses }, (_, further) =>
  breakerPauseMs(breakerOpensAt + further),
);

/**
 * An endpoint without a success for so long and in so many attempts is disabled. That is longer than any delivery's own
 * schedule.
 */
export const disabledAfter = { days: 5, failures: 10 } as const;
