/** Every bound of the vault with its reason. Pure. */

const second = 1_000;
const minute = 60 * second;

/** A card outlives the submission it was entered for, and little else. */
export const cardLifetimeMs = 15 * minute;
/** A plan holds at most five attempts, and each fills the card in once. */
export const usesPerToken = 5;
/** A customer who mistypes; a card tester needs hundreds. */
export const tokensPerSession = 10;
/** Remembered longer than any session grant lives (at most 24 h), or an ended session could bring cards again. */
export const sessionCountLifetimeMs = 25 * 60 * minute;

/** Tokenize calls are counted in windows of this length. */
export const countWindowMs = minute;
/** Ten cards, each mistyped twice; a merchant's count takes forty sessions that do so within one window. */
export const callsPerSession = 30;
/** One address may be a shop floor or a mobile carrier's gateway; a card tester wants thousands. */
export const callsPerAddress = 60;
/** A busy merchant's checkout peaks at some payments a second. */
export const callsPerMerchant = 1_200;

/** CreateTokenRequest is under 300 bytes. */
export const tokenBodyBytesMax = 8 * 1024;
/** A gateway request is a few KiB. */
export const forwardBytesMax = 256 * 1024;
/** Gateways answer with a few KiB; a megabyte is a mistake or an attack. */
export const answerBytesMax = 1024 * 1024;
/** Connecting takes one or two round trips; failing here, before a byte is sent, lets the next gateway be asked safely. */
export const connectTimeoutMs = 3 * second;

/** Of a gRPC call, at Node's default; HTTP/1.1 is bounded by platform/http-server.ts. */
export const headerBytesMax = 16 * 1024;
/** A request of at most 8 KiB, also from a slow mobile line. */
export const requestTimeoutMs = 20 * second;

/** How long a process that stops waits for a call of a browser: it takes milliseconds. */
export const tokenizeEndsWithinMs = 5 * second;
/** And for one that was forwarded: an attempt may take 14 s (limits.ts, timingBounds) and its answer must not be lost. */
export const forwardEndsWithinMs = 16 * second;

/** How often expired rows are looked for: a card lies at most this much longer than it lives, sealed and refused. */
export const sweepIntervalMs = 30 * second;
/** Rows deleted by one statement, so that no sweep holds locks for long. */
export const sweepRowsMax = 5_000;
