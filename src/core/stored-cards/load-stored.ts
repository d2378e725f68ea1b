/** Reads a payment's use of a stored card. */
import { renewalTriesMax } from "../../limits.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import type { MerchantId, SessionId } from "../../platform/ids.ts";
import { deriveKey, hmacSha256, type KeyRing } from "../../platform/secrets.ts";
import { type StoredPayment, StoredPaymentEntity, storedColumns } from "./stored-rows.ts";

const selectStored: Statement = {
  name: "select_stored_payment",
  partitionKey: 1,
  text: `SELECT ${storedColumns(StoredPaymentEntity, "p")}, CASE WHEN p.renewal_ref IS NOT NULL THEN app.describe_renewal(p, $2) END AS renewal
    FROM stored_payment p WHERE p.session_id = $1`,
};

/** Returns what a session with `stored` does with a stored card. */
export async function loadStored(queryable: Queryable, sessionId: SessionId): Promise<StoredPayment> {
  const [stored] = await queryable.query<StoredPayment>(selectStored, [sessionId, renewalTriesMax]);
  if (stored === undefined) throw new Error("the session no longer exists");
  return stored;
}

// The length of an MD5, which every gateway accepts.
const pseudonymCharacters = 32;

/** Returns the name that gateways get for a customer: it says nothing about the merchant's own. */
export function pseudonymOf(
  sealing: KeyRing,
  { merchantId, customerRef }: { readonly merchantId: MerchantId; readonly customerRef: string },
): string {
  const key = deriveKey(sealing.keys[sealing.current]!, "customers at gateways");
  return hmacSha256(key, `${merchantId} ${customerRef}`).toString("hex").slice(0, pseudonymCharacters);
}
