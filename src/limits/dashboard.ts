/** The bounds of what the dashboard reads, with their reasons. PURE. */

const minute = 60_000;
const hour = 60 * minute;

/** How many payments one call looks at, newest first, for those that a filter lets through: 100 ms of reading, and not of a million. */
export const paymentsWalked = 10_000;
/** An order reference's beginning that more payments share is no search any more: their list is walked instead. */
export const prefixMatchesMax = 2_000;
/** Rows of one call of an export: a quarter of a megabyte. */
export const exportRows = 1_000;
/** What a search shows of order references with one beginning: a screen. */
export const searchRows = 20;
/** How far a clock that makes ids and one that stamps rows may be apart. */
export const clockSkewMs = 5 * minute;
/** How long after a submission its payment has settled, all but always: several budgets. */
export const settledWithinMs = 5 * minute;

/** How much of the past the home page asks about for what went wrong just now. */
export const troubleWindowMs = hour;
/** How long before its last attempt a session may have been created: a day until it is submitted, and then recovery. */
export const sessionLongestMs = 25 * hour;
/** How long two successes for one order reference are shown: a long weekend. */
export const paidTwiceWindowMs = 72 * hour;
/** How many of the newest successes are looked at for a second one. */
export const successesChecked = 10_000;
/** How many payments of a day are added up: 100 ms of reading. */
export const todayCounted = 100_000;
/** The longest day that a caller may ask for: with its time zone's change, and a clock that is wrong. */
export const dayLongestMs = 48 * hour;
/** A gateway is unhealthy when of at least so many attempts at least this share were not processed. */
export const unhealthy = { attemptsLeast: 5, share: 0.2 } as const;
/** Lines of one kind on the home page: who has more trouble opens the list. */
export const attentionRows = 10;
