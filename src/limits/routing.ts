/** The bounds of looking back over payments for the dashboard's routing and gateway pages, with their reasons. PURE. */

const hour = 60 * 60_000;

/** Sessions that one call of the what-if looks at: some tens of milliseconds, and a page that moves while it waits. */
export const whatIfSliceSessions = 2_000;
/** Sessions of a whole what-if: enough for the shares of a percent to be steady, and over in a second or two. */
export const whatIfSessionsMax = 10_000;
/** How far back a what-if looks where nobody says: a week has each weekday once. */
export const whatIfDaysUsual = 7;
/** Payments that each slice shows as examples: a person reads no more. */
export const whatIfExamples = 10;
/** What "now" means of a gateway's health, */
export const healthWindowMs = hour;
/** and the newest sessions that it is read from at most: a merchant with more of them in an hour has a steady figure with these. */
export const healthSessionsMax = 5_000;
