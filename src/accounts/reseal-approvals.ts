/** Reseals the requests of calls that wait for a second person, so that the previous key can be removed. */
import type { Database, Statement } from "../platform/database.ts";
import { type KeyRing, seal, unseal } from "../platform/secrets.ts";
import type { Approval } from "./approvals.ts";

const lockOld: Statement = {
  name: "lock_approvals_sealed_before",
  text: `SELECT id, merchant_id AS "merchantId", method, sealed_request AS "sealedRequest" FROM approval
         WHERE status = 'PENDING' AND split_part(sealed_request, '.', 1) <> $1 ORDER BY id FOR UPDATE`,
};
const replace: Statement = {
  name: "reseal_approval",
  text: "UPDATE approval SET sealed_request = $2 WHERE id = $1",
};

/** Returns the associated data under which a request is sealed: it opens in its own row only. */
export function associatedDataOf({ id, merchantId, method }: Pick<Approval, "id" | "merchantId" | "method">): string {
  return `approval ${id} ${merchantId} ${method}`;
}

/** Reseals waiting requests with the ring's current key and returns their number; afterwards no other key seals any. */
export async function resealApprovals(accounts: Database, ring: KeyRing): Promise<number> {
  return accounts.transaction(async (tx) => {
    const rows = await tx.query<Pick<Approval, "id" | "merchantId" | "method"> & { sealedRequest: string }>(lockOld, [
      ring.current,
    ]);
    for (const row of rows) {
      const place = associatedDataOf(row);
      await tx.query(replace, [row.id, seal(ring, place, unseal(ring, place, row.sealedRequest).expose())]);
    }
    return rows.length;
  });
}
