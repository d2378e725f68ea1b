/**
 * Cards that outlive their payment: sealed under their handle, which the vault does not store, and once more under the store
 * ring. Without either nothing opens them.
 */
import { type CardFingerprint, credentialOf } from "../platform/card-token.ts";
import type { Database, Queryable, Statement } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { deriveKey, hasKeyFor, type KeyRing, seal, sha256, unseal } from "../platform/secrets.ts";
import { findSealingKeys, type StoredRow, sealForStore, unsealFromStore } from "../platform/store-ring.ts";
import { type Card, type CardSummary, shownOf } from "./card.ts";
import { fingerprintOf, forgetSessions, type KeptCard, keepCard, releaseCard } from "./card-store.ts";
import type { VaultEnvironment } from "./vault-config.ts";
import { sessionCountLifetimeMs } from "./vault-limits.ts";

/** A card without its security code, which is never stored. */
type StoredCard = Omit<Card, "cvc">;

/** The part of a stored card that may be known outside the vault. */
type StoredSummary = CardSummary & Pick<Card, "expMonth" | "expYear"> & { readonly fingerprint: CardFingerprint };

/** A merchant, by its public id, and the secret that opens its card. */
type StoredPlace = { readonly merchantId: string; readonly handle: string };

const readStatement: Statement = {
  name: "vault_read_stored",
  text: `SELECT handle_hash AS "handleHash", merchant_id AS "merchantId", sealed FROM stored_card
    WHERE handle_hash = $1 AND environment = $2 AND merchant_id = $3 AND session_id = coalesce($4, session_id)`,
};

const insertStatement: Statement = {
  name: "vault_store_card",
  text: `INSERT INTO stored_card (handle_hash, environment, merchant_id, session_id, sealed) VALUES ($1, $2, $3, $4, $5)`,
};

// KeepCard and EraseCard of one handle take turns, and each sees the result of the other.
const lockStatement: Statement = {
  name: "vault_lock_handle",
  text: "SELECT pg_advisory_xact_lock(hashtextextended('stored card ' || encode($1, 'hex'), 0))",
};

const isErasedStatement: Statement = {
  name: "vault_is_erased",
  text: "SELECT true AS erased FROM erased_card WHERE handle_hash = $1",
};

const rememberErasedStatement: Statement = {
  name: "vault_remember_erased",
  text: `INSERT INTO erased_card (handle_hash, expires_at) VALUES ($1, clock_timestamp() + $2 * interval '1 ms')
    ON CONFLICT (handle_hash) DO UPDATE SET expires_at = excluded.expires_at`,
};

const eraseStatement: Statement = {
  name: "vault_erase_stored",
  text: "DELETE FROM stored_card WHERE handle_hash = $1 AND environment = $2 AND merchant_id = $3",
};

/**
 * Stores the card of a token without its security code and forgets the token's session, in one transaction. A repeat
 * for the same session and handle returns the same. Undefined if the vault no longer has the card, has erased the
 * handle's, or got the card from a wallet. Throws `unavailable` without the keys for it.
 */
export async function storeCard(
  database: Database,
  vault: VaultEnvironment,
  { sessionId, token, ...place }: StoredPlace & { readonly sessionId: string; readonly token: string },
): Promise<StoredSummary | undefined> {
  // A wallet's card is never stored: the caller gets this answer at once, and need not ask again.
  if (credentialOf(token) !== undefined) {
    await forgetSessions(database, vault, [sessionId]);
    return undefined;
  }
  const ring = storeRingOf(vault);
  return releaseCard(database, vault, { sessionId, token }, async (tx, card) => {
    const handleHash = hashOf(place);
    tx.send(lockStatement, [handleHash]);
    const known = await readStored(tx, vault, place, sessionId);
    if (known !== undefined) return summaryOf(vault, place, known);
    if (card === undefined || (await tx.query(isErasedStatement, [handleHash])).length > 0) return undefined;
    const sealed = seal(ringOfHandle(place.handle), placeOf(vault, place), padded(JSON.stringify(card)));
    const stored = sealForStore(ring, vault.environment, { handleHash, merchantId: place.merchantId, sealed });
    tx.send(insertStatement, [handleHash, vault.environment, place.merchantId, sessionId, stored]);
    return summaryOf(vault, place, card);
  });
}

/**
 * Makes a stored card a token of one session, which counts as a card that was entered there. If `needsCode`, the token
 * has no uses until `addSecurityCode`. Undefined if there is no such card. Throws as `keepCard`, and `unavailable`
 * without the keys for it.
 */
export async function openCard(
  database: Database,
  vault: VaultEnvironment,
  { sessionId, needsCode, ...place }: StoredPlace & { readonly sessionId: string; readonly needsCode: boolean },
): Promise<KeptCard | undefined> {
  const card = await readStored(database, vault, place, null);
  return card && keepCard(database, vault, { session: sessionId, profile: place.merchantId }, card, needsCode);
}

/**
 * Erases a stored card; one that is stored under its handle later is refused. Idempotent. Needs no handle: who may no longer
 * open the card can still have it erased.
 */
export async function eraseCard(
  database: Database,
  { environment }: VaultEnvironment,
  { handleHash, merchantId }: { readonly handleHash: Uint8Array; readonly merchantId: string },
): Promise<void> {
  const hash = Buffer.from(handleHash);
  await database.transaction(async (tx) => {
    tx.send(lockStatement, [hash]);
    // The hash is kept for the same time as an ended session: by then the session's cards are gone.
    tx.send(rememberErasedStatement, [hash, sessionCountLifetimeMs]);
    tx.send(eraseStatement, [hash, environment, merchantId]);
  });
}

/**
 * Throws if a stored card is sealed by a key that the vault's file does not have: it would be lost without anybody
 * noticing.
 */
export async function requireStoreKeys(database: Database, environments: readonly VaultEnvironment[]): Promise<void> {
  for (const { environment, storeRing } of environments) {
    const keys = await findSealingKeys(database, environment, storeRing);
    const unopened = keys.find(({ state }) => state !== "opens");
    if (unopened === undefined) continue;
    const file = `the file of SWITCHYARD_${environment.toUpperCase()}_VAULT_KEYS_FILE`;
    const what = unopened.state === "missing" ? "is not in" : "is another key in";
    throw new Error(
      `Cards that merchants have stored are sealed with ${unopened.keyId}, which ${what} ${file}. The vault does not start without it: put it back from your copy.`,
    );
  }
}

async function readStored(
  queryable: Queryable,
  vault: VaultEnvironment,
  place: StoredPlace,
  sessionId: string | null,
): Promise<StoredCard | undefined> {
  const ring = storeRingOf(vault);
  const key = [hashOf(place), vault.environment, place.merchantId, sessionId];
  const [row] = await queryable.query<StoredRow>(readStatement, key);
  if (row === undefined) return undefined;
  // This is not "no such card": its key may come back.
  if (!hasKeyFor(ring, row.sealed)) throw unavailable("The vault's key file lacks the key of a stored card.");
  const sealed = unsealFromStore(ring, vault.environment, row);
  return JSON.parse(unseal(ringOfHandle(place.handle), placeOf(vault, place), sealed).expose()) as StoredCard;
}

function summaryOf(vault: VaultEnvironment, { merchantId }: StoredPlace, card: StoredCard): StoredSummary {
  const { number, expMonth, expYear } = card;
  const fingerprint = fingerprintOf(vault, { profile: merchantId, number });
  // The fingerprint distinguishes a merchant's cards, and their tries are counted by it.
  if (fingerprint === undefined) throw unavailable("The vault's key file has no key of fingerprints.");
  return { ...shownOf(card), expMonth, expYear, fingerprint };
}

function storeRingOf({ storeRing }: VaultEnvironment): KeyRing {
  if (storeRing === undefined) throw unavailable("The vault's key file has no store ring.");
  return storeRing;
}

function unavailable(message: string): DomainError {
  return new DomainError("unavailable", message);
}

// 192 random bits: a shorter one could be guessed by who has the disk.
const handleShape = /^vc_[\w-]{32}$/;

function hashOf({ handle }: StoredPlace): Buffer {
  if (!handleShape.test(handle)) {
    throw new DomainError("invalid_field", "A handle is vc_ and 32 letters of base64url.", { field: "handle" });
  }
  return sha256(handle);
}

/** Derives the key of one card; the vault's own keys are no part of it. */
function ringOfHandle(handle: string): KeyRing {
  return { current: "handle", keys: { handle: deriveKey(Buffer.from(handle), "stored card") } };
}

function placeOf({ environment }: VaultEnvironment, { merchantId }: StoredPlace): string {
  return `stored card ${environment} ${merchantId}`;
}

// A holder's name of a hundred characters has up to 300 bytes; all else has less than 150.
const paddedBytes = 512;

/** Pads JSON with blanks, so that the length of the sealed text says nothing of the card. */
function padded(json: string): string {
  const blanks = paddedBytes - Buffer.byteLength(json);
  if (blanks < 0) throw new Error("a card is larger than a stored one may be");
  return json + " ".repeat(blanks);
}
