/** Bounds of the work after a restore, with their reasons. PURE. */

const second = 1_000;
const minute = 60 * second;

/**
 * Time from a restore to the first look-up at the gateways: an authorization that was sent just before the database was
 * lost has been executed by then, or never will be.
 */
export const unrecordedCheckAfterMs = minute;
/** Pause before they are asked again after a void whose notification is awaited: it arrives within a second or two, */
export const unrecordedNotificationWaitMs = 2 * second;
/** and after any other inconclusive answer: a gateway that is down stays so for minutes. */
export const unrecordedRepeatMs = minute;
/**
 * Time after which an alarm reports that a gateway gives no answer: every notification that is sent has arrived by
 * then.
 */
export const unrecordedAlarmMs = 5 * minute;
/**
 * Sessions that are put in doubt in one transaction: about a second of work (5,000 took 0.2 s). Smaller slices would
 * sort the waiting sessions too often, because the next slice is selected among them.
 */
export const declareSliceSessions = 20_000;
