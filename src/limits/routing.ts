/** Bounds of reading past payments for the dashboard's routing and gateway pages, with their reasons. PURE. */

const hour = 60 * 60_000;

/** Sessions that one call of the what-if reads: some tens of milliseconds, so the page shows progress. */
export const whatIfSliceSessions = 2_000;
/** Sessions of a whole what-if: enough for steady shares of a percent, and done in a second or two. */
export const whatIfSessionsMax = 10_000;
/** Default range of a what-if in days: a week has each weekday once. */
export const whatIfDaysDefault = 7;
/** Payments that each slice shows as examples: a person reads no more. */
export const whatIfExamples = 10;
/** Period of a gateway's current health, */
export const healthWindowMs = hour;
/**
 * and the most sessions, newest first, from which it is read: these give a steady figure for a merchant with more in an
 * hour.
 */
export const healthSessionsMax = 5_000;
