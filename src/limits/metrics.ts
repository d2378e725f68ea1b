/** Bounds of the metrics port. */

/**
 * Longest wait of a scrape for one database: longer than for a connection, so that its error is logged, and below the
 * scrape's own 10 s.
 */
export const refreshWaitMs = 6_000;
