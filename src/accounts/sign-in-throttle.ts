/** Slows down password guessing: each count waits longer after every failure beyond the first few. */

import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { SignInId } from "../platform/ids.ts";
import { deriveKey, hmacSha256, type KeyRing } from "../platform/secrets.ts";

// Failures before the first wait: of an account, for mistyped passwords; of an address, for an office behind one.
const freeSignInFailures = { account: 5, address: 30 } as const;
// Longest wait between two attempts: about a hundred guesses a day at one account, and not long for its owner.
const signInWaitMs = 15 * 60_000;
/** Time for which failures count after the last of them; then they are removed. */
export const signInFailuresLifetimeMs = 24 * 60 * 60_000;

export type ThrottleContext = { readonly accounts: Queryable; readonly sealing: KeyRing };

export type Throttled = { readonly name: string; readonly free: number };

/** Attempts at the sign-in page by any browser. The account need not exist. */
export const throttledAccount = (email: string): Throttled => ({
  name: `account ${email}`,
  free: freeSignInFailures.account,
});
export const throttledAddress = (address: string): Throttled => ({
  name: `address ${address}`,
  free: freeSignInFailures.address,
});
/** Attempts at the sign-in page by a browser that the member has signed in by before: strangers cannot block it. */
export const throttledBrowser = (name: string): Throttled => ({
  name: `browser ${name}`,
  free: freeSignInFailures.account,
});
/** Proofs by a signed-in member: strangers cannot block them. */
export const throttledProofs = (signInId: SignInId): Throttled => ({
  name: `proofs of ${signInId}`,
  free: freeSignInFailures.account,
});

// The attempt is counted before the password is checked, so that a thousand concurrent attempts are a thousand
// failures.
const count: Statement = {
  name: "count_sign_in_failure",
  text: `INSERT INTO sign_in_failures AS f (subject, failures, last_at) VALUES ($1, 1, clock_timestamp())
         ON CONFLICT (subject) DO UPDATE SET last_at = clock_timestamp(),
           failures = CASE WHEN f.last_at < clock_timestamp() - $4 * interval '1 millisecond' THEN 1
             ELSE f.failures + 1 END
         WHERE f.last_at + CASE WHEN f.failures < $2 THEN interval '0'
             ELSE least($3::double precision, 1000 * 2 ^ least(f.failures - $2, 30)) * interval '1 millisecond' END
           <= clock_timestamp()
         RETURNING failures`,
};
const forget: Statement = { name: "forget_sign_in_failures", text: "DELETE FROM sign_in_failures WHERE subject = $1" };
const takeBack: Statement = {
  name: "take_back_sign_in_failure",
  text: "UPDATE sign_in_failures SET failures = failures - 1 WHERE subject = $1 AND failures > 0",
};

/** Hashes a text with a key for storage, so that the rows alone do not reveal who tried to sign in. */
export function keyedHash(ring: KeyRing, text: string): Buffer {
  return hmacSha256(deriveKey(ring.keys[ring.current]!, "sign-in failures"), text);
}

/**
 * Counts an attempt as failed until it is forgiven, and returns the number of failures. Throws `rate_limited` if it
 * comes too soon.
 */
export async function countSignInAttempt(
  { accounts, sealing }: ThrottleContext,
  { name, free }: Throttled,
): Promise<number> {
  const values = [keyedHash(sealing, name), free, signInWaitMs, signInFailuresLifetimeMs];
  const [counted] = await accounts.query<{ failures: number }>(count, values);
  if (counted !== undefined) return counted.failures;
  throw new DomainError("rate_limited", "Too many failed sign-ins. Wait a while, then try again.", {
    retryAfterMs: signInWaitMs,
  });
}

/** Clears all failures, once the caller is known. */
export async function forgetTries({ accounts, sealing }: ThrottleContext, { name }: Throttled): Promise<void> {
  await accounts.query(forget, [keyedHash(sealing, name)]);
}

/** Removes the last attempt from the failures; the others may be real. */
export async function returnAttempt({ accounts, sealing }: ThrottleContext, { name }: Throttled): Promise<void> {
  await accounts.query(takeBack, [keyedHash(sealing, name)]);
}

/** Reports whether this failure is a step of the throttle: the first one, and each that caused a wait. */
export function isStep(failures: number, { free }: Throttled): boolean {
  return failures === 1 || failures >= free;
}
