/** The bounds of members and their sign-ins, with their reasons. PURE. */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Length of a password: long enough to resist guessing at the throttled rate without rules about digits (NIST SP
 * 800-63B-4, 3.1.1.2); short enough to hash.
 */
export const passwordCharacters = { min: 12, max: 128 } as const;
/** Lifetime of a sign-in, a working day and a night: a member signs in again the next morning. */
export const signInLifetimeMs = day;
/**
 * Longest idle time of a sign-in: a page idle over a long lunch is still signed in, one idle over an afternoon is not.
 */
export const signInIdleMs = 3 * hour;
/** Longest age of the proof of identity for changes of keys, gateways and roles: the length of one task. */
export const freshSignInMs = 15 * minute;
/** Precision of a sign-in's last use: a write for every call would not be more useful. */
export const lastSeenEveryMs = minute;
/** Failures before the first wait: of an account, for mistyped passwords; of an address, for an office behind one. */
export const freeSignInFailures = { account: 5, address: 30 } as const;
/** Random bytes of a browser's mark, so that no two are the same. */
export const knownBrowserBytes = 16;
/**
 * Time for which a browser stays known without a sign-in: a quarter of a year, for people who sign in once a quarter.
 */
export const knownBrowserLifetimeMs = 92 * day;
/** Longest wait between two attempts: about a hundred guesses a day at one account, and not long for its owner. */
export const signInWaitMs = 15 * minute;
/** Time for which failures count after the last of them; then they are removed. */
export const signInFailuresLifetimeMs = day;
/**
 * Time for which the previous token is still accepted after a proof, for calls that were in progress when it was
 * replaced.
 */
export const earlierTokenMs = 10_000;
/** Password hashes at once: half of node's threads, so that files and names are still read; each takes 19 MiB. */
export const hashesAtOnce = 2;
/** Waiting hashes of each kind, some 30 ms of a core each: half a second for strangers, and as much for the others. */
export const hashesWaitingMax = { member: 16, browser: 16, stranger: 32 } as const;
/**
 * Waiting hashes of one member or address behind the running one: a member's two pages; for an address, an office that
 * signs in at once.
 */
export const hashesWaitingEachMax = { member: 2, browser: 2, stranger: 12 } as const;
/** Time after which a refused client may retry. */
export const hashPauseMs = 2_000;
/** Lifetime of an operator's link to choose a new password: its recipient waits for it. */
export const passwordResetLifetimeMs = hour;
/** Passkeys of a member: a few devices and their successors. */
export const passkeysMax = 20;
/**
 * Lifetime of a passkey challenge: enough to find a telephone and its cable
 * (https://www.w3.org/TR/webauthn-3/#sctn-timeout-recommended-range).
 */
export const challengeLifetimeMs = 5 * minute;
/** Unanswered challenges of one address or one sign-in within that time: an office that begins and gives up. */
export const challengesMax = 30;
/** Interval at which expired rows are removed. */
export const signInSweepEveryMs = 10 * minute;
/** Rows that one statement removes: it takes milliseconds, and the next one goes on. */
export const signInSweepRows = 1_000;
/** Lifetime of an invitation: over a week of holidays. */
export const invitationLifetimeMs = 7 * day;

/** Invitations of one merchant in a day, each an unsolicited mail: a large team joins in one day. */
export const invitationsADayMax = 50;
/** Invitations to one address, each a mail to the same person: for a lost mail, or a wrong role. */
export const invitationsOfAddressMax = 5;

/** Time after which a refused inviter may retry: the oldest invitation may be a day old by then. */
export const invitationsPauseMs = hour;
