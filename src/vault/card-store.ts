/** Stores cards: sealed under their own token, counted per session, deleted when used up, forgotten or expired. */
import { callOf } from "../platform/batches.ts";
import { type CardFingerprint, makeCardToken } from "../platform/card-token.ts";
import type { Database, Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { deriveKey, hasKeyFor, hmacSha256, type KeyRing, Secret, seal, sha256, unseal } from "../platform/secrets.ts";
import type { SessionGrant } from "../platform/service-token.ts";
import { beginningOf, type Card, findCodeProblems } from "./card.ts";
import { problem, refuseWhenAny, type SecurityCode } from "./card-json.ts";
import type { VaultEnvironment } from "./vault-config.ts";
import {
  cardLifetimeMs,
  sessionCountLifetimeMs,
  sweepRowsMax,
  tokensPerSession,
  usesPerNetworkToken,
  usesPerToken,
} from "./vault-limits.ts";

/** A card's token and the time from which it is no longer valid. */
export type KeptCard = { readonly token: Secret; readonly expiresAt: Date };

/**
 * A card released for one use, or why there is none. A foreign session's token is `not_found`, like one that was never
 * made.
 */
export type TakenCard =
  | { readonly type: "card"; readonly card: Card }
  | { readonly type: "not_found" | "expired" | "used_up" };

type Fingerprinted = { readonly fingerprint?: CardFingerprint | undefined };

/**
 * The sealed content of a row for a card being paid. `needsCode`: a stored card, which is used only with a security
 * code.
 */
type SealedCard = Card & Fingerprinted & { readonly needsCode?: boolean | undefined };

const keepCall = callOf(
  "keep_card",
  ["text", "text", "bytea", "text", "int", "int", "int", "int"],
  `r AS "expiresAt"`,
  "public",
);

const sessionOverStatement: Statement = {
  name: "vault_session_over",
  text: "SELECT over FROM card_session WHERE environment = $1 AND session_id = $2",
};

const takeCall = callOf("take_card", ["bytea", "text", "text"], "r AS sealed", "public");

const readStatement: Statement = {
  name: "vault_read_card",
  text: `SELECT expires_at <= clock_timestamp() AS expired, uses_left AS "usesLeft", sealed FROM card
    WHERE token_hash = $1 AND environment = $2 AND session_id = $3`,
};
type ReadCard = { readonly expired: boolean; readonly usesLeft: number; readonly sealed: string };

const lockStatement: Statement = { name: "vault_lock_card", text: `${readStatement.text} FOR UPDATE` };

const addCodeStatement: Statement = {
  name: "vault_add_code",
  text: "UPDATE card SET sealed = $2, uses_left = $3 WHERE token_hash = $1",
};

// The fixed order prevents deadlocks between two calls.
const endSessionsStatement: Statement = {
  name: "vault_end_sessions",
  text: `INSERT INTO card_session (environment, session_id, tokens_made, over, expires_at)
    SELECT $1, id, 0, true, clock_timestamp() + $3::int * interval '1 ms'
    FROM (SELECT DISTINCT unnest($2::text[]) AS id ORDER BY id) ended
    ON CONFLICT (environment, session_id) DO UPDATE SET over = true, expires_at = excluded.expires_at`,
};

const forgetStatement: Statement = {
  name: "vault_forget",
  text: "DELETE FROM card WHERE environment = $1 AND session_id = ANY ($2)",
};

/**
 * Seals a card for one session and counts it there. Only the caller ever has the token, which has no uses where `needsCode`
 * until `addSecurityCode`. Throws `session_ended` once the session was forgotten, `rate_limited` from its eleventh card on.
 */
export async function keepCard(
  database: Queryable,
  vault: VaultEnvironment,
  { session: sessionId, profile }: Pick<SessionGrant, "session" | "profile">,
  card: Card,
  needsCode?: boolean,
): Promise<KeptCard> {
  const { environment, cardToken } = vault;
  const fingerprint = fingerprintOf(vault, { profile, number: card.number });
  const { wallet } = card;
  const facts = {
    ...beginningOf(card),
    expiresAt: new Date(Date.now() + cardLifetimeMs),
    fingerprint,
    needsCode,
    wallet,
  };
  const token = makeCardToken(cardToken, { environment, sessionId }, facts);
  const sealed = sealCard(vault, { sessionId, token }, { ...card, fingerprint, needsCode });
  const [kept] = await database.query<{ expiresAt: Date }>(keepCall, [
    ...[sessionId, environment, sha256(token), sealed],
    ...[cardLifetimeMs, sessionCountLifetimeMs, tokensPerSession, needsCode ? 0 : usesOf(card)],
  ]);
  if (kept !== undefined) return { token: new Secret(token), expiresAt: kept.expiresAt };
  const [session] = await database.query<{ over: boolean }>(sessionOverStatement, [environment, sessionId]);
  if (session?.over) throw new DomainError("session_ended", "This payment session is over. Start a new one.");
  throw new DomainError("rate_limited", "Too many cards were entered for this payment session. Start a new one.");
}

/** Consumes one use of the token, durably, and opens its card. */
export async function takeCard(
  database: Database,
  vault: VaultEnvironment,
  sessionId: string,
  token: string,
): Promise<TakenCard> {
  const key = [sha256(token), vault.environment, sessionId];
  const [taken] = await database.query<{ sealed: string }>(takeCall, key);
  if (taken !== undefined) {
    // The card is sealed by a key that has been dropped, so it can no longer be opened, and nothing was sent.
    if (!hasKeyFor(vault.ring, taken.sealed)) return { type: "not_found" };
    const { fingerprint: _, needsCode: __, ...card } = unsealCard(vault, { sessionId, token }, taken.sealed);
    return { type: "card", card };
  }
  const [left] = await database.query<ReadCard>(readStatement, key);
  if (left === undefined) return { type: "not_found" };
  return { type: left.expired ? "expired" : "used_up" };
}

/** The state of a token before it is paid with: `used` from its first use on, `code_missing` before its security code. */
export type TokenState = "unused" | "not_found" | "expired" | "used" | "code_missing";

/**
 * Returns the state of a token in a session, with the beginning and the fingerprint of an unused one's card; uses nothing
 * up. A foreign session's token is `not_found`, like one that was never made.
 */
export async function checkToken(
  database: Database,
  vault: VaultEnvironment,
  sessionId: string,
  token: string,
): Promise<{
  readonly state: TokenState;
  readonly card?: ReturnType<typeof beginningOf> & Fingerprinted & Pick<Card, "wallet">;
}> {
  const [row] = await database.query<ReadCard>(readStatement, [sha256(token), vault.environment, sessionId]);
  if (row === undefined || !hasKeyFor(vault.ring, row.sealed)) return { state: "not_found" };
  const card = unsealCard(vault, { sessionId, token }, row.sealed);
  if (row.usesLeft < usesOf(card) && !awaitsCode(card)) return { state: "used" };
  if (row.expired) return { state: "expired" };
  if (awaitsCode(card)) return { state: "code_missing" };
  return { state: "unused", card: { ...beginningOf(card), fingerprint: card.fingerprint, wallet: card.wallet } };
}

/**
 * Gives the token of a stored card its security code, and its uses. A code that was mistyped may be replaced until the first
 * use. Throws `token_not_found`, `token_expired` or `token_used`, and `invalid_field` for a code that the card cannot have.
 */
export async function addSecurityCode(
  database: Database,
  vault: VaultEnvironment,
  sessionId: string,
  { token, cvc }: SecurityCode,
): Promise<void> {
  const hash = sha256(token);
  await database.transaction(async (tx) => {
    const [row] = await tx.query<ReadCard>(lockStatement, [hash, vault.environment, sessionId]);
    const card =
      row && hasKeyFor(vault.ring, row.sealed) ? unsealCard(vault, { sessionId, token }, row.sealed) : undefined;
    if (!row || !card?.needsCode)
      throw new DomainError("token_not_found", "No stored card of this session waits for a security code.");
    if (row.expired) throw new DomainError("token_expired", "The card was opened too long ago. Choose it again.");
    if (row.usesLeft < usesPerToken && !awaitsCode(card))
      throw new DomainError("token_used", "This card was sent to a gateway already.");
    refuseWhenAny(
      findCodeProblems(card.number, cvc).map(({ field, detail }) => problem(field, "invalid_field", detail)),
    );
    tx.send(addCodeStatement, [hash, sealCard(vault, { sessionId, token }, { ...card, cvc }), usesPerToken]);
  });
}

function usesOf({ wallet }: Card): number {
  return wallet?.credential === "NETWORK_TOKEN" ? usesPerNetworkToken : usesPerToken;
}

function awaitsCode({ needsCode, cvc }: SealedCard): boolean {
  return needsCode === true && cvc === undefined;
}

/** The session and the token of a card being paid: with the ring they open it. */
type CardKey = { readonly sessionId: string; readonly token: string };

function sealCard({ environment, ring }: VaultEnvironment, { sessionId, token }: CardKey, card: SealedCard): string {
  return seal(ringOfToken(ring, token), placeOf(environment, sessionId), JSON.stringify(card));
}

function unsealCard(
  { environment, ring }: VaultEnvironment,
  { sessionId, token }: CardKey,
  sealed: string,
): SealedCard {
  return JSON.parse(unseal(ringOfToken(ring, token), placeOf(environment, sessionId), sealed).expose()) as SealedCard;
}

/**
 * Deletes the cards of sessions and accepts no more for them, in one round trip. Idempotent. Two statements: the second sees
 * the cards of every `keepCard` for which the first has waited, while one statement would see only those from before.
 */
export async function forgetSessions(
  database: Database,
  { environment }: VaultEnvironment,
  sessionIds: readonly string[],
): Promise<void> {
  await database.transaction(async (tx) => {
    endSessions(tx, environment, sessionIds);
    forgetCards(tx, environment, sessionIds);
  });
}

function endSessions(tx: Tx, environment: string, sessionIds: readonly string[]): void {
  tx.send(endSessionsStatement, [environment, sessionIds, sessionCountLifetimeMs]);
}

function forgetCards(tx: Tx, environment: string, sessionIds: readonly string[]): void {
  tx.send(forgetStatement, [environment, sessionIds]);
}

/**
 * Hands a session's card out for the last time and forgets the session, in the transaction that stores it. `store` gets
 * the card without its security code; undefined if it is no longer there.
 */
export async function releaseCard<Result>(
  database: Database,
  vault: VaultEnvironment,
  { sessionId, token }: CardKey,
  store: (tx: Tx, card: Omit<Card, "cvc"> | undefined) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (tx) => {
    endSessions(tx, vault.environment, [sessionId]);
    const [row] = await tx.query<ReadCard>(readStatement, [sha256(token), vault.environment, sessionId]);
    const isThere = row && !row.expired && hasKeyFor(vault.ring, row.sealed);
    const result = await store(
      tx,
      isThere ? withoutCode(unsealCard(vault, { sessionId, token }, row.sealed)) : undefined,
    );
    forgetCards(tx, vault.environment, [sessionId]);
    return result;
  });
}

function withoutCode({ number, expMonth, expYear, holder, postalCode, brand }: Card): Omit<Card, "cvc"> {
  return { number, expMonth, expYear, holder, postalCode, brand };
}

// Counting this many takes some milliseconds; a larger number adds no information.
const countedCardsMax = 10_000;

const countStatement: Statement = {
  name: "vault_count_cards",
  text: `SELECT environment, count(*)::int AS cards FROM (SELECT environment FROM card LIMIT ${countedCardsMax}) c GROUP BY environment`,
};

/** Returns the number of cards in each environment that has any, counting at most 10 000 in all. */
export async function countCards(database: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await database.query<{ environment: string; cards: number }>(countStatement, []);
  return new Map(rows.map(({ environment, cards }) => [environment, cards]));
}

const sweeps: readonly Statement[] = [
  sweep("card", "token_hash", "expires_at"),
  sweep("card_session", "environment, session_id", "expires_at"),
  sweep("vault_copy", "id", "expires_at"),
  sweep("erased_card", "handle_hash", "expires_at"),
  sweep("wallet_seen", "environment, id_hash", "expires_at"),
  {
    name: "vault_drop_retired_wallet_keys",
    text: `WITH dropped AS (
      UPDATE wallet_key SET state = 'DROPPED', sealed = NULL WHERE id IN (
        SELECT id FROM wallet_key WHERE state = 'RETIRING' AND retires_at <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1)
    SELECT count(*) AS rows FROM dropped`,
  },
];

/**
 * Deletes expired rows, cards past their fifteen minutes among them: at most `sweepRowsMax` rows a
 * table. Returns the number deleted. Any number of vault processes may run it at once.
 */
export async function expireOnce(database: Database): Promise<number> {
  let deleted = 0;
  for (const statement of sweeps) {
    const [{ rows } = { rows: 0 }] = await database.query<{ rows: number }>(statement, [sweepRowsMax]);
    deleted += rows;
  }
  return deleted;
}

function sweep(table: string, key: string, endColumn: string): Statement {
  return {
    name: `vault_sweep_${table}`,
    text: `WITH gone AS (
      DELETE FROM ${table} WHERE (${key}) IN (
        SELECT ${key} FROM ${table} WHERE ${endColumn} <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1)
    SELECT count(*) AS rows FROM gone`,
  };
}

/** Derives the ring of one token: without the token or without the ring nothing opens. */
function ringOfToken(ring: KeyRing, token: string): KeyRing {
  const keys = Object.entries(ring.keys).map(([kid, master]) => [kid, deriveKey(master, `vault card ${token}`)]);
  return { current: ring.current, keys: Object.fromEntries(keys) };
}

function placeOf(environment: string, sessionId: string): string {
  return `card ${environment} ${sessionId}`;
}

// The part of the 32 bytes that is kept: no two of a merchant's cards share 16 bytes by chance, and a token stays
// short.
const fingerprintBytes = 16;

/**
 * Returns the fingerprint of a number for the merchant of this profile: by the current key and, during its rotation, by
 * the other one. PCI DSS 3.5.1.1 permits a hash of a number that is keyed.
 */
export function fingerprintOf(
  { environment, fingerprint: ring, countedCards }: VaultEnvironment,
  { profile, number }: { readonly profile: string; readonly number: string },
): CardFingerprint | undefined {
  if (ring === undefined) return undefined;
  const { [ring.current]: current, ...others } = ring.keys;
  const versions = [current!, ...Object.values(others)].map((key) =>
    hmacSha256(key, `card ${environment} ${profile} ${number}`).subarray(0, fingerprintBytes).toString("hex"),
  );
  return { versions, isCounted: countedCards?.has(number) ?? true };
}
