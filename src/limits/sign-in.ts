/** The bounds of members and their sign-ins, with their reasons. PURE. */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Long enough to resist guessing at the throttled pace without rules about digits (NIST SP 800-63B-4, 3.1.1.2); short enough to hash. */
export const passwordCharacters = { least: 12, most: 128 } as const;
/** A working day and a night: who comes back the next morning signs in again. */
export const signInLifetimeMs = day;
/** A page left alone over a long lunch is still signed in, one left over an afternoon is not. */
export const signInIdleMs = 3 * hour;
/** How old the proof of who somebody is may be for keys, gateways and roles: one task's length. */
export const freshSignInMs = 15 * minute;
/** How exactly a sign-in's last use is kept: a write for every call would tell nobody more. */
export const lastSeenEveryMs = minute;
/** Failures before the first wait: of an account, for mistyped passwords; of an address, for an office behind one. */
export const freeSignInFailures = { account: 5, address: 30 } as const;
/** The longest wait between two tries: about a hundred guesses a day of one account, and not a long time for its owner. */
export const signInWaitMs = 15 * minute;
/** How long failures count after the last of them; then they are removed. */
export const signInFailuresLifetimeMs = day;
/** How long calls with the token before a proof are still answered: those that were under way when it was replaced. */
export const earlierTokenMs = 10_000;
/** Password hashes at once: half of node's threads, so that files and names are still read; each takes 19 MiB. */
export const hashesAtOnce = 2;
/** How many wait, some 30 ms of a core each: half a second of strangers, and members beside them. */
export const hashesWaitingMax = { member: 16, stranger: 32 } as const;
/** When to come again after them. */
export const hashPauseMs = 2_000;
/** How long a new password can be chosen by an operator's link: it is sent to somebody who waits for it. */
export const passwordResetLifetimeMs = hour;
/** Passkeys of a member: a few devices and their successors. */
export const passkeysMax = 20;
/** How long a passkey may be asked for: to find a telephone and its cable (https://www.w3.org/TR/webauthn-3/#sctn-timeout-recommended-range). */
export const challengeLifetimeMs = 5 * minute;
/** Unanswered ones of one address or one sign-in within that time: an office that begins and gives up. */
export const challengesMax = 30;
/** How often what has lapsed is removed. */
export const signInSweepEveryMs = 10 * minute;
/** Rows that one statement removes: it takes milliseconds, and the next one goes on. */
export const signInSweepRows = 1_000;
/** How long an invitation can be accepted: over a week of holidays. */
export const invitationLifetimeMs = 7 * day;

/** Invitations of one merchant in a day, each of them a mail to somebody who did not ask: a large team comes in on one. */
export const invitationsADayMax = 50;
/** When to come again after them: the oldest may be a day old in this time. */
export const invitationsPauseMs = hour;
