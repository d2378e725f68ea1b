/** Reseals endpoints' signing secrets, so that the previous key can be removed. */
import type { Database, Statement } from "../platform/database.ts";
import { seal, unseal } from "../platform/secrets.ts";
import { associatedDataOf, type SealingContext } from "./signing-secrets.ts";

// Few enough that locked rows are released soon.
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

/**
 * Reseals all endpoints' secrets with the ring's current key; afterwards no other key seals any. Returns the number of
 * endpoints.
 */
export async function resealSigningSecrets(database: Database, context: SealingContext): Promise<number> {
  const { sealing } = context;
  for (let resealed = 0; ; ) {
    const count = await database.transaction(async (tx) => {
      const rows = await tx.query<Row>(lockOld, [sealing.current]);
      for (const { id, secret_sealed, previous_sealed } of rows) {
        const associatedData = associatedDataOf(context, id);
        const anew = (sealed: string) =>
          seal(sealing, associatedData, unseal(sealing, associatedData, sealed).expose());
        await tx.query(replace, [id, anew(secret_sealed), previous_sealed === null ? null : anew(previous_sealed)]);
      }
      return rows.length;
    });
    if (count === 0) return resealed;
    resealed += count;
  }
}
