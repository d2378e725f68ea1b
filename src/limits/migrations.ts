/** The bounds of migrations, with their reasons. PURE. */

const second = 1_000;
const minute = 60 * second;

/**
 * How long a migration waits for a table: everybody who comes after it waits behind it, so it is a pause that payments
 * survive (statements wait for 5 s) and customers hardly see.
 */
export const migrationLockWaitMs = second;
/** Between two tries, in which those who waited behind the first go on. */
export const migrationPauseMs = second;
/** Tries for one lock: in a minute a payment's transaction is long over, so what still holds the table is a person or a report. */
export const migrationLockTries = 30;
/** How often it is asked whether another `migrate` has ended. */
export const migrateTurnMs = 250;
/** The longest migration to wait for: an index on a table of a hundred million rows takes minutes. */
export const migrateTurnWaitMs = 60 * minute;
