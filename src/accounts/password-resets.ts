/** Links by which a member chooses a new password: made by an operator, for once and for an hour. Kept as a hash. */
import { passwordResetLifetimeMs } from "../limits/sign-in.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import type { Member } from "./members.ts";

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

/** Makes a link's token in place of an earlier one. The password stays as it is until it is used. */
export async function offerPasswordReset(
  tx: Tx,
  entropy: Pick<Entropy, "randomBytes" | "uuid">,
  memberId: string,
): Promise<{ token: Secret; expiresAt: Date }> {
  const token = new Secret(Buffer.from(entropy.randomBytes(tokenBytes)).toString("base64url"));
  await tx.query(endEarlier, [memberId]);
  const values = [entropy.uuid(), memberId, sha256(token.expose()), passwordResetLifetimeMs];
  const [offered] = await tx.query<{ expiresAt: Date }>(insert, values);
  return { token, expiresAt: offered!.expiresAt };
}

const find: Statement = {
  name: "select_password_reset",
  text: `SELECT m.id, m.email, m.name FROM password_reset r JOIN member m ON m.id = r.member_id
         WHERE r.token_hash = $1 AND r.ended_at IS NULL AND r.expires_at > clock_timestamp()`,
};

/** Whose link it is, without using it up; undefined when it is unknown, used or too old. */
export async function findPasswordReset(queryable: Queryable, token: Secret): Promise<Member | undefined> {
  return (await queryable.query<Member>(find, [sha256(token.expose())]))[0];
}

const use: Statement = {
  name: "use_password_reset",
  text: `UPDATE password_reset SET ended_at = clock_timestamp()
         WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > clock_timestamp() RETURNING id`,
};

/** Uses a link up, in the transaction that sets the password; false when somebody was faster. */
export async function usePasswordReset(tx: Tx, token: Secret): Promise<boolean> {
  return (await tx.query(use, [sha256(token.expose())])).length > 0;
}
