/** Payments that a merchant's block list stops. `claim` looks into it (src/migrations/environment/blocklist.sql). */

import type { CardFingerprint } from "../../platform/card-token.ts";
import type { Statement, Tx } from "../../platform/database.ts";
import type { BlockId } from "../../platform/ids.ts";

export type BlockKind = "CARD" | "EMAIL" | "NETWORK";

/** The entry that stops a payment. */
export type Block = { readonly id: BlockId; readonly kind: BlockKind; readonly reason: string };

const renewStatement: Statement = {
  name: "renew_blocked_card",
  text: `
    UPDATE blocklist_entry b SET value = $2::uuid::text
    WHERE id = $1 AND NOT EXISTS (SELECT FROM blocklist_entry o WHERE o.merchant_id = b.merchant_id AND o.value = $2::uuid::text)`,
};

/**
 * Stores a blocked card's fingerprint under the vault's current key: after a rotation, fingerprints of the former key
 * match nothing.
 */
export function renewBlocked(tx: Tx, { id, kind }: Block, fingerprint: CardFingerprint | undefined): void {
  if (kind !== "CARD" || fingerprint === undefined || fingerprint.versions.length === 1) return;
  tx.send(renewStatement, [id, fingerprint.versions[0]!]);
}
