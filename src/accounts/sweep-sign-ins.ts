/** Removes what has lapsed of signing in: counted failures, and challenges that no passkey answered. */
import { signInFailuresLifetimeMs, signInSweepRows } from "../limits/sign-in.ts";
import type { Database, Statement } from "../platform/database.ts";

const removeFailures: Statement = {
  name: "remove_old_sign_in_failures",
  text: `DELETE FROM sign_in_failures WHERE subject IN (
           SELECT subject FROM sign_in_failures WHERE last_at < clock_timestamp() - $1 * interval '1 millisecond'
           LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
};
const removeChallenges: Statement = {
  name: "remove_old_passkey_challenges",
  text: `DELETE FROM passkey_challenge WHERE hash IN (
           SELECT hash FROM passkey_challenge WHERE expires_at < clock_timestamp()
           LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
};

/** One turn; true when there is more to do. */
export async function sweepSignInsOnce(accounts: Database): Promise<boolean> {
  const failures = await accounts.query(removeFailures, [signInFailuresLifetimeMs, signInSweepRows]);
  const challenges = await accounts.query(removeChallenges, [signInSweepRows]);
  return failures.length === signInSweepRows || challenges.length === signInSweepRows;
}
