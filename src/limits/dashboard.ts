/** Bounds of the dashboard's reads, with their reasons. PURE. */

const minute = 60_000;
const hour = 60 * minute;

/** Payments that one call checks against a filter, newest first: 100 ms of reading, not a million payments. */
export const paymentsWalked = 10_000;
/**
 * Most payments with a common beginning of their order reference that are searched; beyond it the whole list is walked.
 */
export const prefixMatchesMax = 2_000;
/** Rows of one call of an export: a quarter of a megabyte. */
export const exportRows = 1_000;
/** Payments that a search shows for a beginning of order references: one screen. */
export const searchRows = 20;
/** Largest difference between the clock of ids and the clock of rows. */
export const clockSkewMs = 5 * minute;
/** Time within which almost every submitted payment has settled: several time budgets. */
export const settledWithinMs = 5 * minute;

/** Period of the home page's recent failures. */
export const troubleWindowMs = hour;
/** Longest time from the creation of a session to its last attempt: a day until it is submitted, and then recovery. */
export const sessionLongestMs = 25 * hour;
/** Time for which two successes for one order reference are shown: a long weekend. */
export const paidTwiceWindowMs = 72 * hour;
/** Newest successes that are checked for a second one. */
export const successesChecked = 10_000;
/**
 * Newest payments whose order references are checked for card numbers: 20 ms of reading, and one in this many is
 * enough.
 */
export const orderRefsChecked = 10_000;
/** Time for which a card number in an order reference is reported: until it is fixed, and over a long weekend. */
export const cardNumberWindowMs = 72 * hour;
/** Payments of a day that are added up: 100 ms of reading. */
export const todayCounted = 100_000;
/** Longest day that a caller may request: with a change of its time zone, and a wrong clock. */
export const dayLongestMs = 48 * hour;
/** A gateway is unhealthy when at least this share of at least this many attempts were not processed. */
export const unhealthy = { attemptsMin: 5, share: 0.2 } as const;
/** Lines of one kind on the home page; the list shows more. */
export const alertRows = 10;

/** Rates of a member's actions that have a cost for others. Operators, who own the installation, are not limited. */
export const memberActions = {
  /**
   * Webhooks and test calls that are sent at once, to a server that may belong to a third party: more than setting one
   * up takes.
   */
  post: { callsMax: 20, windowMs: minute },
  /** Changes of mail addresses: a team that joins together, and addresses that are corrected. */
  mail: { callsMax: 30, windowMs: hour },
  /** Password hashes of one sign-in: many times the proofs of a long day. */
  password: { callsMax: 30, windowMs: hour },
  /** Pages of a long read, some 100 ms each: reading one after the other never reaches the limit. */
  scan: { callsMax: 600, windowMs: minute },
  /** All other changes: enough for a recovery batch by batch, not for a flood. */
  change: { callsMax: 600, windowMs: minute },
} as const;
