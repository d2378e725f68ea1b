/** Reseals the secrets of members' authenticator apps, so that the previous key can be removed. */

import type { Database, Statement, Tx } from "../platform/database.ts";
import type { MemberId } from "../platform/ids.ts";
import { type KeyRing, seal, unseal } from "../platform/secrets.ts";
import { associatedDataOf } from "./totp.ts";

// Small enough that locked rows delay no sign-in for long.
const rowsAtOnce = 100;

const lockOld: Statement = {
  name: "lock_totp_sealed_before",
  text: `SELECT id, totp_sealed AS "sealed", totp_offered AS "offered" FROM member
         WHERE split_part(totp_sealed, '.', 1) <> $1 OR split_part(totp_offered, '.', 1) <> $1
         ORDER BY id LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replace: Statement = {
  name: "reseal_totp",
  text: "UPDATE member SET totp_sealed = $2, totp_offered = $3 WHERE id = $1",
};

type Row = { readonly id: MemberId; readonly sealed: string | null; readonly offered: string | null };

/** Reseals members' secrets with the ring's current key and returns their number; afterwards no other key seals any. */
export async function resealTotp(accounts: Database, ring: KeyRing): Promise<number> {
  for (let resealed = 0; ; ) {
    const count = await accounts.transaction((tx) => resealSome(tx, ring));
    if (count === 0) return resealed;
    resealed += count;
  }
}

async function resealSome(tx: Tx, ring: KeyRing): Promise<number> {
  const rows = await tx.query<Row>(lockOld, [ring.current]);
  for (const { id, sealed, offered } of rows) {
    const anew = (text: string | null) =>
      text && seal(ring, associatedDataOf(id), unseal(ring, associatedDataOf(id), text).expose());
    await tx.query(replace, [id, anew(sealed), anew(offered)]);
  }
  return rows.length;
}
