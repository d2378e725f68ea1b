/** The bounds of the analytics, with their reasons. PURE. */

/** Steps of a latency between 1 and 2 ms, between 2 and 4 ms and so on: the middle of a step is off by 9 % at most. */
export const latencyStepsPerDoubling = 4;
/** How many steps are counted: up to 2^16 ms, past the longest submission; what took longer counts in the last one. */
export const latencySteps = 64;
/**
 * How long the stretches are that are counted beforehand, from midnight UTC on. Quarters of an hour, because since the year
 * 2000 every zone is a whole number of them from UTC; six hours, so that a day of any zone is nine stretches and not 24.
 */
export const countedMinutes = [15, 60, 360, 1440] as const;
/** How many settled payments are counted in one transaction: a second of work, far from the longest statement. */
export const countedPaymentsMax = 20_000;
/** A range of three years and the leap day: more is a report for a warehouse. */
export const analyticsDaysMax = 1_096;
/** Points of a chart: a month of hours; a page 1 000 pixels wide shows no more. */
export const analyticsPointsMax = 800;
/** Up to so many days an hour is a fair step where none is asked for, and up to so many a day. */
export const analyticsStepDays = { hour: 2, day: 120 } as const;
