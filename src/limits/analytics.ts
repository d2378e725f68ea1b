/** The bounds of the analytics, with their reasons. PURE. */

/** Steps of a latency between 1 and 2 ms, between 2 and 4 ms and so on: the middle of a step is off by at most 9 %. */
export const latencyStepsPerDoubling = 4;
/** Number of steps: up to 2^16 ms, beyond the longest submission; longer latencies count in the last one. */
export const latencySteps = 64;
/**
 * Lengths of the stretches whose counts are stored, from midnight UTC on. Quarters of an hour, because since the year
 * 2000 every zone differs from UTC by a whole number of them; six hours, so a day of any zone is nine stretches, not
 * 24.
 */
export const countedMinutes = [15, 60, 360, 1440] as const;
/** Settled payments that are counted in one transaction: a second of work, far below the longest statement. */
export const countedPaymentsMax = 20_000;
/** Longest range in days, three years and the leap day: more is a report for a data warehouse. */
export const analyticsDaysMax = 1_096;
/** Most points of a chart: a month of hours; a page of 1 000 pixels shows no more. */
export const analyticsPointsMax = 800;
/** Ranges in days up to which an hour, or a day, is the default length of a point. */
export const analyticsStepDays = { hour: 2, day: 120 } as const;
