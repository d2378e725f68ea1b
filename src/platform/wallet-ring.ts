/** The seal of wallets' private keys, which vault, rotation and restore share. */
import type { Database, Queryable, Statement } from "./database.ts";
import { type KeyRing, type Secret, seal, unseal } from "./secrets.ts";
import type { EnvironmentName } from "./signed-claims.ts";

/** A row of `wallet_key` whose private half is there. */
export type SealedWalletKey = {
  readonly id: string;
  readonly merchantId: string;
  readonly wallet: string;
  readonly sealed: string;
};

type Place = Omit<SealedWalletKey, "sealed">;

/** Seals a private key, in PEM. */
export function sealWalletKey(ring: KeyRing, environment: EnvironmentName, place: Place, pem: string): string {
  return seal(ring, placeOf(environment, place), pem);
}

/** Returns what `sealWalletKey` was given. Throws if the row was changed or moved, or sealed by an unknown key. */
export function unsealWalletKey(ring: KeyRing, environment: EnvironmentName, row: SealedWalletKey): Secret {
  return unseal(ring, placeOf(environment, row), row.sealed);
}

function placeOf(environment: EnvironmentName, { id, merchantId, wallet }: Place): string {
  return `wallet key ${environment} ${merchantId} ${wallet} ${id}`;
}

const selectOfEachKey: Statement = {
  name: "wallet_key_of_each_key",
  text: `SELECT DISTINCT ON (key_id) key_id AS "keyId", id, merchant_id AS "merchantId", wallet, sealed FROM wallet_key
    WHERE environment = $1 AND key_id IS NOT NULL ORDER BY key_id, id`,
};

/** Returns every key that seals a wallet's key, with the reason if the ring cannot open the keys that it has sealed. */
export async function findWalletSealingKeys(
  database: Queryable,
  environment: EnvironmentName,
  ring: KeyRing | undefined,
): Promise<{ readonly keyId: string; readonly unopened?: string }[]> {
  const rows = await database.query<SealedWalletKey & { keyId: string }>(selectOfEachKey, [environment]);
  return rows.map(({ keyId, ...row }) => {
    if (ring?.keys[keyId] === undefined) return { keyId, unopened: "is not in" };
    try {
      unsealWalletKey(ring, environment, row);
      return { keyId };
    } catch {
      return { keyId, unopened: "is another key in" };
    }
  });
}

// Their transaction takes some hundredths of a second, so no payment waits long for a row.
const rowsAtOnce = 500;

const lockOlder: Statement = {
  name: "lock_wallet_keys_of_older_keys",
  text: `SELECT id, merchant_id AS "merchantId", wallet, sealed FROM wallet_key
    WHERE environment = $1 AND key_id <> $2 ORDER BY id LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replaceSealed: Statement = {
  name: "reseal_wallet_keys",
  text: `UPDATE wallet_key SET sealed = given.sealed
    FROM unnest($1::uuid[], $2::text[]) AS given (id, sealed) WHERE wallet_key.id = given.id`,
};

/**
 * Seals every wallet's key of the environment again with the ring's current key, while vaults use them. Returns their
 * number; afterwards no other key seals any, but those that a vault which was not restarted makes. Throws for a row that
 * the ring does not open.
 */
export async function resealWalletKeys(
  database: Database,
  { environment, ring }: { readonly environment: EnvironmentName; readonly ring: KeyRing },
): Promise<number> {
  for (let done = 0; ; ) {
    const sealed = await database.transaction(async (tx) => {
      const rows = await tx.query<SealedWalletKey>(lockOlder, [environment, ring.current]);
      const anew = rows.map((row) =>
        sealWalletKey(ring, environment, row, unsealWalletKey(ring, environment, row).expose()),
      );
      tx.send(replaceSealed, [rows.map(({ id }) => id), anew]);
      return rows.length;
    });
    if (sealed === 0) return done;
    done += sealed;
  }
}

const dropGoogleKeys: Statement = {
  name: "drop_google_wallet_keys",
  text: `UPDATE wallet_key SET state = 'DROPPED', sealed = NULL
    WHERE wallet = 'google_pay' AND state <> 'DROPPED' RETURNING environment, merchant_id AS "merchantId"`,
};

/**
 * Drops every key of Google Pay in a vault's database that was restored: it has forgotten which messages were used, and a
 * message of Google's is valid for days. Returns the merchants that need new ones.
 */
export function dropKeysAfterRestore(
  database: Queryable,
): Promise<{ readonly environment: EnvironmentName; readonly merchantId: string }[]> {
  return database.query(dropGoogleKeys, []);
}
