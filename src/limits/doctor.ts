/** From when on the doctor calls something late, old or scarce, with the reasons. PURE. */

const second = 1_000;
const mebibyte = 1024 ** 2;

/** A server on the same network answers in milliseconds; one that takes this long is as good as gone. */
export const examinationTimeoutMs = 5 * second;
/** Several questions to one server that each just answers in time; after that the others are not kept waiting. */
export const areaTimeoutMs = 30 * second;
/** Who waits longer than this is told what for. */
export const progressAfterMs = 2 * second;
/** Times are compared across machines where tokens end and leases lapse: all of these last many seconds. */
export const clockDifferenceMaxMs = second;
/** Sessions whose rules are asked about, newest first: the worker walks over all of them. */
export const auditedSessions = 500;
/** An event leaves within a second of its payment; the sweep takes it up after a minute at the latest. */
export const backlogAges = { warnSeconds: 60, problemSeconds: 300 } as const;
/** A worker audits every 50 seconds. */
export const workerSilenceSecondsMax = 300;
/** A wrong URL is found in an hour; a failing endpoint gets its retries for days before that matters. */
export const endpointFailingSecondsMax = 3_600;
/** Certificates are renewed a month before their end; two weeks before, somebody has to look why not. */
export const certificateDaysLeast = 14;
/** Events of a day and a log of a week have room in the first; a server stops on a full disk, which the second is close to. */
export const diskBytesLeast = { warn: 1_024 * mebibyte, problem: 100 * mebibyte } as const;
/** More findings of one kind say nothing new. */
export const namedMax = 5;
