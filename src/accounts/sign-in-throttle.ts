/** Slows the guessing of passwords down: each account, and each address, waits longer after every failure beyond the first few. */
import { freeSignInFailures, signInWaitMs } from "../limits/sign-in.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { sha256 } from "../platform/secrets.ts";

/** Whose failures are counted. The account need not exist. */
export type SignInTry = { readonly email: string; readonly address: string };

// Counted before the password is looked at, so that a thousand tries at once are a thousand failures.
const count: Statement = {
  name: "count_sign_in_failure",
  text: `INSERT INTO sign_in_failures AS f (subject, failures, last_at) VALUES ($1, 1, clock_timestamp())
         ON CONFLICT (subject) DO UPDATE SET last_at = clock_timestamp(),
           failures = CASE WHEN f.last_at < clock_timestamp() - interval '1 day' THEN 1 ELSE f.failures + 1 END
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

const accountOf = (email: string) => sha256(`account ${email}`);
const placeOf = (address: string) => sha256(`address ${address}`);

/** Counts a try as failed, until `forgiveTry` says otherwise. Throws `rate_limited` when it comes too soon. */
export async function countTry(queryable: Queryable, { email, address }: SignInTry): Promise<void> {
  const subjects = [
    [placeOf(address), freeSignInFailures.address],
    [accountOf(email), freeSignInFailures.account],
  ] as const;
  for (const [subject, free] of subjects) {
    const [counted] = await queryable.query(count, [subject, free, signInWaitMs]);
    if (counted === undefined) {
      throw new DomainError("rate_limited", "Too many failed sign-ins. Wait a while, then try again.", {
        retryAfterMs: signInWaitMs,
      });
    }
  }
}

/** Says that a try was none: the account has no failures any more, and the address one less, as the others may be real. */
export async function forgiveTry(queryable: Queryable, { email, address }: SignInTry): Promise<void> {
  await queryable.query(forget, [accountOf(email)]);
  await forgiveAddress(queryable, address);
}

/** Says that the address guessed no password; whether the account's code is being guessed is still open. */
export async function forgiveAddress(queryable: Queryable, address: string): Promise<void> {
  await queryable.query(takeBack, [placeOf(address)]);
}
