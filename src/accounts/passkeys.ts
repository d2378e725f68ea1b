/** Members' stored passkeys: public keys only, and how often each was used. webauthn.ts verifies them. */

import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MemberId } from "../platform/ids.ts";
import type { Proved } from "./prove-member.ts";

export type Passkey = {
  readonly id: Buffer;
  readonly name: string;
  readonly isSynced: boolean;
  readonly transports: readonly string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
};

export type NewPasskey = Pick<Passkey, "id" | "name" | "isSynced" | "transports"> & {
  readonly memberId: MemberId;
  readonly publicKey: Uint8Array;
  readonly signCount: number;
};

const columns = `id, name, is_synced AS "isSynced", transports, created_at AS "createdAt", last_used_at AS "lastUsedAt"`;

const insert: Statement = {
  name: "insert_passkey",
  text: `INSERT INTO passkey (id, member_id, public_key, sign_count, name, transports, is_synced)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING RETURNING ${columns}`,
};

/** Adds a passkey; undefined if it is registered already. */
export async function insertPasskey(tx: Tx, passkey: NewPasskey): Promise<Passkey | undefined> {
  const { id, memberId, publicKey, signCount, name, transports, isSynced } = passkey;
  const values = [id, memberId, Buffer.from(publicKey), signCount, name, transports, isSynced];
  return (await tx.query<Passkey>(insert, values))[0];
}

const lockKeeper: Statement = {
  name: "lock_passkeys_of_member",
  text: "SELECT 1 FROM member WHERE id = $1 FOR NO KEY UPDATE",
};

/** Locks a member's passkeys until the transaction ends, so that their count stays correct. */
export async function lockPasskeys(tx: Tx, memberId: MemberId): Promise<void> {
  await tx.query(lockKeeper, [memberId]);
}

const selectOfMember: Statement = {
  name: "select_passkeys_of_member",
  text: `SELECT ${columns} FROM passkey WHERE member_id = $1 ORDER BY created_at, id`,
};

/** Returns a member's passkeys, oldest first. */
export async function listPasskeys(queryable: Queryable, memberId: MemberId): Promise<Passkey[]> {
  return queryable.query<Passkey>(selectOfMember, [memberId]);
}

const selectById: Statement = {
  name: "select_passkey_by_id",
  text: `SELECT k.public_key AS "publicKey", k.sign_count AS "signCount", m.proof_version AS "proofVersion",
           jsonb_build_object('id', m.id, 'email', m.email, 'name', m.name) AS member
         FROM passkey k JOIN member m ON m.id = k.member_id WHERE k.id = $1`,
};

export type HeldPasskey = Omit<Proved, "secondFactor"> & { readonly publicKey: Buffer; readonly signCount: number };

/** Returns a passkey with its member; undefined if it is unknown or removed. */
export async function findPasskey(queryable: Queryable, id: Buffer): Promise<HeldPasskey | undefined> {
  return (await queryable.query<HeldPasskey>(selectById, [id]))[0];
}

// Authenticators that do not count always send 0; with others a count that does not grow means a copy or an old answer.
const noteUse: Statement = {
  name: "note_passkey_use",
  text: `UPDATE passkey SET sign_count = $2, is_synced = $3, last_used_at = clock_timestamp()
         WHERE id = $1 AND (sign_count < $2 OR sign_count = 0 AND $2 = 0) RETURNING 1`,
};

/** Records a use; false if the count has not grown, or the passkey was removed meanwhile. */
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

/** Renames a passkey of the member; false if they have no such one. */
export async function renamePasskey(tx: Tx, memberId: MemberId, { id, name }: Pick<Passkey, "id" | "name">) {
  return (await tx.query(rename, [id, memberId, name])).length > 0;
}

const remove: Statement = {
  name: "remove_passkey",
  text: "DELETE FROM passkey WHERE id = $1 AND member_id = $2 RETURNING name",
};

/** Removes a passkey of the member and returns its name; undefined if they have no such one. */
export async function removePasskey(tx: Tx, memberId: MemberId, id: Buffer): Promise<string | undefined> {
  return (await tx.query<{ name: string }>(remove, [id, memberId]))[0]?.name;
}

const removeAll: Statement = {
  name: "remove_passkeys_of_member",
  text: "DELETE FROM passkey WHERE member_id = $1 RETURNING 1",
};

export async function removePasskeysOf(tx: Tx, memberId: MemberId): Promise<number> {
  return (await tx.query(removeAll, [memberId])).length;
}
