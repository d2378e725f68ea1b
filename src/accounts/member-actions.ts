/**
 * Rate limits for members' actions with a cost for others: a number of calls of a kind in a period, across all
 * processes.
 */
import type { Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";

const minute = 60_000;
const hour = 60 * minute;

// Rates of a member's actions that have a cost for others. Operators, who own the installation, are not limited.
const memberActions = {
  /**
   * Webhooks and test calls that are sent at once, to a server that may belong to a third party: more than setting one
   * up takes.
   */
  post: { callsMax: 20, windowMs: minute },
  /** Changes of mail addresses: a team that joins together, and addresses that are corrected. */
  mail: { callsMax: 30, windowMs: hour },
  /** Password hashes of one sign-in: many times the proofs of a long day. */
  password: { callsMax: 30, windowMs: hour },
  /** Pages of a long read, some 100 ms each: reading one after the other never reaches the limit. */
  scan: { callsMax: 600, windowMs: minute },
  /** All other changes: enough for a recovery batch by batch, not for a flood. */
  change: { callsMax: 600, windowMs: minute },
} as const;

/** Actions with a common count. */
export type MemberAction = keyof typeof memberActions;

const count: Statement = {
  name: "count_member_action",
  text: `INSERT INTO member_action AS a (subject, action, calls, window_ends)
         VALUES ($1, $2, 1, clock_timestamp() + $4 * interval '1 millisecond')
         ON CONFLICT (subject, action) DO UPDATE SET
           calls = CASE WHEN a.window_ends <= clock_timestamp() THEN 1 ELSE least(a.calls, $3) + 1 END,
           window_ends = CASE WHEN a.window_ends <= clock_timestamp() THEN excluded.window_ends ELSE a.window_ends END
         RETURNING calls > $3 AS "isTooMany",
           ceil(extract(epoch FROM window_ends - clock_timestamp()) * 1000)::integer AS "waitMs"`,
};

/** Counts a call of a member or of a sign-in. Throws `rate_limited` beyond the limit until the period is over. */
export async function countAction(accounts: Queryable, subject: string, action: MemberAction): Promise<void> {
  const { callsMax, windowMs } = memberActions[action];
  const [row] = await accounts.query<{ isTooMany: boolean; waitMs: number }>(count, [
    subject,
    action,
    callsMax,
    windowMs,
  ]);
  if (row === undefined || !row.isTooMany) return;
  const seconds = Math.max(1, Math.ceil(row.waitMs / 1_000));
  const wait = seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  throw new DomainError("rate_limited", `You have done this too often. Try again in ${wait}.`, {
    retryAfterMs: seconds * 1_000,
  });
}
