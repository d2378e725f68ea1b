/** The bounds of erasing a customer's address, with their reasons. PURE. */

/** Sessions that one statement checks: it takes milliseconds, and locks the changed rows no longer. */
export const erasureSliceSessions = 5_000;
/** Slices of one call: a second or two, far below the deadline of a call. */
export const erasureSlicesMax = 20;
