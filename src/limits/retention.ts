/** How long rows are kept that nothing else ends, with the reasons. docs/security.md has the whole table. PURE. */

const hour = 60 * 60_000;
const day = 24 * hour;

/** How often what is too old is looked for: a day more or less makes no difference. */
export const retentionSweepEveryMs = hour;
/** Rows that one statement removes: it takes milliseconds, and the next one goes on. */
export const retentionSweepRows = 1_000;

/** Who did what: PCI DSS v4.0.1, 10.5.1, asks for a year; three let a dispute of the year before last be looked into. */
export const auditRetentionMs = 1_096 * day;
/** Counts of payments: as far back as a question about them may reach, and two days for the time zone's edges. */
export const countsRetentionMs = 1_098 * day;
/** What a gateway reported and was acted on: longer than a chargeback may take (540 days from the payment). */
export const noticeRetentionMs = 550 * day;
/** Holds that were found and given back: as long as the notices that tell why. */
export const strayHoldRetentionMs = 550 * day;
/** Passes of the comparison, one an hour: a quarter of a year shows a trend. */
export const comparisonRetentionMs = 92 * day;
/** Told trouble of an endpoint. */
export const endpointNoticeRetentionMs = 400 * day;
/** Sign-ins, invitations and password links that are over: a month to see who came from where. */
export const endedSignInRetentionMs = 31 * day;
