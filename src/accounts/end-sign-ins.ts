/**
 * Ends the sign-ins, invitations, links and waiting calls of a restored backup: those that ended after the backup must
 * not return with it.
 */

import type { Database, Statement } from "../platform/database.ts";
import { expireEveryApproval } from "./approvals.ts";

const endSignIns: Statement = {
  name: "end_every_sign_in",
  text: "UPDATE sign_in SET ended_at = clock_timestamp() WHERE ended_at IS NULL RETURNING 1",
};
const endInvitations: Statement = {
  name: "end_every_invitation",
  text: "UPDATE invitation SET ended_at = clock_timestamp() WHERE ended_at IS NULL RETURNING 1",
};
const endResets: Statement = {
  name: "end_every_password_reset",
  text: "UPDATE password_reset SET ended_at = clock_timestamp() WHERE ended_at IS NULL RETURNING 1",
};

/** Ends every sign-in, open invitation, password link and waiting call. Returns the number of each; durable on return. */
export async function endEverySignIn(
  accounts: Database,
): Promise<{ signIns: number; invitations: number; passwordLinks: number; approvals: number }> {
  const [[signIns, invitations, passwordLinks], approvals] = await accounts.transaction((tx) =>
    Promise.all([
      Promise.all([endSignIns, endInvitations, endResets].map((statement) => tx.query(statement, []))),
      expireEveryApproval(tx),
    ]),
  );
  return {
    signIns: signIns?.length ?? 0,
    invitations: invitations?.length ?? 0,
    passwordLinks: passwordLinks?.length ?? 0,
    approvals,
  };
}
