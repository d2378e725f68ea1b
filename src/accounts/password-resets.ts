/** Links by which a member chooses a new password: made by an operator, valid once, for an hour; stored as a hash. */

import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MemberId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import type { Member } from "./members.ts";

// Lifetime of an operator's link to choose a new password: its recipient waits for it.
const passwordResetLifetimeMs = 60 * 60_000;

const tokenBytes = 32;

const endEarlier: Statement = {
  name: "end_earlier_password_reset",
  text: "UPDATE password_reset SET ended_at = clock_timestamp() WHERE member_id = $1 AND ended_at IS NULL",
};
const insert: Statement = {
  name: "insert_password_reset",
  text: `INSERT INTO password_reset (id, member_id, token_hash, expires_at)
         VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond') RETURNING expires_at AS "expiresAt"`,
};

/** Creates a link's token and replaces an earlier one. The password stays valid until the link is used. */
export async function offerPasswordReset(
  tx: Tx,
  runtime: Pick<Runtime, "randomBytes" | "uuid">,
  memberId: MemberId,
): Promise<{ token: Secret; expiresAt: Date }> {
  const token = new Secret(Buffer.from(runtime.randomBytes(tokenBytes)).toString("base64url"));
  await tx.query(endEarlier, [memberId]);
  const values = [runtime.uuid(), memberId, sha256(token.expose()), passwordResetLifetimeMs];
  const [offered] = await tx.query<{ expiresAt: Date }>(insert, values);
  return { token, expiresAt: offered!.expiresAt };
}

const find: Statement = {
  name: "select_password_reset",
  text: `SELECT m.id, m.email, m.name FROM password_reset r JOIN member m ON m.id = r.member_id
         WHERE r.token_hash = $1 AND r.ended_at IS NULL AND r.expires_at > clock_timestamp()`,
};

/** Returns the link's member, without consuming it; undefined if it is unknown, used or too old. */
export async function findPasswordReset(queryable: Queryable, token: Secret): Promise<Member | undefined> {
  return (await queryable.query<Member>(find, [sha256(token.expose())]))[0];
}

const use: Statement = {
  name: "use_password_reset",
  text: `UPDATE password_reset SET ended_at = clock_timestamp()
         WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > clock_timestamp() RETURNING id`,
};

/** Consumes a link, in the transaction that sets the password; false if another request has used it. */
export async function usePasswordReset(tx: Tx, token: Secret): Promise<boolean> {
  return (await tx.query(use, [sha256(token.expose())])).length > 0;
}
