/**
 * Retention periods of rows that nothing else removes, with their reasons. docs/security.md has the whole table. PURE.
 */

const hour = 60 * 60_000;
const day = 24 * hour;

/** Interval of the sweep: a day more or less makes no difference. */
export const retentionSweepEveryMs = hour;
/** Rows that one statement removes: it takes milliseconds, and the next one goes on. */
export const retentionSweepRows = 1_000;

/** Audit trail: PCI DSS v4.0.1, 10.5.1, requires a year; three years cover a dispute of the year before last. */
export const auditRetentionMs = 1_096 * day;
/** Counts of payments: the longest range of the analytics, and two days for the edges of time zones. */
export const countsRetentionMs = 1_098 * day;
/** Processed gateway notifications: longer than a chargeback may take (540 days from the payment). */
export const notificationRetentionMs = 550 * day;
/** Orphaned authorizations that were voided: as long as the gateway notifications that explain them. */
export const orphanedAuthorizationRetentionMs = 550 * day;
/** Reconciliation passes, one an hour: a quarter of a year shows a trend. */
export const reconciliationRetentionMs = 92 * day;
/** Endpoint alerts. */
export const endpointAlertRetentionMs = 400 * day;
/** Ended sign-ins, invitations and password links: a month to trace access. */
export const endedSignInRetentionMs = 31 * day;
