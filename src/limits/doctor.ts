/** Thresholds from which the doctor reports something as late, old or scarce, with their reasons. PURE. */

const second = 1_000;
const mebibyte = 1024 ** 2;

/**
 * Timeout of one examination: a server on the same network answers in milliseconds; one that takes this long is
 * practically gone.
 */
export const examinationTimeoutMs = 5 * second;
/**
 * Timeout of one area: several requests to one server that each just answers in time, without delaying the other areas.
 */
export const areaTimeoutMs = 30 * second;
/** Time after which progress is shown. */
export const progressAfterMs = 2 * second;
/**
 * Largest difference of clocks: times of tokens and leases are compared across machines, and all of them last many
 * seconds.
 */
export const clockDifferenceMaxMs = second;
/** Sessions that the doctor audits, newest first: the worker audits all of them. */
export const auditedSessions = 500;
/**
 * Ages of a backlog: an event is sent within a second of its payment; the sweep sends it after a minute at the latest.
 */
export const backlogAges = { warnSeconds: 60, problemSeconds: 300 } as const;
/** Longest silence of workers: a worker audits every 50 seconds. */
export const workerSilenceSecondsMax = 300;
/** Longest failure of an endpoint: a wrong URL is found in an hour, and retries go on for days. */
export const endpointFailingSecondsMax = 3_600;
/**
 * Shortest remaining validity of a certificate: they are renewed a month before their end; two weeks before, a person
 * has to find out why not.
 */
export const certificateDaysMin = 14;
/**
 * Least free disk space: `warn` has room for a day's events and a week's log; `problem` is close to a full disk, on
 * which a server stops.
 */
export const diskBytesMin = { warn: 1_024 * mebibyte, problem: 100 * mebibyte } as const;
/** Most findings of one kind that are named; more say nothing new. */
export const namedMax = 5;
