/** Slows the guessing of passwords down: whatever is counted waits longer after every failure beyond the first few. */
import { freeSignInFailures, signInFailuresLifetimeMs, signInWaitMs } from "../limits/sign-in.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { deriveKey, hmacSha256, type KeyRing } from "../platform/secrets.ts";

/** Where failures are counted, and the ring that the names of what is counted are hashed with. */
export type ThrottleContext = { readonly accounts: Queryable; readonly sealing: KeyRing };

/** What is counted by itself, and how many failures of it are free. */
export type Throttled = { readonly name: string; readonly free: number };

/** Tries at the sign-in page by anybody. The account need not exist. */
export const throttledAccount = (email: string): Throttled => ({
  name: `account ${email}`,
  free: freeSignInFailures.account,
});
/** Tries at the sign-in page from one address. */
export const throttledAddress = (address: string): Throttled => ({
  name: `address ${address}`,
  free: freeSignInFailures.address,
});
/** Proofs by somebody who is signed in: strangers cannot keep a member from them. */
export const throttledProofs = (signInId: string): Throttled => ({
  name: `proofs of ${signInId}`,
  free: freeSignInFailures.account,
});

// Counted before the password is looked at, so that a thousand tries at once are a thousand failures.
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

/** A text as it is kept: by a hash with a key, so that the rows tell nobody who has them who tried. */
export function keyedHash(ring: KeyRing, text: string): Buffer {
  return hmacSha256(deriveKey(ring.keys[ring.current]!, "sign-in failures"), text);
}

/** Counts a try as failed until it is forgiven, and tells how many there are. Throws `rate_limited` when it comes too soon. */
export async function countTry({ accounts, sealing }: ThrottleContext, { name, free }: Throttled): Promise<number> {
  const values = [keyedHash(sealing, name), free, signInWaitMs, signInFailuresLifetimeMs];
  const [counted] = await accounts.query<{ failures: number }>(count, values);
  if (counted !== undefined) return counted.failures;
  throw new DomainError("rate_limited", "Too many failed sign-ins. Wait a while, then try again.", {
    retryAfterMs: signInWaitMs,
  });
}

/** Says that none of the failures were any: it is known now who tries. */
export async function forgetTries({ accounts, sealing }: ThrottleContext, { name }: Throttled): Promise<void> {
  await accounts.query(forget, [keyedHash(sealing, name)]);
}

/** Says that the last try was no failure; the others may be real. */
export async function takeTryBack({ accounts, sealing }: ThrottleContext, { name }: Throttled): Promise<void> {
  await accounts.query(takeBack, [keyedHash(sealing, name)]);
}

/** Whether this failure is a step of the throttle: the first one, and each that made somebody wait. */
export function isStep(failures: number, { free }: Throttled): boolean {
  return failures === 1 || failures >= free;
}
