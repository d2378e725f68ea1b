/** Seals endpoints' signing secrets anew, so that the key before the current one can go. */
import type { Database, Statement } from "../platform/database.ts";
import { seal, unseal } from "../platform/secrets.ts";
import { placeOf, type SealingContext } from "./signing-secrets.ts";

// Few enough that nobody waits long for a locked row.
const rowsAtOnce = 100;

const lockOld: Statement = {
  name: "lock_endpoints_sealed_before",
  text: `SELECT id, secret_sealed, previous_sealed FROM endpoint
         WHERE split_part(secret_sealed, '.', 1) <> $1 OR split_part(previous_sealed, '.', 1) <> $1
         ORDER BY id LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replace: Statement = {
  name: "reseal_endpoint",
  text: "UPDATE endpoint SET secret_sealed = $2, previous_sealed = $3 WHERE id = $1",
};

type Row = { readonly id: string; readonly secret_sealed: string; readonly previous_sealed: string | null };

/** How many endpoints' secrets were sealed anew with the ring's current key; afterwards no other key seals any. */
export async function resealSigningSecrets(database: Database, context: SealingContext): Promise<number> {
  const { sealing } = context;
  for (let resealed = 0; ; ) {
    const count = await database.transaction(async (tx) => {
      const rows = await tx.query<Row>(lockOld, [sealing.current]);
      for (const { id, secret_sealed, previous_sealed } of rows) {
        const place = placeOf(context, id);
        const anew = (sealed: string) => seal(sealing, place, unseal(sealing, place, sealed).expose());
        await tx.query(replace, [id, anew(secret_sealed), previous_sealed === null ? null : anew(previous_sealed)]);
      }
      return rows.length;
    });
    if (count === 0) return resealed;
    resealed += count;
  }
}
