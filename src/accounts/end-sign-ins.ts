/** Ends the sign-ins, invitations and links of a restored backup: access revoked since then must not return with it. */
import type { Database, Statement } from "../platform/database.ts";

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

/** Ends every sign-in, open invitation and password link. Returns the number of each; durable on return. */
export async function endEverySignIn(
  accounts: Database,
): Promise<{ signIns: number; invitations: number; passwordLinks: number }> {
  const [signIns, invitations, passwordLinks] = await accounts.transaction((tx) =>
    Promise.all([endSignIns, endInvitations, endResets].map((statement) => tx.query(statement, []))),
  );
  return {
    signIns: signIns?.length ?? 0,
    invitations: invitations?.length ?? 0,
    passwordLinks: passwordLinks?.length ?? 0,
  };
}
