/** Reseals the sealed contents of disputes, so that the key before the current one can be removed. */
import type { Database, Statement } from "../platform/database.ts";
import { type KeyRing, seal, unseal } from "../platform/secrets.ts";
import { placeOf as placeOfFile } from "./dispute-files.ts";
import { placeOf as placeOfResponse } from "./respond.ts";

// A file has some megabytes.
const rowsAtOnce = 5;

const tables = [
  ["dispute_file", placeOfFile],
  ["dispute_response", placeOfResponse],
] as const;

const lockOld = (table: string): Statement => ({
  name: `lock_${table}_sealed_before`,
  text: `SELECT id, content_sealed AS sealed FROM ${table} WHERE split_part(content_sealed, '.', 1) <> $1 ORDER BY id LIMIT ${rowsAtOnce} FOR UPDATE`,
});
const replace = (table: string): Statement => ({
  name: `reseal_${table}`,
  text: `UPDATE ${table} SET content_sealed = $2 WHERE id = $1`,
});

/** Reseals all of it with the ring's current key, and returns the number of rows. Only the owner of the database may. */
export async function resealDisputes(database: Database, ring: KeyRing): Promise<number> {
  let resealed = 0;
  for (const [table, placeOf] of tables) {
    for (let count = -1; count !== 0; resealed += count) {
      count = await database.transaction(async (tx) => {
        const rows = await tx.query<{ id: string; sealed: string }>(lockOld(table), [ring.current]);
        for (const { id, sealed } of rows) {
          const content = unseal(ring, placeOf(id), sealed).expose();
          await tx.query(replace(table), [id, seal(ring, placeOf(id), content)]);
        }
        return rows.length;
      });
    }
  }
  return resealed;
}
