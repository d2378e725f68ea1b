/** Reseals gateways' credentials, so that the key before the current one can be removed. */

import type { Database, Statement } from "../platform/database.ts";
import type { ConnectionId } from "../platform/ids.ts";
import { type KeyRing, seal, unseal } from "../platform/secrets.ts";
import { placeOf } from "./connections.ts";

// Small enough that no transaction waits long for a locked row.
const rowsAtOnce = 100;

const lockOld: Statement = {
  name: "lock_credentials_sealed_before",
  text: `SELECT connection_id AS "connectionId", version, sealed FROM connection_credential
         WHERE sealed <> '' AND split_part(sealed, '.', 1) <> $1
         ORDER BY connection_id, version LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replace: Statement = {
  name: "reseal_credential",
  text: "UPDATE connection_credential SET sealed = $3 WHERE connection_id = $1 AND version = $2",
};

type Row = { readonly connectionId: ConnectionId; readonly version: number; readonly sealed: string };

/** Reseals all credentials with the ring's current key and returns their number; afterwards no other key seals any. */
export async function resealCredentials(database: Database, ring: KeyRing): Promise<number> {
  for (let resealed = 0; ; ) {
    const count = await database.transaction(async (tx) => {
      const rows = await tx.query<Row>(lockOld, [ring.current]);
      for (const { connectionId, version, sealed } of rows) {
        const associatedData = placeOf(connectionId);
        await tx.query(replace, [
          connectionId,
          version,
          seal(ring, associatedData, unseal(ring, associatedData, sealed).expose()),
        ]);
      }
      return rows.length;
    });
    if (count === 0) return resealed;
    resealed += count;
  }
}
