/** Removes lapsed sign-in data, sign-ins and invitations that ended long ago, and the oldest audit rows. Closes calls that no one approved. */
import { auditRetentionMs } from "../limits.ts";
import type { Database, Statement } from "../platform/database.ts";
import { expireApprovals } from "./approvals.ts";
import { signInFailuresLifetimeMs } from "./sign-in-throttle.ts";

// Ended sign-ins, invitations and password links: a month to trace access.
const endedSignInRetentionMs = 31 * 24 * 60 * 60_000;
// Rows that one statement removes: it takes milliseconds, and the next one continues.
const signInSweepRows = 1_000;

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

const removeLogoutTokens: Statement = {
  name: "remove_old_logout_tokens",
  text: `DELETE FROM logout_token WHERE (issuer, jti) IN (
           SELECT issuer, jti FROM logout_token WHERE expires_at < clock_timestamp()
           LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
};

const removeActions: Statement = {
  name: "remove_old_member_actions",
  text: `DELETE FROM member_action WHERE (subject, action) IN (
           SELECT subject, action FROM member_action WHERE window_ends < clock_timestamp()
           LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1`,
};

const ended = (table: string): Statement => ({
  name: `remove_ended_${table}`,
  text: `DELETE FROM ${table} WHERE id IN (
           SELECT id FROM ${table}
           WHERE least(ended_at, expires_at) < clock_timestamp() - $1 * interval '1 millisecond'
           LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
});
const removeEnded = ["sign_in", "invitation", "password_reset"].map(ended);
const removeAudit: Statement = {
  name: "remove_old_audit_entries",
  text: `DELETE FROM audit_entry WHERE id IN (
           SELECT id FROM audit_entry WHERE created_at < clock_timestamp() - $1 * interval '1 millisecond'
           LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
};

/** Runs one round; true if there is more to do. */
export async function sweepSignInsOnce(accounts: Database): Promise<boolean> {
  const failures = await accounts.query(removeFailures, [signInFailuresLifetimeMs, signInSweepRows]);
  const challenges = await accounts.query(removeChallenges, [signInSweepRows]);
  // Challenges of a sign-in are removed long before it.
  const actions = await accounts.query(removeActions, [signInSweepRows]);
  const logouts = await accounts.query(removeLogoutTokens, [signInSweepRows]);
  const expired = await expireApprovals(accounts, signInSweepRows);
  const others = [actions, logouts, await accounts.query(removeAudit, [auditRetentionMs, signInSweepRows])];
  for (const statement of removeEnded) {
    others.push(await accounts.query(statement, [endedSignInRetentionMs, signInSweepRows]));
  }
  return (
    expired === signInSweepRows || [failures, challenges, ...others].some(({ length }) => length === signInSweepRows)
  );
}
