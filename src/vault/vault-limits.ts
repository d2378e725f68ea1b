/** Every bound of the vault with its reason. Pure. */

const second = 1_000;
const minute = 60 * second;

/** A card outlives the submission for which it was entered, and little else. */
export const cardLifetimeMs = 15 * minute;
/**
 * A plan holds at most five attempts, of which one may be repeated with authentication and one retried, and each fills the
 * card in once. So do the two calls to a provider of authentication, of which the first may be repeated after each of two
 * crashes.
 */
export const usesPerToken = 11;
/** A device's number has no authentication: five attempts, of which one may be retried. */
export const usesPerNetworkToken = 6;
/** Enough for a customer who mistypes; a card tester needs hundreds. */
export const tokensPerSession = 10;
/** Longer than any session grant is valid (at most 24 h), or an ended session could add cards again. */
export const sessionCountLifetimeMs = 25 * 60 * minute;

/** Calls in a minute, or at once. Copies of the vault divide the limits among themselves. */
export const callLimits = {
  /** Ten cards, each mistyped twice. */
  session: inMinute(30),
  /** A single address may be a shop floor or a mobile carrier's gateway; a card tester needs thousands. */
  address: inMinute(60),
  /** A carrier's gateways share a network, and an attacker's addresses do. */
  network: inMinute(240),
  /** Requests with a signature that is verified, forms and bank pages among them: a form for each card, and reloads. */
  pagesOfAddress: inMinute(300),
  pagesOfNetwork: inMinute(1_200),
  /** A busy merchant's checkout peaks at some payments a second. */
  merchant: inMinute(1_200),
} as const;

/** CreateTokenRequest is under 300 bytes. */
export const tokenBodyBytesMax = 8 * 1024;
/** Apple's token has 4 KiB, of which half is its signature, and Google's has 2. */
export const walletBodyBytesMax = 16 * 1024;
/** A message of a wallet is remembered so much longer than it is valid: a clock that was set back opens none again. */
export const walletSeenMarginMs = 24 * 60 * minute;
/** A sheet that was opened before a rotation still pays, and so does a message that Google has signed until then. */
export const retiringKeyDays = 7;
export const forwardBytesMax = 256 * 1024;
/**
 * Gateways answer an authorization with a few KiB, and none documents more. The answer that is hardest to mask then
 * takes 0.25 s of CPU.
 */
export const answerBytesMax = 256 * 1024;
/** Connecting takes one or two round trips. After a failure here, before a byte is sent, failover is safe. */
export const connectTimeoutMs = 3 * second;

/** The whole body of a gRPC call, once its caller is known: edge and worker are near, and send a few KiB at once. */
export const callBodyWithinMs = 5 * second;
/**
 * Interval between logged refusals of service tokens, for each kind: a wrong clock is noticed, and strangers cannot
 * fill the disk.
 */
export const refusalLogEveryMs = minute;
/** A request of at most 8 KiB, also from a slow mobile line. */
export const requestTimeoutMs = 20 * second;

/** Time that a stopping process waits for a browser's call, which takes milliseconds. */
export const tokenizeEndsWithinMs = 5 * second;
/**
 * Time that it waits for a forwarded request: an attempt may take 14 s (limits.ts, timingBounds) and its answer must
 * not be lost.
 */
export const forwardEndsWithinMs = 16 * second;

/**
 * Interval between sweeps of expired rows: a card stays at most this much longer than its lifetime, sealed and refused.
 */
export const sweepIntervalMs = 30 * second;
/** A copy reports with each sweep that it runs; one that was killed loses its share of the limits after two. */
export const copyLifetimeMs = 2.5 * sweepIntervalMs;
/** Rows deleted by one statement, so that no sweep holds locks for long. */
export const sweepRowsMax = 5_000;

function inMinute(calls: number) {
  return { perSecond: calls / 60, burst: calls };
}
