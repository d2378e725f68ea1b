/** Restricted keys of a merchant in one environment, and rolls of them and of the secret key. */
import type { Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { KeyId, MerchantId } from "../platform/ids.ts";
import type { Secret } from "../platform/secrets.ts";
import { addKey, generateKey, listKeys, type Restrictions, type ShownKey } from "./api-keys.ts";
import type { KeyMaker } from "./issue-keys.ts";

// Each is in the lists of people who have to recognize it.
const restrictedKeysMax = 20;

/** Creates a restricted key. Throws `state_conflict` if the merchant has as many as it may have. */
export async function createRestrictedKey(
  tx: Tx,
  maker: KeyMaker,
  { merchantId, ...restrictions }: Restrictions & { merchantId: MerchantId },
): Promise<{ readonly keyId: KeyId; readonly secret: Secret }> {
  const isCounted = ({ kind, endsAt }: ShownKey) => kind === "restricted" && endsAt === null;
  if ((await listKeys(tx, merchantId)).filter(isCounted).length >= restrictedKeysMax) {
    const message = `A merchant has at most ${restrictedKeysMax} restricted keys in an environment. Revoke one first, such as one that has expired.`;
    throw new DomainError("state_conflict", message);
  }
  const { runtime, ...named } = maker;
  const secret = generateKey(runtime, { ...named, kind: "restricted" });
  const keyId = runtime.uuid();
  await addKey(tx, { id: keyId, keyId, merchantId, kind: "restricted", secret, restrictions });
  return { keyId, secret };
}

const replaceKey: Statement = {
  name: "replace_key",
  text: `
    UPDATE api_key SET replaced_at = at, ends_at = at + $3 * interval '1 s' FROM (SELECT app.clock() AS at) clock
    WHERE merchant_id = $1 AND key_id = $2 AND revoked_at IS NULL AND replaced_at IS NULL AND (expires_at > at) IS NOT FALSE
    RETURNING ends_at AS "endsAt"`,
};

/**
 * Makes the next key of a secret or restricted one. The old one works for `oldKeySeconds` longer. Throws `roll_in_progress` while
 * one of an earlier roll works, and `not_found` for a key that has ended.
 */
export async function rollKey(
  tx: Tx,
  maker: KeyMaker,
  { merchantId, keyId, oldKeySeconds }: { merchantId: MerchantId; keyId: KeyId; oldKeySeconds: number },
): Promise<{ readonly old: ShownKey; readonly secret: Secret; readonly oldEndsAt: Date }> {
  const rolled = (await listKeys(tx, merchantId)).filter((key) => key.keyId === keyId && key.kind !== "publishable");
  if (rolled.some(({ endsAt }) => endsAt !== null)) {
    throw new DomainError(
      "roll_in_progress",
      "This key was rolled before, and the old one still works. Revoke the old one, or wait for its end.",
    );
  }
  const [old] = rolled;
  const [replaced] = await tx.query<{ endsAt: Date }>(replaceKey, [merchantId, keyId, oldKeySeconds]);
  if (old === undefined || replaced === undefined) throw noSuchKey();
  const { runtime, ...named } = maker;
  const secret = generateKey(runtime, { ...named, kind: old.kind });
  const { name, rights, expiresAt, refundCap } = old;
  const restrictions = name === null || rights === null ? undefined : { name, rights, expiresAt, refundCap };
  await addKey(tx, { id: runtime.uuid(), keyId, merchantId, kind: old.kind, secret, restrictions });
  const ends = [replaced.endsAt, ...(expiresAt ? [expiresAt] : [])];
  return { old, secret, oldEndsAt: ends.toSorted((one, other) => one.getTime() - other.getTime())[0]! };
}

const revokeKey: Statement = {
  name: "revoke_key",
  text: `
    UPDATE api_key SET revoked_at = app.clock()
    WHERE merchant_id = $1 AND key_id = $2 AND revoked_at IS NULL AND CASE WHEN $3 THEN replaced_at IS NOT NULL ELSE kind = 'restricted' END
    RETURNING kind, name, last4`,
};

/** Ends a restricted key with one that a roll left, or that one alone. It is refused from the commit on. Throws `not_found`. */
export async function revokeKeyOf(
  tx: Tx,
  { merchantId, keyId, replacedOnly }: { merchantId: MerchantId; keyId: KeyId; replacedOnly: boolean },
): Promise<readonly Pick<ShownKey, "kind" | "name" | "last4">[]> {
  const revoked = await tx.query<Pick<ShownKey, "kind" | "name" | "last4">>(revokeKey, [
    merchantId,
    keyId,
    replacedOnly,
  ]);
  if (revoked.length === 0) throw noSuchKey();
  return revoked;
}

function noSuchKey(): DomainError {
  return new DomainError(
    "not_found",
    "There is no such key that can be changed so: it has ended, or is of another kind.",
  );
}
