/** The bounds of migrations, with their reasons. PURE. */

const second = 1_000;
const minute = 60 * second;

/**
 * Longest wait of a migration for a table: all later statements wait behind it, so payments have to survive it
 * (statements wait for 5 s) and customers should hardly notice it.
 */
export const migrationLockWaitMs = second;
/** Pause between two attempts, in which the statements that waited behind the first one go on. */
export const migrationPauseMs = second;
/**
 * Attempts for one lock: within a minute a payment's transaction is long over, so a person or a report holds the table.
 */
export const migrationLockTries = 30;
/** Interval at which the end of another `migrate` is checked. */
export const migrateTurnMs = 250;
/** Longest wait for another `migrate`: an index on a table of a hundred million rows takes minutes. */
export const migrateTurnWaitMs = 60 * minute;
