/** Reseals the handles of stored cards, and of those that are being stored, so that the key before the current one can be removed. */
import type { Database, Statement } from "../../platform/database.ts";
import type { MerchantId, SessionId } from "../../platform/ids.ts";
import { type KeyRing, seal, unseal } from "../../platform/secrets.ts";
import { handleAssociatedData, tokenAssociatedData } from "./claim-stored.ts";

// Small enough that no transaction waits long for a locked row.
const rowsAtOnce = 100;

const lockSavings: Statement = {
  name: "lock_savings_sealed_before",
  text: `SELECT session_id AS id, merchant_id AS "merchantId", handle_sealed AS sealed, handle_hash AS "hash", token_sealed AS "tokenSealed" FROM stored_payment
         WHERE saving = 'REQUESTED' AND handle_sealed IS NOT NULL AND session_id > $2 AND split_part(handle_sealed, '.', 1) <> $1
         ORDER BY session_id LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replaceSaving: Statement = {
  name: "reseal_saving",
  text: "UPDATE stored_payment SET handle_sealed = $2, token_sealed = $3 WHERE session_id = $1",
};
const lockMethods: Statement = {
  name: "lock_handles_sealed_before",
  text: `SELECT id, merchant_id AS "merchantId", handle_sealed AS sealed, handle_hash AS "hash" FROM payment_method
         WHERE handle_sealed IS NOT NULL AND id > $2 AND split_part(handle_sealed, '.', 1) <> $1
         ORDER BY id LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replaceMethod: Statement = {
  name: "reseal_handle",
  text: "UPDATE payment_method SET handle_sealed = $2 WHERE id = $1",
};

type Row = {
  readonly id: SessionId;
  readonly merchantId: MerchantId;
  readonly sealed: string;
  readonly hash: Buffer;
  /** The token of a card that is being stored. */
  readonly tokenSealed?: string;
};

const beforeAll = "00000000-0000-0000-0000-000000000000";

/** Reseals all handles with the ring's current key, as the owner of the database, and returns their number. */
export async function resealHandles(database: Database, ring: KeyRing): Promise<number> {
  // A card that is stored meanwhile takes its handle along as it is sealed, so its method comes second.
  const savings = await resealAll(database, ring, { lock: lockSavings, replace: replaceSaving });
  return savings + (await resealAll(database, ring, { lock: lockMethods, replace: replaceMethod }));
}

async function resealAll(
  database: Database,
  ring: KeyRing,
  { lock, replace }: { readonly lock: Statement; readonly replace: Statement },
): Promise<number> {
  const again = (associatedData: string, sealed: string) =>
    seal(ring, associatedData, unseal(ring, associatedData, sealed).expose());
  let last: string = beforeAll;
  for (let resealed = 0; ; ) {
    const rows = await database.transaction(async (tx) => {
      const found = await tx.query<Row>(lock, [ring.current, last]);
      for (const { id, merchantId, sealed, hash, tokenSealed } of found) {
        const handle = again(handleAssociatedData(merchantId, hash), sealed);
        const token = tokenSealed === undefined ? [] : [again(tokenAssociatedData(id), tokenSealed)];
        await tx.query(replace, [id, handle, ...token]);
      }
      return found;
    });
    if (rows.length === 0) return resealed;
    last = rows.at(-1)!.id;
    resealed += rows.length;
  }
}
