/**
 * Erases a customer's e-mail address on request. It lives in the sessions alone: events, webhooks, notices, answers that can
 * be repeated, logs and NATS never hold it (docs/security.md says what else may).
 */
import { erasureSliceSessions, erasureSlicesMax } from "../limits/erasure.ts";
import type { Database, Statement } from "../platform/database.ts";
import { deriveKey, hmacSha256, type KeyRing } from "../platform/secrets.ts";

/** What a call has erased, and the last session that it looked at where there are more. */
export type Erased = {
  readonly sessions: number;
  /** Sessions whose order reference holds the address, which stays. */
  readonly orderReferences: number;
  readonly nextAfter: string | undefined;
};

// Slice by slice over the merchant's index, because none leads by the address: that would be a list of customers.
const eraseSlice: Statement = {
  name: "erase_customer_email",
  text: `
    WITH slice AS (
      SELECT id, customer_email, order_ref FROM payment_session
      WHERE merchant_id = $1 AND id > $2 ORDER BY id LIMIT $4),
    erased AS (
      UPDATE payment_session SET customer_email = NULL
      WHERE id = ANY (ARRAY(SELECT id FROM slice WHERE lower(customer_email) = lower($3))) RETURNING 1)
    SELECT (SELECT count(*) FROM slice) AS "lookedAt", (SELECT id FROM slice ORDER BY id DESC LIMIT 1) AS last,
      (SELECT count(*) FROM erased) AS sessions,
      (SELECT count(*) FROM slice WHERE strpos(lower(order_ref), lower($3)) > 0) AS "orderReferences"`,
};

const beforeAll = "00000000-0000-0000-0000-000000000000";

type Slice = { lookedAt: number; last: string | null; sessions: number; orderReferences: number };

/** Erases it from the sessions behind `after`, so many in a call. Durable on return; a repeat does no harm. */
export async function eraseCustomer(
  database: Database,
  { merchantId, email, after }: { merchantId: string; email: string; after: string | undefined },
): Promise<Erased> {
  let last = after;
  let [sessions, orderReferences] = [0, 0];
  for (let taken = 0; taken < erasureSlicesMax; taken++) {
    const [slice] = await database.query<Slice>(eraseSlice, [
      merchantId,
      last ?? beforeAll,
      email,
      erasureSliceSessions,
    ]);
    sessions += slice!.sessions;
    orderReferences += slice!.orderReferences;
    last = slice!.last ?? last;
    if (slice!.lookedAt < erasureSliceSessions) return { sessions, orderReferences, nextAfter: undefined };
  }
  return { sessions, orderReferences, nextAfter: last };
}

/** What the audit trail says in the address's place: whoever has the key and the address can tell that it was erased. */
export function hashOfErased(sealing: KeyRing, email: string): string {
  const key = deriveKey(sealing.keys[sealing.current]!, "erased customers");
  return `${sealing.current}.${hmacSha256(key, email.toLowerCase()).toString("base64url")}`;
}
