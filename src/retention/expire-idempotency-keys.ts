/** Removes idempotency keys after 24 h, with the sealed vault objects of first answers. */

import type { Core } from "../core/core.ts";
import type { Statement } from "../platform/database.ts";

// A subselect bounds the index; with the volatile function itself, every key of a day would be read.
const deleteExpired: Statement = {
  name: "delete_expired_idempotency",
  text: `
    DELETE FROM idempotency i
    USING (SELECT merchant_id, key FROM idempotency WHERE expires_at <= (SELECT app.clock())
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED) e
    WHERE i.merchant_id = e.merchant_id AND i.key = e.key
    RETURNING i.session_id`,
};

// Keys in one turn: a statement of milliseconds that no request waits for.
const batch = 1_000;

/** Removes expired keys. Returns true when there may be more. Durable on return. */
export async function expireIdempotencyOnce(core: Core): Promise<boolean> {
  return (await core.database.query(deleteExpired, [batch])).length === batch;
}
