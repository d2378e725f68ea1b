/**
 * Erases a customer's data on request: e-mail address, name, billing address, the merchant's reference, network and the card's fingerprint. Only sessions, stored cards and agreements contain them: events, webhooks, gateway notifications,
 * stored first answers, logs and NATS never do (docs/retention.md lists what else may).
 */

import type { Statement, Transacting, Tx } from "../platform/database.ts";
import type { MerchantId, SessionId } from "../platform/ids.ts";
import { deriveKey, hmacSha256, type KeyRing } from "../platform/secrets.ts";

// Sessions that one statement checks: it takes milliseconds, and locks the changed rows no longer.
const erasureSliceSessions = 5_000;
// Slices of one call: a second or two, far below the deadline of a call.
const erasureSlicesMax = 20;

/** The result of a call, with the last session that it checked where there are more. */
export type Erased = {
  readonly sessions: number;
  /** Sessions whose order reference, metadata or refund references contain the address, which stays. */
  readonly orderReferences: number;
  readonly nextAfter: string | undefined;
};

// The counts against card testing lose the customer's network. The card stays counted for its two days.
const uncounted = `
    no_network AS (UPDATE card_submission SET network = NULL WHERE session_id IN (SELECT id FROM erased)),
    no_test AS (DELETE FROM tested_payment WHERE session_id IN (SELECT id FROM erased))`;

// Files and explanations of disputes: at once, those of an open one at its end. A function that is not read would not be called.
const openDisputes = `(SELECT count(*)::int FROM app.erase_dispute_content(ARRAY(SELECT id FROM erased))) AS "openDisputes"`;

// Slice by slice over all of the merchant's sessions: an order reference or metadata of any of them may contain the address.
const eraseSlice: Statement = {
  name: "erase_customer_email",
  text: `
    WITH slice AS (
      SELECT id, customer_email, concat_ws(' ', order_ref, details ->> 'metadata', CASE WHEN refunds > 0 THEN (
          SELECT string_agg(refund_ref, ' ') FROM refund WHERE session_id = payment_session.id) END) AS kept
      FROM payment_session
      WHERE merchant_id = $1 AND id > $2 ORDER BY id LIMIT $4),
    erased AS (
      SELECT id FROM app.erase_customers($1, ARRAY(SELECT id FROM slice WHERE lower(customer_email) = lower($3)), $3) AS id),${uncounted}
    SELECT (SELECT count(*) FROM slice) AS "lookedAt", (SELECT id FROM slice ORDER BY id DESC LIMIT 1) AS last,
      (SELECT count(*) FROM erased) AS sessions, ${openDisputes},
      (SELECT count(*) FROM slice WHERE strpos(lower(kept), lower($3)) > 0) AS "orderReferences"`,
};

const eraseOne: Statement = {
  name: "erase_customer_of_session",
  partitionKey: 2,
  text: `
    WITH erased AS (SELECT id FROM app.erase_customer($1, $2)),${uncounted}
    SELECT id, ${openDisputes} FROM erased`,
};

const eraseByRef: Statement = {
  name: "erase_customer_by_reference",
  text: `
    WITH erased AS (SELECT id FROM app.erase_stored_customer($1, $2) AS id),${uncounted}
    SELECT id, ${openDisputes} FROM erased`,
};

/**
 * Erases the data of the customer with this reference of the merchant's from every session. The customer's agreements are cancelled, and stored
 * cards deleted. Returns the number of sessions.
 */
export async function eraseByReference(
  tx: Tx,
  { merchantId, customerRef }: { merchantId: MerchantId; customerRef: string },
): Promise<number> {
  return (await tx.query(eraseByRef, [merchantId, customerRef])).length;
}

/** Erases the customer's data from one session of the merchant. Returns false if there is no such session. */
export async function eraseFromSession(
  tx: Tx,
  { merchantId, sessionId }: { merchantId: MerchantId; sessionId: SessionId },
): Promise<boolean> {
  return (await tx.query(eraseOne, [merchantId, sessionId])).length > 0;
}

const beforeAll = "00000000-0000-0000-0000-000000000000";

type Slice = { lookedAt: number; last: SessionId | null; sessions: number; orderReferences: number };

/**
 * Erases the data of the customer with this address from the sessions after `after`, a bounded number per call. Durable on return; a repeat is
 * harmless. `also` runs with each slice that contained the address, and with the last slice of a call that found none.
 */
export async function eraseCustomer(
  database: Transacting,
  { merchantId, email, after }: { merchantId: MerchantId; email: string; after: SessionId | undefined },
  also: (tx: Tx, counts: Pick<Erased, "sessions" | "orderReferences">) => Promise<void>,
): Promise<Erased> {
  let last = after;
  let [sessions, orderReferences] = [0, 0];
  for (let taken = 1; taken <= erasureSlicesMax; taken++) {
    const values = [merchantId, last ?? beforeAll, email, erasureSliceSessions];
    const foundBefore = sessions + orderReferences;
    const slice = await database.transaction(async (tx) => {
      const [row] = await tx.query<Slice>(eraseSlice, values);
      const counts = { sessions: row!.sessions, orderReferences: row!.orderReferences };
      const isLast = taken === erasureSlicesMax || row!.lookedAt < erasureSliceSessions;
      const isFound = counts.sessions + counts.orderReferences > 0;
      if (isFound || (isLast && foundBefore === 0)) await also(tx, counts);
      return row!;
    });
    sessions += slice.sessions;
    orderReferences += slice.orderReferences;
    last = slice.last ?? last;
    if (slice.lookedAt < erasureSliceSessions) return { sessions, orderReferences, nextAfter: undefined };
  }
  return { sessions, orderReferences, nextAfter: last };
}

/**
 * Returns the hash that the audit trail stores instead of the address. With the key and the address, it proves the
 * erasure.
 */
export function hashOfErased(sealing: KeyRing, email: string): string {
  const key = deriveKey(sealing.keys[sealing.current]!, "erased customers");
  return `${sealing.current}.${hmacSha256(key, email.toLowerCase()).toString("base64url")}`;
}
