/**
 * The outer layer of stored cards, which vault, rotation and doctor share: it opens without a card's handle, and the
 * inner layer does not.
 */
import type { Database, Queryable, Statement } from "./database.ts";
import { type KeyRing, seal, unseal } from "./secrets.ts";
import type { EnvironmentName } from "./signed-claims.ts";

/** A row of `stored_card`. */
export type StoredRow = { readonly handleHash: Buffer; readonly merchantId: string; readonly sealed: string };

/** Seals a text that is already sealed under a card's handle. */
export function sealForStore(ring: KeyRing, environment: EnvironmentName, { sealed, ...row }: StoredRow): string {
  return seal(ring, placeOf(environment, row), sealed);
}

/** Returns what `sealForStore` was given. Throws if the row was changed or moved, or sealed by an unknown key. */
export function unsealFromStore(ring: KeyRing, environment: EnvironmentName, { sealed, ...row }: StoredRow): string {
  return unseal(ring, placeOf(environment, row), sealed).expose();
}

function placeOf(environment: EnvironmentName, { handleHash, merchantId }: Omit<StoredRow, "sealed">): string {
  return `stored card ${environment} ${merchantId} ${handleHash.toString("hex")}`;
}

const selectOfEachKey: Statement = {
  name: "stored_card_of_each_key",
  text: `SELECT key_id AS "keyId", handle_hash AS "handleHash", merchant_id AS "merchantId", sealed FROM stored_card_of_each_key($1)`,
};

/** A key that seals stored cards. */
type SealingKey = {
  readonly keyId: string;
  /** `missing`: not in the ring. `other`: the ring has another key of this name. */
  readonly state: "opens" | "missing" | "other";
};

/**
 * Returns every key that seals a stored card of the environment, each with whether the ring opens the cards that it has
 * sealed.
 */
export async function findSealingKeys(
  database: Queryable,
  environment: EnvironmentName,
  ring: KeyRing | undefined,
): Promise<SealingKey[]> {
  const rows = await database.query<StoredRow & { keyId: string }>(selectOfEachKey, [environment]);
  return rows.map(({ keyId, ...row }) => {
    if (ring?.keys[keyId] === undefined) return { keyId, state: "missing" };
    try {
      unsealFromStore(ring, environment, row);
      return { keyId, state: "opens" };
    } catch {
      return { keyId, state: "other" };
    }
  });
}

// Their transaction takes some hundredths of a second, so no payment waits long for a row.
const rowsAtOnce = 500;

const countSealedBy: Statement = {
  name: "count_stored_cards_of_keys",
  text: "SELECT count(*)::int AS cards FROM stored_card WHERE environment = $1 AND key_id = ANY ($2)",
};
const lockSealedBy: Statement = {
  name: "lock_stored_cards_of_key",
  text: `SELECT handle_hash AS "handleHash", merchant_id AS "merchantId", sealed FROM stored_card
    WHERE environment = $1 AND key_id = $2 AND handle_hash > $3 ORDER BY handle_hash LIMIT ${rowsAtOnce} FOR UPDATE`,
};
const replaceSealed: Statement = {
  name: "reseal_stored_cards",
  text: `UPDATE stored_card SET sealed = given.sealed
    FROM unnest($1::bytea[], $2::text[]) AS given (handle_hash, sealed) WHERE stored_card.handle_hash = given.handle_hash`,
};

/**
 * Seals every stored card of the environment again with the ring's current key, while vaults use them; no card is opened.
 * Returns their number; afterwards no other key seals any. `report` is given the number sealed so far, and of how many.
 */
export async function resealStored(
  database: Database,
  {
    environment,
    ring,
    report,
  }: { environment: EnvironmentName; ring: KeyRing; report(done: number, of: number): void },
): Promise<number> {
  let done = 0;
  for (;;) {
    const keys = await findSealingKeys(database, environment, ring);
    const unopened = keys.find(({ state }) => state !== "opens");
    if (unopened !== undefined)
      throw new Error(
        unopened.state === "missing"
          ? `stored cards are sealed with ${unopened.keyId}, which is not in the file`
          : `a stored card does not open with ${unopened.keyId}: the file has another key of this name, or its row was changed`,
      );
    const older = keys.map(({ keyId }) => keyId).filter((keyId) => keyId !== ring.current);
    // A vault that was not restarted seals new cards with the key before: those are found by another pass.
    if (older.length === 0) return done;
    const [{ cards } = { cards: 0 }] = await database.query<{ cards: number }>(countSealedBy, [environment, older]);
    const of = done + cards;
    for (const keyId of older) {
      for (let last: Buffer | undefined = Buffer.alloc(0); last !== undefined; ) {
        const rows = await resealSome(database, { environment, ring, keyId, after: last });
        last = rows.at(-1)?.handleHash;
        done += rows.length;
        if (rows.length > 0) report(done, of);
      }
    }
  }
}

/** Seals the next cards of a key anew, in the order of their handles' hashes, and returns them. */
function resealSome(
  database: Database,
  { environment, ring, keyId, after }: { environment: EnvironmentName; ring: KeyRing; keyId: string; after: Buffer },
): Promise<readonly StoredRow[]> {
  return database.transaction(async (tx) => {
    const rows = await tx.query<StoredRow>(lockSealedBy, [environment, keyId, after]);
    const anew = rows.map((row) =>
      sealForStore(ring, environment, { ...row, sealed: unsealFromStore(ring, environment, row) }),
    );
    tx.send(replaceSealed, [rows.map(({ handleHash }) => handleHash), anew]);
    return rows;
  });
}
