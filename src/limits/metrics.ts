/** Bounds of the metrics port. */

/** What a scrape waits for one database: longer than for a connection, so that its error is logged, and below the scrape's own 10 s. */
export const refreshWaitMs = 6_000;
