/** API keys of a merchant in one environment: their format, their storage and their holders. */

import { crc32 } from "node:zlib";
import { readOf } from "../platform/batches.ts";
import { firstCell } from "../platform/cells.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { KeyId, MerchantId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import { Secret, sha256 } from "../platform/secrets.ts";
import { cellColumns, type MerchantCells, type MerchantSettings, settingsColumns } from "./merchant-settings.ts";
import type { HeldRights } from "./rights.ts";

/**
 * A secret key calls the API from a backend, and so does a restricted one, for which it has rights. A publishable key is
 * safe in a browser and calls nothing on the server.
 */
export type KeyKind = "secret" | "publishable" | "restricted";

/** A daily limit (UTC) of refunds, in minor units by currency. A currency that it omits refunds nothing. */
export type RefundCap = Readonly<Record<string, number>>;

/** The environment, cell and kind that a presented key claims, read from its text alone. */
export type ParsedKey = { readonly environment: string; readonly cell: number; readonly kind: KeyKind };

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
// The first one names the cell; 62^31 is 184 bits: beyond guessing.
const randomDigits = 32;
// 62^6 is above 2^32, so six digits hold any CRC-32.
const checksumDigits = 6;
const letters: Record<KeyKind, string> = { secret: "sk", publishable: "pk", restricted: "rk" };
const kinds: readonly KeyKind[] = ["secret", "publishable", "restricted"];

/** Reads environment, cell and kind from a key of this brand, or undefined if it cannot be one; such a key costs no query. */
export function parseKey(brand: string, key: string): ParsedKey | undefined {
  const match = /^([a-z0-9]+)_(test|live)_(sk|pk|rk)_([0-9A-Za-z]{38})$/.exec(key);
  if (match?.[1] !== brand || match[2] === undefined || match[4] === undefined) return undefined;
  const random = match[4].slice(0, randomDigits);
  if (checksumOf(random) !== match[4].slice(randomDigits)) return undefined;
  return {
    environment: match[2],
    cell: base62.indexOf(random[0]!),
    kind: kinds.find((kind) => letters[kind] === match[3])!,
  };
}

/**
 * Generates a key: `<brand>_(test|live)_(sk|pk|rk)_`, the cell as one base62 digit, 31 random ones and 6 of their CRC-32.
 */
export function generateKey(
  runtime: Runtime,
  options: { brand: string; environment: string; cell?: number | undefined; kind: KeyKind },
): Secret {
  let random = base62[options.cell ?? firstCell]!;
  while (random.length < randomDigits) {
    // 248 is the largest multiple of 62 in a byte: bytes from there on would favour the first digits.
    for (const byte of runtime.randomBytes(randomDigits)) {
      if (byte < 248 && random.length < randomDigits) random += base62[byte % 62];
    }
  }
  return new Secret(`${options.brand}_${options.environment}_${letters[options.kind]}_${random}${checksumOf(random)}`);
}

function checksumOf(random: string): string {
  let value = crc32(random);
  let text = "";
  for (let index = 0; index < checksumDigits; index++) {
    text = base62[value % 62] + text;
    value = Math.floor(value / 62);
  }
  return text;
}

export type KeyRights = {
  /** The id that a key shares with those that replace it in turn. */
  readonly keyId: KeyId | null;
  /** The name of a restricted key, or of an internal service, which has no `keyId`. */
  readonly keyName: string | null;
  readonly rights: HeldRights;
  /** Null if the key has no limit itself. */
  readonly refundCap: RefundCap | null;
};

export type KeyHolder = MerchantSettings & MerchantCells & KeyRights & { readonly kind: KeyKind };

/** A caller that has its rights from elsewhere. */
export const withoutKey: Omit<KeyRights, "rights"> = { keyId: null, keyName: null, refundCap: null };

const selectKeyHolder = readOf(
  {
    name: "select_key_holder",
    text: `
    SELECT k.kind, k.key_id AS "keyId", k.name AS "keyName", k.rights, k.refund_cap AS "refundCap", ${settingsColumns}, ${cellColumns}
    FROM api_key k JOIN merchant_settings s USING (merchant_id)
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (least(k.expires_at, k.ends_at) > app.clock()) IS NOT FALSE`,
  },
  ["bytea"],
);

/**
 * Returns the current holder of the key with this SHA-256; undefined for an unknown, ended or revoked one. The statement is sent after the
 * call and its answer is not cached, so a revoked key stops at once.
 */
export async function findKeyHolder(queryable: Queryable, hash: Buffer): Promise<KeyHolder | undefined> {
  const [holder] = await queryable.query<KeyHolder>(selectKeyHolder, [hash]);
  return holder;
}

// Only one of several edges writes the use.
const noteUse: Statement = {
  name: "note_use_of_key",
  text: `UPDATE api_key SET last_used_at = app.clock()
         WHERE hash = $1 AND (last_used_at > app.clock() - interval '1 minute') IS NOT TRUE`,
};

/** Records that the key with this SHA-256 is in use, to within a minute. */
export async function noteKeyUse(queryable: Queryable, hash: Buffer): Promise<void> {
  await queryable.query(noteUse, [hash]);
}

const revokeKeys: Statement = {
  name: "revoke_keys",
  text: "UPDATE api_key SET revoked_at = app.clock() WHERE merchant_id = $1 AND kind = $2 AND revoked_at IS NULL",
};
const insertKey: Statement = {
  name: "insert_key",
  text: `INSERT INTO api_key (id, key_id, merchant_id, kind, hash, prefix, last4, name, rights, expires_at, refund_cap)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
};

/** A key to record. Only `secret` is the clear key, which is stored nowhere. */
export type NewKey = { readonly id: KeyId; readonly merchantId: MerchantId; readonly secret: Secret };

/** Replaces a merchant's key of one kind. The old one is refused from the commit on, and so is one that a roll has left. */
export async function recordKey(tx: Tx, key: NewKey & { kind: Exclude<KeyKind, "restricted"> }): Promise<void> {
  await tx.query(revokeKeys, [key.merchantId, key.kind]);
  await addKey(tx, { ...key, keyId: key.id });
}

/** The parts of a restricted key that never change. */
export type Restrictions = {
  readonly name: string;
  readonly rights: readonly string[];
  readonly expiresAt: Date | null;
  readonly refundCap: RefundCap | null;
};

/** Adds a key beside the others. */
export async function addKey(
  tx: Tx,
  key: NewKey & { readonly kind: KeyKind; readonly keyId: KeyId; readonly restrictions?: Restrictions | undefined },
): Promise<void> {
  const clear = key.secret.expose();
  const { name = null, rights = null, expiresAt = null, refundCap = null } = key.restrictions ?? {};
  await tx.query(insertKey, [
    key.id,
    key.keyId,
    key.merchantId,
    key.kind,
    sha256(clear),
    clear.slice(0, -randomDigits - checksumDigits),
    clear.slice(-4),
    name,
    rights,
    expiresAt,
    refundCap && JSON.stringify(refundCap),
  ]);
}

export type ShownKey = {
  readonly keyId: KeyId;
  readonly kind: KeyKind;
  readonly prefix: string;
  readonly last4: string;
  readonly createdAt: Date;
  /** The whole key if it is publishable, which every checkout page contains; otherwise null. */
  readonly clear: string | null;
  readonly name: string | null;
  readonly rights: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly refundCap: RefundCap | null;
  /** The end of this key if a roll has replaced it; null for a current key. */
  readonly endsAt: Date | null;
  /** The time to within a minute or two; null for a key that was never used, and for a publishable one. */
  readonly lastUsedAt: Date | null;
};

const selectKeys: Statement = {
  name: "select_keys",
  text: `SELECT key_id AS "keyId", kind, prefix, last4, created_at AS "createdAt", name, rights, expires_at AS "expiresAt",
           refund_cap AS "refundCap", ends_at AS "endsAt", last_used_at AS "lastUsedAt",
           CASE kind WHEN 'publishable' THEN (
             SELECT publishable_key FROM merchant_settings s WHERE s.merchant_id = k.merchant_id) END AS clear
         FROM api_key k WHERE merchant_id = $1 AND revoked_at IS NULL AND (ends_at > app.clock()) IS NOT FALSE
         ORDER BY array_position('{secret,publishable,restricted}', kind), key_id, replaced_at IS NOT NULL`,
};

/** Returns a merchant's keys, the secret one first, of which nothing allows its use. Restricted ones may have expired. */
export async function listKeys(queryable: Queryable, merchantId: MerchantId): Promise<ShownKey[]> {
  return queryable.query<ShownKey>(selectKeys, [merchantId]);
}

const selectOtherBrand: Statement = {
  name: "select_other_brand",
  text: `
    SELECT split_part(prefix, '_', 1) AS brand FROM api_key
    WHERE revoked_at IS NULL
      AND NOT EXISTS (SELECT FROM api_key WHERE revoked_at IS NULL AND starts_with(prefix, $1 || '_'))
    LIMIT 1`,
};

/** Returns the brand of the keys in use if none of them is of this one, so that each would be refused. */
export async function findOtherBrand(queryable: Queryable, brand: string): Promise<string | undefined> {
  const [row] = await queryable.query<{ brand: string }>(selectOtherBrand, [brand]);
  return row?.brand;
}
