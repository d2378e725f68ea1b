/** The bounds of what follows a restore, with their reasons. PURE. */

const second = 1_000;
const minute = 60 * second;

/**
 * How long after a restore the gateways are first asked: an authorize that left just before the database was lost has been
 * executed by then, or never will be.
 */
export const lostCheckAfterMs = minute;
/** When they are asked again after a void whose notice is awaited: it comes within a second or two, */
export const lostNoticeWaitMs = 2 * second;
/** and after any other answer that tells nothing: a gateway that is down stays so for minutes. */
export const lostRepeatMs = minute;
/** After this a person is told that a gateway does not tell: by then every notice has come that is going to. */
export const lostAlarmMs = 5 * minute;
/**
 * How many sessions are put in doubt in one transaction: about a second of work (5,000 took 0.2 s). Fewer would sort all that
 * wait more often than is worth it, for the next slice is found among them.
 */
export const declareSliceSessions = 20_000;
