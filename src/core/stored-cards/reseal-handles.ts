/** Reseals the handles of stored cards, so that the key before the current one can be removed. */
import type { Database, Statement } from "../../platform/database.ts";
import type { MerchantId, MethodId } from "../../platform/ids.ts";
import { type KeyRing, seal, unseal } from "../../platform/secrets.ts";
import { handleAssociatedData } from "./claim-stored.ts";

// Small enough that no transaction waits long for a locked row.
const rowsAtOnce = 100;

const lockOld: Statement = {
  name: "lock_handles_sealed_before",
  text: `SELECT id, merchant_id AS "merchantId", handle_sealed AS sealed, handle_hash AS "hash" FROM payment_method
         WHERE handle_sealed IS NOT NULL AND id > $2 AND split_part(handle_sealed, '.', 1) <> $1
         ORDER BY id LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replace: Statement = {
  name: "reseal_handle",
  text: "UPDATE payment_method SET handle_sealed = $2 WHERE id = $1",
};

type Row = {
  readonly id: MethodId;
  readonly merchantId: MerchantId;
  readonly sealed: string;
  readonly hash: Buffer;
};

const beforeAll = "00000000-0000-0000-0000-000000000000";

/** Reseals all handles with the ring's current key, as the owner of the database, and returns their number. */
export async function resealHandles(database: Database, ring: KeyRing): Promise<number> {
  let last: string = beforeAll;
  for (let resealed = 0; ; ) {
    const rows = await database.transaction(async (tx) => {
      const found = await tx.query<Row>(lockOld, [ring.current, last]);
      for (const { id, merchantId, sealed, hash } of found) {
        const associatedData = handleAssociatedData(merchantId, hash);
        await tx.query(replace, [id, seal(ring, associatedData, unseal(ring, associatedData, sealed).expose())]);
      }
      return found;
    });
    if (rows.length === 0) return resealed;
    last = rows.at(-1)!.id;
    resealed += rows.length;
  }
}
