/** The bounds of erasing a customer's address, with their reasons. PURE. */

/** Sessions that one statement looks at: it takes milliseconds, and holds the rows that it changes no longer. */
export const erasureSliceSessions = 5_000;
/** How many slices one call takes: a second or two, far below the deadline of a call. */
export const erasureSlicesMax = 20;
