/** Passkeys of members as they are kept: public keys alone, and how often each was used. How they are checked is in webauthn.ts. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { Proved } from "./prove-member.ts";

/** One as its member sees it. */
export type Passkey = {
  readonly id: Buffer;
  readonly name: string;
  readonly isSynced: boolean;
  readonly transports: readonly string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
};

/** What an authenticator has made. */
export type NewPasskey = Pick<Passkey, "id" | "name" | "isSynced" | "transports"> & {
  readonly memberId: string;
  readonly publicKey: Uint8Array;
  readonly signCount: number;
};

const columns = `id, name, is_synced AS "isSynced", transports, created_at AS "createdAt", last_used_at AS "lastUsedAt"`;

const insert: Statement = {
  name: "insert_passkey",
  text: `INSERT INTO passkey (id, member_id, public_key, sign_count, name, transports, is_synced)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING RETURNING ${columns}`,
};

/** Adds a passkey; undefined when somebody has it already. */
export async function insertPasskey(tx: Tx, passkey: NewPasskey): Promise<Passkey | undefined> {
  const { id, memberId, publicKey, signCount, name, transports, isSynced } = passkey;
  const values = [id, memberId, Buffer.from(publicKey), signCount, name, transports, isSynced];
  return (await tx.query<Passkey>(insert, values))[0];
}

const lockKeeper: Statement = {
  name: "lock_passkeys_of_member",
  text: "SELECT 1 FROM member WHERE id = $1 FOR NO KEY UPDATE",
};

/** Until the transaction ends nobody else adds one who asks for this too, so that what is counted stays the number. */
export async function lockPasskeys(tx: Tx, memberId: string): Promise<void> {
  await tx.query(lockKeeper, [memberId]);
}

const selectOfMember: Statement = {
  name: "select_passkeys_of_member",
  text: `SELECT ${columns} FROM passkey WHERE member_id = $1 ORDER BY created_at, id`,
};

/** A member's passkeys, oldest first. */
export async function listPasskeys(queryable: Queryable, memberId: string): Promise<Passkey[]> {
  return queryable.query<Passkey>(selectOfMember, [memberId]);
}

const selectById: Statement = {
  name: "select_passkey_by_id",
  text: `SELECT k.public_key AS "publicKey", k.sign_count AS "signCount", m.proof_version AS "proofVersion",
           jsonb_build_object('id', m.id, 'email', m.email, 'name', m.name) AS member
         FROM passkey k JOIN member m ON m.id = k.member_id WHERE k.id = $1`,
};

/** A passkey with whoever proves by it who they are. */
export type HeldPasskey = Proved & { readonly publicKey: Buffer; readonly signCount: number };

/** Whose passkey it is; undefined for one that is unknown or removed. */
export async function findPasskey(queryable: Queryable, id: Buffer): Promise<HeldPasskey | undefined> {
  return (await queryable.query<HeldPasskey>(selectById, [id]))[0];
}

// Authenticators that do not count say 0 each time; of others a count that does not grow is a copy's, or an old answer.
const noteUse: Statement = {
  name: "note_passkey_use",
  text: `UPDATE passkey SET sign_count = $2, is_synced = $3, last_used_at = clock_timestamp()
         WHERE id = $1 AND (sign_count < $2 OR sign_count = 0 AND $2 = 0) RETURNING 1`,
};

/** Notes a use; false when the count has not grown, or the passkey was removed meanwhile. */
export async function notePasskeyUse(
  tx: Tx,
  { id, signCount, isSynced }: Pick<NewPasskey, "id" | "signCount" | "isSynced">,
): Promise<boolean> {
  return (await tx.query(noteUse, [id, signCount, isSynced])).length > 0;
}

const rename: Statement = {
  name: "rename_passkey",
  text: "UPDATE passkey SET name = $3 WHERE id = $1 AND member_id = $2 RETURNING 1",
};

/** Gives a passkey of the member's another name; false when they have no such one. */
export async function renamePasskey(tx: Tx, memberId: string, { id, name }: Pick<Passkey, "id" | "name">) {
  return (await tx.query(rename, [id, memberId, name])).length > 0;
}

const remove: Statement = {
  name: "remove_passkey",
  text: "DELETE FROM passkey WHERE id = $1 AND member_id = $2 RETURNING name",
};

/** Forgets a passkey of the member's, and tells its name; undefined when they have no such one. */
export async function removePasskey(tx: Tx, memberId: string, id: Buffer): Promise<string | undefined> {
  return (await tx.query<{ name: string }>(remove, [id, memberId]))[0]?.name;
}

const removeAll: Statement = {
  name: "remove_passkeys_of_member",
  text: "DELETE FROM passkey WHERE member_id = $1 RETURNING 1",
};

/** Forgets every passkey of a member; returns how many there were. */
export async function removePasskeysOf(tx: Tx, memberId: string): Promise<number> {
  return (await tx.query(removeAll, [memberId])).length;
}
