/** Passkeys of members as they are kept: public keys alone. */
import type { Statement, Tx } from "../platform/database.ts";

const removeAll: Statement = {
  name: "remove_passkeys_of_member",
  text: "DELETE FROM passkey WHERE member_id = $1 RETURNING 1",
};

/** Forgets every passkey of a member; returns how many there were. */
export async function removePasskeysOf(tx: Tx, memberId: string): Promise<number> {
  return (await tx.query(removeAll, [memberId])).length;
}
